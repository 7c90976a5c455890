//! The notice that a running `parlor dev` leaves in its state folder for the other commands.

use std::{
    fmt, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::CliError;

/// Where a running process can be reached. It is written to a file that its owner alone can read.
#[derive(Clone, Serialize, Deserialize)]
pub struct Running {
    /// Process id.
    pub pid: u32,
    /// Address of the console, `http://127.0.0.1:7080`.
    pub console: String,
    /// Address of the ledger, with its password.
    pub database: String,
    /// File of the token that lets its reader speak under a name.
    pub say_token: PathBuf,
    /// File of the token that lets its reader speak as the owner.
    pub owner_token: PathBuf,
}

impl Running {
    /// Name of the file in the state folder.
    pub const FILE: &'static str = "running.json";

    /// The notice in a state folder.
    pub fn read(state: &Path) -> Result<Self, CliError> {
        let path = state.join(Self::FILE);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Err(CliError::NotRunning(state.to_owned()));
            }
            Err(source) => return Err(CliError::Notice { path, source }),
        };
        serde_json::from_slice(&text).map_err(|_| CliError::Unreadable(path))
    }

    pub(super) fn database(&self) -> SecretString {
        SecretString::from(self.database.as_str())
    }

    /// The token that a caller presents to the console.
    pub(super) fn token(&self, owner: bool) -> Result<SecretString, CliError> {
        let path = if owner { &self.owner_token } else { &self.say_token };
        let token = fs::read_to_string(path).map_err(|source| CliError::Notice { path: path.clone(), source })?;
        Ok(SecretString::from(token.trim()))
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("pid", &self.pid).field("console", &self.console).finish_non_exhaustive()
    }
}
