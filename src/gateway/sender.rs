//! The mouth of the console surface: posts what a room has put into its outbox, row by row, in the outbox's order.
//!
//! The platform of this surface is the ledger itself, so a row is claimed, posted and done by one commit: wherever the process
//! ends it is posted once, and there is no claim in flight that a mute could come too late for.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{ConsoleRooms, CrashHook, CrashPoint};
use crate::ledger::{Bell, Hub, LedgerError, Mouth, Ringer};

/// First wait after the database failed; it doubles up to [`RETRY_MOST`].
const RETRY_LEAST: Duration = Duration::from_millis(50);
/// The longest wait between tries: a room talks again this soon after the database is back.
const RETRY_MOST: Duration = Duration::from_secs(2);

/// How long a stop waits for the row under way.
const LAST_ROW: Duration = Duration::from_secs(2);

/// How a sender works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderOptions {
    /// How often it looks by itself, for a lost bell.
    pub poll: Duration,
}

impl Default for SenderOptions {
    fn default() -> Self {
        Self { poll: Duration::from_secs(5) }
    }
}

/// Posts for the rooms of the console surface.
#[derive(Clone)]
pub struct Sender {
    mouth: Mouth,
    ringer: Ringer,
    rooms: ConsoleRooms,
    wall: fn() -> i64,
    options: SenderOptions,
    crash: Option<CrashHook>,
}

/// The sender was ended at a crash point.
struct Crashed;

/// Why a room's outbox is left alone until the next look.
enum Drained {
    Empty,
    /// The database failed; tries go on.
    Failed,
}

impl Sender {
    /// A sender; `wall` is the time of this platform in ms since the epoch.
    pub fn new(mouth: Mouth, ringer: Ringer, rooms: ConsoleRooms, wall: fn() -> i64, options: SenderOptions) -> Self {
        Self { mouth, ringer, rooms, wall, options, crash: None }
    }

    /// Asks `hook` at each crash point whether to end there as if killed.
    #[must_use]
    pub fn with_crash_hook(mut self, hook: CrashHook) -> Self {
        self.crash = Some(hook);
        self
    }

    /// Posts for one room until `stop`; a row under way is finished first, so that whoever waits for it is told. A room is served
    /// by one task, so that a slow one delays no other; two tasks for one room, or two processes, are kept apart by the ledger.
    pub fn serve(&self, room: &str, stream: i64, hub: &Hub, tracker: &TaskTracker, stop: CancellationToken) {
        let (sender, room, bell) = (self.clone(), room.to_owned(), hub.subscribe(stream));
        tracker.spawn(async move {
            let too_late = async {
                stop.cancelled().await;
                sleep(LAST_ROW).await;
            };
            tokio::select! {
                () = too_late => {}
                end = sender.run(&room, stream, bell, &stop) => if let Err(Crashed) = end {
                    tracing::warn!(room, "the sender ended at a crash point");
                },
            }
        });
    }

    async fn run(&self, room: &str, stream: i64, mut bell: Bell, stop: &CancellationToken) -> Result<(), Crashed> {
        let mut retry = RETRY_LEAST;
        while !stop.is_cancelled() {
            match self.drain(room, stream, stop).await? {
                Drained::Empty => {
                    retry = RETRY_LEAST;
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = bell.rung() => {}
                        () = sleep(self.options.poll) => {}
                    }
                }
                Drained::Failed => {
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = sleep(retry) => {}
                    }
                    retry = (retry * 2).min(RETRY_MOST);
                }
            }
        }
        Ok(())
    }

    /// Posts rows until there is none. One whose post fails stays the oldest and is tried again until it expires.
    async fn drain(&self, room: &str, stream: i64, stop: &CancellationToken) -> Result<Drained, Crashed> {
        while !stop.is_cancelled() {
            self.reach(CrashPoint::BeforePost)?;
            match self.mouth.speak(stream, &self.rooms.display_names(room), (self.wall)()).await {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(Drained::Empty),
                Err(error) => {
                    log(room, &error);
                    return Ok(Drained::Failed);
                }
            }
            self.reach(CrashPoint::Posted)?;
            self.ringer.ring(stream);
        }
        Ok(Drained::Empty)
    }

    fn reach(&self, point: CrashPoint) -> Result<(), Crashed> {
        match &self.crash {
            Some(hook) if hook(point) => Err(Crashed),
            _ => Ok(()),
        }
    }
}

fn log(room: &str, error: &LedgerError) {
    if error.is_transient() {
        tracing::debug!(room, %error, "rows of the outbox cannot be posted now");
    } else {
        tracing::error!(room, %error, "a row of the outbox cannot be posted; it is tried again until it expires");
    }
}
