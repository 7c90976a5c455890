//! Identifiers and the unit of time.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since the Unix epoch, or a length of time in milliseconds; the field's name says which.
pub type Millis = i64;

/// Names an effect: the number of the input that caused it, and its place among that input's effects. Written `n.index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId {
    /// The number of the input, from 1.
    pub input: u64,
    /// Place among the effects of that input, from 0.
    pub index: u16,
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.input, self.index)
    }
}

/// Names an obligation inside one room: the number of the input that opened it, and a place among those. Written `o<n>` or
/// `o<n>-<k>` so that a model can repeat it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObligationId {
    /// The number of the input that opened it.
    pub input: u64,
    /// Place among the obligations of that input, from 0.
    pub index: u16,
}

impl fmt::Display for ObligationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            0 => write!(f, "o{}", self.input),
            k => write!(f, "o{}-{k}", self.input),
        }
    }
}

/// The text is not an identifier of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an identifier of the form {wanted}")]
pub struct ParseIdError {
    /// The form that was wanted.
    pub wanted: &'static str,
}

impl FromStr for EffectId {
    type Err = ParseIdError;
    fn from_str(s: &str) -> Result<Self, ParseIdError> {
        let wrong = || ParseIdError { wanted: "n.index" };
        let (n, i) = s.split_once('.').ok_or_else(wrong)?;
        Ok(Self { input: n.parse().map_err(|_| wrong())?, index: i.parse().map_err(|_| wrong())? })
    }
}

impl FromStr for ObligationId {
    type Err = ParseIdError;
    fn from_str(s: &str) -> Result<Self, ParseIdError> {
        let wrong = || ParseIdError { wanted: "o<n> or o<n>-<k>" };
        let body = s.strip_prefix('o').ok_or_else(wrong)?;
        let (n, k) = body.split_once('-').unwrap_or((body, "0"));
        Ok(Self { input: n.parse().map_err(|_| wrong())?, index: k.parse().map_err(|_| wrong())? })
    }
}

macro_rules! as_text {
    ($t:ty) => {
        impl Serialize for $t {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $t {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
as_text!(EffectId);
as_text!(ObligationId);
