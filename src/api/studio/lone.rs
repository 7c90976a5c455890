//! One room's document used away from its place: its file alone, with what personas stand beside it.

use std::path::Path;

use super::{At, Loaded, Problem, Problems, Reading, RoomConfig, Studio, files_in};

impl Studio {
    /// The room of one file, and those of its personas whose documents are in the same folder. Others are no problem: whoever
    /// calls this puts somebody else in their place.
    pub fn room_of(file: &Path) -> Result<Box<RoomConfig>, Problems> {
        let mut reading = Reading { personas_may_miss: true, ..Reading::default() };
        reading.file(file);
        let mut beside = Reading::default();
        if let Some(folder) = file.parent() {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            for other in files_in(folder).unwrap_or_default().iter().filter(|f| f.file_name() != file.file_name()) {
                beside.file(other);
            }
        }
        for (name, persona) in std::mem::take(&mut beside.personas) {
            reading.personas.entry(name).or_insert(persona);
        }
        let studio = reading.finish();
        if !studio.problems.is_empty() {
            return Err(studio.problems);
        }
        let only = |message: &str| Problems::sorted(vec![Problem::new(file, At::default(), "", message)]);
        let mut rooms = studio.rooms.into_values();
        match (rooms.next(), rooms.next()) {
            (None, _) => Err(only("holds no Room document")),
            (Some(_), Some(_)) => Err(only("holds several Room documents, and one is wanted; put it into a file of its own")),
            (Some(Loaded { room: Ok(room), .. }), None) => Ok(room),
            // The file itself is sound, so what is wrong is in a persona of it.
            (Some(Loaded { room: Err(_), .. }), None) => Err(Problems::sorted(beside.problems)),
        }
    }
}
