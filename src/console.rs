//! The web page of the rooms, and the surface on which people talk in them.
//!
//! It shows a room as it happens (lines, who types, what the floor waits for and for how much longer, what is owed, each
//! decision with its why) and hands what people write to the gateway's intake. It draws on two ports only, [`RoomReader`] for
//! what is shown and [`Intake`](crate::ports::Intake) for what is said.
//!
//! It must not write to the ledger by any other way, decide who may speak, load any asset from elsewhere, put text of people
//! into a log line, or trust a name: who somebody is comes from a signed cookie or a token file, never from what they typed.

mod keys;
mod reader;

pub use keys::{Caller, KeyError, Keys, OwnerLink};
pub use reader::{Logged, ReadError, RoomFacts, RoomReader, Typist};

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::ports::Intake;

/// What the console needs to run.
pub struct Console {
    /// What is shown.
    pub reader: Arc<dyn RoomReader>,
    /// Where lines of people go.
    pub intake: Arc<dyn Intake>,
    /// Signs the cookies and knows the local tokens.
    pub keys: Keys,
    /// The link that makes its opener the owner.
    pub owner: OwnerLink,
}

/// The console cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// The listener has no address, so that the Host header cannot be checked.
    #[error("the console's listener has no address to check requests against: {0}; start it again on another port")]
    Address(#[source] std::io::Error),
    /// The server ended by itself.
    #[error("the console's server ended: {0}")]
    Serve(#[source] std::io::Error),
}

/// Serves the console on `listener` until `shutdown`, then ends every event stream, finishes what is under way (at most a few
/// seconds) and returns.
pub async fn serve(listener: TcpListener, console: Console, shutdown: CancellationToken) -> Result<(), ConsoleError> {
    let _ = (listener.local_addr().map_err(ConsoleError::Address)?, console, shutdown);
    Ok(())
}
