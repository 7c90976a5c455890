//! What a room machine asks for.

use serde::{Deserialize, Serialize};

use crate::{Decision, EffectId, Millis, ObligationId, ObligationKind};

/// One effect, under its id. The shell persists the input first; `Submit`, `Withdraw` and `Record` belong to that transaction,
/// the others run after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// `n.index`.
    pub id: EffectId,
    /// What is wanted.
    pub kind: EffectKind,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EffectKind {
    /// Ask a gate about a burst.
    Gate(GateCall),
    /// Write a draft.
    Draft(Draft),
    /// Stop a draft; its completion will be ignored.
    CancelDraft {
        /// The effect that asked for it.
        draft: EffectId,
    },
    /// Show or end the typing indicator.
    Typing {
        /// Who types.
        persona: String,
        /// Whether it starts (or goes on) or ends.
        on: bool,
    },
    /// Put a row into the outbox.
    Submit(Row),
    /// Take a row back if nobody claimed it yet.
    Withdraw {
        /// Dedupe key of the row.
        row: String,
    },
    /// Store a decision.
    Record(Decision),
}

/// A question to a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateCall {
    /// Persona it is asked for.
    pub persona: String,
    /// The lines of the burst.
    pub lines: Vec<Line>,
}

/// A line of the room: place in the stream and platform id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Place in the stream.
    pub seq: u64,
    /// The platform's id.
    pub platform_id: String,
}

/// A draft that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// Who speaks.
    pub persona: String,
    /// What is owed: at least one.
    pub owed: Vec<Owed>,
    /// The last item that the machine had seen; the drafter reads at least up to it.
    pub cursor: u64,
    /// The text of an earlier draft that was overtaken before it was posted.
    pub start: Option<String>,
}

/// One obligation of a draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owed {
    /// The obligation.
    pub id: ObligationId,
    /// Its kind.
    pub kind: ObligationKind,
    /// Platform id of who asked.
    pub asker: String,
    /// The asker's lines, oldest first.
    pub lines: Vec<Line>,
    /// A person's line that seems to have answered it meanwhile.
    pub answered_by: Option<Line>,
}

/// A row for the outbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Unique key inside the stream: the effect's id, or the key of a submission.
    pub dedupe: String,
    /// Who speaks.
    pub persona: String,
    /// What is done.
    pub kind: RowKind,
    /// The message that it replies to or reacts on.
    pub address: Option<Address>,
    /// The obligations that it settles.
    pub settles: Vec<ObligationId>,
    /// The kind of the first of them.
    pub owed: ObligationKind,
    /// Platform ids of the lines that it settles.
    pub settles_lines: Vec<String>,
    /// Whether nobody asked for it (budget of floor.md 6).
    pub unprompted: bool,
    /// Whether the room is in Shadow: the row is recorded and can never be claimed.
    pub shadow: bool,
    /// After this time it is not posted any more, ms.
    pub expires_at: Millis,
}

/// What a row does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// Post a message.
    Post {
        /// The text.
        text: String,
    },
    /// Put an emoji on the addressed message.
    React {
        /// The emoji.
        emoji: String,
    },
}

/// The message a row is tied to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The platform's id of the message.
    pub platform_id: String,
    /// Whether the post must show as a reply to it (others spoke in between). For a reaction it is always the target.
    pub reply: bool,
}
