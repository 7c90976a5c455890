//! The asynchronous shell around a room's machine: it reads the room, drives `parlor_core::Room`, stores what came of each
//! input, and only then does what the machine asked for.
//!
//! What this module must not do: decide anything that the machine decides, speak to a platform, hold a key, or put message
//! text into a log line. It reads and writes only by a [`Session`](crate::ledger::Session) of its room, and speaks only through
//! the outbox.

mod batch;
mod by_hand;
mod clock;
mod context;
mod drafter;
mod effects;
mod feed;
mod policy;
pub(crate) mod prompt;
mod restore;
mod room;
mod supervise;
pub(crate) mod window;

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use by_hand::ByHand;
pub use clock::wall_ms;

use crate::{
    ledger::{Hub, Ledger, Ringer},
    ports::{ModelRef, Models},
};

/// Which room an actor is the mind of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomConfig {
    /// Room name.
    pub name: String,
    /// Its stream in the ledger.
    pub stream: i64,
}

/// What the models of a room are told besides what was said in it. It may change while the actor runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoomTexts {
    /// Rules of the room.
    pub rules: String,
    /// Personas by resource name.
    pub personas: BTreeMap<String, PersonaText>,
}

/// A persona as its model is told about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PersonaText {
    /// Display name.
    pub name: String,
    /// Who it is.
    pub identity: String,
    /// How it talks.
    pub voice: String,
    /// Which model writes for it.
    pub model: ModelRef,
    /// How much of the room it is shown, in tokens (an estimate that is rather too high).
    pub context_tokens: usize,
}

/// What an actor uses; a clone is the same.
#[derive(Clone)]
pub struct Means {
    /// The room's own login.
    pub ledger: Ledger,
    /// Wakes it.
    pub hub: Hub,
    /// Rung after a commit with outbox rows.
    pub ringer: Ringer,
    /// Write its drafts.
    pub models: Arc<dyn Models>,
    /// The wall clock, ms since the epoch: [`wall_ms`] but for tests.
    pub wall: fn() -> i64,
}

/// How a room's actor is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoomState {
    /// It has not read the room yet.
    Starting,
    /// It listens.
    Running,
    /// The database cannot be used; the room is silent until it can.
    Waiting,
    /// It failed and will be started again.
    Failed {
        /// Failures in a row.
        failures: u32,
        /// What failed, without any text of the room.
        why: String,
    },
    /// A newer boot owns the room; this actor has ended.
    Fenced,
    /// It was stopped.
    Stopped,
}

impl Report {
    /// Tells a state if it is news.
    fn says(&self, state: RoomState) {
        self.state.send_if_modified(|known| {
            let news = *known != state;
            *known = state;
            news
        });
    }
}

/// A room's actor.
#[derive(Debug)]
pub struct RoomHandle {
    stop: CancellationToken,
    state: watch::Receiver<RoomState>,
    looks: watch::Receiver<u64>,
}

/// What an actor tells its handle.
#[derive(Clone)]
struct Report {
    state: watch::Sender<RoomState>,
    looks: watch::Sender<u64>,
}

impl RoomHandle {
    /// How it is doing, now and from now on.
    pub fn state(&self) -> watch::Receiver<RoomState> {
        self.state.clone()
    }

    /// Grows when a look at the room begins and again when it ends, so it is odd while one is under way. One that stands still
    /// for minutes while the state is [`RoomState::Running`] is stuck.
    pub fn looks(&self) -> watch::Receiver<u64> {
        self.looks.clone()
    }

    /// Asks it to take a snapshot and end, and waits until it has.
    pub async fn stop(mut self) {
        self.stop.cancel();
        // An error means that the task is gone, which is what is waited for.
        let _ = self.state.wait_for(|s| matches!(s, RoomState::Stopped | RoomState::Fenced)).await;
    }
}

/// Starts the actor of a room; it ends with `stop`, with its handle's, or when a newer boot takes the room over. A failure or
/// panic ends only this room, which is silent until it is started again by itself.
pub fn spawn(
    room: RoomConfig,
    texts: watch::Receiver<RoomTexts>,
    means: Means,
    tracker: &TaskTracker,
    stop: &CancellationToken,
) -> RoomHandle {
    let stop = stop.child_token();
    let (report_state, state) = watch::channel(RoomState::Starting);
    let (report_looks, looks) = watch::channel(0);
    let report = Report { state: report_state, looks: report_looks };
    tracker.spawn(supervise::run(room, texts, means, tracker.clone(), stop.clone(), report));
    RoomHandle { stop, state, looks }
}
