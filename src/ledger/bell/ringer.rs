//! Rings. One task and one connection a process, so that no writer waits for a bell.

use std::{collections::BTreeSet, time::Duration};

use sqlx::postgres::{PgPool, PgPoolOptions};
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    super::{Ledger, LedgerError},
    Hub, channel,
};

/// Rings that wait; more are dropped, since the hub's own look at the heads covers them.
const WAITING: usize = 1_024;
/// Rings that come within this time after one go out together: a burst of writes is one notification a room.
const TOGETHER: Duration = Duration::from_millis(2);
/// A ring that takes longer is dropped.
const PATIENCE: Duration = Duration::from_secs(2);

/// Rings the bells of streams. A clone rings through the same task.
#[derive(Clone, Debug)]
pub struct Ringer {
    hub: Hub,
    waiting: mpsc::Sender<i64>,
}

impl Ringer {
    /// Starts the task that notifies other processes, by a login that may enter the bell's database; `hub` is the one of this process. It ends with `stop`
    /// or with the last clone.
    pub fn start(ledger: &Ledger, hub: &Hub, tracker: &TaskTracker, stop: CancellationToken) -> Result<Self, LedgerError> {
        // A ring need not survive a crash, so its commit does not wait for the disk.
        let options = ledger.bell_options("parlor-ringer")?.options([("synchronous_commit", "off")]);
        let own = hub.clone();
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(PATIENCE)
            .after_connect(move |conn, _| {
                let hub = own.clone();
                Box::pin(async move {
                    hub.do_not_hear(sqlx::query_scalar("select pg_catalog.pg_backend_pid()").fetch_one(conn).await?);
                    Ok(())
                })
            })
            .connect_lazy_with(options);
        let (waiting, rings) = mpsc::channel(WAITING);
        tracker.spawn(run(pool, rings, stop));
        Ok(Self { hub: hub.clone(), waiting })
    }

    /// Rings the bell of a stream, after a commit. Never waits and never fails: a lost ring is a delay of a few seconds.
    pub fn ring(&self, stream: i64) {
        self.hub.ring(stream);
        let _ = self.waiting.try_send(stream);
    }
}

async fn run(pool: PgPool, mut rings: mpsc::Receiver<i64>, stop: CancellationToken) {
    loop {
        let first = tokio::select! {
            () = stop.cancelled() => break,
            first = rings.recv() => first,
        };
        let Some(first) = first else { break };
        let mut streams = BTreeSet::from([first]);
        while let Ok(next) = rings.try_recv() {
            streams.insert(next);
        }
        let channels: Vec<String> = streams.into_iter().map(channel).collect();
        let ring = sqlx::query("select pg_catalog.pg_notify(c, '') from unnest($1) c").bind(channels).execute(&pool);
        match tokio::time::timeout(PATIENCE, ring).await {
            Ok(Ok(_)) => {}
            Ok(Err(e)) => tracing::debug!(error = %LedgerError::from(e), "a ring was lost; the hub will find out by itself"),
            Err(_) => tracing::debug!("a ring took too long and was given up; the hub will find out by itself"),
        }
        tokio::time::sleep(TOGETHER).await;
    }
    pool.close().await;
}
