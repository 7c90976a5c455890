//! Whether two posts say the same: hashes of runs of three words.

use serde::{Deserialize, Serialize};

use crate::{
    hash::{hash_letters, hash_lower},
    text::Tokens,
};

/// Hashes kept of a post (floor.md 1).
const MAX_SHINGLES: usize = 64;
/// Words in a run.
const RUN: usize = 3;
/// Share of runs in common above which two posts say the same.
const SAME: f64 = 0.8;

/// The runs of one post. No text can be read back from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shingles(Vec<u64>);

/// The words of the beginning of a text, in order: as many as a post's runs are made of. Runs are made of them only when two texts
/// are compared, which is for few of those that are kept.
pub(crate) fn words_of(text: &str, words: &mut Vec<u64>) {
    words.clear();
    let tokens = Tokens::of(text);
    let ascii = tokens.ascii;
    words.extend(tokens.take(MAX_SHINGLES + RUN).map(|t| {
        let word = text.get(t.start..t.end).unwrap_or_default();
        if ascii { hash_letters(t.letters, word.as_bytes().get(size_of::<u64>()..).unwrap_or_default()) } else { hash_lower(word) }
    }));
}

impl Shingles {
    pub(crate) fn of(text: &str) -> Self {
        let mut words = Vec::new();
        words_of(text, &mut words);
        Self::of_words(&words)
    }

    /// Those of the words that [`words_of`] found.
    pub(crate) fn of_words(words: &[u64]) -> Self {
        let join = |run: &[u64]| run.iter().fold(0xcbf2_9ce4_8422_2325, |h: u64, w| (h.rotate_left(5) ^ w).wrapping_mul(0x0100_0000_01b3));
        let mut runs: Vec<u64> = match words {
            [] => Vec::new(),
            [_] | [_, _] => vec![join(words)],
            _ => words.windows(RUN).map(join).collect(),
        };
        runs.truncate(MAX_SHINGLES);
        runs.sort_unstable();
        runs.dedup();
        Self(runs)
    }

    /// Unknown (no words) is never the same.
    pub(crate) fn same(&self, other: &Self) -> bool {
        if self.0.is_empty() || other.0.is_empty() {
            return false;
        }
        let common = self.0.iter().filter(|h| other.0.binary_search(h).is_ok()).count();
        common as f64 >= SAME * self.0.len().max(other.0.len()) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearly_the_same_text_is_the_same_and_another_is_not() {
        let a = Shingles::of("Cone 6 is about 1222 degrees, and you should hold it for ten minutes before cooling down slowly.");
        assert!(a.same(&Shingles::of("cone 6 is about 1222 degrees and you should hold it for ten minutes before cooling down slowly")));
        assert!(!a.same(&Shingles::of("Cone 04 is about 1060 degrees, and you need not hold it at all.")));
        assert!(!Shingles::of("").same(&Shingles::of("")));
        assert!(Shingles::of("hi ada").same(&Shingles::of("Hi, Ada!")));
        assert!(!Shingles::of("hi ada").same(&Shingles::of("hi bob")));
    }
}
