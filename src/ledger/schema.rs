//! The schema and its version. `parlor migrate` is the only caller of [`migrate`].

use secrecy::SecretString;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, migrate::Migrator};

use super::{
    Ledger, LedgerError,
    pool::{bounded, connect_options},
};

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// Brings the database to the schema of this binary, and makes the bell's database beside it if there is none.
pub async fn migrate(url: &SecretString) -> Result<(), LedgerError> {
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
            && e.as_database_error().and_then(sqlx::error::DatabaseError::code).as_deref() != Some("42P04")
        {
            return Err(e.into());
        }
    }
    conn.close().await?;
    Ok(())
}

impl Ledger {
    /// Refuses a schema that this binary does not know, newer or older.
    pub async fn check_schema(&self) -> Result<(), LedgerError> {
        let known = known();
        let found = bounded(async {
            let mut conn = self.pool().acquire().await?;
            newest(&mut conn).await
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
