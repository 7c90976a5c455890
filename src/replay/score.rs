//! The metrics: what a policy's posts look like beside what people did. docs/replay.md gives each formula in words.

use serde::Serialize;

use super::{
    facts::Facts,
    truth::{Aim, HORIZON_MS, Truth, Turn},
};

/// A post of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Post {
    pub ts: i64,
    /// The rows that it answers.
    pub rows: Vec<u32>,
}

/// What a policy did in one room.
#[derive(Clone, Debug, Default)]
pub(super) struct Played {
    pub posts: Vec<Post>,
    /// Rows of each reaction, gate call and draft.
    pub reactions: Vec<Vec<u32>>,
    pub gate_calls: Vec<Vec<u32>>,
    pub drafts: Vec<Vec<u32>>,
}

macro_rules! counts {
    ($($field:ident,)*) => {
        /// What is counted in a room. Rates are taken from the sums over rooms.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub(super) struct Counts {
            $(pub $field: u64,)*
            /// First post minus end of the turn, ms: of direct questions, and of room questions that nobody else answered.
            pub direct_ms: Vec<i64>,
            pub room_ms: Vec<i64>,
        }
        impl Counts {
            /// Adds the numbers of another room, without the latencies.
            pub(super) fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

counts! {
    sends, duplicate, cut_off, undirected, late, room_sends, preempt, butt_in,
    direct, direct_missed, room_questions, orphans, orphans_missed,
    said_wanted, said_unwanted, silent_wanted, silent_unwanted,
    lines, posts, reactions, gate_calls, drafts,
}

impl Counts {
    /// Scores one room. Without any truth only the cost is counted, over everything that was said.
    pub(super) fn of(facts: &Facts, truth: &Truth, played: &Played, any_truth: bool) -> Self {
        let mut counts = Self::default();
        // Cost is counted where the turns are judged, so that it is a cost per line of the part that the rates are about.
        let within = |rows: &Vec<u32>| !any_truth || !truth.judged(rows).is_empty();
        let tally = |all: &[Vec<u32>]| all.iter().filter(|rows| within(rows)).count() as u64;
        counts.lines = facts.heard().filter(|(_, f)| !any_truth || f.annotated).count() as u64;
        counts.reactions = tally(&played.reactions);
        counts.gate_calls = tally(&played.gate_calls);
        counts.drafts = tally(&played.drafts);
        counts.posts = played.posts.iter().filter(|p| within(&p.rows)).count() as u64;
        let mut order: Vec<(&Post, Vec<&str>)> = played.posts.iter().map(|p| (p, p.rows.iter().map(|r| facts.id(*r)).collect())).collect();
        order.sort_by(|a, b| (a.0.ts, &a.1).cmp(&(b.0.ts, &b.1)));
        let mut said: Vec<Vec<i64>> = vec![Vec::new(); truth.turns.len()];
        for (post, _) in order {
            counts.post(truth, post, &mut said);
        }
        for (turn, times) in truth.turns.iter().zip(&said) {
            counts.turn(turn, times);
        }
        counts
    }

    fn post(&mut self, truth: &Truth, post: &Post, said: &mut [Vec<i64>]) {
        let numbers = truth.judged(&post.rows);
        if numbers.is_empty() {
            return;
        }
        let turns: Vec<_> = numbers.iter().filter_map(|n| truth.turns.get(*n)).collect();
        self.sends += 1;
        self.duplicate += u64::from(numbers.iter().all(|n| said.get(*n).is_some_and(|s| !s.is_empty())));
        self.cut_off += u64::from(turns.iter().any(|t| t.t0 <= post.ts && post.ts < t.t1));
        if !turns.iter().any(|t| t.to_me()) {
            self.undirected += 1;
            self.late += u64::from(turns.iter().any(|t| t.other.is_some_and(|o| o < post.ts)));
            let asked: Vec<_> = turns.iter().filter(|t| t.aim == Aim::Room).collect();
            if asked.is_empty() {
                self.butt_in += 1;
            } else {
                self.room_sends += 1;
                let people_would = |t: &Turn| t.other.is_some_and(|o| post.ts <= o && o <= t.t1 + HORIZON_MS);
                self.preempt += u64::from(asked.iter().any(|t| people_would(t)));
            }
        }
        for n in numbers {
            if let Some(times) = said.get_mut(n) {
                times.push(post.ts);
            }
        }
    }

    fn turn(&mut self, turn: &Turn, times: &[i64]) {
        if !turn.judged {
            return;
        }
        match (!times.is_empty(), turn.mine.is_some()) {
            (true, true) => self.said_wanted += 1,
            (true, false) => self.said_unwanted += 1,
            (false, true) => self.silent_wanted += 1,
            (false, false) => self.silent_unwanted += 1,
        }
        let first = times.iter().filter(|t| **t <= turn.t1 + HORIZON_MS).min().map(|t| t - turn.t1);
        match turn.aim {
            Aim::Persona { question: true } => {
                self.direct += 1;
                self.direct_missed += u64::from(first.is_none());
                self.direct_ms.extend(first);
            }
            Aim::Room => {
                self.room_questions += 1;
                if turn.unanswered_for(HORIZON_MS) {
                    self.orphans += 1;
                    self.orphans_missed += u64::from(first.is_none());
                    self.room_ms.extend(first);
                }
            }
            Aim::Persona { question: false } | Aim::Others => {}
        }
    }
}

/// The rates that come with an interval, in the order of the report. Fractions from 0 to 1; none where nothing was to be judged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rates(pub [Option<f64>; 7]);

/// Their names.
pub(super) const RATES: [&str; 7] =
    ["duplicate_rate", "already_answered_rate", "preempt_rate", "missed_direct_rate", "missed_orphan_rate", "cut_off_rate", "butt_in_rate"];

fn share(of: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| of as f64 / all as f64)
}

impl Rates {
    pub(super) fn of(c: &Counts) -> Self {
        Self([
            share(c.duplicate, c.sends),
            share(c.late, c.undirected),
            share(c.preempt, c.room_sends),
            share(c.direct_missed, c.direct),
            share(c.orphans_missed, c.orphans),
            share(c.cut_off, c.sends),
            share(c.butt_in, c.sends),
        ])
    }
}

/// How well speaking and silence fit what the person did, per turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Fit {
    pub balanced_accuracy: Option<f64>,
    pub macro_f1: Option<f64>,
    /// Turns that the person replied to and the policy did not.
    pub mir: Option<f64>,
    /// Turns that the policy spoke to and the person did not.
    pub fir: Option<f64>,
}

impl Fit {
    /// None where the person replied to nothing, or to everything.
    pub(super) fn of(c: &Counts) -> Self {
        let (wanted, unwanted) = (c.said_wanted + c.silent_wanted, c.said_unwanted + c.silent_unwanted);
        let (Some(speak), Some(hush)) = (share(c.said_wanted, wanted), share(c.silent_unwanted, unwanted)) else {
            return Self::default();
        };
        let f1 = |precision: f64, recall: f64| if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 };
        let said = f1(share(c.said_wanted, c.said_wanted + c.said_unwanted).unwrap_or(0.0), speak);
        let silent = f1(share(c.silent_unwanted, c.silent_unwanted + c.silent_wanted).unwrap_or(0.0), hush);
        Self {
            balanced_accuracy: Some(f64::midpoint(speak, hush)),
            macro_f1: Some(f64::midpoint(said, silent)),
            mir: Some(1.0 - speak),
            fir: Some(1.0 - hush),
        }
    }
}

/// The value below which this share of the values lies: the one at place `share * n`, as the reference scorer takes it.
pub(super) fn percentile(values: &mut [i64], share: f64) -> Option<i64> {
    values.sort_unstable();
    let at = (share * values.len() as f64) as usize;
    values.get(at.min(values.len().checked_sub(1)?)).copied()
}

#[cfg(test)]
mod tests;
