//! What the console has to know, in its own words. The ledger's reader implements it; the tests have a double.
//!
//! Everything is read after a place, never "since a time": a page remembers the last item and the last decision that it
//! shows, and asks for what comes after. [`RoomReader::changes`] carries no content, it only says "look".

use futures::future::BoxFuture;
use parlor_core::{Decision, Item, Millis, Policy, View};
use tokio::sync::watch;

/// Reads rooms. Every list comes in ascending order, and is at most `limit` long.
pub trait RoomReader: Send + Sync + 'static {
    /// The clock of the room machines, ms since the Unix epoch: waits are counted down against it.
    fn now(&self) -> Millis;
    /// Who may know of a room; none if there is no such room on the console surface. It is known without the database, so that not
    /// even the time that an answer takes tells of a room.
    fn door(&self, room: &str) -> Option<Door>;
    /// Every room of the console surface, in the order in which they are listed.
    fn rooms(&self) -> BoxFuture<'_, Result<Vec<RoomFacts>, ReadError>>;
    /// One room; none if there is no such room on the console surface.
    fn room<'a>(&'a self, room: &'a str) -> BoxFuture<'a, Result<Option<RoomFacts>, ReadError>>;
    /// The last `limit` lines (messages and system notices, as they were first said) before the item `before`, or of all.
    fn lines<'a>(&'a self, room: &'a str, before: Option<u64>, limit: u32) -> BoxFuture<'a, Result<Vec<Item>, ReadError>>;
    /// The first `limit` items of every kind after the item `after`.
    fn after<'a>(&'a self, room: &'a str, after: u64, limit: u32) -> BoxFuture<'a, Result<Vec<Item>, ReadError>>;
    /// Every item that is or changes one of these messages: what was first said, edits, deletes and reactions.
    fn about<'a>(&'a self, room: &'a str, platform_ids: &'a [String]) -> BoxFuture<'a, Result<Vec<Item>, ReadError>>;
    /// The last `limit` decisions before number `before`, or of all.
    fn decisions<'a>(&'a self, room: &'a str, before: Option<u64>, limit: u32) -> BoxFuture<'a, Result<Vec<Logged>, ReadError>>;
    /// The first `limit` decisions after number `after`.
    fn decisions_after<'a>(&'a self, room: &'a str, after: u64, limit: u32) -> BoxFuture<'a, Result<Vec<Logged>, ReadError>>;
    /// The floor as the room's actor last showed it; none while no actor runs.
    fn floor<'a>(&'a self, room: &'a str) -> BoxFuture<'a, Result<Option<View>, ReadError>>;
    /// Who is typing now, people and personas.
    fn typing<'a>(&'a self, room: &'a str) -> BoxFuture<'a, Result<Vec<Typist>, ReadError>>;
    /// The last display name of each author of the room: authenticated id, name. At most the 512 latest authors.
    fn names<'a>(&'a self, room: &'a str) -> BoxFuture<'a, Result<Vec<(String, String)>, ReadError>>;
    /// Changes whenever anything above may have changed for this room. A closed channel means that the reader polls.
    fn changes(&self, room: &str) -> watch::Receiver<u64>;
}

/// A room as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomFacts {
    /// Resource name: letters, digits and dashes.
    pub name: String,
    /// What the room is about, or why it is muted, in a sentence; may be empty.
    pub topic: String,
    /// Members, mode, mute.
    pub policy: Policy,
}

/// Who may know that a room is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Door {
    /// Whoever comes.
    Everybody,
    /// The one with this authenticated id.
    Only(String),
}

/// A stored decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Its number in the room's stream, from 1, ascending.
    pub n: u64,
    /// When it was taken, ms.
    pub at: Millis,
    /// The decision.
    pub decision: Decision,
}

/// Somebody who is typing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typist {
    /// Authenticated id, or persona resource name.
    pub who: String,
    /// When it is over unless renewed, ms.
    pub until: Millis,
}

/// Nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The database cannot be reached now.
    #[error("the database cannot be reached now; the page catches up when it is back")]
    Unavailable,
    /// What was read makes no sense; the reason has no text of people in it.
    #[error("the ledger could not be read: {0}")]
    Broken(String),
}
