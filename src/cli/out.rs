//! Words on a terminal: no control character of somebody's text gets there, and a reader that went away is no error.

use std::io::{self, Write};

use jiff::{Timestamp, tz::TimeZone};
use parlor_core::Millis;

/// Text on one or more lines, without anything that could move the cursor or change colours.
pub(crate) fn plain(text: &str, indent: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
            }
            '\t' => out.push(' '),
            // Bidirectional overrides make a line read as another one.
            c if c.is_control() || matches!(u32::from(c), 0x202A..=0x202E | 0x2066..=0x2069) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Time of day where the reader is.
pub(crate) fn clock(ms: Millis, zone: &TimeZone) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| "--:--:--".to_owned(), |t| t.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string())
}

/// RFC 3339 in UTC.
pub(crate) fn stamp(ms: Millis) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| ms.to_string(), |t| t.to_string())
}

/// Prints lines; `false` when nobody reads them any more.
pub(crate) fn print(lines: &[String]) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    let written = lines.iter().try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush());
    match written {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_steer_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\rc\u{7}\u{202e}d\te", 2), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}\u{fffd}d e");
        assert_eq!(plain("two\nlines", 3), "two\n   lines");
    }

    #[test]
    fn times_are_read_by_people_and_by_programs() {
        assert_eq!(clock(45_296_000, &TimeZone::UTC), "12:34:56");
        assert_eq!(stamp(45_296_789), "1970-01-01T12:34:56.789Z");
        assert_eq!(stamp(Millis::MAX), Millis::MAX.to_string());
    }
}
