//! Hears. One connection listens for all rooms of a process, and a slow look at the heads makes up for lost rings.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI32, Ordering},
    },
    time::Duration,
};

use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, MissedTickBehavior},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    super::{Ledger, LedgerError, pool::bounded},
    channel,
};

/// Wait before the first new try after the listening connection was lost; it doubles up to [`RETRY_MOST`].
const RETRY_LEAST: Duration = Duration::from_millis(100);
/// The longest such wait.
const RETRY_MOST: Duration = Duration::from_secs(5);
/// How long a try may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// How the hub works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HubOptions {
    /// How often it looks at the heads by itself: the most that a lost ring costs.
    pub poll: Duration,
}

impl Default for HubOptions {
    fn default() -> Self {
        Self { poll: Duration::from_secs(3) }
    }
}

/// Wakes those who wait for a stream. A clone is the same hub.
#[derive(Clone, Debug)]
pub struct Hub {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// One entry a stream with a subscriber: at most the rooms of the process.
    bells: Mutex<BTreeMap<i64, watch::Sender<u64>>>,
    /// A stream was added.
    changed: Notify,
    /// The backend whose notifications are of this process's own ringer, which has rung here already; 0 for none.
    own: AtomicI32,
}

/// The bell of one stream.
#[derive(Clone, Debug)]
pub struct Bell {
    rings: watch::Receiver<u64>,
}

impl Bell {
    /// Waits until the bell has rung since the last call; at once if it did. When the hub has ended it waits for ever, so wait
    /// for the process's stop beside it.
    pub async fn rung(&mut self) {
        if self.rings.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Hub {
    /// Starts to listen by a login that may look at the heads; ends with `stop`. A lost database is waited for.
    pub fn start(ledger: &Ledger, options: HubOptions, tracker: &TaskTracker, stop: CancellationToken) -> Result<Self, LedgerError> {
        let connect = ledger.bell_options("parlor-hub")?;
        // Lazily made, so that a hub can start before its database; one connection, which the listener keeps.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .max_lifetime(None)
            .idle_timeout(None)
            .acquire_timeout(PATIENCE)
            .connect_lazy_with(connect);
        let shared = Arc::new(Shared::default());
        let ears = Arc::clone(&shared);
        let ended = stop.clone();
        tracker.spawn(async move {
            tokio::select! {
                () = ended.cancelled() => {}
                () = listen(&ears, &pool) => {}
            }
            pool.close().await;
        });
        let (eyes, ledger) = (Arc::clone(&shared), ledger.clone());
        tracker.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = look(&eyes, &ledger, options.poll) => {}
            }
        });
        Ok(Self { shared })
    }

    /// The bell of a stream. It rings once when the hub has begun to listen for it, so that nothing before that is missed.
    #[must_use]
    pub fn subscribe(&self, stream: i64) -> Bell {
        let mut bells = self.shared.bells.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = bells.entry(stream).or_insert_with(|| watch::channel(0).0);
        let mut rings = sender.subscribe();
        rings.mark_unchanged();
        drop(bells);
        self.shared.changed.notify_one();
        Bell { rings }
    }

    /// Rings for the subscribers of this process.
    pub(super) fn ring(&self, stream: i64) {
        self.shared.ring(stream);
    }

    /// Notifications of this backend are no news here from now on.
    pub(super) fn do_not_hear(&self, backend: i32) {
        self.shared.own.store(backend, Ordering::Relaxed);
    }
}

impl Shared {
    fn streams(&self) -> Vec<i64> {
        let mut bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        bells.retain(|_, sender| sender.receiver_count() > 0);
        bells.keys().copied().collect()
    }

    fn ring(&self, stream: i64) {
        let bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = bells.get(&stream) {
            sender.send_modify(|n| *n = n.wrapping_add(1));
        }
    }
}

async fn listen(shared: &Shared, pool: &sqlx::PgPool) {
    let mut wait = RETRY_LEAST;
    loop {
        match PgListener::connect_with(pool).await {
            Ok(listener) => {
                wait = RETRY_LEAST;
                hear(shared, listener).await;
            }
            Err(e) => tracing::debug!(error = %LedgerError::from(e), "the bell cannot be heard now; heads are still looked at"),
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(RETRY_MOST);
    }
}

/// Listens until the connection is lost.
async fn hear(shared: &Shared, mut listener: PgListener) {
    listener.eager_reconnect(false);
    let mut heard = BTreeSet::new();
    loop {
        let wanted: BTreeSet<i64> = shared.streams().into_iter().collect();
        for gone in heard.difference(&wanted) {
            if listener.unlisten(&channel(*gone)).await.is_err() {
                return;
            }
        }
        for new in wanted.difference(&heard) {
            if listener.listen(&channel(*new)).await.is_err() {
                return;
            }
            shared.ring(*new);
        }
        heard = wanted;
        tokio::select! {
            () = shared.changed.notified() => {}
            note = listener.try_recv() => match note {
                Ok(Some(note)) => {
                    if i32::try_from(note.process_id()) == Ok(shared.own.load(Ordering::Relaxed)) {
                        continue;
                    }
                    if let Some(stream) = note.channel().strip_prefix('s').and_then(|n| n.parse().ok()) {
                        shared.ring(stream);
                    }
                }
                Ok(None) | Err(_) => return,
            },
        }
    }
}

/// Looks at the heads, and rings where something moved since the last look.
async fn look(shared: &Shared, ledger: &Ledger, every: Duration) {
    let mut seen: BTreeMap<i64, i64> = BTreeMap::new();
    let mut beat = tokio::time::interval_at(Instant::now() + every, every);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        let streams = shared.streams();
        if streams.is_empty() {
            continue;
        }
        let query = sqlx::query_as("select stream, mark from api.heads($1)").bind(streams);
        let marks: Vec<(i64, i64)> = match bounded(query.fetch_all(ledger.pool())).await {
            Ok(marks) => marks,
            Err(e) => {
                tracing::debug!(error = %e, "the heads of the streams cannot be read now");
                continue;
            }
        };
        for (stream, mark) in &marks {
            if seen.get(stream) != Some(mark) {
                shared.ring(*stream);
            }
        }
        seen = marks.into_iter().collect();
    }
}
