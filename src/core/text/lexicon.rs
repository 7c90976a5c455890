//! The words that the machine knows. One look into a table that is built at compile time tells all that is known of a word.

use super::{
    scan::letters_of,
    sort::{SORTED, Sort},
    word::{KNOWN, Word},
};

/// What is known of a word.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    /// Its first eight letters; none for the entry of all unknown words.
    letters: u64,
    /// The ninth, where there is one. No known word is longer.
    ninth: u8,
    /// What it is to the rules about forms.
    pub(super) word: Word,
    /// What it shows.
    pub(crate) sort: Sort,
}

/// The known words and one entry more, first, for all others; their places fit into a byte.
const ENTRIES: usize = 193;
const SLOT_BITS: u32 = 11;
/// Found by trial: it gives each known word a slot of its own, and without that this file does not compile.
const SPREAD: u64 = 0xb08f_9a04_8797_3ab3;
const UNKNOWN: Known = Known { letters: 0, ninth: 0, word: Word::Other, sort: Sort::Other };

struct Table {
    /// The entry of each slot; the first where there is none.
    slots: [u8; 1 << SLOT_BITS],
    entries: [Known; ENTRIES],
    filled: usize,
}

static TABLE: Table = {
    let mut table = Table { slots: [0; 1 << SLOT_BITS], entries: [UNKNOWN; ENTRIES], filled: 1 };
    let mut words = KNOWN;
    while let [(word, spellings), more @ ..] = words {
        let mut spellings = *spellings;
        while let [spelling, others @ ..] = spellings {
            table.entry(spelling).word = *word;
            spellings = others;
        }
        words = more;
    }
    let mut sorts = SORTED;
    while let [(sort, spellings), more @ ..] = sorts {
        let mut spellings = *spellings;
        while let [spelling, others @ ..] = spellings {
            table.entry(spelling).sort = *sort;
            spellings = others;
        }
        sorts = more;
    }
    assert!(table.filled == ENTRIES);
    table
};

impl Table {
    /// The entry of a word, made if there is none.
    #[expect(clippy::indexing_slicing, reason = "a slot is below the length, and this runs at compile time")]
    const fn entry(&mut self, spelling: &str) -> &mut Known {
        assert!(spelling.len() <= size_of::<u64>() + 1);
        let (letters, ninth) = (letters_of(spelling), ninth(spelling.as_bytes()));
        let slot = &mut self.slots[slot(letters)];
        if *slot == 0 {
            *slot = self.filled as u8;
            self.entries[self.filled] = Known { letters, ninth, ..UNKNOWN };
            self.filled += 1;
        }
        let entry = &mut self.entries[*slot as usize];
        assert!(entry.letters == letters && entry.ninth == ninth);
        entry
    }
}

const fn slot(letters: u64) -> usize {
    (letters.wrapping_mul(SPREAD) >> (u64::BITS - SLOT_BITS)) as usize
}

/// The ninth letter, made small; a letter that no known word has there for words that are longer still.
const fn ninth(word: &[u8]) -> u8 {
    match word {
        [_, _, _, _, _, _, _, _, ninth] => *ninth | 0x20,
        [_, _, _, _, _, _, _, _, _, _, ..] => u8::MAX,
        _ => 0,
    }
}

impl Known {
    /// What is known of this word, whose first letters are these.
    #[inline]
    pub(crate) fn of(letters: u64, word: &[u8]) -> Self {
        let entry = TABLE.slots.get(slot(letters)).and_then(|at| TABLE.entries.get(usize::from(*at)));
        entry.filter(|e| e.letters == letters && e.ninth == ninth(word)).copied().unwrap_or(UNKNOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(word: &str) -> Known {
        Known::of(letters_of(word), word.as_bytes())
    }

    #[test]
    fn every_word_of_the_lists_is_known_whatever_its_case() {
        for (word, spellings) in KNOWN {
            for s in *spellings {
                assert_eq!((known(s).word, known(&s.to_uppercase()).word), (*word, *word), "{s}");
            }
        }
        for (sort, spellings) in SORTED {
            for s in *spellings {
                assert_eq!((known(s).sort, known(&s.to_uppercase()).sort), (*sort, *sort), "{s}");
            }
        }
    }

    #[test]
    fn what_only_begins_like_a_known_word_is_not_known() {
        for word in ["", "everybod", "everybodys", "everybodies", "greeting", "greetingz", "something", "probablyy", "thanks_", "h\u{ed}"] {
            assert_eq!((known(word).word, known(word).sort), (Word::Other, Sort::Other), "{word}");
        }
    }
}
