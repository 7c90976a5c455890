//! The state folder: who may use it, where the data is, where the socket is.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{ServerError, account::Account};

/// A socket's path may have 107 bytes on Linux.
const SOCKET_BYTES: usize = 107;
/// The name that Postgres gives a socket.
const SOCKET_NAME: &str = ".s.PGSQL.5432";
/// A longer log is begun anew at a start.
const LOG_BYTES: u64 = 8 * 1024 * 1024;
/// How much of a log an error shows.
const TAIL_BYTES: u64 = 2_000;

/// Where the server lives.
#[derive(Debug)]
pub(super) struct Place {
    state: PathBuf,
    home: PathBuf,
    socket: PathBuf,
    /// The socket's folder is a temporary one.
    short: bool,
}

impl Place {
    /// Takes the state folder for this process, and makes what is missing in it.
    pub(super) fn open(state: &Path, account: &Account) -> Result<(Self, File), ServerError> {
        // 0711: the server's account has to pass through, and must not list.
        let mode = if account.is_other() { 0o711 } else { 0o700 };
        fs::DirBuilder::new().recursive(true).mode(mode).create(state).map_err(ServerError::io("make the state folder", state))?;
        let state = state.canonicalize().map_err(ServerError::io("find", state))?;
        let lock = locked(&state)?;
        let home = if account.reaches(&state) { state.join("postgres") } else { elsewhere(&state)? };
        make(&home, mode)?;
        let inside = home.join("socket");
        let plain = inside.to_string_lossy().chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
        let short = !plain || inside.as_os_str().len() + 1 + SOCKET_NAME.len() > SOCKET_BYTES;
        let socket =
            if short { std::env::temp_dir().join(format!("parlor-{}", &Uuid::new_v4().simple().to_string()[..12])) } else { inside };
        make(&socket, 0o700)?;
        account.own(&socket)?;
        let place = Self { state, home, socket, short };
        if fs::metadata(place.log()).is_ok_and(|m| m.len() > LOG_BYTES) {
            fs::remove_file(place.log()).map_err(ServerError::io("begin anew", place.log()))?;
        }
        Ok((place, lock))
    }

    pub(super) fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    pub(super) fn log(&self) -> PathBuf {
        self.home.join("postgres.log")
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// The superuser's password. It is made before the data folder; a data folder without it cannot be opened.
    pub(super) fn password(&self) -> Result<String, ServerError> {
        let path = self.state.join("postgres.password");
        match fs::read_to_string(&path) {
            Ok(password) => return Ok(password.trim().to_owned()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && !self.data().exists() => {}
            Err(e) => return Err(ServerError::io("read", path)(e)),
        }
        let password = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        write_private(&path, &password)?;
        Ok(password)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.short {
            let _ = fs::remove_dir_all(&self.socket);
        }
    }
}

/// Writes a file that only its owner can read.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), ServerError> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(ServerError::io("write", path))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(ServerError::io("write", path))
}

/// The end of a log, for an error.
pub(super) fn tail(path: &Path) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    read().unwrap_or_else(|e| format!("(the log {} cannot be read: {e})", path.display()))
}

/// A path inside the query of a URL.
pub(super) fn percent_encoded(path: &str) -> String {
    use std::fmt::Write as _;
    path.bytes().fold(String::new(), |mut out, b| {
        if b.is_ascii_alphanumeric() || b"/._-".contains(&b) {
            out.push(char::from(b));
        } else {
            let _ = write!(out, "%{b:02X}");
        }
        out
    })
}

fn locked(state: &Path) -> Result<File, ServerError> {
    let path = state.join("postgres.lock");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut lock = options.open(&path).map_err(ServerError::io("write", &path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => {
            let pid = fs::read_to_string(&path).unwrap_or_default();
            return Err(ServerError::InUse { path: state.to_owned(), pid: pid.trim().to_owned() });
        }
        Err(fs::TryLockError::Error(e)) => return Err(ServerError::io("lock", path)(e)),
    }
    lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id())).map_err(ServerError::io("write", path))?;
    Ok(lock)
}

/// The server's account cannot go into the state folder (such as one in root's home): its data lives under a folder of its
/// own, named after the state folder.
fn elsewhere(state: &Path) -> Result<PathBuf, ServerError> {
    let root = Path::new("/var/lib/parlor");
    make(root, 0o711)?;
    let name = hex::encode(Sha256::digest(state.as_os_str().as_encoded_bytes()));
    let short: String = name.chars().take(16).collect();
    Ok(root.join(short))
}

fn make(folder: &Path, mode: u32) -> Result<(), ServerError> {
    match fs::DirBuilder::new().mode(mode).create(folder) {
        Ok(()) => fs::set_permissions(folder, fs::Permissions::from_mode(mode)).map_err(ServerError::io("set the rights of", folder)),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(e) => Err(ServerError::io("make", folder)(e)),
    }
}
