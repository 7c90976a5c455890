//! The floor as a person sees it: state, what it waits for, until when, and what is owed.

use serde::{Deserialize, Serialize};

use crate::{EffectId, Line, Millis, ObligationId};

/// What is shown of a room machine. It holds ids and times, no text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Time of the view, ms.
    pub now: Millis,
    /// State of the floor.
    pub phase: Phase,
    /// When it began, ms.
    pub since: Millis,
    /// When it ends by itself, if it does, ms.
    pub until: Option<Millis>,
    /// What it waits for.
    pub waiting_for: WaitingFor,
    /// Who has the floor.
    pub persona: Option<String>,
    /// The draft or row under way.
    pub effect: Option<EffectId>,
    /// What is open, oldest first.
    pub obligations: Vec<ObligationView>,
    /// Whether the room is muted.
    pub muted: bool,
    /// Whether the room is in Shadow.
    pub shadow: bool,
    /// The wait of a room question as of now, ms.
    pub room_wait_ms: Millis,
    /// Last item seen.
    pub cursor: u64,
}

/// State of the floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing is owed.
    Idle,
    /// Something is owed or being listened to; no draft yet.
    Waiting,
    /// A draft is being written.
    Drafting,
    /// A draft is ready and waits for the end of the turn.
    Validating,
    /// A row is in the outbox.
    Sending,
    /// The pause after a post.
    Cooldown,
}

/// What the floor waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    /// Nothing.
    Nothing,
    /// The asker has to be quiet for a moment before a draft begins.
    AskerQuiet,
    /// The asker's turn has to look over before the answer is posted.
    TurnEnd,
    /// Somebody is typing.
    Typing,
    /// People have their time to answer first.
    People,
    /// The room has to be quiet.
    Lull,
    /// The burst may still grow before it is judged.
    Burst,
    /// The model.
    Model,
    /// The platform.
    Platform,
    /// The pause after a post.
    Cooldown,
    /// The next try after a failure.
    Retry,
    /// The room is muted or stopped.
    Unmute,
}

/// Kind of an obligation (floor.md 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObligationKind {
    /// A person asked the persona.
    Direct,
    /// A person goes on with the persona.
    FollowUp,
    /// A person asked the room.
    RoomQuestion,
    /// Nothing is owed; a remark may fit.
    Opening,
    /// A submission.
    Task,
}

/// Where an obligation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObligationState {
    /// Waits.
    Open,
    /// A draft covers it.
    Drafting,
    /// A row that settles it is out.
    Sending,
    /// The fate of its row is unknown.
    Held,
}

/// An open obligation as shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObligationView {
    /// Its id.
    pub id: ObligationId,
    /// Its kind.
    pub kind: ObligationKind,
    /// Where it stands.
    pub state: ObligationState,
    /// Persona that owes it, or whose turn it is.
    pub persona: Option<String>,
    /// Platform id of who asked.
    pub asker: String,
    /// The lines it is about.
    pub lines: Vec<Line>,
    /// When drafting may begin, ms.
    pub ripe_at: Millis,
    /// Drafts written so far.
    pub drafts: u8,
    /// Whether a person's line seems to have answered it.
    pub answered: bool,
}
