//! Why a replay was not finished, in words that say what to do.

use std::{io, path::PathBuf};

use crate::api::Problems;

/// A replay was not finished.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}; check that it is a readable file and, if it is gzip, that it is complete")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A folder that is no Slack export.
    #[error("{0} is a folder without channels.json, so it is no Slack export; name the files in it instead")]
    Folder(PathBuf),
    /// A file that has to be unpacked first.
    #[error("{0} is a zip archive; unpack it, and name the folder or the files")]
    Zip(PathBuf),
    /// `rooms.json` is not what it should be.
    #[error("cannot use {path}: {source}; it is a list of objects with `room`, `persona` and `persona_name`")]
    RoomsFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The Room document of `--policy` does not fit.
    #[error("--policy cannot be used:\n{0}")]
    Policy(Problems),
    /// A sweep would ask the model again for each value.
    #[error("--sweep with --drafter model would pay for every value; sweep with the stub, whose figures are about when, not what")]
    SweepOfModel,
    /// A model was asked for where none can be had.
    #[error("--drafter model: {0}")]
    Model(String),
    /// A value of `--sweep` is none that the policy takes.
    #[error("--sweep: {0}")]
    Sweep(String),
    /// A row cannot be used, and `--strict` was asked for.
    #[error("{0}; mend the row, or leave out --strict to pass over such rows")]
    BadRow(String),
    /// There is no row to replay: the files are empty, or hold something else.
    #[error(
        "nothing in the archives can be replayed: {bad} rows cannot be used, and there is no other; docs/replay.md says what a row \
         looks like\n{}", .examples.join("\n")
    )]
    NoRows {
        /// Rows that cannot be used.
        bad: u64,
        /// The first of them, each with why.
        examples: Vec<String>,
    },
    /// No room names a persona.
    #[error(
        "no room of the archive has a persona to take the place of: put a header row {{\"room\",\"persona_id\",\"persona_name\"}} \
         before the rows of each room, or a rooms.json beside the file, or give --persona NAME"
    )]
    NoPersona,
    /// The archive holds more rows than the report can number.
    #[error("the archive has more than {0} rows; split it by room and replay the parts")]
    TooManyRows(u32),
    /// The machine of a room does not advance: a bug.
    #[error(
        "the machine of room {room:?} asks for itself without end at {at} ms; please report this with the archive's rows around that time"
    )]
    Stuck {
        /// The room.
        room: String,
        /// Virtual time, ms.
        at: i64,
    },
    /// The posts would be written over what is read.
    #[error("--sends {0} is one of the archives and would be overwritten; give it another file")]
    SendsOverArchive(PathBuf),
    /// The posts cannot be written.
    #[error("cannot write the posts to {path}: {source}; give --sends a file in a folder that exists and has room")]
    Sends {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder of the report is somebody else's.
    #[error("--report {0} is a folder with other files in it; give it a new folder, or that of an earlier report")]
    ReportTaken(PathBuf),
    /// The report cannot be written.
    #[error("cannot write the report to {path}: {source}; give --report a folder that can be made and has room")]
    Report {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The room has no such persona.
    #[error("the room has no persona {wanted:?}; it has: {members}", wanted = .wanted.as_deref().unwrap_or_default())]
    NoMember {
        /// What was asked for; nothing for the first.
        wanted: Option<String>,
        /// Its personas.
        members: String,
    },
    /// Nobody of that name spoke in the part that is looked at.
    #[error("--as {0}: nobody of that name or id spoke in the part of the room that is looked at; `parlor tail` shows who did")]
    NoStandIn(String),
    /// There is nothing after the last post of a persona.
    #[error("nothing was said in {0} since a persona posted there last, so there is nothing in Shadow to look at")]
    NothingInShadow(String),
    /// The report cannot be printed.
    #[error("cannot print the report: {0}")]
    Print(#[from] io::Error),
    /// The weights that were trained cannot be put down.
    #[error("the weights cannot be put into JSON: {0}")]
    Unwritable(#[from] parlor_core::WeightsError),
    /// The weights that were trained cannot be written.
    #[error("cannot write the weights to {path}: {source}; give --out a file in a folder that exists and has room")]
    Weights {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}
