//! Whole archives through the room machine on a virtual clock, beside simpler policies, scored by what people really did.
//!
//! Nothing here connects to a platform or asks a model, and no text of an archive leaves it: a report holds numbers, a file of
//! sends holds ids. docs/replay.md is the guide.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

mod archive;
mod drive;
mod facts;
pub mod generate;
mod intake;
mod interval;
mod personas;
mod policies;
mod question;
mod random;
mod report;
mod row;
mod score;
mod tape;
mod truth;

pub use random::Random;
pub use report::Report;
pub use tape::Tape;

/// The share of reply links that a live room is taken to see, where nothing else is asked for.
const VISIBLE_LINKS: f64 = 0.3;
/// How long a draft takes, ms, where nothing else is asked for.
const DRAFT_MS: i64 = 6_000;

/// What to replay, and how.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Archives: JSON lines, plain or gzip; one or several files, rooms may be mixed
    #[arg(required = true, value_name = "ARCHIVE")]
    pub archives: Vec<PathBuf>,
    /// Whose place the machine takes in every room: a name or an author id of the archive, or somebody new
    #[arg(long, value_name = "NAME")]
    pub persona: Option<String>,
    /// Share of reply links that the machine may see
    #[arg(long, value_name = "0..1", default_value_t = VISIBLE_LINKS, value_parser = share)]
    pub visible_links: f64,
    /// How long a draft takes on the virtual clock, ms
    #[arg(long, value_name = "MS", default_value_t = DRAFT_MS, value_parser = clap::value_parser!(i64).range(0..=600_000))]
    pub draft_ms: i64,
    /// Stop at the first row that cannot be used
    #[arg(long)]
    pub strict: bool,
    /// Seed of the random policy and of the intervals
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write a JSON line for each post of the machine to this file
    #[arg(long, value_name = "FILE")]
    pub sends: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
}

impl Args {
    /// Some archives with every default.
    pub fn of(archives: Vec<PathBuf>) -> Self {
        Self { archives, persona: None, visible_links: VISIBLE_LINKS, draft_ms: DRAFT_MS, strict: false, seed: 1, sends: None, json: false }
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("a share is from 0 to 1".into()) }
}

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
    /// `rooms.json` is not what it should be.
    #[error("cannot use {path}: {source}; it is a list of objects with `room`, `persona` and `persona_name`")]
    RoomsFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
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
    /// The report cannot be printed.
    #[error("cannot print the report: {0}")]
    Print(#[from] io::Error),
}

/// Runs a replay and reports on standard output; progress and rows that cannot be used go to standard error.
pub fn run(args: &Args) -> Result<(), ReplayError> {
    let report = replay(args)?;
    for bad in &report.bad_examples {
        writeln!(io::stderr(), "{bad}")?;
    }
    let text = if args.json { format!("{}\n", report.json()) } else { report.table() };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Runs a replay.
pub fn replay(args: &Args) -> Result<Report, ReplayError> {
    // Before anything is read: an archive may take an hour, and its posts would be lost at the end of it.
    let sends = args.sends.as_deref().map(|path| open_sends(path, &args.archives)).transpose()?;
    let taken = intake::read(args)?;
    let report = Report::of(args, &taken);
    if let (Some(file), Some(path)) = (sends, &args.sends) {
        report::write_sends(file, &taken).map_err(|source| ReplayError::Sends { path: path.clone(), source })?;
    }
    Ok(report)
}

/// Opens the file of the posts, unless it is an archive under this or another name.
fn open_sends(path: &Path, archives: &[PathBuf]) -> Result<File, ReplayError> {
    let fault = |source| ReplayError::Sends { path: path.to_owned(), source };
    let same = |a: &Metadata, b: &Metadata| a.dev() == b.dev() && a.ino() == b.ino();
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).map_err(fault)?;
    let here = file.metadata().map_err(fault)?;
    if archives.iter().filter_map(|archive| archive.metadata().ok()).any(|archive| same(&archive, &here)) {
        return Err(ReplayError::SendsOverArchive(path.to_owned()));
    }
    if here.is_file() {
        file.set_len(0).map_err(fault)?;
    }
    Ok(file)
}

/// Reads and unpacks an archive and looks at nothing in it; gives the number of lines. What a replay cannot be faster than.
pub fn unpack(path: &Path) -> io::Result<usize> {
    let mut archive = archive::Archive::open(path)?;
    let mut lines = 0;
    while let Some(batch) = archive.next()? {
        if let archive::Batch::Lines(bytes) = batch {
            lines += bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()).count();
        }
    }
    Ok(lines)
}
