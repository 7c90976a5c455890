//! Walks over the words of a text. It is the innermost loop of everything that reads lines, so it tells letters of 64 bytes at once.

use super::scan::{Found, is_letter_of_eight, scan};
use crate::hash::{SMALL, first_eight, up_to};

/// Bytes that are told apart at once.
const BLOCK: usize = 64;

/// A word of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// Its first byte in the text.
    pub(crate) start: usize,
    /// The first byte after it.
    pub(crate) end: usize,
    /// Its first eight letters, made small.
    pub(crate) letters: u64,
}

/// The words of a text, in order.
pub(crate) struct Tokens<'t> {
    text: &'t str,
    /// Whether it is all ASCII.
    pub(crate) ascii: bool,
    /// First byte of the block that is looked at; where the text is not ASCII, the end of the last word.
    at: usize,
    /// Its letters that were not passed yet, a bit each.
    letters: u64,
}

impl<'t> Tokens<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        let ascii = text.is_ascii();
        Self { text, ascii, at: 0, letters: if ascii { letters_of_block(text.as_bytes()) } else { 0 } }
    }

    /// The letters of the block at a place of the text.
    fn block(&self, at: usize) -> u64 {
        letters_of_block(self.text.as_bytes().get(at..).unwrap_or_default())
    }

    /// The same where characters beyond ASCII stand in the text.
    #[cold]
    fn next_wide(&mut self) -> Option<Token> {
        let (_, rest) = self.text.split_at_checked(self.at)?;
        let Found { word, tail, letters, .. } = scan(rest);
        let end = self.text.len() - tail.len();
        self.at = end;
        (!word.is_empty()).then_some(Token { start: end - word.len(), end, letters })
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    #[inline]
    fn next(&mut self) -> Option<Token> {
        if !self.ascii {
            return self.next_wide();
        }
        while self.letters == 0 {
            self.at += BLOCK;
            if self.at >= self.text.len() {
                return None;
            }
            self.letters = self.block(self.at);
        }
        let first = self.letters.trailing_zeros() as usize;
        let start = self.at + first;
        let mut after = first + (!(self.letters >> first)).trailing_zeros() as usize;
        // A word that reaches the end of its block goes on with the letters that begin the next.
        while after >= BLOCK {
            self.at += BLOCK;
            self.letters = self.block(self.at);
            after = (!self.letters).trailing_zeros() as usize;
        }
        self.letters &= u64::MAX << after;
        let end = self.at + after;
        let bytes = self.text.as_bytes().get(start..).unwrap_or_default();
        Some(Token { start, end, letters: (first_eight(bytes) | SMALL) & up_to(end - start) })
    }
}

/// Which of the first 64 bytes are letters, digits or underscores, the first one lowest.
fn letters_of_block(bytes: &[u8]) -> u64 {
    let of = |block: &[u8; BLOCK]| {
        let (eights, _) = block.as_chunks::<8>();
        eights.iter().rev().fold(0, |all, eight| all << 8 | eight_bits(is_letter_of_eight(u64::from_le_bytes(*eight))))
    };
    if let Some(block) = bytes.first_chunk() {
        return of(block);
    }
    let mut block = [0; BLOCK];
    for (to, from) in block.iter_mut().zip(bytes) {
        *to = *from;
    }
    of(&block)
}

/// The high bits of eight bytes, side by side. The product puts the bit of byte `n` at place 56 + `n`, and nothing else up there.
fn eight_bits(high: u64) -> u64 {
    (high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::{super::scan::letters_of, *};

    /// The words one character at a time.
    fn plainly(text: &str) -> Vec<(usize, usize)> {
        let mut words = Vec::new();
        let mut start = None;
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            match (c.is_alphanumeric() || c == '_', start) {
                (true, None) => start = Some(at),
                (false, Some(from)) => {
                    words.push((from, at));
                    start = None;
                }
                _ => {}
            }
        }
        words
    }

    #[test]
    fn words_are_those_found_one_by_one() {
        let mut texts = vec![String::new(), " ".repeat(200), "x".repeat(200), "\u{e9}t\u{e9} a".into(), "a\u{2026}b".into()];
        for length in 0..70 {
            for gap in [1, 2, 61, 130] {
                let (word, gap) = ("aB3_".repeat(20).split_off(80 - length), " ".repeat(gap));
                texts.extend([format!("{word}{gap}x"), format!("{gap}{word}"), format!("{gap}{word}{gap}{word}"), format!("{word}\u{e9}")]);
            }
        }
        for text in texts {
            let found: Vec<Token> = Tokens::of(&text).collect();
            assert_eq!(found.iter().map(|t| (t.start, t.end)).collect::<Vec<_>>(), plainly(&text), "{text:?}");
            for t in found {
                assert_eq!(t.letters, letters_of(&text[t.start..t.end]), "{text:?}");
            }
        }
    }

    #[test]
    fn each_byte_of_a_block_is_told_apart() {
        for byte in 0..=u8::MAX {
            for at in 0..BLOCK {
                let mut block = [b' '; BLOCK];
                block[at] = byte;
                let letter = byte.is_ascii_alphanumeric() || byte == b'_';
                assert_eq!(letters_of_block(&block), u64::from(letter) << at, "{byte:#x} at {at}");
            }
        }
    }
}
