//! Notices that the folder changed, by looking: works on every file system and with every way of saving, and costs one listing
//! of at most 1,000 files every 400 ms.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use super::studio::{Studio, files};

/// Two looks and the reading fit into a second.
const LOOK_EVERY: Duration = Duration::from_millis(400);

/// What tells one state of a file from another: path, inode, size, times of change.
type Mark = (PathBuf, u64, u64, i64, i64, i64, i64);

/// Watches a folder of documents.
#[derive(Debug)]
pub struct Watcher {
    dir: PathBuf,
    /// State of the folder when it was last read.
    read: Option<Vec<Mark>>,
}

impl Watcher {
    /// Reads `dir` and watches it from then on: the first [`Watcher::next`] answers only after a change.
    #[must_use]
    pub fn open(dir: &Path) -> (Self, Studio) {
        // Looked at before it is read: a change in between is noticed.
        let watcher = Self { dir: dir.to_owned(), read: marks(dir) };
        (watcher, Studio::load(dir))
    }

    /// Waits for a change and reads the folder again. A folder is read when two looks agree, so that a file is not read while an
    /// editor is writing it. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Studio {
        let mut ticks = tokio::time::interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut before = self.read.clone();
        loop {
            ticks.tick().await;
            let dir = self.dir.clone();
            // A look that panicked or was cancelled saw nothing.
            let Ok(now) = tokio::task::spawn_blocking(move || marks(&dir)).await else { continue };
            if now != self.read && now == before {
                let dir = self.dir.clone();
                if let Ok(studio) = tokio::task::spawn_blocking(move || Studio::load(&dir)).await {
                    self.read = now;
                    return studio;
                }
            }
            before = now;
        }
    }
}

/// The state of every document's file; `None` where the folder cannot be listed.
fn marks(dir: &Path) -> Option<Vec<Mark>> {
    let mark = |file: PathBuf| match fs::metadata(&file) {
        Ok(m) => (file, m.ino(), m.size(), m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec()),
        Err(_) => (file, 0, 0, 0, 0, 0, 0),
    };
    Some(files(dir).ok()?.into_iter().map(mark).collect())
}
