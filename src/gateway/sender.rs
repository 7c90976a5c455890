//! The mouth of the console surface: takes what a room has put into its outbox, row by row, and posts it.
//!
//! Order is the outbox's: one row of a room is under way at a time, and the next is claimed when it is settled. A row is
//! posted once wherever the process ends, since the surface knows it by its nonce (see `surface`).

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    ConsoleRooms, CrashHook, CrashPoint,
    surface::{self, Shown},
};
use crate::ledger::{Bell, Claimed, Ear, Hub, LedgerError, Mouth, Ringer};

/// First wait after the database failed; it doubles up to [`RETRY_MOST`].
const RETRY_LEAST: Duration = Duration::from_millis(50);
/// The longest wait between tries: a room talks again this soon after the database is back.
const RETRY_MOST: Duration = Duration::from_secs(2);

/// How long a stop waits for the row under way.
const LAST_ROW: Duration = Duration::from_secs(2);

/// How a sender works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderOptions {
    /// For how long a claimed row is its own. After an end in the middle of a row another claim waits this long.
    pub lease: Duration,
    /// How often it looks by itself: for a lost bell, and for rows whose lease is over, which ring none.
    pub poll: Duration,
}

impl Default for SenderOptions {
    fn default() -> Self {
        Self { lease: Duration::from_secs(15), poll: Duration::from_secs(5) }
    }
}

/// Posts for the rooms of the console surface.
#[derive(Clone)]
pub struct Sender {
    ear: Ear,
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
    pub fn new(ear: Ear, mouth: Mouth, ringer: Ringer, rooms: ConsoleRooms, wall: fn() -> i64, options: SenderOptions) -> Self {
        Self { ear, mouth, ringer, rooms, wall, options, crash: None }
    }

    /// Asks `hook` at each crash point whether to end there as if killed.
    #[must_use]
    pub fn with_crash_hook(mut self, hook: CrashHook) -> Self {
        self.crash = Some(hook);
        self
    }

    /// Posts for one room until `stop`; a row under way is finished first, so that nobody has to wait for its lease. A room is served by one task, so that a slow one delays no other; two tasks for one
    /// room, or two processes, are kept apart by the claims.
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
        let mut retry = Retry::default();
        while !stop.is_cancelled() {
            match self.drain(room, stream, stop).await? {
                Drained::Empty => {
                    retry = Retry::default();
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = bell.rung() => {}
                        () = sleep(self.options.poll) => {}
                    }
                }
                Drained::Failed => tokio::select! {
                    () = stop.cancelled() => {}
                    () = retry.wait() => {}
                },
            }
        }
        Ok(())
    }

    /// Posts rows until there is none.
    async fn drain(&self, room: &str, stream: i64, stop: &CancellationToken) -> Result<Drained, Crashed> {
        while !stop.is_cancelled() {
            self.reach(CrashPoint::BeforeClaim)?;
            let until = Instant::now() + self.options.lease;
            let row = match self.mouth.claim(&[stream], self.options.lease).await {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(Drained::Empty),
                Err(error) => {
                    log(room, &error, "rows of the outbox cannot be claimed now");
                    return Ok(Drained::Failed);
                }
            };
            self.reach(CrashPoint::Claimed)?;
            // Tries end with the lease: then the next claim gives the row again, with the same nonce.
            let Ok(done) = timeout_at(until, self.send(room, &row)).await else {
                tracing::warn!(room, row = row.dedupe, "a row could not be posted within its lease; it will be claimed again");
                return Ok(Drained::Failed);
            };
            done?;
        }
        Ok(Drained::Empty)
    }

    /// Posts one row and settles it, trying again for as long as the caller lets it.
    async fn send(&self, room: &str, row: &Claimed) -> Result<(), Crashed> {
        let shown = self.show(room, row).await;
        self.reach(CrashPoint::Posted)?;
        let mut retry = Retry::default();
        while let Err(error) = self.answer(row, &shown).await {
            log(room, &error, "what became of a row cannot be stored now");
            if !error.is_transient() {
                break;
            }
            retry.wait().await;
        }
        self.reach(CrashPoint::Settled)?;
        self.ringer.ring(row.stream);
        Ok(())
    }

    async fn show(&self, room: &str, row: &Claimed) -> Shown {
        let mut retry = Retry::default();
        loop {
            let name = self.rooms.display_name(room, &row.persona);
            match surface::show(&self.ear, row, &name, (self.wall)()).await {
                Ok(shown) => return shown,
                Err(error) => {
                    log(room, &error, "a row of the outbox cannot be posted now");
                    match error {
                        LedgerError::Refused(_) => return Shown::Impossible("not_storable"),
                        error if error.is_transient() => retry.wait().await,
                        // An answer that nobody here understands says nothing about the post.
                        _ => return Shown::Unknown("surface_error"),
                    }
                }
            }
        }
    }

    /// False answers are of no interest: then a newer claim has the row.
    async fn answer(&self, row: &Claimed, shown: &Shown) -> Result<bool, LedgerError> {
        match shown {
            Shown::Posted(id) => self.mouth.settle(row.stream, row.n, row.fence, id.as_deref()).await,
            Shown::Impossible(why) => self.mouth.refuse(row.stream, row.n, row.fence, why).await,
            Shown::Unknown(why) => self.mouth.park(row.stream, row.n, row.fence, why).await,
        }
    }

    fn reach(&self, point: CrashPoint) -> Result<(), Crashed> {
        match &self.crash {
            Some(hook) if hook(point) => Err(Crashed),
            _ => Ok(()),
        }
    }
}

/// Waits between tries, each twice as long as the one before. The tries themselves are bounded by the lease of the row; looks
/// at the outbox go on for as long as the process does.
struct Retry {
    next: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { next: RETRY_LEAST }
    }
}

impl Retry {
    async fn wait(&mut self) {
        sleep(self.next).await;
        self.next = (self.next * 2).min(RETRY_MOST);
    }
}

fn log(room: &str, error: &LedgerError, what: &str) {
    if error.is_transient() {
        tracing::debug!(room, %error, "{what}");
    } else {
        tracing::error!(room, %error, "{what}");
    }
}
