//! The state folder of `parlor dev`: one process at a time, and the notice by which the other commands find it.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    net::SocketAddr,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret, SecretString};

use crate::{cli::Running, console::Keys};

/// The folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// It cannot be made, read or written.
    #[error("the state folder {path} cannot be {what}: {source}; name another one with --state")]
    Folder {
        /// The folder or a file in it.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// Another process has it.
    #[error("another `parlor dev` runs on the state folder {path}{place}; stop it first, or name another folder with --state")]
    Taken {
        /// The folder.
        path: PathBuf,
        /// Its process id and address, where known.
        place: String,
    },
}

/// The folder, held until this is dropped.
#[derive(Debug)]
pub(crate) struct State {
    folder: PathBuf,
    _lock: File,
}

impl State {
    /// Makes the folder where it is missing, for its owner alone, and takes it.
    pub(crate) fn open(folder: &Path) -> Result<Self, StateError> {
        let wrong = |path: &Path, what| {
            let path = path.to_owned();
            move |source| StateError::Folder { path, what, source }
        };
        fs::DirBuilder::new().recursive(true).mode(0o711).create(folder).map_err(wrong(folder, "made"))?;
        let folder = folder.canonicalize().map_err(wrong(folder, "read"))?;
        let lock = folder.join("dev.lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&lock).map_err(wrong(&lock, "written"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let place = Running::read(&folder).map_or_else(|_| String::new(), |r| format!(" (process {}, {})", r.pid, r.console));
                return Err(StateError::Taken { path: folder, place });
            }
            Err(TryLockError::Error(source)) => return Err(wrong(&lock, "locked")(source)),
        }
        let state = Self { folder, _lock: file };
        // Left by a process that was killed.
        state.withdraw();
        Ok(state)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the console keeps its keys.
    pub(crate) fn keys(&self) -> PathBuf {
        self.folder.join("keys")
    }

    /// Tells the other commands where this process is. Readable by its owner alone: the database's address holds a password.
    pub(crate) fn announce(&self, console: SocketAddr, database: &SecretString) -> Result<(), StateError> {
        let running = Running {
            pid: std::process::id(),
            console: format!("http://{console}"),
            database: database.expose_secret().to_owned(),
            say_token: self.keys().join(Keys::LOCAL),
            owner_token: self.keys().join(Keys::OWNER),
        };
        let path = self.folder.join(Running::FILE);
        let draft = path.with_extension("new");
        let write = || {
            let _ = fs::remove_file(&draft);
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
            file.write_all(serde_json::to_string(&running)?.as_bytes())?;
            fs::rename(&draft, &path)
        };
        write().map_err(|source| StateError::Folder { path: path.clone(), what: "written", source })
    }

    /// Takes the notice away.
    pub(crate) fn withdraw(&self) {
        let _ = fs::remove_file(self.folder.join(Running::FILE));
    }
}
