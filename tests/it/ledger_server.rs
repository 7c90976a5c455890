//! The private server: made once, found again, ended with its process; and the ledger through a restart of it.

use std::{
    io::{BufRead, BufReader},
    os::unix::fs::MetadataExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use parlor::{
    dev::postgres::{PrivateOptions, PrivateServer, ServerError},
    ledger::{Cursor, Ledger, LedgerError, migrate},
};
use secrecy::ExposeSecret;
use sqlx::{Connection, PgConnection};

use crate::support::{
    postgres::{TestLogins, migrated},
    steps::{line, open_room, step},
};

const FAST: PrivateOptions = PrivateOptions { fast: true, max_connections: 0 };
const DEADLINE: Duration = Duration::from_secs(30);
/// Names the state folder for the child of this test binary.
const HOLD: &str = "PARLOR_IT_HOLD";

async fn start(state: &Path) -> PrivateServer {
    PrivateServer::start(state, FAST).await.unwrap()
}

fn alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| !s.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !done().await {
        assert!(began.elapsed() < DEADLINE, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A folder that the server's account can go into, which a temporary folder of root's is not.
fn folder() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    folder
}

#[tokio::test]
async fn a_state_folder_is_made_once_and_found_again() {
    let folder = folder();
    let state = folder.path().join("new/state");
    let server = start(&state).await;
    let url = server.url().expose_secret().to_owned();
    migrated(&server.url()).await;
    migrated(&server.url()).await;
    let ledger = TestLogins::of(&server.url());
    ledger.controller.check_schema().await.unwrap();
    let kiln = open_room(&ledger.admin(), "kiln").await;
    ledger.ear().ingest(&[line(kiln, "a", "ada", "hello")]).await.unwrap();
    for secret in ["postgres.password", "postgres.lock"] {
        assert_eq!(std::fs::metadata(state.join(secret)).unwrap().mode() & 0o777, 0o600, "{secret}");
    }
    let taken = PrivateServer::start(&state, FAST).await.unwrap_err();
    assert!(matches!(&taken, ServerError::InUse { pid, .. } if *pid == std::process::id().to_string()), "{taken}");
    let password = url.split([':', '@']).nth(2).unwrap().to_owned();
    let wrong = url.replace(&password, "wrong");
    assert!(PgConnection::connect(&wrong).await.is_err(), "it lets in anybody");
    let data = server.data();
    server.stop().await.unwrap();
    assert!(!data.join("postmaster.pid").exists());
    let began = Instant::now();
    let server = start(&state).await;
    assert!(began.elapsed() < Duration::from_secs(2), "a start with an existing folder took {:?}", began.elapsed());
    assert_eq!(server.url().expose_secret(), url, "the URL stays");
    let ledger = TestLogins::of(&server.url());
    assert_eq!(ledger.reader().items(kiln, parlor::ledger::Page::Last, 9).await.unwrap()[0].text, "hello");
    // Nothing that people said, nor the password, is in the server's log.
    let _ = ledger.ear().ingest(&[line(kiln, "b", "ada", &"secret words ".repeat(9_000))]).await.unwrap_err();
    server.stop().await.unwrap();
    let log = std::fs::read_to_string(data.with_file_name("postgres.log")).unwrap();
    assert!(log.contains("body_check") && !log.contains("secret words") && !log.contains(&password), "{log}");
}

#[tokio::test]
async fn a_schema_of_another_version_is_refused_and_named() {
    let folder = folder();
    let server = start(folder.path()).await;
    let ledger = Ledger::connect(&server.url(), "test", 2).unwrap();
    assert!(matches!(ledger.check_schema().await.unwrap_err(), LedgerError::SchemaTooOld { found: 0, .. }));
    migrated(&server.url()).await;
    let mut conn = PgConnection::connect(server.url().expose_secret()).await.unwrap();
    let newer = "insert into _sqlx_migrations values (9999, 'of a newer binary', now(), true, '', 0)";
    sqlx::query(newer).execute(&mut conn).await.unwrap();
    for refused in [TestLogins::of(&server.url()).controller.check_schema().await, migrate(&server.url(), None).await] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, LedgerError::SchemaTooNew { found: 9999, .. }), "{refused}");
    }
}

#[tokio::test]
async fn a_server_that_falls_over_is_started_again_and_the_ledger_goes_on() {
    let folder = folder();
    // As `parlor dev` runs it: what was committed is on the disk.
    let server = PrivateServer::start(folder.path(), PrivateOptions::default()).await.unwrap();
    migrated(&server.url()).await;
    let ledger = TestLogins::of(&server.url());
    let kiln = open_room(&ledger.admin(), "kiln").await;
    let session = ledger.begin(kiln).await;
    session.step(&step(1)).await.unwrap();
    let pid = server.pid().unwrap();
    Command::new("sh").args(["-c", "kill -KILL \"$1\"", "sh", &pid.to_string()]).status().unwrap();
    until("another server runs", async || server.pid().is_some_and(|now| now != pid)).await;
    // A backend that outlived its server for a moment may have stored it already; then this finds it.
    until("the ledger works again", async || match session.step(&step(2)).await {
        Ok(_) => true,
        Err(e) => {
            assert!(e.is_transient(), "{e}");
            false
        }
    })
    .await;
    assert_eq!(session.restore().await.unwrap().last_n, 2);
    assert_eq!(session.read_after(Cursor::default(), 0, 0).await.unwrap().typing, [], "unlogged tables begin empty");
    // A clean stop in mid-way, and a start.
    server.stop().await.unwrap();
    let gone = Instant::now();
    let down = session.step(&step(3)).await.unwrap_err();
    assert!(down.is_transient() && gone.elapsed() < Duration::from_secs(5), "{down} after {:?}", gone.elapsed());
    let _server = start(folder.path()).await;
    until("the ledger works again", async || session.step(&step(3)).await.is_ok()).await;
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_an_error_and_no_hang() {
    let folder = folder();
    let server = start(folder.path()).await;
    migrated(&server.url()).await;
    let ledger = TestLogins::of(&server.url());
    let kiln = open_room(&ledger.admin(), "kiln").await;
    let mut holder = PgConnection::connect(server.url().expose_secret()).await.unwrap();
    let mut tx = holder.begin().await.unwrap();
    sqlx::query("select from parlor.stream_head for update").execute(&mut *tx).await.unwrap();
    let began = Instant::now();
    let stuck = ledger.ear().ingest(&[line(kiln, "a", "ada", "hello")]).await.unwrap_err();
    assert!(stuck.is_transient() && began.elapsed() < Duration::from_secs(9), "{stuck} after {:?}", began.elapsed());
    tx.rollback().await.unwrap();
    ledger.ear().ingest(&[line(kiln, "a", "ada", "hello")]).await.unwrap();
}

#[tokio::test]
async fn what_an_earlier_run_left_is_cleared_by_its_process_id() {
    let folder = folder();
    let server = start(folder.path()).await;
    let (data, pid) = (server.data(), server.pid().unwrap());
    let args = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    server.stop().await.unwrap();

    // A process id in the file that belongs to somebody else by now.
    let file = data.join("postmaster.pid");
    std::fs::write(&file, format!("{}\n{}\n1\n5432\n\n\n  1 1\n", std::process::id(), data.display())).unwrap();
    let server = start(folder.path()).await;
    server.stop().await.unwrap();

    // A server of a run that was killed.
    let owner = std::fs::metadata(&data).unwrap();
    let mut args = args.trim_end_matches('\0').split('\0');
    let mut old = if owner.uid() == std::fs::metadata("/proc/self").unwrap().uid() {
        Command::new(args.next().unwrap())
    } else {
        let mut c = Command::new("setpriv");
        c.args([format!("--reuid={}", owner.uid()), format!("--regid={}", owner.gid()), "--clear-groups".into(), "--".into()]);
        c
    };
    let mut old = old.args(args).current_dir("/").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the old server runs", async || std::fs::read_to_string(&file).is_ok_and(|t| t.contains("ready"))).await;
    let server = start(folder.path()).await;
    assert!(!alive(old.id()), "the old server still runs");
    old.wait().unwrap();
    drop(server);
    assert!(!file.exists(), "dropping it does not stop it");
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_named_with_what_to_do() {
    let folder = folder();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let file = PrivateServer::start(&folder.path().join("file/state"), FAST).await.unwrap_err();
    assert!(matches!(&file, ServerError::Io { .. }) && file.to_string().contains("file/state"), "{file}");

    let other = folder.path().join("other");
    let server = start(&other).await;
    let data = server.data();
    server.stop().await.unwrap();
    std::fs::write(data.join("PG_VERSION"), "9\n").unwrap();
    let version = PrivateServer::start(&other, FAST).await.unwrap_err();
    assert!(version.to_string().contains("install postgresql-9"), "{version}");
    std::fs::write(data.join("PG_VERSION"), std::fs::read(data.join("base/1/PG_VERSION")).unwrap()).unwrap();
    std::fs::write(data.join("postgresql.auto.conf"), "no_such_setting = 1\n").unwrap();
    let ended = PrivateServer::start(&other, FAST).await.unwrap_err();
    assert!(ended.to_string().contains("no_such_setting"), "{ended}");
}

#[tokio::test]
async fn long_and_odd_paths_work() {
    let folder = folder();
    let state = folder.path().join("a folder, with 'odd' letters ü").join("and-a-long-name-".repeat(6));
    let server = start(&state).await;
    migrated(&server.url()).await;
    TestLogins::of(&server.url()).controller.check_schema().await.unwrap();
}

/// Only root runs the server as somebody else, who may not be able to go where the state folder is.
#[tokio::test]
async fn a_state_folder_out_of_the_servers_reach_works_too() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let server = start(&state).await;
    migrated(&server.url()).await;
    let home = server.data().parent().unwrap().to_owned();
    server.stop().await.unwrap();
    if !home.starts_with(folder.path()) {
        std::fs::remove_dir_all(home).unwrap();
    }
}

/// Not a test: a process that holds a server until it is killed.
#[tokio::test]
#[ignore = "the process that the next test kills"]
async fn holder() {
    let Some(state) = std::env::var_os(HOLD) else { return };
    let server = start(Path::new(&state)).await;
    println!("\nserver {}", server.pid().unwrap());
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_killed_process_leaves_no_server() {
    let folder = folder();
    let mut held = hold(folder.path());
    let pid = server_of(&mut held);
    assert!(alive(pid));
    held.kill().unwrap();
    held.wait().unwrap();
    until("the server has ended", async || !alive(pid)).await;
    let _server = start(folder.path()).await;
}

fn hold(state: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "ledger_server::holder", "--ignored", "--nocapture"]).env(HOLD, state);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn server_of(held: &mut Child) -> u32 {
    let lines = BufReader::new(held.stdout.take().unwrap()).lines();
    lines
        .map(|l| l.unwrap())
        .find_map(|l| l.strip_prefix("server ").and_then(|p| p.parse().ok()))
        .expect("the holder did not start a server")
}
