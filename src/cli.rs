//! `say`, `mute`, `tail` and `why`, and what `shadow` shares with them: a room of a running `parlor dev` from the terminal.
//!
//! What is said or asked for goes to the console's own address, the way a visitor's line goes; what is shown is read from the ledger. Nothing
//! here writes to the database, and text of people is stripped of control characters before it reaches a terminal.

mod ask;
mod grant;
mod mute;
mod out;
mod running;
mod say;
mod tail;
mod why;

use std::path::PathBuf;

use crate::ledger::{Ledger, LedgerError, Reader, StreamInfo};

pub use grant::{GrantCommand, ShowGrants};
pub(crate) use mute::told;
pub use mute::{Mute, Unmute};
pub(crate) use out::{clock, plain, print, stamp};
pub use running::Running;
pub use say::Say;
pub use tail::Tail;
pub use why::Why;

/// What all of them share.
#[derive(Debug, clap::Args)]
pub struct Common {
    /// The room's name.
    room: String,
    /// One JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// State folder of the running `parlor dev`.
    #[arg(long, value_name = "DIR", default_value = ".parlor")]
    state: PathBuf,
}

/// A command could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// There is no notice of a running process in the folder.
    #[error("no `parlor dev` runs on the state folder {0}; start it, or name its folder with --state")]
    NotRunning(PathBuf),
    /// The folder belongs to somebody else.
    #[error("the notice {path} of the running `parlor dev` cannot be read: {source}; run this as the user who started it")]
    Notice {
        /// The file.
        path: PathBuf,
        /// Why it cannot be read.
        source: std::io::Error,
    },
    /// Written by another version.
    #[error("the notice {0} of the running `parlor dev` makes no sense; is it of another version?")]
    Unreadable(PathBuf),
    /// The console does not answer.
    #[error("`parlor dev` does not answer at {address} ({reason}); is it still running?")]
    Silent {
        /// Where it should be.
        address: String,
        /// What happened instead.
        reason: String,
    },
    /// The console refused it.
    #[error("it was not done: {0}")]
    Refused(String),
    /// Something else than people mutes the room.
    #[error("room {room} stays muted: {why}")]
    StillMuted {
        /// The room.
        room: String,
        /// What mutes it, and what to do about it.
        why: String,
    },
    /// There is no such room.
    #[error("there is no room {room:?}; there is: {known}")]
    NoRoom {
        /// What was asked for.
        room: String,
        /// The rooms that exist.
        known: String,
    },
    /// There is no such grant.
    #[error("there is no grant {name:?}; there is: {known}")]
    NoGrant {
        /// What was asked for.
        name: String,
        /// The grants that exist or existed.
        known: String,
    },
    /// There is no such line.
    #[error("there is no line {0:?} in the room; `parlor tail` shows each line's number")]
    NoLine(String),
    /// The ledger cannot be read.
    #[error("the ledger cannot be read: {0}")]
    Ledger(#[from] LedgerError),
    /// Nobody reads what is printed.
    #[error("the output cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

impl Common {
    fn running(&self) -> Result<Running, CliError> {
        Running::read(&self.state)
    }

    /// A reader of the running process's ledger, and the room's stream.
    pub(crate) async fn open(&self) -> Result<(Reader, StreamInfo), CliError> {
        let ledger = Ledger::connect(&self.running()?.database(), "parlor-cli", 1)?;
        ledger.check_schema().await?;
        let reader = ledger.reader();
        let streams = reader.streams().await?;
        if let Some(stream) = streams.iter().find(|s| s.room == self.room) {
            return Ok((reader, stream.clone()));
        }
        let known: Vec<&str> = streams.iter().map(|s| s.room.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(CliError::NoRoom { room: self.room.clone(), known })
    }
}
