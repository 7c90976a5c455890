//! The installed Postgres: which version, how its data folder is made, how it is started.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    PrivateOptions, ServerError, USER,
    account::{Account, on_path},
    place::{Place, write_private},
};

/// The oldest version that the ledger is tested on.
const LEAST: u32 = 15;

/// The programs of one version.
#[derive(Debug)]
pub(super) struct Binaries {
    postgres: PathBuf,
    initdb: PathBuf,
}

impl Binaries {
    /// The version that made the data, or the newest for an empty place.
    pub(super) fn find(data: &Path) -> Result<Self, ServerError> {
        let made_by = match fs::read_to_string(data.join("PG_VERSION")) {
            Ok(v) => Some(v.trim().to_owned()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
            Err(e) => return Err(ServerError::io("read", data.join("PG_VERSION"))(e)),
        };
        let mut found: Vec<(u32, PathBuf)> = folders().into_iter().filter_map(|d| Some((version_of(&d)?, d))).collect();
        found.sort_by_key(|(v, _)| *v);
        let (newest, folder) = match &made_by {
            None => found.pop().ok_or(ServerError::NoServer)?,
            Some(v) => {
                if found.is_empty() {
                    return Err(ServerError::NoServer);
                }
                let wrong = || ServerError::Version { path: data.to_owned(), data: v.clone() };
                found.into_iter().find(|(f, _)| f.to_string() == *v).ok_or_else(wrong)?
            }
        };
        if newest < LEAST {
            return Err(ServerError::TooOld { found: newest, least: LEAST });
        }
        Ok(Self { postgres: folder.join("postgres"), initdb: folder.join("initdb") })
    }

    /// Makes the data folder. A start that was interrupted here begins again: the folder gets its name last.
    pub(super) fn init(&self, place: &Place, account: &Account, password: &str, options: PrivateOptions) -> Result<(), ServerError> {
        let (data, fresh) = (place.data(), place.home().join("data.new"));
        if fresh.exists() {
            fs::remove_dir_all(&fresh).map_err(ServerError::io("remove the unfinished", &fresh))?;
        }
        fs::create_dir(&fresh).map_err(ServerError::io("make", &fresh))?;
        account.own(&fresh)?;
        let word = place.home().join("password.new");
        let _ = fs::remove_file(&word);
        write_private(&word, password)?;
        account.own(&word)?;
        let mut command = account.command(&self.initdb, true);
        command.arg("-D").arg(&fresh).arg("-U").arg(USER).arg("--pwfile").arg(&word);
        command.args(["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-instructions"]);
        if options.fast {
            command.arg("--no-sync");
        }
        let done = command.output().map_err(ServerError::io("run", &self.initdb));
        let _ = fs::remove_file(&word);
        let done = done?;
        if !done.status.success() {
            let _ = fs::remove_dir_all(&fresh);
            let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
            let lines: Vec<&str> = said.lines().collect();
            let last = lines.split_at(lines.len().saturating_sub(8)).1;
            return Err(ServerError::Init { log: last.join("\n") });
        }
        fs::rename(&fresh, &data).map_err(ServerError::io("name", &data))
    }

    /// The server in the foreground, as the keeper starts it.
    pub(super) fn serve(&self, place: &Place, account: &Account, options: PrivateOptions) -> Command {
        let mut command = account.command(&self.postgres, true);
        command.arg("-D").arg(place.data());
        let connections = if options.max_connections == 0 { 500 } else { options.max_connections };
        let mut settings = vec![
            "listen_addresses=".to_owned(),
            format!("unix_socket_directories={}", place.socket().display()),
            "unix_socket_permissions=0700".into(),
            format!("max_connections={connections}"),
            "shared_buffers=32MB".into(),
            "wal_level=minimal".into(),
            "max_wal_senders=0".into(),
            "max_wal_size=256MB".into(),
            "jit=off".into(),
            // Neither statements nor the details of errors are written down: they may quote what people said.
            "log_min_error_statement=panic".into(),
            "log_error_verbosity=terse".into(),
            "log_statement=none".into(),
            "logging_collector=off".into(),
            "timezone=UTC".into(),
        ];
        if options.fast {
            settings.extend(["fsync=off", "synchronous_commit=off", "full_page_writes=off"].map(str::to_owned));
        }
        for setting in settings {
            command.arg("-c").arg(setting);
        }
        command
    }
}

/// Folders with a server: the one on the path, and Debian's, which are not on it.
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|e| e.path().join("bin"));
    let on_path = on_path("postgres").and_then(|p| p.canonicalize().ok()).and_then(|p| p.parent().map(Path::to_owned));
    for folder in debian.chain(on_path) {
        if folder.join("postgres").is_file() && folder.join("initdb").is_file() && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// Major version, from `postgres (PostgreSQL) 15.14 (...)`.
fn version_of(folder: &Path) -> Option<u32> {
    let said = Command::new(folder.join("postgres")).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    text.split_whitespace().nth(2)?.split(['.', 'b', 'r', 'd']).next()?.parse().ok()
}
