//! The schema and its version. `parlor migrate` is the only caller of [`migrate`].

use secrecy::SecretString;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, error::DatabaseError, migrate::Migrator};

use super::{
    Ledger, LedgerError, Login, Passwords,
    logins::random_hex,
    pool::{bounded, connect_options},
    scram,
};

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// Roles, rights and the catalogue; see there.
const RIGHTS: &str = include_str!("rights.sql");
/// Tries of the rights: another ledger's installer that writes to the same roles at the same moment makes one fail.
const TRIES: usize = 20;
/// The SQLSTATE of such a failure ("tuple concurrently updated"), and of a role or grant that was made meanwhile.
const MEANWHILE: [&str; 3] = ["XX000", "23505", "42710"];

/// Brings the database to the schema of this binary, makes the bell's database beside it if there is none, and sets the rights of
/// every role. With `passwords` it gives them to the logins that have other ones. `url` is the installer's login, a superuser.
pub async fn migrate(url: &SecretString, passwords: Option<&Passwords>) -> Result<(), LedgerError> {
    // The list of migrations is kept in `public`, whatever the login is called: for one called `parlor` the first schema of the
    // usual path would be the ledger's own as soon as it exists.
    let options = connect_options(url)?.application_name("parlor-migrate").options([("search_path", "public")]);
    let bell = bell_name(options.get_database())?;
    let mut conn = PgConnection::connect_with(&options).await?;
    let found = newest(&mut conn).await?;
    let known = known();
    if found > known {
        return Err(LedgerError::SchemaTooNew { found, known });
    }
    MIGRATIONS.run(&mut conn).await.map_err(|e| match e {
        sqlx::migrate::MigrateError::Execute(e) => e.into(),
        sqlx::migrate::MigrateError::ExecuteMigration(e, version) => match LedgerError::from(e) {
            LedgerError::Other(what) => LedgerError::Other(format!("migration {version}: {what}")),
            known => known,
        },
        other => LedgerError::Other(other.to_string()),
    })?;
    let there: bool = sqlx::query_scalar("select exists (select from pg_catalog.pg_database where datname = $1)")
        .bind(&bell)
        .fetch_one(&mut conn)
        .await?;
    if !there {
        let made = conn.execute(AssertSqlSafe(format!("create database {}", quoted(&bell)))).await;
        // Two installers at once: the other one made it.
        if let Err(e) = made
            && e.as_database_error().and_then(DatabaseError::code).as_deref() != Some("42P04")
        {
            return Err(e.into());
        }
    }
    patiently(&mut conn, RIGHTS).await?;
    open_bell(&mut conn, &bell).await?;
    if let Some(passwords) = passwords {
        give(&mut conn, passwords).await?;
    }
    conn.close().await?;
    Ok(())
}

/// Runs statements that may be run again, until nobody else changed the same rows meanwhile.
async fn patiently(conn: &mut PgConnection, sql: &str) -> Result<(), LedgerError> {
    for _ in 1..TRIES {
        match conn.execute(AssertSqlSafe(sql)).await {
            Err(e) if e.as_database_error().and_then(DatabaseError::code).is_some_and(|code| MEANWHILE.contains(&&*code)) => {}
            done => return done.map(drop).map_err(LedgerError::from),
        }
    }
    conn.execute(AssertSqlSafe(sql)).await.map(drop).map_err(LedgerError::from)
}

/// Who rings or listens enters the bell's database, and nobody else.
async fn open_bell(conn: &mut PgConnection, bell: &str) -> Result<(), LedgerError> {
    for login in Login::ALL {
        let role = login.role();
        let there: bool =
            sqlx::query_scalar("select has_database_privilege($1, $2, 'connect')").bind(role).bind(bell).fetch_one(&mut *conn).await?;
        if !there {
            patiently(conn, &format!("grant connect on database {} to {role}", quoted(bell))).await?;
        }
    }
    Ok(())
}

async fn give(conn: &mut PgConnection, passwords: &Passwords) -> Result<(), LedgerError> {
    for login in Login::ALL {
        let (role, password) = (login.role(), passwords.password(login));
        let stored: Option<String> =
            sqlx::query_scalar("select rolpassword from pg_catalog.pg_authid where rolname = $1").bind(role).fetch_one(&mut *conn).await?;
        if !stored.is_some_and(|stored| scram::is_of(&stored, &password)) {
            let verifier = scram::verifier(&password, random_hex(8)?.as_bytes());
            patiently(conn, &format!("alter role {role} password '{verifier}'")).await?;
        }
    }
    Ok(())
}

impl Ledger {
    /// Refuses a schema that this binary does not know, newer or older.
    pub async fn check_schema(&self) -> Result<(), LedgerError> {
        let known = known();
        let found: i64 = bounded(async {
            match sqlx::query_scalar("select api.schema_version()").fetch_one(self.pool()).await {
                // No such schema, no such function: from before there was one.
                Err(e) if e.as_database_error().and_then(DatabaseError::code).is_some_and(|code| code == "3F000" || code == "42883") => {
                    Ok(0)
                }
                found => found,
            }
        })
        .await?;
        match found.cmp(&known) {
            std::cmp::Ordering::Greater => Err(LedgerError::SchemaTooNew { found, known }),
            std::cmp::Ordering::Less => Err(LedgerError::SchemaTooOld { found, known }),
            std::cmp::Ordering::Equal => Ok(()),
        }
    }
}

/// The bell's database stands beside the ledger's, so that room logins can be kept out of it.
pub(crate) fn bell_name(ledger: Option<&str>) -> Result<String, LedgerError> {
    match ledger {
        Some(name) if !name.is_empty() => Ok(format!("{name}_bell")),
        _ => Err(LedgerError::Other("the database URL names no database".into())),
    }
}

/// A name as SQL takes it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn known() -> i64 {
    MIGRATIONS.iter().map(|m| m.version).max().unwrap_or(0)
}

async fn newest(conn: &mut PgConnection) -> Result<i64, sqlx::Error> {
    let there: bool = sqlx::query_scalar("select to_regclass('public._sqlx_migrations') is not null").fetch_one(&mut *conn).await?;
    if !there {
        return Ok(0);
    }
    sqlx::query_scalar("select coalesce(max(version), 0) from public._sqlx_migrations where success").fetch_one(&mut *conn).await
}
