//! Everything in one process: `parlor dev DIR` runs the rooms of a folder on a private Postgres, with their actors, the broker,
//! the gateway and the console, by the same code as the separate processes.
//!
//! It only starts, joins and stops the parts. It must not decide anything about a room, and it is the only writer of policy rows.

mod error;
mod grants;
mod lease;
mod mutes;
mod reader;
mod rehearsal;
mod rooms;
mod shadow;
mod state;
mod table;

pub mod postgres;

use std::{
    io::{self, Write},
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use secrecy::SecretString;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use error::DevError;
pub use rehearsal::replay;
pub use shadow::{ShadowCommand, ShadowError, ShadowReport, read as read_shadow};
pub use state::StateError;

use crate::{
    actor::wall_ms,
    api::{Change, Follower, Problems, Studio, Watcher},
    broker::{Accounts, Broker, BrokerConfig, RoomBooks},
    console::{self, Console, Keys, OwnerLink},
    gateway::{ConsoleIntake, ConsoleRooms, Sender, SenderOptions},
    ledger::{Hub, HubOptions, Logins, Passwords, Ringer},
    telemetry::Metrics,
};
use grants::Grants;
use mutes::DevMutes;
use postgres::{PrivateOptions, PrivateServer};
use reader::LedgerRooms;
use rooms::{Parts, Rooms};
use state::State;
use table::Table;

/// How soon something that could not be written is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// How long a stop may take before what is left is dropped; every part stores what it has to store before it acts.
const STOP: Duration = Duration::from_secs(15);

/// What `parlor dev` is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// The studio.
    pub dir: PathBuf,
    /// Where the private server and the keys are kept.
    pub state: PathBuf,
    /// A Postgres of one's own instead of the private one.
    pub database: Option<SecretString>,
    /// Address of the console.
    pub listen: SocketAddr,
}

/// Runs until a signal to stop, or until a part of it fails for good.
pub async fn run(options: Options) -> Result<(), DevError> {
    let stop = CancellationToken::new();
    let signals = TaskTracker::new();
    stop_on_signals(&signals, stop.clone())?;
    let started = tokio::select! {
        started = Dev::start(options) => started?,
        () = stop.cancelled() => return Ok(()),
    };
    started.announce();
    started.run(stop).await
}

/// Everything that runs.
struct Dev {
    rooms: Rooms,
    grants: Grants,
    follower: Follower,
    watcher: Watcher,
    problems: Problems,
    console: tokio::task::JoinHandle<Result<(), console::ConsoleError>>,
    console_stop: CancellationToken,
    address: SocketAddr,
    owner: String,
    broker: Arc<Broker>,
    logins: Logins,
    tracker: TaskTracker,
    stop: CancellationToken,
    state: State,
    server: Option<PrivateServer>,
}

impl Dev {
    async fn start(options: Options) -> Result<Self, DevError> {
        let (watcher, studio) = Watcher::open(&options.dir);
        if !studio.problems.is_empty() {
            return Err(DevError::Studio(studio.problems));
        }
        let broker_config = BrokerConfig::from_env()?;
        let listener = listen(options.listen).await?;
        let state = State::open(&options.state)?;
        let server = match &options.database {
            Some(_) => None,
            None => Some(PrivateServer::start(state.folder(), PrivateOptions::default()).await?),
        };
        let url = match (&options.database, &server) {
            (Some(url), _) => url.clone(),
            (None, Some(server)) => server.url(),
            (None, None) => SecretString::default(),
        };
        let passwords = Passwords::of(&url)?;
        crate::ledger::migrate(&url, Some(&passwords)).await?;
        let logins = Logins::connect(&url, &passwords, "parlor-dev")?;
        logins.controller.check_schema().await?;

        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let hub = Hub::start(&logins.broker, HubOptions::default(), &tracker, stop.clone())?;
        let ringer = Ringer::start(&logins.broker, &hub, &tracker, stop.clone())?;
        lease::renew(&logins.admin()).await?;
        tracker.spawn(lease::keep(logins.admin(), stop.clone()));
        let books = Arc::new(RoomBooks::new(logins.books(), wall_ms));
        let broker = Arc::new(Broker::new(broker_config, Some(Arc::clone(&books) as Arc<dyn Accounts>), Metrics::new()?));
        let (table, surface) = (Table::default(), ConsoleRooms::default());
        let reader = Arc::new(LedgerRooms::new(logins.reader(), table.clone(), wall_ms));
        let sender = Sender::new(logins.mouth(), ringer.clone(), surface.clone(), wall_ms, SenderOptions::default());
        let mutes = Arc::new(DevMutes::new(&logins, table.clone(), ringer.clone(), Arc::clone(&reader)));
        let mut rooms = Rooms::new(Parts {
            logins: logins.clone(),
            table,
            books,
            surface: surface.clone(),
            sender,
            reader: Arc::clone(&reader),
            hub,
            ringer: ringer.clone(),
            models: Arc::clone(&broker) as Arc<dyn crate::ports::Models>,
            tracker: tracker.clone(),
            stop: stop.clone(),
        });
        let mut follower = Follower::default();
        follower.take_up(&studio).into_iter().for_each(|change| rooms.want(change));
        let mut grants = Grants::new(logins.admin(), logins.reader());
        grants.want(&studio);
        grants.revoke(&mut rooms).await?;
        if let Some((room, source)) = rooms.settle().await.into_iter().next() {
            return Err(DevError::Room { room, source });
        }
        grants.apply(&mut rooms).await?;

        let address = listener.local_addr().map_err(|source| DevError::Listen { address: options.listen, source })?;
        let owner = OwnerLink::fresh();
        let link = owner.path();
        let intake = Arc::new(ConsoleIntake::new(logins.ear(), ringer, surface, wall_ms));
        let console_stop = CancellationToken::new();
        let page = Console { reader, intake, mutes, keys: Keys::load(&state.keys())?, owner };
        let console = tracker.spawn(console::serve(listener, page, console_stop.clone()));
        state.announce(address, &logins.console.url())?;
        Ok(Self {
            rooms,
            grants,
            follower,
            watcher,
            problems: studio.problems,
            console,
            console_stop,
            address,
            owner: link,
            broker,
            logins,
            tracker,
            stop,
            state,
            server,
        })
    }

    /// What a person needs to go on, on standard output.
    fn announce(&self) {
        let Self { address, owner, .. } = self;
        let text =
            format!("\n  console     http://{address}/\n  as owner    http://{address}{owner}   (works once)\n  stop        Ctrl-C\n\n");
        // Without a reader there is nobody to tell.
        let _ = io::stdout().write_all(text.as_bytes());
        let _ = io::stdout().flush();
    }

    async fn run(mut self, stop: CancellationToken) -> Result<(), DevError> {
        let ended = loop {
            let next = self.next_look();
            tokio::select! {
                () = stop.cancelled() => break Ok(()),
                ended = &mut self.console => break ended.unwrap_or(Ok(())).map_err(DevError::from),
                studio = self.watcher.next() => self.take_up(&studio),
                () = sleep_until(next) => self.rooms.look_at_mutes(),
            }
            tokio::select! {
                () = stop.cancelled() => break Ok(()),
                () = self.settle() => {}
            }
        };
        if timeout(STOP, self.stop()).await.is_err() {
            tracing::warn!("the stop took longer than {} s; what was left is dropped, nothing stored is lost", STOP.as_secs());
        }
        ended
    }

    /// Revokes first, then writes what rooms are to do, then grants.
    async fn settle(&mut self) {
        if let Err(error) = self.grants.revoke(&mut self.rooms).await {
            tracing::warn!(%error, "a grant could not be taken back yet; its room does not act until it is");
        }
        report(&self.rooms.settle().await);
        if let Err(error) = self.grants.apply(&mut self.rooms).await {
            tracing::warn!(%error, "a grant could not be made yet");
        }
    }

    /// When to look again without a change of the folder.
    fn next_look(&self) -> Instant {
        if self.rooms.is_behind() || self.grants.is_behind() {
            return Instant::now() + AGAIN;
        }
        let most = Duration::from_hours(1);
        let until = self
            .rooms
            .next_change()
            .into_iter()
            .chain(self.grants.next_change())
            .min()
            .map_or(most, |at| Duration::from_millis(u64::try_from(at - wall_ms()).unwrap_or(0)));
        Instant::now() + until.min(most)
    }

    fn take_up(&mut self, studio: &Studio) {
        if studio.problems != self.problems {
            if studio.problems.is_empty() {
                say("the studio's problems are mended");
            } else {
                say(&format!("the studio has problems; rooms without any go on\n{}", studio.problems));
            }
            self.problems = studio.problems.clone();
        }
        self.grants.want(studio);
        for change in self.follower.take_up(studio) {
            match &change {
                Change::Set(config) => say(&format!("room {}: taken up", config.name)),
                Change::Broken { room, reason } => say(&format!("room {room}: muted until its documents can be read: {reason}")),
                Change::Removed { room } => say(&format!("room {room}: stopped, its document is gone; its log is kept")),
            }
            self.rooms.want(change);
        }
    }

    /// In order: nobody is let in, actors store where they are, what was written is charged, the rest ends, the server last.
    async fn stop(mut self) {
        self.state.withdraw();
        self.console_stop.cancel();
        if !self.console.is_finished() {
            let _ = (&mut self.console).await;
        }
        self.rooms.stop().await;
        self.broker.drained().await;
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
        self.logins.close().await;
        if let Some(server) = self.server.take()
            && let Err(error) = server.stop().await
        {
            say(&format!("the private Postgres server did not stop in order: {error}"));
        }
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, DevError> {
    if !address.ip().is_loopback() {
        return Err(DevError::NotLoopback(address));
    }
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => DevError::PortInUse(address),
        _ => DevError::Listen { address, source },
    })
}

fn stop_on_signals(tracker: &TaskTracker, stop: CancellationToken) -> Result<(), DevError> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(DevError::Signals)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(DevError::Signals)?;
    tracker.spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        stop.cancel();
    });
    Ok(())
}

fn report(failed: &[(String, crate::ledger::LedgerError)]) {
    for (room, error) in failed {
        tracing::warn!(room, %error, "the settings of a room could not be written");
    }
}

/// Tells the person at the terminal.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "parlor: {text}");
}
