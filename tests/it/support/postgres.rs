//! One private Postgres a test run, one database a test, cloned from a migrated template; all of it gone with the run.

use std::{
    collections::BTreeMap,
    ops::Deref,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use parlor::{
    dev::postgres::{PrivateOptions, PrivateServer},
    ledger::{Hub, HubOptions, Ledger, Logins, Passwords, Ringer, Session},
};
use secrecy::{ExposeSecret, SecretString};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use tokio::sync::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

const TEMPLATE: &str = "template_ledger";
static SERVER: OnceLock<PrivateServer> = OnceLock::new();
static NEXT: AtomicU32 = AtomicU32::new(1);

/// The run's server. It is started by a thread of its own runtime, since each test ends its runtime.
pub(crate) fn server() -> &'static PrivateServer {
    SERVER.get_or_init(|| {
        std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let server = PrivateServer::start(&folder(), PrivateOptions { fast: true, max_connections: 400 }).await.unwrap();
                let mut admin = PgConnection::connect(server.url_of("postgres").expose_secret()).await.unwrap();
                sqlx::query(AssertSqlSafe(format!("create database {TEMPLATE}"))).execute(&mut admin).await.unwrap();
                admin.close().await.unwrap();
                migrated(&server.url_of(TEMPLATE)).await;
                server
            })
        })
        .join()
        .unwrap()
    })
}

/// Brings a database to the ledger's schema and rights, with the logins that [`Passwords::of`] its URL gives, and a controller that
/// is there for ever.
pub(crate) async fn migrated(url: &SecretString) {
    parlor::ledger::migrate(url, Some(&Passwords::of(url).unwrap())).await.unwrap();
    TestLogins::of(url).admin().renew_lease("the test", i64::MAX).await.unwrap();
}

/// A folder that is removed when the run has ended, however it ends: a shell waits for the end of its input.
pub(crate) fn folder() -> PathBuf {
    let parent = if PathBuf::from("/dev/shm").is_dir() { PathBuf::from("/dev/shm") } else { std::env::temp_dir() };
    let folder = parent.join(format!("parlor-it-{}", uuid::Uuid::new_v4().simple()));
    let script = "cat; while ! rm -rf -- \"$1\" || [ -e \"$1\" ]; do sleep 0.2; done";
    let sweeper = Command::new("setsid")
        .args(["sh", "-c", script, "sh"])
        .arg(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Its input ends with this process.
    std::mem::forget(sweeper);
    folder
}

/// A database of a test's own, with the ledger's schema.
pub(crate) struct TestDb {
    pub(crate) url: SecretString,
    pub(crate) name: String,
}

impl TestDb {
    pub(crate) async fn new() -> Self {
        let server = tokio::task::spawn_blocking(server).await.unwrap();
        let name = format!("t{}", NEXT.fetch_add(1, Ordering::SeqCst));
        let mut admin = PgConnection::connect(server.url_of("postgres").expose_secret()).await.unwrap();
        for sql in [
            format!("create database {name} template {TEMPLATE} strategy file_copy"),
            format!("create database {name}_bell strategy file_copy"),
        ] {
            sqlx::query(AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
        }
        admin.close().await.unwrap();
        let db = Self { url: server.url_of(&name), name };
        // What belongs to a database is not cloned with it.
        migrated(&db.url).await;
        db
    }

    pub(crate) fn ledger(&self) -> TestLogins {
        TestLogins::of(&self.url)
    }

    /// Direct SQL, as an attacker or a person with psql would.
    pub(crate) async fn sql(&self, sql: &str) -> Result<Vec<sqlx::postgres::PgRow>, sqlx::Error> {
        let mut conn = PgConnection::connect(self.url.expose_secret()).await?;
        let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(&mut conn).await;
        conn.close().await?;
        rows
    }

    /// The first column of the first row, as a number.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        self.sql(sql).await.unwrap()[0].get(0)
    }

    /// The first column of the first row, as text.
    pub(crate) async fn text(&self, sql: &str) -> String {
        self.sql(sql).await.unwrap()[0].get(0)
    }

    pub(crate) fn hub(&self, options: HubOptions, tracker: &TaskTracker, stop: &CancellationToken) -> Hub {
        Hub::start(&self.ledger().broker, options, tracker, stop.clone()).unwrap()
    }

    pub(crate) fn ringer(&self, hub: &Hub, tracker: &TaskTracker, stop: &CancellationToken) -> Ringer {
        Ringer::start(&self.ledger().broker, hub, tracker, stop.clone()).unwrap()
    }
}

/// Every login of a ledger, and those of rooms, made when they are first asked for.
#[derive(Clone)]
pub(crate) struct TestLogins {
    logins: Logins,
    rooms: Arc<Mutex<BTreeMap<i64, Ledger>>>,
}

impl Deref for TestLogins {
    type Target = Logins;

    fn deref(&self) -> &Logins {
        &self.logins
    }
}

impl TestLogins {
    /// Of a database that was [`migrated`].
    pub(crate) fn of(url: &SecretString) -> Self {
        let logins = Logins::connect(url, &Passwords::of(url).unwrap(), "parlor-test").unwrap();
        Self { logins, rooms: Arc::default() }
    }

    pub(crate) fn logins(&self) -> &Logins {
        &self.logins
    }

    /// The room's own login: of its first incarnation in this test.
    pub(crate) async fn room(&self, stream: i64) -> Ledger {
        let mut rooms = self.rooms.lock().await;
        if let Some(room) = rooms.get(&stream) {
            return room.clone();
        }
        let room = self.logins.room(&self.admin().mint(stream, &[]).await.unwrap());
        rooms.insert(stream, room.clone());
        room
    }

    /// A boot of the room's actor.
    pub(crate) async fn begin(&self, stream: i64) -> Session {
        Session::begin(&self.room(stream).await, stream).await.unwrap()
    }
}
