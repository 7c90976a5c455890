//! Keeps the server running: one thread that starts it, waits for it, and starts it again when it falls over. The thread lives
//! as long as the server has to, since the kernel ends the server with the thread that started it.

use std::{
    fs::OpenOptions,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    process::Command,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use super::{ServerError, leftover};

/// How long a stop waits for a clean end, and then again for a hard one.
const STOP_WITHIN: Duration = Duration::from_secs(10);
/// Wait before a server that fell over is started again; it doubles up to [`AGAIN_MOST`].
const AGAIN_LEAST: Duration = Duration::from_millis(250);
/// The longest such wait.
const AGAIN_MOST: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Keeper {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Process id of the server, 0 while there is none.
    pid: AtomicU32,
    /// How often it ended.
    exits: AtomicU32,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stopping: bool,
    ended: bool,
}

impl Keeper {
    pub(super) fn start(mut command: Command, log: PathBuf) -> Result<Self, ServerError> {
        let shared = Arc::new(Shared::default());
        let ours = Arc::clone(&shared);
        let mut open = OpenOptions::new();
        open.create(true).append(true).mode(0o600);
        thread::Builder::new()
            .name("postgres".into())
            .spawn(move || {
                let mut wait = AGAIN_LEAST;
                loop {
                    let began = std::time::Instant::now();
                    let streams = open.open(&log).and_then(|out| Ok((out.try_clone()?, out)));
                    match streams.and_then(|(err, out)| command.stdout(out).stderr(err).spawn()) {
                        Ok(mut child) => {
                            ours.pid.store(child.id(), Ordering::SeqCst);
                            if ours.stopping() {
                                leftover::signal(child.id(), "INT");
                            }
                            let ended = child.wait();
                            ours.pid.store(0, Ordering::SeqCst);
                            if !ours.stopping() {
                                tracing::warn!(status = ?ended.ok(), "the private Postgres server ended; it is started again");
                            }
                        }
                        Err(e) => tracing::warn!(error = %e, "the private Postgres server could not be started; it is tried again"),
                    }
                    ours.exits.fetch_add(1, Ordering::SeqCst);
                    // One that ran for a while is started again quickly.
                    wait = if began.elapsed() > AGAIN_MOST { AGAIN_LEAST } else { wait };
                    if ours.pause(wait) {
                        break;
                    }
                    wait = (wait * 2).min(AGAIN_MOST);
                }
                ours.end();
            })
            .map_err(ServerError::io("start a thread for", "postgres"))?;
        Ok(Self { shared })
    }

    pub(super) fn pid(&self) -> Option<u32> {
        Some(self.shared.pid.load(Ordering::SeqCst)).filter(|p| *p != 0)
    }

    pub(super) fn exits(&self) -> u32 {
        self.shared.exits.load(Ordering::SeqCst)
    }

    /// Ends the server and waits for it.
    pub(super) fn stop(&self) -> Result<(), ServerError> {
        self.shared.lock().stopping = true;
        self.shared.changed.notify_all();
        for signal in ["INT", "QUIT"] {
            if let Some(pid) = self.pid() {
                leftover::signal(pid, signal);
            }
            let state = self.shared.lock();
            let (state, _) =
                self.shared.changed.wait_timeout_while(state, STOP_WITHIN, |s| !s.ended).unwrap_or_else(PoisonError::into_inner);
            if state.ended {
                return Ok(());
            }
        }
        Err(ServerError::Stuck { pid: self.pid().unwrap_or(0), seconds: 2 * STOP_WITHIN.as_secs() })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Err(e) = self.stop() {
            tracing::warn!(error = %e, "the private Postgres server did not end");
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopping(&self) -> bool {
        self.lock().stopping
    }

    /// Waits, unless a stop comes; whether one came.
    fn pause(&self, wait: Duration) -> bool {
        let state = self.lock();
        let (state, _) = self.changed.wait_timeout_while(state, wait, |s| !s.stopping).unwrap_or_else(PoisonError::into_inner);
        state.stopping
    }

    fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }
}
