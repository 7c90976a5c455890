//! What a simulation plays in: rooms, each with a store, a process that runs its machine, and a gateway's way to the outbox.
//! The one in memory and the one on Postgres are driven by the same script and checked by the same rules.

use std::rc::Rc;

use parlor_core::{Effect, Input, Item, Millis, Policy, Room, Submission, Tally};

use super::script::Cut;
use crate::ledger::Claimed;

/// What a platform tells the ear.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// What makes it one event.
    pub(super) key: String,
    /// What happened; its place in the stream is given by the store.
    pub(super) item: Item,
    /// For an own item: the number of its row.
    pub(super) row_n: Option<i64>,
}

/// One input that a machine took and that is stored.
#[derive(Clone, Debug)]
pub(super) struct Stepped {
    pub(super) n: u64,
    pub(super) now: Millis,
    pub(super) input: Rc<Input>,
    pub(super) effects: Vec<Effect>,
    /// The obligations after it.
    pub(super) tally: Tally,
    pub(super) open: usize,
}

/// What came of one look of a room's process.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// What was stored.
    pub(super) steps: Vec<Stepped>,
    /// Drafts, gates and ends of drafts that were begun after that.
    pub(super) begun: Vec<Effect>,
    /// Whether a process began with this look.
    pub(super) restarted: bool,
    /// Whether it still runs.
    pub(super) alive: bool,
}

/// A call of a world failed.
#[derive(Debug)]
pub(super) enum WorldError {
    /// The store or the shell did what it must not do.
    Wrong(String),
    /// The world itself cannot go on: no database, a full disk.
    Lost(String),
}

/// Where rooms are made.
pub(super) trait World {
    type Site: Site;
    /// A room that nothing has happened in.
    fn site(&mut self, place: usize, policy: &Policy) -> Result<Self::Site, WorldError>;
    /// Time never goes back.
    fn set_now(&mut self, now: Millis) -> Result<(), WorldError>;
}

/// One room.
pub(super) trait Site {
    /// Stores an event; false if it was known.
    fn hear(&mut self, event: &Event) -> Result<bool, WorldError>;
    fn typing(&mut self, who: &str, until: Millis) -> Result<(), WorldError>;
    /// Gives the revision.
    fn set_policy(&mut self, policy: &Policy, now: Millis) -> Result<u64, WorldError>;
    /// Puts a job that says something now; a known key changes nothing.
    fn put_job(&mut self, submission: &Submission, now: Millis) -> Result<(), WorldError>;
    /// A completion, or a submission of a source that stores nothing. What nobody waits for any more may be lost.
    fn deliver(&mut self, input: Input) -> Result<(), WorldError>;
    /// The process, begun if none runs, reads everything, stores what came of it, and acts.
    fn look(&mut self, now: Millis, cut: Option<Cut>) -> Result<Looked, WorldError>;
    /// The process could not reach the store since that time.
    fn was_deaf(&mut self, since: Millis);
    /// The process ends without a word.
    fn kill(&mut self);
    /// The process ends in order; what it stored at last.
    fn stop(&mut self, now: Millis) -> Result<Looked, WorldError>;
    /// The machine of the process, if one runs.
    fn machine(&self) -> Option<&Room>;
    /// When something besides the machine wants a look.
    fn look_at(&self) -> Option<Millis>;
    /// The machine as a new process would find it.
    fn stored(&mut self) -> Result<Room, WorldError>;
    fn claim(&mut self, now: Millis, lease: Millis) -> Result<Option<Claimed>, WorldError>;
    fn settle(&mut self, row: &Claimed, platform_id: Option<&str>) -> Result<bool, WorldError>;
    fn refuse(&mut self, row: &Claimed, reason: &str) -> Result<bool, WorldError>;
    fn park(&mut self, row: &Claimed) -> Result<bool, WorldError>;
    /// Whether its platform forgets what it has posted; only that of a broken world does.
    fn forgets_nonces(&self) -> bool {
        false
    }
    /// Keys of the rows whose fate a person has to find out: parked, and, in a room where nothing is claimed any more, claimed by
    /// a gateway that is gone.
    fn undecided(&mut self) -> Result<Vec<String>, WorldError>;
}
