//! The console's secrets: the key that signs cookies, the tokens of the machine's own user, and the owner's one-time link.
//!
//! Keys live in files that only their owner can read; a file that others can read is refused, not repaired, because it may
//! have been copied already. No secret has a `Debug` or `Display`, so that none can end up in a log line.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretBox, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;

/// The key that signs cookies and the two local tokens.
pub struct Keys {
    cookie: SecretBox<[u8; 32]>,
    local: SecretString,
    owner: SecretString,
}

/// Who holds a local token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Somebody who can read the state folder: speaks under a name of their choice.
    Local,
    /// Somebody who can read the owner's file: also speaks as the owner.
    Owner,
}

/// A key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// It cannot be read or written.
    #[error("the console's key file {path} cannot be {what}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// Others can read or write it.
    #[error("the console's key file {path} can be read by others (mode {mode:03o}); delete it, a new one is made at the next start")]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It does not hold a key.
    #[error("the console's key file {path} does not hold a key; delete it, a new one is made at the next start")]
    Content {
        /// The file.
        path: PathBuf,
    },
}

impl Keys {
    /// The file of the token that `parlor say` presents.
    pub const LOCAL: &'static str = "say.token";
    /// The file of the token that `parlor say --as owner` presents.
    pub const OWNER: &'static str = "owner.token";
    const COOKIE: &'static str = "cookie.key";

    /// Reads the keys in `folder`, and makes those that are missing (the folder too). Blocking; a few small files.
    pub fn load(folder: &Path) -> Result<Self, KeyError> {
        fs::create_dir_all(folder).map_err(|source| KeyError::File { path: folder.into(), what: "made", source })?;
        let cookie = load_or_make(&folder.join(Self::COOKIE))?;
        let local = load_or_make(&folder.join(Self::LOCAL))?;
        let owner = load_or_make(&folder.join(Self::OWNER))?;
        Ok(Self { cookie: SecretBox::new(Box::new(cookie)), local: text(&local), owner: text(&owner) })
    }

    /// The token in one of the files of `folder`, for the command line.
    pub fn read_token(folder: &Path, file: &str) -> Result<SecretString, KeyError> {
        let path = folder.join(file);
        load(&path)?.map(|key| text(&key)).ok_or_else(|| KeyError::File {
            path,
            what: "found",
            source: io::Error::new(io::ErrorKind::NotFound, "start `parlor dev` first, it makes the file"),
        })
    }

    /// Signs a value for one purpose: the value itself and its mark, safe in a cookie. What is signed for one purpose is
    /// refused for every other.
    pub(crate) fn sign(&self, purpose: &str, value: &[u8]) -> String {
        let mark = self.mac(purpose, value).finalize().into_bytes();
        format!("{}.{}", BASE64.encode(value), BASE64.encode(mark))
    }

    /// The value, if it was signed with this key for this purpose.
    pub(crate) fn verify(&self, purpose: &str, signed: &str) -> Option<Vec<u8>> {
        let (value, mark) = signed.split_once('.')?;
        let value = BASE64.decode(value).ok()?;
        let mark = BASE64.decode(mark).ok()?;
        self.mac(purpose, &value).verify_slice(&mark).ok()?;
        Some(value)
    }

    /// A stable id for something that has no random id of its own, such as a name on the command line.
    pub(crate) fn derive(&self, purpose: &str, value: &str) -> String {
        hex::encode(self.mac(purpose, value.as_bytes()).finalize().into_bytes().get(..16).unwrap_or_default())
    }

    /// Names this key without giving it away. Browsers send cookies to every port of a host, so two consoles on one machine
    /// would overwrite each other's if their cookies had one name.
    pub(crate) fn label(&self) -> String {
        self.derive("label", "").get(..8).unwrap_or_default().to_owned()
    }

    /// Who presents this bearer token. Both are compared always, each in constant time.
    pub(crate) fn caller(&self, presented: &str) -> Option<Caller> {
        let local = same(&self.local, presented);
        let owner = same(&self.owner, presented);
        match (owner, local) {
            (true, _) => Some(Caller::Owner),
            (false, true) => Some(Caller::Local),
            (false, false) => None,
        }
    }

    fn mac(&self, purpose: &str, value: &[u8]) -> Hmac<Sha256> {
        // The first hash makes a key per purpose of fixed length, so that no purpose and value can be shifted into another.
        let key = Sha256::new().chain_update(self.cookie.expose_secret()).chain_update(purpose).finalize();
        // HMAC pads a short key with zeros to its block; a whole block cannot be of the wrong length.
        let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
        block.iter_mut().zip(key).for_each(|(place, byte)| *place = byte);
        let mut mac = <Hmac<Sha256> as KeyInit>::new(&block);
        mac.update(value);
        mac
    }
}

/// The link that makes its opener the owner: it works once in the life of the process that printed it.
pub struct OwnerLink {
    token: SecretString,
    used: AtomicBool,
}

impl OwnerLink {
    /// A link that nobody has seen yet.
    #[must_use]
    pub fn fresh() -> Self {
        Self { token: text(&random()), used: AtomicBool::new(false) }
    }

    /// Path and query of the link, to be printed once on the terminal and nowhere else.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/owner?token={}", self.token.expose_secret())
    }

    /// True for the first caller who presents the token.
    pub(crate) fn redeem(&self, presented: &str) -> bool {
        same(&self.token, presented) && !self.used.swap(true, Ordering::SeqCst)
    }
}

fn same(secret: &SecretString, presented: &str) -> bool {
    secret.expose_secret().as_bytes().ct_eq(presented.as_bytes()).into()
}

fn text(key: &[u8; 32]) -> SecretString {
    BASE64.encode(key).into()
}

/// 32 bytes from 244 random bits: two random UUIDs, drawn from the operating system.
fn random() -> [u8; 32] {
    Sha256::new().chain_update(Uuid::new_v4().as_bytes()).chain_update(Uuid::new_v4().as_bytes()).finalize().into()
}

fn load_or_make(path: &Path) -> Result<[u8; 32], KeyError> {
    if let Some(key) = load(path)? {
        return Ok(key);
    }
    let key = random();
    // Written beside and renamed, so that a crash leaves a whole file or none.
    let draft = path.with_extension("new");
    let wrap = |source| KeyError::File { path: path.into(), what: "written", source };
    match fs::remove_file(&draft) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(wrap(e)),
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).map_err(wrap)?;
    writeln!(file, "{}", BASE64.encode(key)).map_err(wrap)?;
    file.sync_all().map_err(wrap)?;
    fs::rename(&draft, path).map_err(wrap)?;
    Ok(key)
}

fn load(path: &Path) -> Result<Option<[u8; 32]>, KeyError> {
    let wrap = |source| KeyError::File { path: path.into(), what: "read", source };
    let facts = match fs::metadata(path) {
        Ok(facts) => facts,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(wrap(e)),
    };
    let mode = facts.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeyError::Open { path: path.into(), mode });
    }
    let content = || KeyError::Content { path: path.into() };
    if facts.len() > 128 {
        return Err(content());
    }
    let written = fs::read_to_string(path).map_err(wrap)?;
    let key = BASE64.decode(written.trim_end()).map_err(|_| content())?;
    key.try_into().map(Some).map_err(|_| content())
}

#[cfg(test)]
mod tests;
