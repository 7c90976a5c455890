//! A Postgres server of our own in a state folder, for `parlor dev` and the tests: made on the first start, started and
//! stopped with the process, started again when it falls over.
//!
//! It listens on a Unix socket only, so that there is no port to be taken and nothing to reach from outside; the password is
//! random and readable by its owner alone. It must not touch a server that it did not start: everything goes by the process id
//! in the data folder, which is checked against the folder that the process works in.

mod account;
mod binaries;
mod error;
mod keeper;
mod leftover;
mod place;

use std::{
    fs::File,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use secrecy::SecretString;
use sqlx::{Connection, PgConnection, postgres::PgConnectOptions};

pub use error::ServerError;

use account::Account;
use binaries::Binaries;
use keeper::Keeper;
use place::Place;

/// A server that has to recover after a crash may take this long; a clean one takes 0.2 s.
const READY_WITHIN: Duration = Duration::from_mins(1);
/// How long the start waits between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The database's superuser, which only the owner of the state folder can become.
const USER: &str = "parlor";
/// The ledger's database.
const DATABASE: &str = "parlor";

/// How the server is set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrivateOptions {
    /// Nothing waits for the disk: a crash of the machine loses everything. For tests.
    pub fast: bool,
    /// Connections that it takes; 0 for 500: each room's actor keeps one to three.
    pub max_connections: u32,
}

/// A running server. It is stopped when this is dropped.
#[derive(Debug)]
pub struct PrivateServer {
    // The order of the fields is the order in which they are dropped: the folder is given up after the server has ended.
    keeper: Keeper,
    place: Place,
    password: String,
    _lock: File,
}

impl PrivateServer {
    /// Starts the server of a state folder; makes folder, server and database where they are missing.
    pub async fn start(state: &Path, options: PrivateOptions) -> Result<Self, ServerError> {
        let state = state.to_owned();
        let server = tokio::task::spawn_blocking(move || Self::start_blocking(&state, options))
            .await
            .map_err(|_| ServerError::Ended { log: "the thread that starts it ended".into() })??;
        server.ensure_database().await?;
        Ok(server)
    }

    fn start_blocking(state: &Path, options: PrivateOptions) -> Result<Self, ServerError> {
        let account = Account::find()?;
        let (place, lock) = Place::open(state, &account)?;
        let data = place.data();
        let binaries = Binaries::find(&data)?;
        let password = place.password()?;
        if !data.join("PG_VERSION").exists() {
            binaries.init(&place, &account, &password, options)?;
        }
        leftover::clear(&data)?;
        let command = binaries.serve(&place, &account, options);
        let keeper = Keeper::start(command, place.log())?;
        let server = Self { keeper, place, password, _lock: lock };
        server.wait_ready()?;
        Ok(server)
    }

    /// URL of the ledger's database, with the password.
    #[must_use]
    pub fn url(&self) -> SecretString {
        self.url_of(DATABASE)
    }

    /// URL of another database of this server. The name is of letters, digits and underscores.
    #[must_use]
    pub fn url_of(&self, database: &str) -> SecretString {
        let socket = place::percent_encoded(&self.place.socket().to_string_lossy());
        SecretString::from(format!("postgres://{USER}:{}@localhost:5432/{database}?host={socket}", self.password))
    }

    /// Where its data is: inside the state folder, unless the server's account cannot go there.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.place.data()
    }

    /// Process id of the server now; another one after it fell over and was started again.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.keeper.pid()
    }

    /// Stops the server and waits until it has ended.
    pub async fn stop(self) -> Result<(), ServerError> {
        tokio::task::spawn_blocking(move || self.keeper.stop())
            .await
            .map_err(|_| ServerError::Ended { log: "the thread that stops it ended".into() })?
    }

    fn wait_ready(&self) -> Result<(), ServerError> {
        let began = Instant::now();
        let mut starts = 0;
        while began.elapsed() < READY_WITHIN {
            if leftover::is_ready(&self.place.data(), self.keeper.pid()) {
                return Ok(());
            }
            if self.keeper.exits() > starts {
                starts = self.keeper.exits();
                let log = place::tail(&self.place.log());
                // Workers of a killed server need a moment to notice; the keeper tries again meanwhile.
                if !log.contains("pre-existing shared memory block") || began.elapsed() > Duration::from_secs(10) {
                    return Err(ServerError::Ended { log });
                }
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Err(ServerError::Slow { seconds: READY_WITHIN.as_secs(), log: self.place.log() })
    }

    async fn ensure_database(&self) -> Result<(), ServerError> {
        let failed =
            |e: sqlx::Error| ServerError::Database(e.as_database_error().map_or_else(|| e.to_string(), |d| d.message().to_owned()));
        let options = PgConnectOptions::new_without_pgpass()
            .socket(self.place.socket())
            .port(5432)
            .username(USER)
            .password(&self.password)
            .database("postgres");
        let mut conn = PgConnection::connect_with(&options).await.map_err(failed)?;
        let there: bool = sqlx::query_scalar("select exists (select from pg_catalog.pg_database where datname = $1)")
            .bind(DATABASE)
            .fetch_one(&mut conn)
            .await
            .map_err(failed)?;
        if !there {
            sqlx::query("create database parlor").execute(&mut conn).await.map_err(failed)?;
        }
        conn.close().await.map_err(failed)
    }
}
