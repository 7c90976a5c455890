//! Hashes that are the same in every run and on every machine, which `std`'s do not promise: a snapshot keeps them.
//!
//! They are for telling things apart, not for keeping anybody out: whoever chooses the texts can choose two of the same hash.

/// Without a pattern in its bits: of the digits of pi.
const START: u64 = 0x243f_6a88_85a3_08d3;
/// The golden ratio; odd, so that no bit is lost.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// What makes a letter of ASCII a small one, in each of eight places.
pub(crate) const SMALL: u64 = u64::from_ne_bytes([0x20; 8]);

/// The hash of a text.
pub(crate) fn hash(text: &str) -> u64 {
    let (eights, rest) = text.as_bytes().as_chunks();
    let length = fold(START, text.len() as u64);
    fold(eights.iter().fold(length, |h, eight| fold(h, u64::from_le_bytes(*eight))), first_eight(rest))
}

/// The hash of a word whatever its case.
pub(crate) fn hash_lower(word: &str) -> u64 {
    if word.is_ascii() {
        return hash_small(word.as_bytes());
    }
    let lower = word.to_lowercase();
    if lower.is_ascii() { hash_small(lower.as_bytes()) } else { hash(&lower) }
}

/// The same of letters, digits and underscores of ASCII: `letters` are the first eight, made small, and `more` is the rest.
pub(crate) fn hash_letters(letters: u64, more: &[u8]) -> u64 {
    let (eights, rest) = more.as_chunks();
    let h = eights.iter().fold(fold(START, letters), |h, eight| fold(h, u64::from_le_bytes(*eight) | SMALL));
    if rest.is_empty() { h } else { fold(h, small(rest)) }
}

fn hash_small(word: &[u8]) -> u64 {
    hash_letters(small(word), word.get(size_of::<u64>()..).unwrap_or_default())
}

/// The first eight bytes with letters made small, zeros after the end: no letter is a zero, so the length shows.
fn small(bytes: &[u8]) -> u64 {
    (first_eight(bytes) | SMALL) & up_to(bytes.len())
}

/// The first eight bytes, the first one lowest; zeros after the end.
pub(crate) fn first_eight(bytes: &[u8]) -> u64 {
    let padded = || {
        let mut eight = [0; 8];
        for (to, from) in eight.iter_mut().zip(bytes) {
            *to = *from;
        }
        eight
    };
    u64::from_le_bytes(bytes.first_chunk().copied().unwrap_or_else(padded))
}

/// The places of the first `length` of eight bytes.
pub(crate) fn up_to(length: usize) -> u64 {
    !u64::MAX.checked_shl(u8::BITS.saturating_mul(length as u32)).unwrap_or(0)
}

/// Both halves of a product: each bit of either factor reaches all of it.
fn fold(h: u64, x: u64) -> u64 {
    let product = u128::from(h ^ x) * u128::from(SPREAD);
    product as u64 ^ (product >> u64::BITS) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn texts_are_told_apart_by_every_byte_and_by_length() {
        let mut seen = BTreeSet::new();
        for length in 0..40 {
            let text = "x".repeat(length);
            assert!(seen.insert(hash(&text)), "{text:?}");
            for at in 0..length {
                let mut other = text.clone();
                other.replace_range(at..=at, "y");
                assert!(seen.insert(hash(&other)), "{other:?}");
            }
        }
        assert_ne!(hash("x"), hash("x\0"));
    }

    #[test]
    fn a_word_has_one_hash_whatever_its_case_and_script() {
        for (a, b) in [("Kiln", "kILN"), ("PORCELAIN_1280", "porcelain_1280"), ("\u{c9}cole", "\u{e9}cole"), ("\u{212a}iln", "kiln")] {
            assert_eq!(hash_lower(a), hash_lower(b), "{a} {b}");
        }
        let words = ["", "a", "aa", "aaaaaaaa", "aaaaaaaaa", "aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaab", "b", "_", "\u{e9}"];
        assert_eq!(words.iter().map(|w| hash_lower(w)).collect::<BTreeSet<_>>().len(), words.len());
    }

    /// They stand in snapshots: another number here is another format of those.
    #[test]
    fn hashes_stay_the_same_for_ever() {
        assert_eq!((hash("kiln:1280"), hash_lower("Porcelain")), (0xb1a0_a1b5_1d0f_6725, 0xf008_daa2_8e75_4932));
    }
}
