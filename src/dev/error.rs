//! Why `parlor dev` cannot start, or had to end.

use std::{io, net::SocketAddr};

use super::{postgres::ServerError, state::StateError};
use crate::{
    api::Problems,
    broker::ConfigError,
    console::{ConsoleError, KeyError},
    ledger::LedgerError,
    telemetry::MetricsError,
};

/// Why `parlor dev` cannot start, or had to end.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    /// Documents do not fit.
    #[error("nothing was started, because the studio has problems:\n{0}")]
    Studio(Problems),
    /// The state folder cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The console may only be reached from this machine.
    #[error(
        "--listen {0} can be reached from other machines, and the console lets in whoever reaches it; use 127.0.0.1:7080 or [::1]:7080"
    )]
    NotLoopback(SocketAddr),
    /// Somebody else listens there.
    #[error("{0} is in use by another program; stop it, or choose another port, such as --listen 127.0.0.1:0 for any free one")]
    PortInUse(SocketAddr),
    /// The address cannot be listened on.
    #[error("{address} cannot be listened on: {source}; choose another address with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The private Postgres server failed.
    #[error("the private Postgres server: {0}")]
    Postgres(#[from] ServerError),
    /// The ledger cannot be used.
    #[error("the ledger: {0}")]
    Ledger(#[from] LedgerError),
    /// A room could not be started.
    #[error("room {room} could not be started: {source}")]
    Room {
        /// The room.
        room: String,
        /// Why not.
        source: LedgerError,
    },
    /// The environment does not make sense.
    #[error("the environment: {0}")]
    Environment(#[from] ConfigError),
    /// The console's keys cannot be used.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The console ended.
    #[error(transparent)]
    Console(#[from] ConsoleError),
    /// Metrics cannot be set up.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// Signals cannot be caught.
    #[error("signals cannot be caught, so that it could not be stopped in order: {0}")]
    Signals(io::Error),
}
