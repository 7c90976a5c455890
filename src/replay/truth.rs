//! The turns that people took, as their annotations tell: what the metrics are over.

use std::collections::BTreeMap;

use parlor_core::Place;

use super::facts::Facts;

/// Inside this time an obligation must be met, ms (docs/replay.md).
pub(super) const HORIZON_MS: i64 = 300_000;

/// Lines further apart than this are two turns, ms.
const TURN_GAP_MS: i64 = 180_000;

/// Lines of one author chained by own links, cut when anybody answers.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// Rows, oldest first.
    pub rows: Vec<u32>,
    pub author: u32,
    /// Time of the first and of the last line.
    pub t0: i64,
    pub t1: i64,
    pub aim: Aim,
    /// Whether it counts: not the persona's own, and its horizon is inside the room.
    pub judged: bool,
    /// When the persona really replied.
    pub mine: Option<i64>,
    /// When somebody else answered first.
    pub other: Option<i64>,
    answered: bool,
}

/// Whom a turn is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// The persona: named at the start, or named or linked with nobody named at the start.
    Persona {
        /// It is a question.
        question: bool,
    },
    /// Whoever is there: a request that opens a topic and names nobody.
    Room,
    Others,
}

impl Turn {
    pub(super) fn to_me(&self) -> bool {
        matches!(self.aim, Aim::Persona { .. })
    }

    /// When nobody else answered until this time after the turn.
    pub(super) fn unanswered_for(&self, ms: i64) -> bool {
        self.other.is_none_or(|o| o > self.t1 + ms)
    }
}

/// The turns of a room.
pub(super) struct Truth {
    pub turns: Vec<Turn>,
    /// Turn by row.
    of: Vec<Option<u32>>,
}

impl Truth {
    pub(super) fn of(facts: &Facts) -> Self {
        let mut truth = Self { turns: Vec::new(), of: vec![None; facts.len()] };
        for at in 0..facts.len() {
            truth.join(facts, at);
        }
        let mut replies_to: Vec<Vec<u32>> = vec![Vec::new(); facts.len()];
        for at in 0..facts.len() {
            for parent in facts.replies(at) {
                if let Some(list) = replies_to.get_mut(parent as usize) {
                    list.push(at as u32);
                }
            }
        }
        let end = facts.rows().last().map_or(0, |f| f.ts);
        for turn in &mut truth.turns {
            describe(turn, facts, &replies_to, end);
        }
        truth
    }

    /// The turn of a row.
    pub(super) fn turn(&self, row: u32) -> Option<usize> {
        self.of.get(row as usize).copied().flatten().map(|t| t as usize)
    }

    /// The judged turns that some rows belong to, in order, each once.
    pub(super) fn judged(&self, rows: &[u32]) -> Vec<usize> {
        let mut turns: Vec<usize> = rows.iter().filter_map(|r| self.turn(*r)).collect();
        turns.sort_unstable();
        turns.dedup();
        turns.retain(|t| self.turns.get(*t).is_some_and(|t| t.judged));
        turns
    }

    /// The first line of somebody else, no bot, that answers the turns of some rows.
    pub(super) fn first_answer(&self, facts: &Facts, rows: &[u32]) -> Option<u32> {
        let turns: Vec<&Turn> = rows.iter().filter_map(|r| self.turns.get(self.turn(*r)?)).collect();
        let answers = |at: usize| facts.replies(at).any(|p| turns.iter().any(|t| t.rows.contains(&p)));
        let by_other = |author: u32| turns.iter().all(|t| t.author != author);
        let from = turns.iter().filter_map(|t| t.rows.first()).min().copied()?;
        let mut later = facts.rows().iter().enumerate().skip(from as usize);
        later.find(|(at, f)| !f.bot && !f.deleted && by_other(f.author) && answers(*at)).map(|(at, _)| at as u32)
    }

    fn join(&mut self, facts: &Facts, at: usize) {
        let Some(fact) = facts.rows().get(at).filter(|f| f.annotated && !f.bot) else { return };
        let mut own = None;
        for parent in facts.replies(at) {
            let Some(turn) = self.turn(parent).and_then(|t| self.turns.get_mut(t)) else { continue };
            if turn.author == fact.author {
                own = self.turn(parent);
            } else {
                turn.answered = true;
            }
        }
        if let Some(number) = own
            && let Some(turn) = self.turns.get_mut(number)
            && !turn.answered
            && fact.ts - turn.t1 <= TURN_GAP_MS
        {
            turn.rows.push(at as u32);
            turn.t1 = fact.ts;
            self.set(at, number);
            return;
        }
        self.set(at, self.turns.len());
        self.turns.push(Turn {
            rows: vec![at as u32],
            author: fact.author,
            t0: fact.ts,
            t1: fact.ts,
            aim: Aim::Others,
            judged: false,
            mine: None,
            other: None,
            answered: false,
        });
    }

    fn set(&mut self, at: usize, turn: usize) {
        if let Some(slot) = self.of.get_mut(at) {
            *slot = Some(turn as u32);
        }
    }
}

fn describe(turn: &mut Turn, facts: &Facts, replies_to: &[Vec<u32>], end: i64) {
    let me = facts.me;
    let (mut root, mut linked, mut question, mut request) = (true, false, false, false);
    let (mut named, mut me_named, mut opens, mut me_opens) = (false, false, false, false);
    // By author: the first reply to the first line that has one of theirs.
    let mut answers: BTreeMap<u32, i64> = BTreeMap::new();
    for row in &turn.rows {
        for parent in facts.replies(*row as usize).filter(|p| turn.rows.binary_search(p).is_err()) {
            root = false;
            linked |= facts.row(parent).is_some_and(|f| f.author == me);
        }
        for (who, pos) in facts.mentions(*row as usize) {
            named = true;
            me_named |= *who == me;
            let first = matches!(pos, Place::Open | Place::Typed);
            opens |= first;
            me_opens |= first && *who == me;
        }
        if let Some(fact) = facts.row(*row) {
            question |= fact.asks.question;
            request |= fact.asks.request;
        }
        for reply in replies_to.get(*row as usize).into_iter().flatten() {
            if let Some(fact) = facts.row(*reply).filter(|f| f.author != turn.author && !f.bot && !f.deleted) {
                answers.entry(fact.author).or_insert(fact.ts);
            }
        }
    }
    let foreign = turn.author != me;
    turn.mine = answers.get(&facts.part).copied();
    turn.other = answers.iter().filter(|(who, _)| **who != facts.part).map(|(_, ts)| *ts).min();
    turn.aim = if me_opens || (!opens && (me_named || linked)) {
        Aim::Persona { question }
    } else if root && !named && request {
        Aim::Room
    } else {
        Aim::Others
    };
    turn.judged = foreign && turn.t1 + HORIZON_MS <= end;
}
