//! What a room machine is told.

use serde::{Deserialize, Serialize};

use crate::{EffectId, Millis, ObligationId, Policy};

/// One input of [`Room::step`](crate::Room::step).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Input {
    /// A ledger item: somebody's line, edit, delete, reaction, or a system notice.
    Item(Item),
    /// An own item that matches a row of the outbox: what we said has been seen in the room.
    Echo(Echo),
    /// Somebody is typing. Losing one is harmless.
    Typing {
        /// Platform id of who types.
        author: String,
    },
    /// The whole policy of the room, in place of the one before.
    Policy(Box<Policy>),
    /// The answer to a [`GateCall`](crate::GateCall).
    Verdict(Verdict),
    /// The drafter's act.
    Act(Act),
    /// A draft ended without an act.
    DraftFailed(DraftFailed),
    /// What became of an outbox row.
    Outbox(OutboxResult),
    /// Something another source wants said.
    Submission(Submission),
    /// The shell did not listen for a while (start, restart, lost database): the items up to the next tick are a backlog.
    Resumed,
    /// Time only.
    Tick,
}

/// Latest time that is believed, ms: the end of the year 9999. Sums of times and waits stay far from the end of the scale then.
pub(crate) const LATEST_MS: Millis = 253_402_300_799_999;

/// Latest `now` that is believed, ms: a century later, so that what waits for something of the year 9999 still comes to its end.
pub(crate) const LATEST_NOW_MS: Millis = LATEST_MS + 100 * 366 * 86_400_000;

/// A probability; what is none is 0.
fn likely(p: f64) -> f64 {
    if p.is_finite() { p.clamp(0.0, 1.0) } else { 0.0 }
}

/// A time within 1970 to 9999.
pub(crate) fn believed(ms: Millis) -> Millis {
    ms.clamp(0, LATEST_MS)
}

impl Input {
    /// Makes times and probabilities such that can be reckoned with, whatever a platform or a clock said.
    pub(crate) fn level(&mut self) {
        match self {
            Self::Item(item) | Self::Echo(Echo { item, .. }) => item.at = believed(item.at),
            Self::Submission(s) => s.expires_at = believed(s.expires_at),
            Self::Policy(policy) => policy.level(),
            Self::Verdict(v) => (v.me, v.room) = (likely(v.me), likely(v.room)),
            Self::Typing { .. } | Self::Act(_) | Self::DraftFailed(_) | Self::Outbox(_) | Self::Resumed | Self::Tick => {}
        }
    }
}

/// A line, or a change of one, as the ledger holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Place in the room's stream, from 1, without gaps.
    pub seq: u64,
    /// The platform's time of the event, ms.
    pub at: Millis,
    /// The platform's id of the message; for an edit, a delete and a reaction, of the message that is changed.
    pub platform_id: String,
    /// Who did it.
    pub author: Author,
    /// The text; for a reaction the emoji; empty for a delete.
    pub text: String,
    /// People and personas that the platform or the archive says are named.
    #[serde(default)]
    pub mentions: Vec<Mention>,
    /// Whether names inside the text are still to be found. False where `mentions` is complete already.
    #[serde(default)]
    pub find_names: bool,
    /// The messages it replies to.
    #[serde(default)]
    pub links: Vec<Link>,
    /// What it is.
    pub kind: ItemKind,
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// Speech.
    Message,
    /// `platform_id` now reads `text`.
    Edit,
    /// `platform_id` is gone.
    Delete,
    /// `author` put the emoji `text` on `platform_id`.
    Reaction,
    /// `author` took the emoji `text` off `platform_id`.
    Unreaction,
    /// A join, pin, boost, thread starter and the like: opens nothing.
    System,
}

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// Authenticated id: of the platform, or the persona's resource name for an own item.
    pub id: String,
    /// Display name, for finding names in text; never authority.
    pub name: String,
    /// What the author is.
    pub kind: AuthorKind,
}

/// What an author is, by authenticated id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorKind {
    /// A person listed as owner of the room.
    Owner,
    /// A person.
    Human,
    /// A foreign bot.
    Bot,
    /// A foreign webhook.
    Webhook,
    /// One of our personas.
    Own,
}

impl AuthorKind {
    /// Owners and other people.
    #[must_use]
    pub fn is_person(self) -> bool {
        match self {
            Self::Owner | Self::Human => true,
            Self::Bot | Self::Webhook | Self::Own => false,
        }
    }
}

/// Somebody named by a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mention {
    /// Platform id of a person, or resource name of a persona.
    pub id: String,
    /// How and where.
    pub pos: Place,
}

/// Where a name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The platform's own mention.
    Typed,
    /// A name that opens the line.
    Open,
    /// A name inside the line.
    In,
}

/// A visible reply link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Platform id of the message that is replied to.
    pub id: String,
    /// Its author, where the platform says so: a persona's resource name for our own. Without it the machine looks among the
    /// lines that it remembers.
    pub author: Option<String>,
}

/// An own post that came back from the platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Echo {
    /// Dedupe key of the outbox row.
    pub row: String,
    /// The item; its author id is the persona's resource name.
    pub item: Item,
}

/// Answer to a gate call: the probability that the burst continues with the persona, and that it asks the room.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The effect that asked.
    pub gate: EffectId,
    /// Probability that the burst is for the persona, 0 to 1.
    pub me: f64,
    /// Probability that the burst asks the room, 0 to 1.
    pub room: f64,
}

/// The drafter's act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// The effect that asked for the draft.
    pub draft: EffectId,
    /// The obligations that it settles; one that is not listed stays open.
    pub settles: Vec<ObligationId>,
    /// What is to be done.
    pub act: DraftAct,
}

/// What a drafter may decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DraftAct {
    /// Say this.
    Reply {
        /// The text.
        text: String,
    },
    /// Put this emoji on the asking line.
    React {
        /// The emoji, at most 64 characters.
        emoji: String,
    },
    /// Say nothing.
    Pass {
        /// Why, for the record; it is never posted.
        reason: String,
    },
}

/// A draft that ended without an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftFailed {
    /// The effect that asked for the draft.
    pub draft: EffectId,
    /// What went wrong.
    pub kind: Failure,
}

/// Why a draft failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The time-out passed; the machine itself decides this.
    Timeout,
    /// Network, rate limit, server error, broken stream.
    Provider,
    /// The model ended with no act, or named an obligation that was not offered.
    NoAct,
    /// The provider or the policy refused.
    Refused,
    /// The budget is used up.
    OverBudget,
    /// The books cannot be reached, so nothing may be spent. It says nothing about the model, and counts as no try.
    NoBooks,
}

/// What became of an outbox row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxResult {
    /// Dedupe key of the row.
    pub row: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of an outbox row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was posted; the platform's id where known. In Shadow: it would have been.
    Settled {
        /// The platform's id of the post.
        platform_id: Option<String>,
    },
    /// It was refused before it was posted.
    Refused {
        /// A short code, such as `muted`.
        reason: String,
    },
    /// It was withdrawn before it was posted.
    Withdrawn,
    /// It was not posted in time.
    Expired,
    /// Nobody knows whether it was posted.
    Parked {
        /// A short code.
        reason: String,
    },
}

/// Something that another source wants said: a due reminder, an announcement, another session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// Dedupe key; the outbox row carries it.
    pub key: String,
    /// The persona that is to say it.
    pub persona: String,
    /// What is to be said.
    pub text: String,
    /// Whether a job or request of a person stands behind it.
    pub prompted: bool,
    /// After this time it is not said any more, ms.
    pub expires_at: Millis,
}
