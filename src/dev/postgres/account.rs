//! As whom the server runs: as ourselves, or, since Postgres refuses root, as `postgres` or `nobody`.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::{MetadataExt, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::ServerError;

/// The account of the server.
#[derive(Clone, Debug)]
pub(super) struct Account {
    /// User and group id, when it is not ours.
    other: Option<(u32, u32)>,
    setpriv: Option<PathBuf>,
}

impl Account {
    pub(super) fn find() -> Result<Self, ServerError> {
        let setpriv = on_path("setpriv");
        let me = fs::metadata("/proc/self").map_err(ServerError::io("look at", "/proc/self"))?.uid();
        if me != 0 {
            return Ok(Self { other: None, setpriv });
        }
        if setpriv.is_none() {
            return Err(ServerError::NoSetpriv);
        }
        let users = fs::read_to_string("/etc/passwd").map_err(ServerError::io("read", "/etc/passwd"))?;
        let ids = ["postgres", "nobody"].iter().find_map(|name| ids_of(&users, name)).ok_or(ServerError::NoAccount)?;
        Ok(Self { other: Some(ids), setpriv })
    }

    /// Whether the server runs as somebody else.
    pub(super) fn is_other(&self) -> bool {
        self.other.is_some()
    }

    /// A command that runs `program` as this account. With `tied` it gets SIGINT when the thread that starts it ends, so that
    /// a killed process leaves nothing behind.
    pub(super) fn command(&self, program: impl AsRef<OsStr>, tied: bool) -> Command {
        let mut command = match &self.setpriv {
            Some(setpriv) => {
                let mut c = Command::new(setpriv);
                if let Some((uid, gid)) = self.other {
                    c.args([format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".into()]);
                }
                if tied {
                    c.arg("--pdeathsig=INT");
                }
                c.arg("--").arg(program);
                c
            }
            None => Command::new(program),
        };
        // Settings of the caller's own Postgres must not leak into this one.
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        command.current_dir("/").stdin(Stdio::null());
        command
    }

    /// Hands a file or folder to this account.
    pub(super) fn own(&self, path: &Path) -> Result<(), ServerError> {
        match self.other {
            Some((uid, gid)) => chown(path, Some(uid), Some(gid)).map_err(ServerError::io("hand over", path)),
            None => Ok(()),
        }
    }

    /// Whether this account can go into a folder.
    pub(super) fn reaches(&self, folder: &Path) -> bool {
        if !self.is_other() {
            return true;
        }
        let mut look = self.command("sh", false);
        look.args(["-c", "cd -- \"$1\"", "sh"]).arg(folder).stdout(Stdio::null()).stderr(Stdio::null());
        look.status().is_ok_and(|s| s.success())
    }
}

fn ids_of(users: &str, name: &str) -> Option<(u32, u32)> {
    let line = users.lines().find(|l| l.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Finds a program.
pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|d| d.join(program)).find(|p| p.is_file())
}
