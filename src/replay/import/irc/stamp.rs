//! The time at the start of a log's line, and dates in lines and names of files.

use jiff::civil::Date;

/// A time as a log gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The day, where the line says it.
    pub date: Option<Date>,
    /// Whether it says the year too.
    pub has_year: bool,
    /// Seconds of the day.
    pub second: i64,
    /// And milliseconds.
    pub ms: i64,
    pub has_seconds: bool,
    /// East of Greenwich, where the line says it.
    pub offset_s: i64,
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

fn month(word: &str) -> Option<i8> {
    let head = word.get(..3)?.to_lowercase();
    MONTHS.iter().zip(1..).find(|(name, _)| **name == head).map(|(_, n)| n)
}

/// The time at the start of a line, and what follows it.
pub(super) fn read(line: &str) -> Option<(Stamp, &str)> {
    if let Some((inside, rest)) = line.strip_prefix('[').and_then(|l| l.split_once(']')) {
        let (stamp, left) = plain(inside)?;
        return left.trim().is_empty().then_some((stamp, rest));
    }
    let (stamp, rest) = plain(line)?;
    rest.is_empty().then_some((stamp, rest)).or_else(|| rest.starts_with([' ', '\t']).then(|| (stamp, rest.get(1..).unwrap_or_default())))
}

fn plain(text: &str) -> Option<(Stamp, &str)> {
    let (date, has_year, rest) = if let Some((date, rest)) = text.get(..10).and_then(|d| Some((day(d)?, text.get(10..)?))) {
        (Some(date), true, rest.strip_prefix(['T', ' ', '\t'])?)
    } else if let Some(n) = month(text) {
        let (number, rest) = text.get(3..)?.strip_prefix(' ')?.trim_start().split_once(' ')?;
        (Some(Date::new(1972, n, number.parse().ok()?).ok()?), false, rest)
    } else {
        (None, false, text)
    };
    let (second, has_seconds, rest) = clock(rest)?;
    let (ms, rest) = fraction(rest);
    let (offset_s, rest) = offset(rest);
    Some((Stamp { date, has_year, second, ms, has_seconds, offset_s }, rest))
}

/// `YYYY-MM-DD`.
fn day(text: &str) -> Option<Date> {
    let bytes = text.as_bytes();
    let shaped = bytes.len() == 10 && bytes.iter().zip(0..).all(|(b, i)| if i == 4 || i == 7 { *b == b'-' } else { b.is_ascii_digit() });
    shaped.then(|| text.parse().ok()).flatten()
}

fn two(text: &str) -> Option<(i64, &str)> {
    let (digits, rest) = text.split_at_checked(2)?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten().map(|n| (n, rest))
}

/// `HH:MM` or `HH:MM:SS`: seconds of the day, and whether there were any.
fn clock(text: &str) -> Option<(i64, bool, &str)> {
    let (hour, rest) = two(text)?;
    let (minute, rest) = two(rest.strip_prefix(':')?)?;
    let seconds = rest.strip_prefix(':').and_then(two);
    let (second, after) = seconds.unwrap_or((0, rest));
    // 60 is a leap second.
    (hour < 24 && minute < 60 && second <= 60).then_some((hour * 3_600 + minute * 60 + second, seconds.is_some(), after))
}

fn fraction(text: &str) -> (i64, &str) {
    let Some(digits) = text.strip_prefix('.') else { return (0, text) };
    let end = digits.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
    let (number, rest) = digits.split_at(end);
    let three: String = number.chars().chain("000".chars()).take(3).collect();
    (three.parse().unwrap_or(0), rest)
}

/// `Z`, `+02:00` or `+0200`, in seconds.
fn offset(text: &str) -> (i64, &str) {
    let signed = |sign: i64, rest| {
        let (hours, rest) = two(rest)?;
        let (minutes, rest) = two(rest.strip_prefix(':').unwrap_or(rest))?;
        Some((sign * (hours * 3_600 + minutes * 60), rest))
    };
    let found = match text.bytes().next() {
        Some(b'Z') => text.strip_prefix('Z').map(|rest| (0, rest)),
        Some(b'+') => text.strip_prefix('+').and_then(|rest| signed(1, rest)),
        Some(b'-') => text.strip_prefix('-').and_then(|rest| signed(-1, rest)),
        _ => None,
    };
    found.unwrap_or((0, text))
}

/// The day in `Tue Dec 01 01:46:26 2026` and `Tue Dec 01 2026`, or in `Tue 01 Dec 2026`.
pub(super) fn date_in_words(text: &str) -> Option<Date> {
    let words = || text.split_whitespace();
    if let Some(date) = words().find_map(day) {
        return Some(date);
    }
    // The weekday comes first, and May is a month however it is written.
    let month = words().filter_map(month).next_back().or_else(|| words().find_map(month))?;
    let number = words().find_map(|w| w.parse::<i8>().ok().filter(|_| w.len() <= 2))?;
    let year = words().rev().find_map(|w| w.parse::<i16>().ok().filter(|_| w.len() == 4))?;
    Date::new(year, month, number).ok()
}

/// The day at the end of a file's name, and the name before it: `#kiln-2026-12-01`, `net_#kiln_20261201`.
pub(super) fn day_of_name(stem: &str) -> (&str, Option<Date>) {
    for width in [10, 8] {
        let Some((name, end)) = stem.len().checked_sub(width).and_then(|at| stem.split_at_checked(at)) else { continue };
        let found = if width == 10 {
            day(end)
        } else {
            end.bytes().all(|b| b.is_ascii_digit()).then(|| Date::strptime("%Y%m%d", end).ok()).flatten()
        };
        if found.is_some() {
            return (name.trim_end_matches(['-', '_', '.', ' ']), found);
        }
    }
    (stem, None)
}
