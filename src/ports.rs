//! What processes ask of each other, in our own words. The broker answers [`Models`], the gateway answers [`Intake`]; the
//! actor and the console only know these traits, so that no sibling imports another.

mod mutes;

use futures::future::BoxFuture;
use parlor_core::{Failure, ObligationId};
use serde::{Deserialize, Serialize};

pub use mutes::{Hush, MUTE_MOST_MS, MUTE_REASON_MOST, MuteError, MuteNow, Muted, Mutes, Silence, Unmuted};

/// Answers model calls. One call is one attempt; tries and waits are the core's.
pub trait Models: Send + Sync + 'static {
    /// Ends in one act or one kind of failure. Dropping the future ends the call.
    fn draft(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelAct, Failure>>;
}

/// A draft call: the persona's own words as instructions, the room as data.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCall {
    /// Room name, for budgets and the audit.
    pub room: String,
    /// Persona resource name.
    pub persona: String,
    /// Display name of the persona.
    pub persona_name: String,
    /// Provider and model.
    pub model: ModelRef,
    /// Identity core, voice, room rules, what acts exist. Stable over the room's life.
    pub system: String,
    /// What grants let the room know of others.
    pub granted: Vec<GrantedLine>,
    /// What was read of the room, oldest first; append-only between calls, so that prompt caches work.
    pub reads: Vec<Read>,
    /// The obligations that an act may settle.
    pub owed: Vec<OwedLine>,
    /// An earlier draft that was overtaken.
    pub start: Option<String>,
}

/// Which model, and how it is called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelRef {
    /// `stub`, `anthropic`, `openai`.
    pub provider: String,
    /// The provider's name of the model.
    pub name: String,
    /// Passed on to the provider, such as `temperature`, `max_tokens`.
    #[serde(default)]
    pub params: serde_json::Map<String, serde_json::Value>,
}

/// A message of another room, which a grant lets this room know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantedLine {
    /// Which grant.
    pub grant: String,
    /// Label of where it was said, such as `dm:owner`.
    pub from: String,
    /// RFC 3339, UTC, whole seconds.
    pub at: String,
    /// Platform id of the author.
    pub author: String,
    /// Display name.
    pub name: String,
    /// The text.
    pub text: String,
}

/// One read of the room: the doorbell line and the items after the cursor as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// Read everything after this.
    pub after: u64,
    /// The items, oldest first.
    pub items: Vec<ReadItem>,
}

/// An item as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadItem {
    /// Place in the stream.
    pub seq: u64,
    /// RFC 3339, UTC, whole seconds.
    pub at: String,
    /// Platform id of the author, or persona resource name.
    pub author: String,
    /// Display name.
    pub name: String,
    /// `message`, `edit`, `delete`, `reaction`, `unreaction`, `system`.
    pub kind: String,
    /// The text.
    pub text: String,
    /// For a reply, edit, delete or reaction: the seq of the line concerned, where known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub of: Option<u64>,
}

/// An obligation as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwedLine {
    /// Short id to repeat in `settles`.
    pub id: ObligationId,
    /// `direct`, `follow_up`, `room_question`, `opening`, `task`.
    pub kind: String,
    /// Display name of the asker.
    pub asker: String,
    /// Seqs of the asker's lines.
    pub lines: Vec<u64>,
    /// Seq of a person's line that seems to have answered it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answered_by: Option<u64>,
}

/// What a model decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAct {
    /// The act.
    pub act: parlor_core::DraftAct,
    /// The obligations it settles, all of them offered.
    pub settles: Vec<ObligationId>,
}

/// Takes lines of people on the console surface into the ledger, as any platform's.
pub trait Intake: Send + Sync + 'static {
    /// Stores one event; the same `client_id` by the same author gives the same answer again.
    fn post(&self, event: Heard) -> BoxFuture<'_, Result<Posted, IntakeError>>;
    /// Shows somebody as typing.
    fn typing(&self, room: &str, author: &str) -> BoxFuture<'_, Result<(), IntakeError>>;
}

/// Something a person did on the console surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Room name.
    pub room: String,
    /// Authenticated id: random visitor id, or `owner`.
    pub author: String,
    /// Display name.
    pub name: String,
    /// Whether the author holds the owner's link.
    pub owner: bool,
    /// Made by the client; the same one twice is one event.
    pub client_id: String,
    /// What was done.
    pub what: HeardKind,
}

/// What a person did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeardKind {
    /// Said something, maybe as a reply to a message.
    Message {
        /// 1 to 4,000 characters.
        text: String,
        /// Platform id.
        reply_to: Option<String>,
    },
    /// Changed their own message.
    Edit {
        /// Platform id.
        of: String,
        /// 1 to 4,000 characters.
        text: String,
    },
    /// Deleted their own message.
    Delete {
        /// Platform id.
        of: String,
    },
    /// Put an emoji on a message, or took it off.
    Reaction {
        /// Platform id.
        of: String,
        /// At most 64 characters.
        emoji: String,
        /// Whether it is put on.
        on: bool,
    },
}

/// Where an event ended up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posted {
    /// Place in the stream.
    pub seq: u64,
    /// Platform id of the message.
    pub platform_id: String,
}

/// An event was not stored.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// No such room, or it is no console room.
    #[error("there is no console room {0:?}")]
    NoRoom(String),
    /// The text is empty or too long, the message is not the author's, or does not exist.
    #[error("{0}")]
    Refused(String),
    /// The database cannot be reached now; the same event may be sent again.
    #[error("the room's database cannot be reached now, nothing was stored; send it again in a moment")]
    Unavailable,
}
