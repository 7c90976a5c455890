//! Archives of other programs, turned into rows as they are read: exports of Discord and Slack, and logs of IRC.
//!
//! A file is read once, piece by piece, whatever its size. What is wrong in it is told with its place and never quoted. Rows of
//! these archives say what a line replies to only where its platform knew: of every other line it is unknown, not nothing.

mod discord;
mod elements;
mod irc;
mod slack;

use std::{
    borrow::Cow,
    io::{self, Read},
    path::Path,
};

use super::{ReplayError, archive, row::Row};

/// Bytes of a file that are looked at to tell what it is: the head of an export, or some lines of a log.
const LOOK_BYTES: u64 = 1 << 14;

/// What an archive is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Told by its content
    Auto,
    /// JSON lines, see docs/replay.md
    Jsonl,
    /// A channel exported by DiscordChatExporter as JSON
    Discord,
    /// The unpacked folder of a Slack export
    Slack,
    /// A log of irssi, weechat, znc, hexchat or the like
    Irc,
}

/// How fine the times of an archive are. The coarser is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Resolution {
    Second,
    Minute,
}

impl Resolution {
    /// By the word of `ts_res`; any other says nothing.
    pub(super) fn of(word: &str) -> Option<Self> {
        match word {
            "second" => Some(Self::Second),
            "minute" => Some(Self::Minute),
            _ => None,
        }
    }
}

/// What a reader of an archive tells.
pub(super) enum Told<'a> {
    /// Somebody's line, and what else its author is called.
    Row(Row<'a>, &'a [&'a str], At<'a>),
    /// Something cannot be used.
    Bad(At<'a>, Cow<'a, str>),
    /// Times are no finer than this.
    Resolution(Resolution),
}

/// A file, and its line or the element of its list, from 1.
pub(super) type At<'a> = (&'a Path, u64);

/// Takes what is told; an error ends the reading.
pub(super) type Take<'t> = dyn FnMut(Told<'_>) -> Result<(), ReplayError> + 't;

/// What reading a file has to remember for the next.
#[derive(Default)]
pub(super) struct Importer {
    channels: discord::Channels,
}

impl Importer {
    /// Reads one archive of this format. `Auto` and `Jsonl` have no rows here.
    pub(super) fn read(&mut self, format: Format, path: &Path, progress: &dyn Fn(u64), take: &mut Take<'_>) -> Result<(), ReplayError> {
        match format {
            Format::Auto | Format::Jsonl => Ok(()),
            Format::Discord => discord::read(path, &mut self.channels, progress, take),
            Format::Slack => slack::read(path, progress, take),
            Format::Irc => irc::read(path, progress, take),
        }
    }
}

/// Bytes of an archive, as far as they can be known before it is read.
pub(super) fn size(format: Format, path: &Path) -> u64 {
    if format == Format::Slack { slack::size(path) } else { path.metadata().map_or(0, |m| m.len()) }
}

/// What an archive is, by its content.
pub(super) fn format(path: &Path, asked: Format) -> Result<Format, ReplayError> {
    if asked != Format::Auto {
        return Ok(asked);
    }
    if path.is_dir() {
        let is_slack = ["channels.json", "users.json"].iter().any(|name| path.join(name).is_file());
        return if is_slack { Ok(Format::Slack) } else { Err(ReplayError::Folder(path.to_owned())) };
    }
    let head = look(path).map_err(|source| ReplayError::Read { path: path.to_owned(), source })?;
    if head.starts_with(b"PK\x03\x04") {
        return Err(ReplayError::Zip(path.to_owned()));
    }
    let text = String::from_utf8_lossy(&head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    Ok(if discord::looks_so(text) {
        Format::Discord
    } else if irc::looks_so(text) {
        Format::Irc
    } else {
        Format::Jsonl
    })
}

fn look(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    archive::open(path)?.0.take(LOOK_BYTES).read_to_end(&mut head)?;
    Ok(head)
}

/// A line as these archives give it: nothing is known of names in it but its text.
fn row<'a>(room: &'a str, id: &'a str, ts: i64, author_id: &'a str, author_name: &'a str, content: &'a str) -> Row<'a> {
    Row {
        room: Cow::Borrowed(room),
        id: Cow::Borrowed(id),
        ts,
        author_id: Cow::Borrowed(author_id),
        author_name: Cow::Borrowed(author_name),
        content: Cow::Borrowed(content),
        reply_to: None,
        mentions: None,
        bot: false,
        deleted: false,
        reply_to_me: false,
    }
}
