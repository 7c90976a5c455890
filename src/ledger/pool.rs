//! The connections of one process to the ledger: few, bounded in time, and lost ones are found before they are used.

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use sqlx::{
    ConnectOptions, Connection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use super::{Admin, Books, Ear, LedgerError, Mouth, Reader, schema::bell_name};

/// How long a caller waits for a connection: a lost database has to be an error, not a hang.
const ACQUIRE: Duration = Duration::from_secs(3);
/// How long the server works on one statement, ms. The slowest by design, a search over a million items, takes 20.
const STATEMENT_MS: &str = "5000";
/// How long a statement waits for a lock, ms. Locks are held for one function call.
const LOCK_MS: &str = "4000";
/// How long a call may take in all, for a server or a network that does not answer at all.
const CALL: Duration = Duration::from_secs(8);
/// A connection that has been idle longer than this is tried before it is used.
const TRUSTED_IDLE: Duration = Duration::from_secs(1);

/// The connections of one login. A clone shares them.
#[derive(Clone)]
pub struct Ledger {
    pool: PgPool,
    /// Where the database is and who enters it.
    place: Arc<PgConnectOptions>,
}

impl Ledger {
    /// Prepares connections to `url` without making one yet; `name` is what the server shows for them. `max_connections` is
    /// the process's share of the server's.
    pub fn connect(url: &SecretString, name: &str, max_connections: u32) -> Result<Self, LedgerError> {
        Ok(Self::with(connect_options(url)?, name, max_connections))
    }

    pub(super) fn with(place: PgConnectOptions, name: &str, max_connections: u32) -> Self {
        let options = place.clone().application_name(name).options([
            ("statement_timeout", STATEMENT_MS),
            ("lock_timeout", LOCK_MS),
            ("idle_in_transaction_session_timeout", "10000"),
        ]);
        let pool = PgPoolOptions::new()
            .max_connections(max_connections)
            .acquire_timeout(ACQUIRE)
            .idle_timeout(Duration::from_mins(10))
            .test_before_acquire(false)
            .before_acquire(|conn, meta| {
                Box::pin(async move {
                    if meta.idle_for > TRUSTED_IDLE {
                        conn.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_lazy_with(options);
        Self { pool, place: Arc::new(place) }
    }

    /// What the controller may do.
    #[must_use]
    pub fn admin(&self) -> Admin {
        Admin { ledger: self.clone() }
    }

    /// What the gateway's ear may do.
    #[must_use]
    pub fn ear(&self) -> Ear {
        Ear { ledger: self.clone() }
    }

    /// What the gateway's mouth may do.
    #[must_use]
    pub fn mouth(&self) -> Mouth {
        Mouth { ledger: self.clone() }
    }

    /// What the broker may do.
    #[must_use]
    pub fn books(&self) -> Books {
        Books { ledger: self.clone() }
    }

    /// What the console and the terminal may read.
    #[must_use]
    pub fn reader(&self) -> Reader {
        Reader { ledger: self.clone() }
    }

    /// Its address with its password, for another process of the same user.
    #[must_use]
    pub fn url(&self) -> SecretString {
        SecretString::from(self.place.to_url_lossy().to_string())
    }

    /// Where the database is and who enters it, with nothing else.
    pub(super) fn place(&self) -> PgConnectOptions {
        PgConnectOptions::clone(&self.place)
    }

    /// Options of a connection by the same login to the bell's database.
    pub(super) fn bell_options(&self, name: &str) -> Result<PgConnectOptions, LedgerError> {
        let bell = bell_name(self.place.get_database())?;
        Ok(self.place().database(&bell).application_name(name))
    }

    /// Closes the connections; calls under way end first.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    pub(crate) fn pool(&self) -> &PgPool {
        &self.pool
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("login", &self.place.get_username()).finish_non_exhaustive()
    }
}

/// Reads a database URL; an error never repeats it.
pub(crate) fn connect_options(url: &SecretString) -> Result<PgConnectOptions, LedgerError> {
    PgConnectOptions::from_str(url.expose_secret()).map_err(LedgerError::from)
}

/// Ends a call that takes longer than any should.
pub(crate) async fn bounded<T>(call: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, LedgerError> {
    match tokio::time::timeout(CALL, call).await {
        Ok(done) => done.map_err(LedgerError::from),
        Err(_) => Err(LedgerError::Unavailable(format!("no answer within {} s", CALL.as_secs()))),
    }
}

/// Reads a JSON answer of the database.
pub(crate) fn decode<T: DeserializeOwned>(what: &str, json: &str) -> Result<T, LedgerError> {
    serde_json::from_str(json).map_err(|e| LedgerError::unreadable(what, &e))
}

/// Text as Postgres can hold it: it has no NUL character, so U+FFFD stands for one.
pub(crate) fn storable(text: &str) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.to_owned() }
}
