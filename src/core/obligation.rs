//! What the room owes: never messages, always obligations. Bounded; each is in exactly one state until it ends.

use serde::{Deserialize, Serialize};

use crate::{Line, Millis, ObligationId, ObligationKind, ObligationState, Submission, What, people::PersonaNo, people::Who};

/// At most this many obligations are open (floor.md 2); a room that owes more is not being answered anyway.
pub(crate) const MAX_OPEN: usize = 64;
/// At most this many remarks are considered at once: one lull takes one remark.
pub(crate) const MAX_OPENINGS: usize = 3;

/// One open obligation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Obligation {
    pub(crate) id: ObligationId,
    pub(crate) kind: ObligationKind,
    pub(crate) state: ObligationState,
    /// Whose it is; none if it belongs to the room and is offered in turn.
    pub(crate) persona: Option<PersonaNo>,
    /// For the room's: how many members have passed.
    pub(crate) turn: u8,
    /// The burst behind it; none for a submission.
    pub(crate) burst: Option<u64>,
    pub(crate) who: Option<Who>,
    /// When drafting may begin.
    pub(crate) ripe: Millis,
    /// When it ends by itself.
    pub(crate) expires: Option<Millis>,
    /// The age of a direct question counts from here.
    pub(crate) age_from: Millis,
    pub(crate) drafts: u8,
    pub(crate) failures: u8,
    /// How often its row came back refused for a reason that may stand.
    pub(crate) refusals: u8,
    /// How often its row came back at all.
    pub(crate) tries: u32,
    /// A person's line that seems to have answered it, and whether a draft has seen that.
    pub(crate) answered: Option<Line>,
    pub(crate) answer_seen: bool,
    /// The answer is a guess that only a drafter can judge.
    pub(crate) unsure: bool,
    /// Part of the backlog after a gap: one decision covers them all.
    pub(crate) backlog: bool,
    pub(crate) submission: Option<Box<Submission>>,
}

impl Obligation {
    pub(crate) fn new(id: ObligationId, kind: ObligationKind, now: Millis) -> Self {
        Self {
            id,
            kind,
            state: ObligationState::Open,
            persona: None,
            turn: 0,
            burst: None,
            who: None,
            ripe: now,
            expires: None,
            age_from: now,
            drafts: 0,
            failures: 0,
            refusals: 0,
            tries: 0,
            answered: None,
            answer_seen: false,
            unsure: false,
            backlog: false,
            submission: None,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state == ObligationState::Open
    }
}

/// How many obligations were opened, and how each ended. Opened is always the sum of the rest and of those still open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Opened so far.
    pub opened: u64,
    /// Met by a post or a reaction of ours.
    pub settled: u64,
    /// A person answered first.
    pub answered: u64,
    /// Taken back by the asker.
    pub withdrawn: u64,
    /// The persona chose silence.
    pub passed: u64,
    /// Declined by a reaction.
    pub declined: u64,
    /// Its time was over.
    pub expired: u64,
    /// Too much was owed.
    pub overflowed: u64,
}

impl Tally {
    /// Counts the end of one.
    pub(crate) fn ended(&mut self, what: What) {
        match what {
            What::Settled => self.settled += 1,
            What::Answered => self.answered += 1,
            What::WithdrawnByAsker => self.withdrawn += 1,
            What::Passed => self.passed += 1,
            What::Declined => self.declined += 1,
            What::Overflowed => self.overflowed += 1,
            _ => self.expired += 1,
        }
    }

    /// All that ended.
    #[must_use]
    pub fn ended_in_all(&self) -> u64 {
        self.settled + self.answered + self.withdrawn + self.passed + self.declined + self.expired + self.overflowed
    }
}
