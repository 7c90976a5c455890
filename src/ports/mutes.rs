//! Hushing a room on its owner's word, and why a room is silent.

use futures::future::BoxFuture;
use parlor_core::Millis;
use serde::{Deserialize, Serialize};

/// The longest time for which somebody hushes a room, ms: 28 days, the longest time-out that Discord gives a member. Without a time
/// a mute holds until it is lifted.
pub const MUTE_MOST_MS: Millis = 28 * 86_400_000;
/// The longest reason, in characters, as in a Room's `spec.mute.reason`.
pub const MUTE_REASON_MOST: usize = 500;

/// Hushes rooms and lifts what was hushed so. A mute that a room's document declares is not lifted by it.
pub trait Mutes: Send + Sync + 'static {
    /// Hushes a room at once: after the answer nothing of it leaves, and what waited is refused for good. `by` is an authenticated
    /// id and has to be an owner of the room.
    fn mute<'a>(&'a self, room: &'a str, by: &'a str, reason: &'a str, for_ms: Option<Millis>) -> BoxFuture<'a, Result<Muted, MuteError>>;
    /// Lifts every mute of people. `by` as above.
    fn unmute<'a>(&'a self, room: &'a str, by: &'a str) -> BoxFuture<'a, Result<Unmuted, MuteError>>;
}

/// A room was hushed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Muted {
    /// How many posts and reactions were waiting and are refused.
    pub refused: i64,
    /// How it stands now.
    pub hush: Hush,
}

/// Mutes of people were lifted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmuted {
    /// How many.
    pub lifted: i64,
    /// How it stands now.
    pub hush: Hush,
    /// What mutes the room still, and what to do about that.
    pub stays: Option<String>,
}

/// A room could not be hushed or unhushed.
#[derive(Debug, thiserror::Error)]
pub enum MuteError {
    /// No such room.
    #[error("there is no room {0:?}")]
    NoRoom(String),
    /// Who asks is no owner of the room.
    #[error("only an owner of the room may mute and unmute it")]
    NotOwner,
    /// The database cannot be reached now.
    #[error("the room's database cannot be reached now, so nobody knows whether this was done; ask again in a moment")]
    Unavailable,
    /// Anything else; the reason has no text of people in it.
    #[error("{0}")]
    Failed(String),
}

/// Why a room is silent, if it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hush {
    /// In one word.
    pub why: Option<Silence>,
    /// The mutes that hold now, that of its document first.
    pub mutes: Vec<MuteNow>,
}

/// Why a room is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Silence {
    /// It is muted.
    Muted,
    /// It is stopped.
    Stopped,
    /// No controller was heard of lately.
    NoController,
    /// Nobody has said what it may do.
    NoPolicy,
    /// What it may do is said in words that make no sense here.
    UnreadablePolicy,
}

/// A mute that holds now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MuteNow {
    /// Whether the room's document declares it; else it is a person's.
    pub of_policy: bool,
    /// Authenticated id of the person, or the document's file.
    pub by: Option<String>,
    /// What for; may be empty.
    pub reason: String,
    /// Since when, ms.
    pub since_ms: Option<Millis>,
    /// Until when, ms; none: until it is lifted.
    pub until_ms: Option<Millis>,
}
