//! Which persona a room has: `--persona`, else a header row, else `rooms.json` beside the archive.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{ReplayError, import::Resolution, row::Header};

/// A room whose persona really replied less often says too little about it, and is left out (docs/replay.md).
const MIN_REPLIES: u64 = 10;

/// A persona of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Persona {
    /// Its author id in the archive.
    pub id: String,
    pub name: String,
}

#[derive(Deserialize)]
struct Entry {
    room: String,
    #[serde(alias = "persona_id")]
    persona: Option<String>,
    persona_name: Option<String>,
    persona_replies: Option<u64>,
    ts_res: Option<String>,
}

/// The personas that are known.
#[derive(Default)]
pub(super) struct Personas {
    by_room: BTreeMap<String, Option<Persona>>,
    chosen: Option<String>,
    /// Who bears the chosen name, by room.
    bearers: BTreeMap<String, Persona>,
    /// The first of them, for rooms where nobody of that name spoke.
    bearer: Option<Persona>,
    /// How fine the times of the rooms are, the coarsest.
    resolution: Option<Resolution>,
}

impl Personas {
    /// Reads `rooms.json` beside each archive, where there is one.
    pub(super) fn beside(archives: &[PathBuf], chosen: Option<String>) -> Result<Self, ReplayError> {
        let folders: BTreeSet<&Path> = archives.iter().filter_map(|a| a.parent()).collect();
        let mut personas = Self { chosen, ..Self::default() };
        for folder in folders {
            let path = folder.join("rooms.json");
            let text = match fs::read(&path) {
                Ok(text) => text,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(source) => return Err(ReplayError::Read { path, source }),
            };
            let entries: Vec<Entry> = serde_json::from_slice(&text).map_err(|source| ReplayError::RoomsFile { path, source })?;
            for e in entries {
                personas.resolution = personas.resolution.max(e.ts_res.as_deref().and_then(Resolution::of));
                let spoke = e.persona_replies.is_none_or(|n| n >= MIN_REPLIES);
                let persona = e.persona.filter(|_| spoke).map(|id| Persona { name: e.persona_name.unwrap_or_else(|| id.clone()), id });
                personas.by_room.insert(e.room, persona);
            }
        }
        Ok(personas)
    }

    /// These and no others, whatever the archive says.
    pub(super) fn set(by_room: BTreeMap<String, Option<Persona>>) -> Self {
        Self { by_room, ..Self::default() }
    }

    /// Whether somebody's name has to be looked up among the authors before the run.
    pub(super) fn chosen(&self) -> Option<&str> {
        self.chosen.as_deref()
    }

    pub(super) fn resolution(&self) -> Option<Resolution> {
        self.resolution
    }

    /// Somebody speaks in a room, and is also called by other names; remembers who bears the chosen one.
    pub(super) fn speaks(&mut self, room: &str, id: &str, name: &str, others: &[&str]) {
        let Some(chosen) = &self.chosen else { return };
        if (chosen == name || chosen == id || others.contains(&chosen.as_str())) && !self.bearers.contains_key(room) {
            let bearer = Persona { id: id.to_owned(), name: name.to_owned() };
            self.bearer.get_or_insert_with(|| bearer.clone());
            self.bearers.insert(room.to_owned(), bearer);
        }
    }

    /// A header row names a persona.
    pub(super) fn header(&mut self, header: &Header<'_>) {
        self.resolution = self.resolution.max(header.ts_res);
        let id = header.persona_id.clone().into_owned();
        let name = header.persona_name.as_ref().unwrap_or(&header.persona_id).clone().into_owned();
        self.by_room.insert(header.room.clone().into_owned(), Some(Persona { id, name }));
    }

    /// The persona of a room; none where the room is not to be run.
    pub(super) fn of(&self, room: &str) -> Option<Persona> {
        match &self.chosen {
            // Somebody who never spoke there may still be tried out in the room.
            Some(name) => Some(
                self.bearers
                    .get(room)
                    .or(self.bearer.as_ref())
                    .cloned()
                    .unwrap_or_else(|| Persona { id: name.clone(), name: name.clone() }),
            ),
            None => self.by_room.get(room).cloned().flatten(),
        }
    }
}
