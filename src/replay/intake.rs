//! Reads archives batch by batch and drives the machine of each room as its lines come: rows are never all in memory.
//!
//! Only this part is timed: reading, unpacking, decoding, and the machine with its posts. What the scorer needs of a row is taken
//! down between the timed parts.

mod imported;

use std::{
    borrow::Cow,
    collections::HashMap,
    path::Path,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use parlor_core::{Author, AuthorKind, Item, ItemKind, Link, Member, Mention, Names};
use sha1::{Digest, Sha1};

use super::{
    Args, ReplayError,
    archive::{Archive, Batch},
    drive::{Listener, Stuck},
    facts::{Duplicate, Facts},
    import::{self, Format, Importer, Resolution},
    personas::{Persona, Personas},
    question,
    row::{self, Line, Named, Row},
    seat::Seat,
};

/// Rows are numbered in 32 bits; this leaves room and is far beyond what fits into memory as facts.
const MAX_ROWS: u32 = 1 << 30;
/// Rows that cannot be used and are shown.
const SHOWN_BAD_ROWS: usize = 10;
/// The id under which a line of the persona is linked to: the machine never sees the line itself.
const PERSONA_LINE: &str = "persona";

/// A room after its run.
pub(super) struct RoomRun<L> {
    pub name: String,
    pub persona: Persona,
    pub facts: Facts,
    pub listener: L,
    /// Finds names in rows that do not say whom they name.
    names: Names,
    /// The latest time seen.
    last_ts: i64,
}

impl<L> RoomRun<L> {
    /// A room that was heard elsewhere.
    pub(super) fn heard(name: String, persona: Persona, facts: Facts, listener: L) -> Self {
        Self { name, persona, facts, listener, names: Names::default(), last_ts: 0 }
    }

    /// The same room, heard by another.
    pub(super) fn with<M>(self, listener: M) -> RoomRun<M> {
        let Self { name, persona, facts, names, last_ts, .. } = self;
        RoomRun { name, persona, facts, listener, names, last_ts }
    }
}

/// What was read, and how fast.
pub(super) struct Taken<L> {
    pub rooms: Vec<RoomRun<L>>,
    /// Rooms that were left out for want of a persona.
    pub rooms_left_out: u64,
    /// Time of reading, decoding and of the machines.
    pub spent: Duration,
    pub bad_rows: u64,
    pub bad_examples: Vec<String>,
    /// Rows whose time went back and was set to the latest of their room.
    pub late_rows: u64,
    /// How fine the times are, where it is known.
    pub resolution: Option<Resolution>,
    /// What a line replies to is known only of those that have a link of their platform.
    pub links_only: bool,
}

impl<L> Default for Taken<L> {
    fn default() -> Self {
        Self {
            rooms: Vec::new(),
            rooms_left_out: 0,
            spent: Duration::ZERO,
            bad_rows: 0,
            bad_examples: Vec::new(),
            late_rows: 0,
            resolution: None,
            links_only: false,
        }
    }
}

/// Reads every archive, and has a listener hear every room.
pub(super) fn read<L: Listener>(args: &Args, seat: &Seat) -> Result<Taken<L>, ReplayError> {
    read_as(args, seat, Personas::beside(&args.archives, args.persona.clone())?)
}

/// The same with these personas.
pub(super) fn read_as<L: Listener>(args: &Args, seat: &Seat, personas: Personas) -> Result<Taken<L>, ReplayError> {
    let mut intake =
        Intake { args, seat, personas, numbers: HashMap::new(), latest: (String::new(), None), rows: 0, taken: Taken::default() };
    let archives = args.archives.iter().map(|path| Ok((import::format(path, args.format)?, path.as_path())));
    let archives: Vec<(Format, &Path)> = archives.collect::<Result<_, ReplayError>>()?;
    if intake.personas.chosen().is_some() {
        let mut importer = Importer::default();
        for (format, path) in &archives {
            intake.look_for_persona(*format, path, &mut importer)?;
        }
    }
    let size = archives.iter().map(|(format, path)| import::size(*format, path)).sum();
    // On standard error, and hidden by itself where that is no terminal.
    let bar = ProgressBar::new(size).with_style(style());
    let mut importer = Importer::default();
    let mut before = 0;
    for (format, path) in &archives {
        let mut progress = |bytes| bar.set_position(before + bytes);
        match format {
            Format::Auto | Format::Jsonl => intake.file(path, &mut progress)?,
            other => intake.imported(*other, path, &mut importer, &mut progress)?,
        }
        before += import::size(*format, path);
    }
    bar.finish_and_clear();
    intake.finish()
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("replay {bar:40} {bytes}/{total_bytes} {eta}").unwrap_or_else(|_| ProgressStyle::default_bar())
}

struct Intake<'a, L> {
    args: &'a Args,
    seat: &'a Seat,
    personas: Personas,
    /// Place in the list of rooms by name; none for a room that is left out.
    numbers: HashMap<String, Option<usize>>,
    /// The room of the last row: rows of a room mostly follow each other.
    latest: (String, Option<usize>),
    rows: u32,
    taken: Taken<L>,
}

/// What the scorer is to read of a row that was taken up.
struct Kept<'a> {
    room: usize,
    at: usize,
    content: Cow<'a, str>,
    /// Id and name of who spoke, where whom they name is still to be found.
    unnamed: Option<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<L: Listener> Intake<'_, L> {
    /// One pass for nothing but the id of who bears the chosen name.
    fn look_for_persona(&mut self, format: Format, path: &Path, importer: &mut Importer) -> Result<(), ReplayError> {
        if !matches!(format, Format::Auto | Format::Jsonl) {
            return self.look_among_imported(format, path, importer);
        }
        let fault = |source| ReplayError::Read { path: path.to_owned(), source };
        let mut archive = Archive::open(path).map_err(fault)?;
        while let Some(batch) = archive.next().map_err(fault)? {
            let Batch::Lines(bytes) = batch else { continue };
            for line in String::from_utf8_lossy(bytes).split('\n') {
                if let Ok(Line::Row(row)) = row::read(line) {
                    self.personas.speaks(&row.room, &row.author_id, &row.author_name, &[]);
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, progress: &mut dyn FnMut(u64)) -> Result<(), ReplayError> {
        let fault = |source| ReplayError::Read { path: path.to_owned(), source };
        let mut archive = Archive::open(path).map_err(fault)?;
        let mut number = 0;
        loop {
            let read = archive.read_bytes();
            let started = Instant::now();
            let Some(batch) = archive.next().map_err(fault)? else { break };
            let mut kept = Vec::new();
            match batch {
                Batch::TooLong => {
                    number += 1;
                    self.bad(path, number, "the line is longer than 1 MiB")?;
                }
                Batch::Lines(bytes) => self.lines(path, &mut number, bytes, &mut kept)?,
            }
            self.taken.spent += started.elapsed();
            for row in kept {
                self.note(&row);
            }
            progress(read);
        }
        Ok(())
    }

    /// `number` is that of the last line before, and after.
    fn lines<'r>(&mut self, path: &Path, number: &mut u64, bytes: &'r [u8], kept: &mut Vec<Kept<'r>>) -> Result<(), ReplayError> {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        // Whole batches are mostly sound: one check for all their lines, and one for each only where that fails.
        if let Ok(text) = std::str::from_utf8(bytes) {
            for line in text.split('\n') {
                *number += 1;
                self.line(path, *number, line, kept)?;
            }
            return Ok(());
        }
        for line in bytes.split(|b| *b == b'\n') {
            *number += 1;
            match std::str::from_utf8(line) {
                Ok(line) => self.line(path, *number, line, kept)?,
                Err(_) => self.bad(path, *number, "the line is not UTF-8")?,
            }
        }
        Ok(())
    }

    fn line<'r>(&mut self, path: &Path, number: u64, line: &'r str, kept: &mut Vec<Kept<'r>>) -> Result<(), ReplayError> {
        let line = if number == 1 { line.trim_start_matches('\u{feff}') } else { line };
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        match row::read(line) {
            Ok(Line::Row(row)) => match self.row(row)? {
                Took::Kept(row) => kept.push(row),
                Took::NotRun => {}
                Took::Bad(reason) => self.bad(path, number, reason)?,
            },
            Ok(Line::Header(header)) if self.numbers.contains_key(header.room.as_ref()) => {
                self.bad(path, number, "the header comes after rows of its room; put it before them")?;
            }
            Ok(Line::Header(header)) => self.personas.header(&header),
            Err(reason) => self.bad(path, number, &reason)?,
        }
        Ok(())
    }

    fn row<'r>(&mut self, row: Row<'r>) -> Result<Took<'r>, ReplayError> {
        if self.rows == MAX_ROWS {
            return Err(ReplayError::TooManyRows(MAX_ROWS));
        }
        self.rows += 1;
        let Some(number) = self.room_number(&row.room) else { return Ok(Took::NotRun) };
        let Some(room) = self.taken.rooms.get_mut(number) else { return Ok(Took::NotRun) };
        let ts = row.ts.max(room.last_ts);
        let at = room.facts.len();
        if let Err(Duplicate) = room.facts.add(&row, ts) {
            return Ok(Took::Bad("the id was used before in this room"));
        }
        self.taken.late_rows += u64::from(ts > row.ts);
        room.last_ts = ts;
        if row.author_id != room.persona.id.as_str() && !row.deleted {
            let links = links(room, &row, self.args.visible_links);
            room.listener.line(item(&row, ts, links)).map_err(|Stuck(at)| ReplayError::Stuck { room: room.name.clone(), at })?;
        }
        let unnamed = row.mentions.is_none().then_some((row.author_id, row.author_name));
        Ok(Took::Kept(Kept { room: number, at, content: row.content, unnamed }))
    }

    fn room_number(&mut self, name: &str) -> Option<usize> {
        if self.latest.0 == name {
            return self.latest.1;
        }
        let number = if let Some(known) = self.numbers.get(name) {
            *known
        } else {
            let persona = self.personas.of(name);
            self.taken.rooms_left_out += u64::from(persona.is_none());
            let number = persona.map(|persona| {
                let member = Member { id: persona.id.clone(), name: persona.name.clone(), aliases: Vec::new() };
                let mut names = Names::default();
                names.set_members(std::slice::from_ref(&member));
                self.taken.rooms.push(RoomRun {
                    name: name.to_owned(),
                    names,
                    facts: Facts::new(&persona.id),
                    persona,
                    listener: L::new(name, member, self.seat),
                    last_ts: 0,
                });
                self.taken.rooms.len() - 1
            });
            self.numbers.insert(name.to_owned(), number);
            number
        };
        self.latest = (name.to_owned(), number);
        number
    }

    fn bad(&mut self, path: &Path, line: u64, reason: &str) -> Result<(), ReplayError> {
        let text = format!("{}:{line}: {reason}", path.display());
        if self.args.strict {
            return Err(ReplayError::BadRow(text));
        }
        self.taken.bad_rows += 1;
        if self.taken.bad_examples.len() < SHOWN_BAD_ROWS {
            self.taken.bad_examples.push(text);
        }
        Ok(())
    }

    fn note(&mut self, row: &Kept<'_>) {
        let Some(room) = self.taken.rooms.get_mut(row.room) else { return };
        room.facts.note_asks(row.at, question::asks(&row.content));
        if let Some((id, name)) = &row.unnamed {
            room.names.learn(id, name);
            let found = room.names.find(&row.content);
            room.facts.note_mentions(row.at, found.iter().map(|m| (m.id.as_str(), m.pos)));
        }
    }

    fn finish(mut self) -> Result<Taken<L>, ReplayError> {
        if self.rows == 0 {
            return Err(ReplayError::NoRows { bad: self.taken.bad_rows, examples: self.taken.bad_examples });
        }
        if self.taken.rooms.is_empty() {
            return Err(ReplayError::NoPersona);
        }
        self.taken.resolution = self.taken.resolution.max(self.personas.resolution());
        let started = Instant::now();
        for room in &mut self.taken.rooms {
            room.listener.finish().map_err(|Stuck(at)| ReplayError::Stuck { room: room.name.clone(), at })?;
        }
        self.taken.spent += started.elapsed();
        Ok(self.taken)
    }
}

enum Took<'a> {
    Kept(Kept<'a>),
    NotRun,
    Bad(&'static str),
}

/// Whether the links of a row may be seen: a fixed share of all rows, the same in every run and in every tool.
fn visible(id: &str, share: f64) -> bool {
    let hash: [u8; 20] = Sha1::digest(id.as_bytes()).into();
    let [a, b, c, d, ..] = hash;
    f64::from(u32::from_be_bytes([a, b, c, d])) / f64::from(u32::MAX) < share
}

/// What the machine sees of a row's links; those to lines of the persona are one.
fn links<L>(room: &RoomRun<L>, row: &Row<'_>, share: f64) -> Vec<Link> {
    let mut links = Vec::new();
    let mut to_me = row.reply_to_me;
    let replies = row.reply_to.as_deref().unwrap_or_default();
    if !replies.is_empty() && visible(&row.id, share) {
        for reply in replies {
            let Some(parent) = room.facts.row_named(&reply.0) else { continue };
            let author = room.facts.author(parent);
            if author == room.persona.id {
                to_me = true;
            } else {
                links.push(Link { id: reply.0.clone().into_owned(), author: Some(author.to_owned()) });
            }
        }
    }
    if to_me {
        links.push(Link { id: PERSONA_LINE.into(), author: Some(room.persona.id.clone()) });
    }
    links
}

#[inline]
fn item(row: &Row<'_>, at: i64, links: Vec<Link>) -> Item {
    let own = |text: &Cow<'_, str>| text.as_ref().to_owned();
    let mention = |m: &Named<'_>| Mention { id: own(&m.author_id.0), pos: m.pos };
    Item {
        seq: 0,
        at,
        platform_id: own(&row.id),
        author: Author {
            id: own(&row.author_id),
            name: own(&row.author_name),
            kind: if row.bot { AuthorKind::Bot } else { AuthorKind::Human },
        },
        text: own(&row.content),
        mentions: row.mentions.iter().flatten().map(mention).collect(),
        find_names: row.mentions.is_none(),
        links,
        kind: ItemKind::Message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_visible_share_is_that_of_the_hash() {
        // First 32 bits of SHA-1("abc") are a9993e36, of SHA-1("") da39a3ee.
        assert!(!visible("abc", 0.6624) && visible("abc", 0.6626));
        assert!(!visible("", 0.8524) && visible("", 0.8525));
        assert!(!visible("abc", 0.0) && visible("abc", 1.0));
    }
}
