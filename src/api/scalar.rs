//! Words of the documents that stand for numbers: durations, money, moments.

use std::fmt;

use parlor_core::Millis;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A length of time, as `2500ms`, `2.5s`, `10m` or `1h30m`. At least 0, at most 24 h: no wait of a room is longer than a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wait(pub Millis);

const HOUR_MS: Millis = 60 * 60 * 1_000;
const DAY_HOURS: Millis = 24;
const WAIT: &str = "a duration such as 2500ms, 2.5s, 10m or 1h30m";

/// A longer time in the same words, such as that of a grant: at most 2160 h, a quarter of a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lasting(pub Millis);

const MOST_HOURS: Millis = 2_160;

impl Lasting {
    fn parse(text: &str) -> Result<Self, String> {
        duration(text, MOST_HOURS).map(Self)
    }
}

impl fmt::Display for Lasting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Wait(self.0).fmt(f)
    }
}

impl Wait {
    fn parse(text: &str) -> Result<Self, String> {
        duration(text, DAY_HOURS).map(Self)
    }
}

/// Reads a duration in ms of at most so many hours; the error says what was expected.
pub(crate) fn duration(text: &str, most_hours: Millis) -> Result<Millis, String> {
    let wrong = || format!("{text:?} is not {WAIT}");
    let mut rest = text;
    let mut total_us: i128 = 0;
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (digits, after) = rest.split_at(number);
        let unit = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, next) = after.split_at(unit);
        let unit_us: i128 = match unit {
            "ms" => 1_000,
            "s" => 1_000_000,
            "m" => 60_000_000,
            "h" => 3_600_000_000,
            _ => return Err(wrong()),
        };
        total_us += decimal(digits, 6).ok_or_else(wrong)? * unit_us / 1_000_000;
        rest = next;
    }
    match Millis::try_from(total_us / 1_000) {
        Ok(ms) if total_us % 1_000 == 0 && ms <= most_hours * HOUR_MS => Ok(ms),
        Ok(ms) if ms <= most_hours * HOUR_MS => Err(format!("{text:?} is finer than a millisecond")),
        _ => Err(format!("{text:?} is longer than {most_hours}h")),
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ms if ms % 60_000 == 0 && ms > 0 => write!(f, "{}m", ms / 60_000),
            ms if ms % 1_000 == 0 => write!(f, "{}s", ms / 1_000),
            ms => write!(f, "{ms}ms"),
        }
    }
}

/// An amount of US dollars as text, `"2.50"`; kept in millionths, because that is what a token costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dollars {
    /// Millionths of a dollar.
    pub micros: u64,
}

const DOLLARS: &str = "an amount of US dollars as text, such as \"2.50\", below one million";

impl Dollars {
    fn parse(text: &str) -> Result<Self, String> {
        let micros = decimal(text, 6).and_then(|micros| u64::try_from(micros).ok()).filter(|m| *m < 1_000_000_000_000);
        micros.map(|micros| Self { micros }).ok_or_else(|| format!("{text:?} is not {DOLLARS}"))
    }
}

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.micros / 1_000_000, self.micros % 1_000_000)
    }
}

/// A moment, as RFC 3339 writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub jiff::Timestamp);

const MOMENT: &str = "a time with its zone, such as 2026-01-31T18:00:00Z";

impl Moment {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| format!("{text:?} is not {MOMENT}"))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `text` times 10^places, if it is a plain decimal with at most that many places.
fn decimal(text: &str, places: usize) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let fits = |part: &str| !part.is_empty() && part.len() <= 12 && part.bytes().all(|b| b.is_ascii_digit());
    if !fits(whole) || !fits(fraction) || fraction.len() > places {
        return None;
    }
    format!("{whole}{fraction:0<places$}").parse().ok()
}

macro_rules! as_text {
    ($type:ident, $expected:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl de::Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        $type::parse(text).map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}
as_text!(Wait, WAIT);
as_text!(Lasting, WAIT);
as_text!(Dollars, DOLLARS);
as_text!(Moment, MOMENT);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, ms) in
            [("0s", 0), ("2500ms", 2500), ("2.5s", 2500), ("10m", 600_000), ("1h30m", 5_400_000), ("24h", DAY_HOURS * HOUR_MS)]
        {
            assert_eq!(Wait::parse(text), Ok(Wait(ms)), "{text}");
            assert_eq!(Wait::parse(&Wait(ms).to_string()), Ok(Wait(ms)), "{text} printed");
        }
        for text in ["", "5", "s", "-1s", "1d", "1.s", ".5s", "1s ", "1e3s", "2 s", "24h1ms", "0.1ms", "99999999999999s"] {
            assert!(Wait::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_grant_may_last_a_quarter_of_a_year() {
        assert_eq!(Lasting::parse("2160h"), Ok(Lasting(2_160 * HOUR_MS)));
        assert!(Lasting::parse("2160h1ms").unwrap_err().contains("longer than 2160h"));
    }

    #[test]
    fn dollars() {
        for (text, micros) in [("0", 0), ("2.50", 2_500_000), ("0.000001", 1), ("999999", 999_999_000_000)] {
            assert_eq!(Dollars::parse(text), Ok(Dollars { micros }), "{text}");
        }
        for text in ["", "-1", "1,5", "$2", "1.0000001", "1000000", "."] {
            assert!(Dollars::parse(text).is_err(), "{text}");
        }
    }
}
