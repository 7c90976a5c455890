//! What can go wrong with the private server; each says what to do.

use std::path::PathBuf;

/// The private server could not be started or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// No binaries were found.
    #[error(
        "no Postgres server is installed: on Debian run `apt-get install postgresql` (`make try` does that), or give a server \
         with --database-url"
    )]
    NoServer,
    /// The newest one found is too old.
    #[error(
        "the installed Postgres server is version {found}, at least {least} is needed; install a newer one, or give a server with --database-url"
    )]
    TooOld {
        /// Its major version.
        found: u32,
        /// The oldest that works.
        least: u32,
    },
    /// The data folder was made by another major version.
    #[error(
        "the data in {path} was made by Postgres {data}, and of that version no server is installed; install postgresql-{data}, or \
         move the folder away to begin with an empty one"
    )]
    Version {
        /// The data folder.
        path: PathBuf,
        /// Major version of the data.
        data: String,
    },
    /// Root may not run a server, and there is nobody else.
    #[error("Postgres does not run as root, and there is neither a user `postgres` nor a user `nobody` to run it as; create one of them")]
    NoAccount,
    /// Root needs it to run the server as somebody else.
    #[error("the tool `setpriv` (package util-linux) is missing; it is needed to run Postgres as another user than root")]
    NoSetpriv,
    /// Another process uses the state folder.
    #[error("the state folder {path} is in use by the process {pid}; stop that one, or name another folder with --state")]
    InUse {
        /// The state folder.
        path: PathBuf,
        /// The process that holds it, as it wrote itself.
        pid: String,
    },
    /// A file or folder could not be used.
    #[error("cannot {what} {path}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What happened.
        source: std::io::Error,
    },
    /// The data folder could not be made.
    #[error("Postgres could not make its data folder; the end of what it said:\n{log}")]
    Init {
        /// The last lines of its output.
        log: String,
    },
    /// It ended at once.
    #[error("the Postgres server ended while it was starting; the end of its log:\n{log}")]
    Ended {
        /// The last lines of its log.
        log: String,
    },
    /// It does not get ready.
    #[error("the Postgres server did not get ready within {seconds} s; its log is {log}")]
    Slow {
        /// How long was waited.
        seconds: u64,
        /// The log.
        log: PathBuf,
    },
    /// It does not end.
    #[error("the Postgres server with the process id {pid} did not end within {seconds} s; end it by `kill -QUIT {pid}`")]
    Stuck {
        /// Its process id.
        pid: u32,
        /// How long was waited.
        seconds: u64,
    },
    /// The database inside it could not be made.
    #[error("the database could not be prepared: {0}")]
    Database(String),
}

impl ServerError {
    pub(super) fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { what, path, source }
    }
}
