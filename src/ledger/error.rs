//! What can go wrong with the ledger, sorted by what the caller can do about it.

/// A call of the ledger failed.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The database is gone, full, restarting or too slow. The same call may be repeated: every write here is idempotent or
    /// fenced.
    #[error("the database cannot be used now: {0}; the same call may be repeated in a moment")]
    Unavailable(String),
    /// A newer boot of this room's actor has begun; this one may not write any more.
    #[error("another process has taken over this room; this one has to end")]
    Fenced,
    /// The call contradicts what is stored, such as a step whose number leaves a gap.
    #[error("the call contradicts the ledger: {0}")]
    Conflict(String),
    /// The database was migrated by a newer binary.
    #[error("the database has schema {found}, this binary knows {known}: install a newer parlor")]
    SchemaTooNew {
        /// Newest migration in the database.
        found: i64,
        /// Newest migration that this binary brings.
        known: i64,
    },
    /// The database was not migrated yet, or by an older binary.
    #[error("the database has schema {found}, this binary needs {known}: run `parlor migrate` with the installer's login")]
    SchemaTooOld {
        /// Newest migration in the database, 0 for none.
        found: i64,
        /// Newest migration that this binary brings.
        known: i64,
    },
    /// A rule of the ledger forbids it.
    #[error("the ledger refused it: {0}")]
    Refused(String),
    /// Anything else, such as wrong credentials or a missing database.
    #[error("the database failed: {0}")]
    Other(String),
}

impl LedgerError {
    /// Whether the same call may work in a moment.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::Fenced
            | Self::Conflict(_)
            | Self::SchemaTooNew { .. }
            | Self::SchemaTooOld { .. }
            | Self::Refused(_)
            | Self::Other(_) => false,
        }
    }

    /// An answer of the database that this binary cannot read.
    pub(crate) fn unreadable(what: &str, error: &serde_json::Error) -> Self {
        Self::Other(format!("{what} is not in the form this binary knows ({:?} error); is it of another version?", error.classify()))
    }
}

impl From<sqlx::Error> for LedgerError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as E;
        match error {
            E::Database(db) => {
                // The message only: the detail of an error may quote a row.
                let message = db.message().to_owned();
                let code = db.code().unwrap_or_default().into_owned();
                from_code(&code, message)
            }
            E::Io(io) => Self::Unavailable(format!("no connection ({})", io.kind())),
            E::PoolTimedOut => Self::Unavailable("no connection became free in time".into()),
            E::PoolClosed => Self::Unavailable("the connections are closed, the process is ending".into()),
            E::Tls(_) => Self::Unavailable("the encrypted connection could not be set up".into()),
            E::WorkerCrashed | E::Protocol(_) => Self::Unavailable("the connection broke in the middle of an answer".into()),
            E::Configuration(_) => {
                Self::Other("the database URL cannot be used; its form is postgres://user:password@host:port/database".into())
            }
            E::RowNotFound => Self::Other("the database gave no row where one was due".into()),
            other => Self::Other(format!("the answer was not as expected ({})", kind_of(&other))),
        }
    }
}

/// The codes `PL...` are raised by our own functions (second migration); the others are Postgres' own.
fn from_code(code: &str, message: String) -> LedgerError {
    match code {
        "PLF00" => LedgerError::Fenced,
        // 23505: two writers took the same number or name at once.
        "PLC00" | "23505" => LedgerError::Conflict(message),
        // The others: a constraint of a table, whose name says which bound was passed.
        "PLR00" | "23514" | "23502" | "22001" => LedgerError::Refused(message),
        _ if passes(code) => LedgerError::Unavailable(message),
        _ => LedgerError::Other(format!("{message} (SQLSTATE {code})")),
    }
}

/// Whether what the code names passes by itself, or by an operator's hand, with the call as it is.
fn passes(code: &str) -> bool {
    match code {
        // Serialization failure, deadlock, time-outs of locks, statements and transactions, a standby, a failed read or write.
        "40001" | "40P01" | "55P03" | "57014" | "25P03" | "25006" | "58030" => true,
        // Connection exceptions; out of disk, memory, connections; shutdown and start-up.
        _ => ["08", "53", "57P0"].iter().any(|class| code.starts_with(class)),
    }
}

fn kind_of(error: &sqlx::Error) -> &'static str {
    match error {
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => "a value could not be read",
        sqlx::Error::ColumnNotFound(_) | sqlx::Error::ColumnIndexOutOfBounds { .. } => "a column is missing",
        sqlx::Error::TypeNotFound { .. } => "a type is missing",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_by_itself_is_transient_and_nothing_else_is() {
        for code in ["53100", "53200", "53300", "57P01", "57P03", "08006", "40P01", "57014", "55P03", "25006", "58030"] {
            assert!(from_code(code, String::new()).is_transient(), "{code}");
        }
        for code in ["23514", "23505", "42P01", "28P01", "3D000", "PLF00", "PLC00", "PLR00", "XX001", "22021"] {
            assert!(!from_code(code, String::new()).is_transient(), "{code}");
        }
        for error in [sqlx::Error::PoolTimedOut, sqlx::Error::Io(std::io::ErrorKind::ConnectionRefused.into())] {
            assert!(LedgerError::from(error).is_transient());
        }
    }
}
