//! The controller's sign of life: rooms are silent while the ledger has not heard it lately.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::{
    actor::wall_ms,
    ledger::{Admin, LedgerError},
};

/// How long one sign holds, ms: several tries, and a restart of the database between two of them.
const HOLDS_MS: i64 = 10_000;
const EVERY: Duration = Duration::from_secs(2);

/// Gives one.
pub(super) async fn renew(admin: &Admin) -> Result<(), LedgerError> {
    admin.renew_lease("parlor dev", wall_ms() + HOLDS_MS).await
}

/// Gives one every few seconds until the stop.
pub(super) async fn keep(admin: Admin, stop: CancellationToken) {
    let mut beat = interval(EVERY);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = beat.tick() => {}
        }
        if let Err(error) = renew(&admin).await {
            tracing::debug!(%error, "the ledger does not hear its controller now; rooms are silent until it does");
        }
    }
}
