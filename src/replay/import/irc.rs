//! Logs of IRC as its programs write them: irssi, weechat, znc, hexchat and those that write alike.
//!
//! A line is a time, who spoke, and the text. Times have no zone, so they are read as UTC: what counts is the time between lines.
//! Where a log has minutes only, the lines of a minute are spread evenly over it.

mod stamp;

use std::path::Path;

use jiff::{ToSpan, civil::Date};

use super::{At, Resolution, Take, Told};
use crate::replay::{
    ReplayError,
    archive::{Archive, Batch},
};
use stamp::{Stamp, date_in_words, day_of_name};

/// Lines of a file that are looked at to tell whether it is a log.
const LOOK_LINES: usize = 50;
/// A clock that goes back by more than this has begun a new day; less is a clock that was set, or summer time.
const NEW_DAY_S: i64 = 3_601;
/// Lines of one minute that are spread over it. More are no talk; they are spread in parts.
const MINUTE_LINES: usize = 4_096;

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    Said {
        stamp: Stamp,
        nick: &'a str,
        text: &'a str,
    },
    /// Joins, topics and the like.
    System(Option<Stamp>),
    /// The day changes, or a log begins.
    Day(Date),
    Unknown,
}

/// Whether a text begins like a log.
pub(super) fn looks_so(text: &str) -> bool {
    let known = |line: &str| !matches!(line_of(line), Line::Unknown | Line::System(None));
    !text.starts_with('{') && text.lines().filter(|l| !l.trim().is_empty()).take(LOOK_LINES).any(known)
}

pub(super) fn read(path: &Path, progress: &dyn Fn(u64), take: &mut Take<'_>) -> Result<(), ReplayError> {
    let fault = |source| ReplayError::Read { path: path.to_owned(), source };
    let mut archive = Archive::open(path).map_err(fault)?;
    let mut log = Log::of(path);
    loop {
        progress(archive.read_bytes());
        match archive.next().map_err(fault)? {
            None => break,
            Some(Batch::TooLong) => {
                log.number += 1;
                take(Told::Bad((path, log.number), "the line is longer than 1 MiB".into()))?;
            }
            Some(Batch::Lines(bytes)) => {
                let text = String::from_utf8_lossy(bytes);
                for line in text.strip_suffix('\n').unwrap_or(&text).split('\n') {
                    log.number += 1;
                    log.line(path, line.trim_end_matches('\r'), take)?;
                }
            }
        }
    }
    log.flush(path, take)
}

/// A line that waits for the others of its minute.
struct Waiting {
    number: u64,
    nick: String,
    text: String,
}

/// A log that is being read.
struct Log {
    room: String,
    /// Begins the ids of its lines.
    name: String,
    day: Option<Date>,
    /// Seconds of the day of the last line.
    last_s: i64,
    number: u64,
    /// The minute that is being read, ms, and its lines.
    minute: i64,
    waiting: Vec<Waiting>,
    resolution: Option<Resolution>,
}

impl Log {
    fn of(path: &Path) -> Self {
        let file = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let stem = ["gz", "log", "weechatlog", "txt"]
            .iter()
            .fold(file.as_str(), |name, end| name.strip_suffix(end).and_then(|n| n.strip_suffix('.')).unwrap_or(name));
        let (room, day) = day_of_name(stem);
        let room = room.strip_prefix("irc.").unwrap_or(room);
        let folder = path.parent().and_then(Path::file_name).map(|n| n.to_string_lossy().into_owned());
        // A bouncer keeps a folder a channel, and a file a day in it.
        let room = if room.is_empty() { folder.unwrap_or_else(|| stem.to_owned()) } else { room.to_owned() };
        Self { room, name: stem.to_owned(), day, last_s: 0, number: 0, minute: 0, waiting: Vec::new(), resolution: None }
    }

    fn line(&mut self, path: &Path, line: &str, take: &mut Take<'_>) -> Result<(), ReplayError> {
        match line_of(line) {
            Line::Said { stamp, nick, text } => {
                let ts = self.time(stamp);
                if ts < 0 {
                    return take(Told::Bad((path, self.number), "the time is before 1970".into()));
                }
                self.said(path, ts, &stamp, (nick, text), take)
            }
            Line::System(stamp) => {
                if let Some(stamp) = stamp {
                    self.time(stamp);
                }
                Ok(())
            }
            Line::Day(day) => {
                (self.day, self.last_s) = (Some(day), 0);
                Ok(())
            }
            Line::Unknown if line.trim().is_empty() => Ok(()),
            Line::Unknown => {
                let reason = "no line of an IRC log: it does not begin with a time and who spoke".into();
                take(Told::Bad((path, self.number), reason))
            }
        }
    }

    /// The time in ms, on the day as it is known: from the line, from a line before, from the name of the file, or from the clock
    /// that began anew.
    fn time(&mut self, stamp: Stamp) -> i64 {
        let first = Date::constant(1970, 1, 1);
        match stamp.date {
            Some(date) => {
                let date = if stamp.has_year { date } else { self.with_year(date) };
                self.day = Some(date);
            }
            None if stamp.second + NEW_DAY_S <= self.last_s => {
                self.day = self.day.unwrap_or(first).checked_add(1.day()).ok();
            }
            None => {}
        }
        self.last_s = stamp.second;
        let day = self.day.unwrap_or(first);
        let since = first.until(day).map_or(0, |span| i64::from(span.get_days()));
        (since * 86_400 + stamp.second) * 1_000 + stamp.ms - stamp.offset_s * 1_000
    }

    /// A date without a year is of the year that the log is in; after December comes the next.
    fn with_year(&self, date: Date) -> Date {
        let Some(day) = self.day else { return Date::new(1970, date.month(), date.day()).unwrap_or(date) };
        let next = i16::from(day.month() == 12 && date.month() == 1);
        Date::new(day.year() + next, date.month(), date.day()).unwrap_or(date)
    }

    fn said(&mut self, path: &Path, ts: i64, stamp: &Stamp, (nick, text): (&str, &str), take: &mut Take<'_>) -> Result<(), ReplayError> {
        let resolution = if stamp.has_seconds { Resolution::Second } else { Resolution::Minute };
        if self.resolution.is_none_or(|known| known < resolution) {
            self.resolution = Some(resolution);
            take(Told::Resolution(resolution))?;
        }
        if stamp.has_seconds {
            self.flush(path, take)?;
            return self.tell((path, self.number), ts, nick, text, take);
        }
        if ts != self.minute || self.waiting.len() >= MINUTE_LINES {
            self.flush(path, take)?;
            self.minute = ts;
        }
        self.waiting.push(Waiting { number: self.number, nick: nick.to_owned(), text: text.to_owned() });
        Ok(())
    }

    /// Spreads the lines that wait over their minute: the middle of equal parts.
    fn flush(&mut self, path: &Path, take: &mut Take<'_>) -> Result<(), ReplayError> {
        let waiting = std::mem::take(&mut self.waiting);
        let all = waiting.len() as i64;
        for (line, n) in waiting.iter().zip(0..) {
            let ts = self.minute + (2 * n + 1) * 60_000 / (2 * all);
            self.tell((path, line.number), ts, &line.nick, &line.text, take)?;
        }
        Ok(())
    }

    fn tell(&self, at: At<'_>, ts: i64, nick: &str, text: &str, take: &mut Take<'_>) -> Result<(), ReplayError> {
        let id = format!("{}:{}", self.name, at.1);
        // Nicknames are one whatever their case.
        let author = nick.to_lowercase();
        take(Told::Row(super::row(&self.room, &id, ts, &author, nick, text), &[], at))
    }
}

/// Reads a line.
fn line_of(line: &str) -> Line<'_> {
    let line = line.trim_start_matches('\u{feff}');
    for head in ["--- Log opened", "--- Day changed", "**** BEGIN LOGGING AT", "--- Log closed", "**** ENDING LOGGING AT"] {
        if let Some(words) = line.strip_prefix(head) {
            return date_in_words(words).map_or(Line::System(None), Line::Day);
        }
    }
    let Some((stamp, rest)) = stamp::read(line) else { return Line::Unknown };
    // Weechat: nick, tab, text; what is no talk has a sign in place of the nick.
    if let Some((who, text)) = rest.split_once('\t')
        && !who.contains(['<', '>'])
    {
        let who = who.trim();
        return match who {
            "*" => action(stamp, text),
            "" | "--" | "-->" | "<--" | "=!=" => Line::System(Some(stamp)),
            _ => said(stamp, who, text.trim_start()),
        };
    }
    let rest = rest.trim_start();
    if let Some((nick, text)) = rest.strip_prefix('<').and_then(|r| r.split_once('>')) {
        return said(stamp, nick, text.strip_prefix([' ', '\t']).unwrap_or(text));
    }
    match rest.strip_prefix("* ").or_else(|| rest.strip_prefix("*\t")) {
        Some(what) => action(stamp, what),
        None if rest.starts_with(['-', '*', '=', '<']) || rest.is_empty() => Line::System(Some(stamp)),
        None => Line::Unknown,
    }
}

fn said<'a>(stamp: Stamp, nick: &'a str, text: &'a str) -> Line<'a> {
    // What stands before a nickname is its rank in the channel.
    let nick = nick.trim().trim_start_matches(['@', '+', '%', '&', '~', '!']);
    if nick.is_empty() || nick.contains(char::is_whitespace) {
        return Line::Unknown;
    }
    Line::Said { stamp, nick, text }
}

/// Words after a nickname by which some programs tell of joins in the form of an action.
const NO_ACTION: &[&str] = &["has joined", "has left", "has quit", "is now known as", "sets mode", "gives channel operator", "has kicked"];

fn action(stamp: Stamp, what: &str) -> Line<'_> {
    let what = what.trim_start();
    let (nick, text) = what.split_once(' ').unwrap_or((what, ""));
    let host = text.starts_with('(') && text.split_once(')').is_some_and(|(inside, _)| inside.contains('@'));
    if host || NO_ACTION.iter().any(|words| text.starts_with(words)) {
        return Line::System(Some(stamp));
    }
    said(stamp, nick, text)
}

#[cfg(test)]
mod tests;
