//! What a new reading of the folder means for the rooms that run. A room whose document can no longer be read is not gone: it
//! is silent until it can be read again.

use std::{collections::BTreeMap, path::PathBuf};

use super::{resolve::RoomConfig, studio::Studio};

/// What has to be done about a room.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It is new, or its documents changed.
    Set(Box<RoomConfig>),
    /// Its documents do not fit any more: it is silent until they do.
    Broken {
        /// Room name.
        room: String,
        /// File, line and what is wrong.
        reason: String,
    },
    /// Its document is gone.
    Removed {
        /// Room name.
        room: String,
    },
}

/// Remembers the rooms that run, as the folder had them when it could last be read.
#[derive(Clone, Debug, Default)]
pub struct Follower(BTreeMap<String, Known>);

#[derive(Clone, Debug)]
struct Known {
    file: PathBuf,
    config: RoomConfig,
    broken: Option<String>,
}

impl Follower {
    /// Compares a new reading with what runs. A room that never fitted is not started, its problems are in the reading.
    pub fn take_up(&mut self, studio: &Studio) -> Vec<Change> {
        let mut changes = Vec::new();
        for (name, loaded) in &studio.rooms {
            match (&loaded.room, self.0.get_mut(name)) {
                (Ok(config), Some(known)) if known.config.audience() != config.audience() => {
                    let reason = format!(
                        "{}: spec.audience: is immutable, it was {:?} when the room began; make a new room",
                        loaded.file.display(),
                        known.config.audience()
                    );
                    known.breaks(name, &reason, &mut changes);
                }
                (Ok(config), Some(known)) if known.config.only != config.only => {
                    let file = loaded.file.display();
                    let reason = format!("{file}: spec.surface: is immutable, and the room is another person's; make a new room");
                    known.breaks(name, &reason, &mut changes);
                }
                (Ok(config), Some(known)) if known.broken.is_none() && known.config == **config => known.file.clone_from(&loaded.file),
                (Ok(config), _) => {
                    let known = Known { file: loaded.file.clone(), config: (**config).clone(), broken: None };
                    self.0.insert(name.clone(), known);
                    changes.push(Change::Set(config.clone()));
                }
                (Err(reason), Some(known)) => known.breaks(name, reason, &mut changes),
                (Err(_), None) => {}
            }
        }
        let missing: Vec<String> = self.0.keys().filter(|name| !studio.rooms.contains_key(*name)).cloned().collect();
        for room in missing {
            let Some(known) = self.0.get_mut(&room) else { continue };
            let reason = if studio.folder_unsure {
                Some("the folder cannot be read".to_owned())
            } else {
                studio.unsure.contains(&known.file).then(|| format!("{} cannot be read", known.file.display()))
            };
            if let Some(reason) = reason {
                known.breaks(&room, &reason, &mut changes);
            } else {
                self.0.remove(&room);
                changes.push(Change::Removed { room });
            }
        }
        changes
    }
}

impl Known {
    fn breaks(&mut self, room: &str, reason: &str, changes: &mut Vec<Change>) {
        if self.broken.as_deref() != Some(reason) {
            self.broken = Some(reason.to_owned());
            changes.push(Change::Broken { room: room.to_owned(), reason: reason.to_owned() });
        }
    }
}
