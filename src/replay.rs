//! Whole archives through the room machine on a virtual clock, beside simpler policies, scored by what people really did.
//!
//! Nothing here connects to a platform; a model is asked only through the drafter that the caller brings. No text of an archive
//! leaves it unless its reader asked for that: a report holds numbers, names and ids, a file of
//! sends holds ids. docs/replay.md is the guide.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    rc::Rc,
};

mod archive;
mod args;
mod diary;
mod drafter;
mod drive;
mod error;
mod facts;
pub mod generate;
mod html;
mod import;
mod intake;
mod interval;
mod personas;
mod policies;
mod question;
mod quick;
mod random;
mod report;
mod row;
mod score;
mod seat;
mod shadow;
mod sweep;
mod table;
mod tape;
mod train;
mod truth;

pub use args::{Args, Drafting};
pub use drafter::{Desk, Drafter, Spent};
pub use drive::Ticks;
pub use error::ReplayError;
pub use import::Format;
pub use random::Random;
pub use report::Report;
pub use shadow::{Line, Said, Shadow, ShadowArgs, Stretch, Watched, shadow};
pub use sweep::Sweep;
pub use tape::Tape;
pub use train::{TrainArgs, train};

use drafter::Drafts;
use seat::Seat;

/// Runs a replay and reports on standard output; progress and rows that cannot be used go to standard error.
pub fn run(args: &Args, drafter: Option<Rc<dyn Drafter>>) -> Result<(), ReplayError> {
    let report = replay_with(args, drafter)?;
    for bad in &report.bad_examples {
        writeln!(io::stderr(), "{bad}")?;
    }
    let text = if args.json { format!("{}\n", report.json()) } else { report.table() };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Runs a replay with the stub.
pub fn replay(args: &Args) -> Result<Report, ReplayError> {
    replay_with(args, None)
}

/// Runs a replay, with drafts of a model where one is given.
pub fn replay_with(args: &Args, drafter: Option<Rc<dyn Drafter>>) -> Result<Report, ReplayError> {
    if drafter.is_some() && args.sweep.is_some() {
        return Err(ReplayError::SweepOfModel);
    }
    // Before anything is read: an archive may take an hour, and its posts would be lost at the end of it.
    let sends = args.sends.as_deref().map(|path| open_sends(path, &args.archives)).transpose()?;
    let drafts = drafter.map(|drafter| Rc::new(Drafts::new(drafter, args.max_drafts)));
    let seat = Seat::of(args, drafts.clone())?;
    let folder = args.report.as_deref().map(html::Folder::open).transpose()?;
    let taken = intake::read(args, &seat)?;
    let mut report = Report::of(args, &taken);
    if let (Some(file), Some(path)) = (sends, &args.sends) {
        report::write_sends(file, &taken).map_err(|source| ReplayError::Sends { path: path.clone(), source })?;
    }
    let rooms = folder.as_ref().map(|folder| folder.rooms(&taken, &report, args.draft_ms)).transpose()?;
    drop(taken);
    report.drafts = drafts.map(|drafts| drafts.summary());
    report.swept = args.sweep.as_ref().map(|sweep| sweep.run(args, &seat)).transpose()?;
    if let (Some(folder), Some(rooms)) = (folder, rooms) {
        folder.index(&html::Cover::of(args), &report, &rooms)?;
    }
    Ok(report)
}

/// The figures of one run from a seat.
fn once(args: &Args, seat: &Seat) -> Result<Report, ReplayError> {
    Ok(Report::of(args, &intake::read(args, seat)?))
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
