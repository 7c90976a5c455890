//! Finds the words of a text. It is the innermost loop of everything that reads lines, so it looks at eight bytes at once.

use crate::hash::{SMALL, first_eight, up_to};

/// The next word of a text.
pub(super) struct Found<'t> {
    /// What stands before it.
    pub(super) gap: &'t str,
    /// Empty at the end of the text.
    pub(super) word: &'t str,
    /// What stands after it.
    pub(super) tail: &'t str,
    /// What [`letters_of`] gives for the word.
    pub(super) letters: u64,
}

/// What stands before the next word, the word, and the rest.
#[inline]
pub(crate) fn next_word(text: &str) -> (&str, &str, &str) {
    let Found { gap, word, tail, .. } = scan(text);
    (gap, word, tail)
}

/// The first eight bytes of a word as a number, with ASCII letters in lower case; no other byte becomes one by that.
pub(super) const fn letters_of(word: &str) -> u64 {
    let mut letters = 0;
    let mut left = word.as_bytes();
    let mut place = 0;
    while let [byte, more @ ..] = left
        && place < u64::BITS
    {
        letters |= ((*byte | 0x20) as u64) << place;
        place += u8::BITS;
        left = more;
    }
    letters
}

#[inline]
pub(super) fn scan(text: &str) -> Found<'_> {
    let start = text.bytes().position(|c| is_letter(c) || !c.is_ascii()).unwrap_or(text.len());
    let (gap, from) = text.split_at(start);
    let eight = first_eight(from.as_bytes());
    let mut end = letters_before_other(eight);
    if end == size_of::<u64>() {
        end += from.bytes().skip(end).take_while(|c| is_letter(*c)).count();
    }
    let (word, tail) = from.split_at(end);
    if tail.as_bytes().first().is_some_and(|c| !c.is_ascii()) {
        return scan_wide(text, start);
    }
    Found { gap, word, tail, letters: (eight | SMALL) & up_to(end) }
}

/// The same where a character beyond ASCII stands in the run that starts there: letters of other scripts are words, their
/// punctuation is not. One pass over what it passes by: a line may be a megabyte of such punctuation.
#[cold]
fn scan_wide(text: &str, start: usize) -> Found<'_> {
    let of_word = |c: char| c.is_alphanumeric() || c == '_';
    let (_, from) = text.split_at(start);
    let (gap, from) = text.split_at(start + from.find(of_word).unwrap_or(from.len()));
    let (word, tail) = from.split_at(from.find(|c| !of_word(c)).unwrap_or(from.len()));
    Found { gap, word, tail, letters: letters_of(word) }
}

/// A letter or digit of ASCII, or an underscore.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A byte in each of eight places.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

const HIGH: u64 = each(0x80);

/// The high bit of each of eight bytes that [`is_letter`] holds for.
pub(super) fn is_letter_of_eight(eight: u64) -> u64 {
    // Sums of seven bits and a constant up to 0x80 stay within their byte, and reach its high bit from a limit on.
    let from = |bytes: u64, limit: u8| bytes + each(0x80 - limit);
    let within = |bytes: u64, low: u8, high: u8| from(bytes, low) & !from(bytes, high + 1);
    let ascii = eight & !HIGH;
    let letter = within(ascii | SMALL, b'a', b'z') | within(ascii, b'0', b'9') | within(ascii, b'_', b'_');
    letter & !eight & HIGH
}

/// How many of eight bytes come before the first that [`is_letter`] does not hold for.
fn letters_before_other(eight: u64) -> usize {
    (!is_letter_of_eight(eight) & HIGH).trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bytes_at_once_are_told_apart_as_one_by_one() {
        for byte in 0..=u8::MAX {
            for at in 0..8 {
                let mut bytes = *b"aZ09_zA5";
                bytes[at] = byte;
                let want = if is_letter(byte) { 8 } else { at };
                assert_eq!(letters_before_other(first_eight(&bytes)), want, "{byte:#x} at {at}");
            }
        }
    }

    #[test]
    fn words_of_any_length_are_found_with_their_letters() {
        for length in 1..20 {
            let word = "aB3_".repeat(5).split_off(20 - length);
            for text in [word.clone(), format!(", {word}"), format!("{word} and more text"), format!("{word}\u{2026}")] {
                let found = scan(&text);
                assert_eq!((found.word, found.letters), (word.as_str(), letters_of(&word)), "{text:?}");
            }
        }
    }

    #[test]
    fn a_megabyte_of_emoji_has_no_word_and_a_word_after_it_is_found() {
        let text = "\u{1f3fa}".repeat(1 << 18);
        assert_eq!(scan(&text).word, "");
        let (gap, word, tail) = next_word("\u{1f3fa}\u{2026} .a\u{e9}_1\u{2026}b");
        assert_eq!((gap, word, tail), ("\u{1f3fa}\u{2026} .", "a\u{e9}_1", "\u{2026}b"));
    }
}
