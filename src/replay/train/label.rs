//! What the machine's models should have said: from the annotations of people.

use std::collections::BTreeMap;

use parlor_core::{Judge, ObligationKind, Observation};

use super::super::{
    drive::Log,
    facts::Facts,
    truth::{Aim, Truth, Turn},
};
use super::fit::Examples;

/// Examples by model.
#[derive(Clone, Debug, Default)]
pub(super) struct Lessons(pub(super) BTreeMap<Judge, Examples>);

impl Lessons {
    fn add(&mut self, judge: Judge, numbers: &[f64], yes: bool) {
        self.0.entry(judge).or_default().add(numbers, yes);
    }

    pub(super) fn join(&mut self, other: &Self) {
        for (judge, examples) in &other.0 {
            self.0.entry(*judge).or_default().join(examples);
        }
    }

    /// Labels what a machine was asked in one room.
    pub(super) fn learn(&mut self, facts: &Facts, truth: &Truth, log: &Log, observed: &[Observation]) {
        let settled = first_posts(facts, truth, log);
        for o in observed {
            self.one(facts, truth, &settled, o);
        }
    }

    fn one(&mut self, facts: &Facts, truth: &Truth, settled: &BTreeMap<usize, i64>, o: &Observation) {
        let numbers = turns_of(facts, truth, &o.lines);
        let turns = || numbers.iter().filter_map(|n| truth.turns.get(*n));
        if numbers.is_empty() {
            return;
        }
        // A turn that an earlier post settled wants nothing more.
        let fresh = |n: &&usize| settled.get(*n).is_none_or(|t| *t >= o.at);
        match o.judge {
            Judge::Me | Judge::Room => {
                let open: Vec<&Turn> = numbers.iter().filter(fresh).filter_map(|n| truth.turns.get(*n)).collect();
                let me = open.iter().any(|t| t.to_me());
                self.add(Judge::Me, &o.numbers, me);
                self.add(Judge::Room, &o.numbers, !me && open.iter().any(|t| t.aim == Aim::Room));
            }
            Judge::Statement => self.add(Judge::Statement, &o.numbers, numbers.iter().any(|n| fresh(&n))),
            Judge::Answer => {
                let Some(row) = o.line.as_ref().and_then(|id| facts.row_named(id)) else { return };
                if facts.row(row).is_some_and(|f| f.annotated) {
                    let burst: Vec<u32> = o.lines.iter().filter_map(|id| facts.row_named(id)).collect();
                    self.add(Judge::Answer, &o.numbers, facts.replies(row as usize).any(|p| burst.contains(&p)));
                }
            }
            Judge::Answered | Judge::Wanted => {
                let late = turns().any(|t| t.other.is_some_and(|other| other < o.at));
                self.add(Judge::Answered, &o.numbers, late);
                if o.owed == Some(ObligationKind::RoomQuestion) {
                    let wanted = turns().any(Turn::to_me) || !late && turns().any(|t| t.aim == Aim::Room);
                    self.add(Judge::Wanted, &o.numbers, wanted);
                }
            }
        }
    }
}

/// The turns that some lines belong to, each once.
fn turns_of(facts: &Facts, truth: &Truth, lines: &[String]) -> Vec<usize> {
    let mut turns: Vec<usize> = lines.iter().filter_map(|id| truth.turn(facts.row_named(id)?)).collect();
    turns.sort_unstable();
    turns.dedup();
    turns
}

/// When each turn was first settled by a post.
fn first_posts(facts: &Facts, truth: &Truth, log: &Log) -> BTreeMap<usize, i64> {
    let mut first = BTreeMap::new();
    for post in &log.posts {
        for turn in turns_of(facts, truth, &post.settles) {
            first.entry(turn).or_insert(post.ts);
        }
    }
    first
}
