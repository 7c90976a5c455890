//! What the words of a line show, beside its form: to whom they are said, what they lead on from, and which they are.
//!
//! [`crate::reading`] finds them; no text is kept, only bits and hashes.

use serde::{Deserialize, Serialize};

/// Hashes of words kept of one burst; what is said beyond that is the same talk.
const MAX_WORDS: usize = 64;

/// The signs of one line, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Signs(pub(crate) u16);

impl Signs {
    pub(crate) const RESPONDS: u16 = 1;
    pub(crate) const YOU: u16 = 2;
    pub(crate) const GREETS: u16 = 4;
    pub(crate) const ANYONE: u16 = 8;
    pub(crate) const FIRST_PERSON: u16 = 16;
    pub(crate) const LINK: u16 = 32;
    pub(crate) const ENDS_ASKING: u16 = 64;
    pub(crate) const COMMAND: u16 = 128;
    pub(crate) const ADVISES: u16 = 256;

    fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }
    /// It begins as an answer or a continuation does.
    pub(crate) fn responds(self) -> bool {
        self.has(Self::RESPONDS)
    }
    /// It speaks to a second person.
    pub(crate) fn you(self) -> bool {
        self.has(Self::YOU)
    }
    /// It begins with a greeting.
    pub(crate) fn greets(self) -> bool {
        self.has(Self::GREETS)
    }
    /// It speaks to whoever is there.
    pub(crate) fn anyone(self) -> bool {
        self.has(Self::ANYONE)
    }
    /// It speaks of its author.
    pub(crate) fn first_person(self) -> bool {
        self.has(Self::FIRST_PERSON)
    }
    /// It holds a link.
    pub(crate) fn link(self) -> bool {
        self.has(Self::LINK)
    }
    /// Its last character is a question mark.
    pub(crate) fn ends_asking(self) -> bool {
        self.has(Self::ENDS_ASKING)
    }
    /// It begins as advice does.
    pub(crate) fn advises(self) -> bool {
        self.has(Self::ADVISES)
    }
    /// It begins like a command to a bot.
    pub(crate) fn command(self) -> bool {
        self.has(Self::COMMAND)
    }
}

/// Words by hash, sorted, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Words(Vec<u32>);

impl Words {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Puts down a word of a text that is being read; at its end they are settled.
    pub(crate) fn push(&mut self, word: u32) {
        self.0.push(word);
    }

    /// Puts the words that were put down in order: the first so many different ones.
    pub(crate) fn settle(&mut self) {
        if self.0.len() <= MAX_WORDS {
            self.0.sort_unstable();
            return self.0.dedup();
        }
        for word in std::mem::take(&mut self.0) {
            self.add(word);
        }
    }

    fn add(&mut self, word: u32) {
        if self.0.len() < MAX_WORDS
            && let Err(at) = self.0.binary_search(&word)
        {
            self.0.insert(at, word);
        }
    }

    /// Adds the words of more text.
    pub(crate) fn join(&mut self, more: &Self) {
        if self.0.is_empty() {
            return self.0.clone_from(&more.0);
        }
        for word in &more.0 {
            self.add(*word);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// How many words both hold.
    pub(crate) fn common(&self, other: &Self) -> usize {
        let (mut a, mut b) = (self.0.as_slice(), other.0.as_slice());
        let mut common = 0;
        while let ([x, after_x @ ..], [y, after_y @ ..]) = (a, b) {
            common += usize::from(x == y);
            (a, b) = (if x <= y { after_x } else { a }, if y <= x { after_y } else { b });
        }
        common
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(all: impl IntoIterator<Item = u32>) -> Words {
        let mut words = Words::default();
        all.into_iter().for_each(|w| words.push(w));
        words.settle();
        words
    }

    #[test]
    fn the_first_words_are_kept_each_once_and_in_order() {
        assert_eq!(words([7, 3, 7, 5]), Words(vec![3, 5, 7]));
        // 64 different ones, 199 down to 136; what comes later is left out.
        assert_eq!(words((0..200).rev().chain([1])), Words((136..200).collect()));
        let mut many = words((0..100).map(|w| w / 2));
        assert_eq!(many.len(), 50);
        many.join(&words(1_000..1_100));
        assert_eq!(many, Words((0..50).chain(1_000..1_014).collect()));
        let mut none = Words::default();
        none.join(&many);
        assert_eq!((none.len(), none.common(&many), none.common(&words([49, 50, 1_000]))), (64, 64, 2));
    }
}
