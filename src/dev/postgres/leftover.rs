//! What an earlier run left: a server that still runs, or its process id alone. Ended by that id, and only if it works in our
//! data folder.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use super::ServerError;

/// How long an old server may take to end, asked nicely and then not.
const END_WITHIN: Duration = Duration::from_secs(10);
/// No process has this id (Linux ends at 4,194,304), so Postgres takes the file for stale and still checks the memory block
/// that it names.
const NOBODY: &str = "2147483646";

/// Ends a server that still runs on this data folder, and defuses a stale process id.
pub(super) fn clear(data: &Path) -> Result<(), ServerError> {
    let file = data.join("postmaster.pid");
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(ServerError::io("read", file)(e)),
    };
    let Some(pid) = text.lines().next().and_then(|l| l.trim().parse::<u32>().ok()) else {
        return Err(ServerError::Io {
            what: "read the process id in",
            path: file,
            source: std::io::Error::new(
                std::io::ErrorKind::InvalidData,
                "the first line is no number; remove the file if no server runs on it",
            ),
        });
    };
    if !alive(pid) {
        return Ok(());
    }
    if works_in(pid) == data.canonicalize().ok() {
        return end(pid);
    }
    // The number was given to another process since; Postgres would refuse to start because of it.
    let rest: String = text.lines().skip(1).fold(format!("{NOBODY}\n"), |all, l| all + l + "\n");
    fs::write(&file, rest).map_err(ServerError::io("mend", file))
}

/// Whether the server with this process id has opened the database.
pub(super) fn is_ready(data: &Path, pid: Option<u32>) -> bool {
    let Ok(text) = fs::read_to_string(data.join("postmaster.pid")) else { return false };
    let mut lines = text.lines();
    let ours = lines.next().and_then(|l| l.trim().parse().ok());
    // The eighth line is the state.
    pid.is_some() && ours == pid && lines.nth(6).is_some_and(|l| l.trim() == "ready")
}

/// Sends a signal.
pub(super) fn signal(pid: u32, name: &str) {
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill \"-$1\" \"$2\"", "sh", name]).arg(pid.to_string());
    let _ = kill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

fn end(pid: u32) -> Result<(), ServerError> {
    for name in ["INT", "QUIT"] {
        signal(pid, name);
        let asked = Instant::now();
        while asked.elapsed() < END_WITHIN {
            if !alive(pid) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Err(ServerError::Stuck { pid, seconds: 2 * END_WITHIN.as_secs() })
}

/// A zombie is not alive: its parent has not asked for it yet.
fn alive(pid: u32) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'),
        Err(_) => false,
    }
}

fn works_in(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}
