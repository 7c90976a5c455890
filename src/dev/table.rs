//! The rooms of the process by name, for whoever has to find a room's stream or settings.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use crate::api::RoomConfig;

/// A room that runs.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its stream in the ledger.
    pub(crate) stream: i64,
    /// Its documents.
    pub(crate) config: Arc<RoomConfig>,
    /// Why it is silent although its documents once fitted: what is wrong in them now.
    pub(crate) broken: Option<String>,
}

/// The rooms of the process. A clone is the same table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(Arc<RwLock<BTreeMap<String, Entry>>>);

impl Table {
    pub(crate) fn put(&self, name: &str, entry: Entry) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), entry);
    }

    pub(crate) fn remove(&self, name: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    pub(crate) fn get(&self, name: &str) -> Option<Entry> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    pub(crate) fn all(&self) -> Vec<(String, Entry)> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).iter().map(|(name, entry)| (name.clone(), entry.clone())).collect()
    }
}
