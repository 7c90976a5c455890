//! Which rooms the console surface has, and what their personas are called there.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

/// A room of the console surface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsoleRoom {
    /// Its stream in the ledger.
    pub stream: i64,
    /// Display names of its personas by resource name.
    pub personas: BTreeMap<String, String>,
    /// The only authenticated id that it takes anything from; none: anybody's.
    pub only: Option<String>,
}

/// The rooms of this gateway by name. A clone is the same list.
#[derive(Clone, Debug, Default)]
pub struct ConsoleRooms {
    by_name: Arc<RwLock<BTreeMap<String, ConsoleRoom>>>,
}

impl ConsoleRooms {
    /// Adds a room, or changes what its personas are called.
    pub fn put(&self, name: &str, room: ConsoleRoom) {
        self.by_name.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), room);
    }

    /// Takes a room away: nothing said in it is taken in any more.
    pub fn remove(&self, name: &str) {
        self.by_name.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    pub(super) fn get(&self, name: &str) -> Option<ConsoleRoom> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// What the personas of a room are called.
    pub(super) fn display_names(&self, room: &str) -> BTreeMap<String, String> {
        self.get(room).map(|r| r.personas).unwrap_or_default()
    }
}
