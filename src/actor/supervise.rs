//! Keeps a room's actor running: a failure or a panic ends that boot only, and another begins after a wait. While none runs the
//! room is silent.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Means, Report, RoomConfig, RoomState, RoomTexts,
    room::{Boot, End, RETRY_LEAST, RETRY_MOST},
};

/// First wait before a new boot; it doubles with each failure in a row.
const AGAIN_LEAST: Duration = Duration::from_millis(250);
/// The longest wait between boots: often enough that a mended cause is noticed, seldom enough to cost nothing.
const AGAIN_MOST: Duration = Duration::from_mins(1);
/// A boot that ran this long begins a new row of failures.
const HEALTHY: Duration = Duration::from_mins(5);

pub(super) async fn run(
    room: RoomConfig,
    texts: watch::Receiver<RoomTexts>,
    means: Means,
    tracker: TaskTracker,
    stop: CancellationToken,
    report: Report,
) {
    let mut failures: u32 = 0;
    loop {
        let begun = Instant::now();
        let boot = boot(room.clone(), texts.clone(), means.clone(), tracker.clone(), &stop, report.clone());
        let end = AssertUnwindSafe(boot).catch_unwind().await;
        let why = match end {
            Ok(End::Stopped) => {
                report.state.send_replace(RoomState::Stopped);
                return;
            }
            Ok(End::Fenced) => {
                tracing::warn!(room = room.name, "a newer boot owns the room; this actor ends");
                report.state.send_replace(RoomState::Fenced);
                return;
            }
            Ok(End::Failed(error)) => error.to_string(),
            // The panic hook has printed where.
            Err(_) => "the room's task panicked".to_owned(),
        };
        failures = if begun.elapsed() > HEALTHY { 1 } else { failures.saturating_add(1) };
        let wait = AGAIN_LEAST.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(AGAIN_MOST);
        tracing::error!(room = room.name, failures, why, wait_ms = wait.as_millis(), "the room's actor failed and begins again");
        report.state.send_replace(RoomState::Failed { failures, why });
        tokio::select! {
            () = stop.cancelled() => {
                report.state.send_replace(RoomState::Stopped);
                return;
            }
            () = sleep(wait) => {}
        }
    }
}

/// One boot, once the database lets it begin.
async fn boot(
    room: RoomConfig,
    texts: watch::Receiver<RoomTexts>,
    means: Means,
    tracker: TaskTracker,
    stop: &CancellationToken,
    report: Report,
) -> End {
    let mut retry = RETRY_LEAST;
    loop {
        let begin = Boot::begin(room.clone(), texts.clone(), means.clone(), tracker.clone(), report.clone());
        let boot = tokio::select! {
            () = stop.cancelled() => return End::Stopped,
            boot = begin => boot,
        };
        match boot {
            Ok(boot) => return boot.run(stop).await,
            Err(error) if error.is_transient() => tracing::debug!(room = room.name, %error, "the room waits for the database to begin"),
            Err(error) => return End::Failed(error),
        }
        report.says(RoomState::Waiting);
        tokio::select! {
            () = stop.cancelled() => return End::Stopped,
            () = sleep(retry) => {}
        }
        retry = (retry * 2).min(RETRY_MOST);
    }
}
