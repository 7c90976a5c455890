//! Rows of other programs' archives on their way to the machines.

use std::{cell::Cell, path::Path, time::Instant};

use super::{Intake, Listener, Took};
use crate::replay::{
    ReplayError,
    import::{At, Format, Importer, Told},
    row::Row,
};

impl<L: Listener> Intake<'_, L> {
    /// One pass for nothing but the id of who bears the chosen name.
    pub(super) fn look_among_imported(&mut self, format: Format, path: &Path, importer: &mut Importer) -> Result<(), ReplayError> {
        importer.read(format, path, &|_| (), &mut |told| {
            if let Told::Row(row, others, _) = told {
                self.personas.speaks(&row.room, &row.author_id, &row.author_name, others);
            }
            Ok(())
        })
    }

    /// Reads one archive. All of it is timed: its rows are made as they are read.
    pub(super) fn imported(
        &mut self,
        format: Format,
        path: &Path,
        importer: &mut Importer,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), ReplayError> {
        let started = Instant::now();
        let read = Cell::new(0);
        let done = importer.read(format, path, &|bytes| read.set(bytes), &mut |told| {
            progress(read.get());
            match told {
                Told::Row(row, _, at) => self.imported_row(row, at),
                Told::Bad((file, at), reason) => self.bad(file, at, &reason),
                Told::Resolution(resolution) => {
                    self.taken.resolution = self.taken.resolution.max(Some(resolution));
                    Ok(())
                }
            }
        });
        self.taken.spent += started.elapsed();
        done
    }

    fn imported_row(&mut self, mut row: Row<'_>, (file, at): At<'_>) -> Result<(), ReplayError> {
        let room = self.room_number(&row.room).and_then(|n| self.taken.rooms.get(n));
        if let Some(room) = room {
            // A program whose place the machine takes is no bot to itself.
            row.bot &= row.author_id != room.persona.id.as_str();
            // A link to a line that is not here says only that this one opens nothing.
            row.reply_to = row.reply_to.filter(|to| to.iter().any(|id| room.facts.row_named(&id.0).is_some()));
        }
        self.taken.links_only |= row.reply_to.is_some();
        match self.row(row)? {
            Took::Kept(row) => self.note(&row),
            Took::NotRun => {}
            Took::Bad(reason) => self.bad(file, at, reason)?,
        }
        Ok(())
    }
}
