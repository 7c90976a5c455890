//! One boot of a room: whatever wakes it, it reads everything after its place, steps the machine, stores that, and only then
//! acts. What it had read but not stored when it ends, the next boot reads again.

mod round;

use std::{sync::Arc, time::Duration};

use parlor_core::{Input, Millis, Room};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Means, Report, RoomConfig, RoomState, RoomTexts,
    batch::{Batch, Places},
    clock::RoomClock,
    drafter::Drafter,
    effects::Flights,
    feed::Typists,
    restore,
};
use crate::ledger::{Bell, LedgerError, LedgerItem, Session, StepRecord};

/// Completions that wait for the machine. It has one draft and few gate calls under way, so a full mailbox is a fault and is
/// logged; the completion then waits.
pub(super) const MAILBOX: usize = 64;
/// The machine's clock is looked at again after this long at the latest, in case wall time was set.
const LONGEST_SLEEP_MS: Millis = 60_000;
/// A machine that asks for the past is called again after this: a bound on a busy loop, not a wait that anything needs.
const SHORTEST_SLEEP_MS: Millis = 5;
/// First wait after the database failed; it doubles up to [`RETRY_MOST`].
pub(super) const RETRY_LEAST: Duration = Duration::from_millis(50);
/// The longest wait between tries: the room listens again this soon after the database is back.
pub(super) const RETRY_MOST: Duration = Duration::from_secs(2);
/// Deaf for longer than this, what was said meanwhile is a backlog, answered by one post at most. Shorter than any wait of the
/// floor in a room of several people, longer than a restart of a connection.
const GAP_MS: Millis = 5_000;

/// Why a boot ended.
pub(super) enum End {
    Stopped,
    Fenced,
    Failed(LedgerError),
}

/// See the module.
pub(super) struct Boot {
    config: RoomConfig,
    means: Means,
    session: Session,
    bell: Bell,
    clock: RoomClock,
    machine: Room,
    places: Places,
    batch: Batch,
    typists: Typists,
    flights: Flights,
    mailbox: mpsc::Receiver<Input>,
    /// Completions that no batch holds yet.
    arrived: Vec<Input>,
    /// Items that a rebuilt machine has to be told before it reads on.
    retold: Vec<LedgerItem>,
    /// Whether this boot has read the room yet.
    has_read: bool,
    /// Whether what an earlier boot had under way was taken up.
    has_resumed: bool,
    /// Since when the room cannot be read, ms.
    deaf_since: Option<Millis>,
    /// When something besides the machine wants a look: a mute that ends, a job that is due, ms.
    look_at: Option<Millis>,
    report: Report,
    /// What was stored, kept for who drives this boot by hand.
    journal: Option<Vec<StepRecord>>,
}

impl Boot {
    /// Begins a boot, so that any older one is fenced, and restores the room.
    pub(super) async fn begin(
        config: RoomConfig,
        texts: watch::Receiver<RoomTexts>,
        means: Means,
        tracker: TaskTracker,
        report: Report,
    ) -> Result<Self, LedgerError> {
        let bell = means.hub.subscribe(config.stream);
        let session = Session::begin(&means.ledger, config.stream).await?;
        // Whatever is written from here on carries what was loaded.
        let granted = !session.read_granted().await?.is_empty();
        let restored = session.restore().await?;
        let mut clock = RoomClock::new(means.wall);
        let places = Places { cursor: restored.cursor, outcome_n: restored.outcome_n, policy_revision: restored.policy_revision };
        let (machine, places, retold) = if let Some(found) = restore::room(&config.name, &restored) {
            clock.not_before(found.last_ms);
            (found.room, places, Vec::new())
        } else {
            let rebuilt = restore::rebuilt(&session, restored.cursor, restored.last_n).await?;
            (rebuilt.room, Places { policy_revision: 0, ..places }, rebuilt.retold)
        };
        let (completions, mailbox) = mpsc::channel(MAILBOX);
        let drafter = Drafter::new(config.name.clone(), texts, session.clone(), granted, Arc::clone(&means.models));
        let flights = Flights::new(config.name.clone(), drafter, session.clone(), completions, tracker);
        Ok(Self {
            config,
            means,
            session,
            bell,
            clock,
            machine,
            places,
            batch: Batch::default(),
            typists: Typists::default(),
            flights,
            mailbox,
            arrived: Vec::new(),
            retold,
            has_read: false,
            has_resumed: false,
            deaf_since: None,
            look_at: None,
            report,
            journal: None,
        })
    }

    /// Listens until it is stopped, fenced, or something fails that waiting does not mend.
    pub(super) async fn run(mut self, stop: &CancellationToken) -> End {
        let mut retry = RETRY_LEAST;
        loop {
            let done = tokio::select! {
                () = stop.cancelled() => return self.rest().await,
                    done = self.look() => done,
            };
            match done {
                Ok(()) => {
                    retry = RETRY_LEAST;
                    self.report.says(RoomState::Running);
                }
                Err(LedgerError::Fenced) => return End::Fenced,
                Err(error) if error.is_transient() => {
                    self.deaf_since.get_or_insert(self.clock.now_ms());
                    tracing::debug!(room = self.config.name, %error, "the room waits for the database");
                    self.report.says(RoomState::Waiting);
                    tokio::select! {
                        () = stop.cancelled() => return End::Stopped,
                        () = sleep(retry) => {}
                    }
                    retry = (retry * 2).min(RETRY_MOST);
                    continue;
                }
                Err(error) => return End::Failed(error),
            }
            let wake = self.wake_at();
            tokio::select! {
                () = stop.cancelled() => return self.rest().await,
                () = self.bell.rung() => {}
                // The flights hold a sender, so there is always one.
                Some(input) = self.mailbox.recv() => self.arrived.push(input),
                () = sleep_until(wake) => {}
            }
        }
    }

    pub(super) async fn look(&mut self) -> Result<(), LedgerError> {
        // A look that was given up midway is under way still.
        self.report.looks.send_modify(|n| *n |= 1);
        let done = self.round().await;
        self.report.looks.send_modify(|n| *n += 1);
        done
    }

    /// When the machine, or something else that is timed, wants the next look.
    fn wake_at(&mut self) -> Instant {
        if !self.arrived.is_empty() {
            return Instant::now();
        }
        let now = self.clock.now_ms();
        let due = self.machine.next_wake().into_iter().chain(self.look_at).min();
        let ms = due.map_or(LONGEST_SLEEP_MS, |due| due.saturating_sub(now).clamp(SHORTEST_SLEEP_MS, LONGEST_SLEEP_MS));
        Instant::now() + Duration::from_millis(u64::try_from(ms).unwrap_or(0))
    }

    /// A clean stop: what is pending is stored, with a snapshot. Without a database the next boot reads it again.
    pub(super) async fn rest(&mut self) -> End {
        let now = self.clock.now_ms();
        let stored = async {
            if self.batch.is_empty() {
                self.batch.step(&mut self.machine, now, Input::Tick, Vec::new(), self.places)?;
            }
            self.batch.close(&self.machine, now, true)?;
            self.store().await
        };
        match stored.await {
            Ok(()) => {}
            Err(LedgerError::Fenced) => return End::Fenced,
            Err(error) => tracing::debug!(room = self.config.name, %error, "the room ended without a snapshot"),
        }
        End::Stopped
    }

    pub(super) fn keep_journal(&mut self) {
        self.journal = Some(Vec::new());
    }

    pub(super) fn take_journal(&mut self) -> Vec<StepRecord> {
        self.journal.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn machine(&self) -> &Room {
        &self.machine
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    pub(super) fn tell(&mut self, input: Input) {
        self.arrived.push(input);
    }

    pub(super) fn has_mail(&self) -> bool {
        !self.arrived.is_empty() || !self.mailbox.is_empty()
    }

    pub(super) fn look_at(&self) -> Option<Millis> {
        self.look_at
    }
}
