//! Reads a line once: its form, what its words show, and which they are.
//!
//! One pass over the words and no allocation where a reading is used again: this runs for every line of every room. No text is
//! kept, only bits and hashes.

use crate::{
    hash::{hash_letters, hash_lower},
    judge::signs::{Signs, Words},
    text::{Form, FormPass, Known, Sort, Tokens, ends_sentence, gap_asks, may_ask, strip_address, url_end},
};

/// Words shorter than this say nothing about the topic.
const MIN_WORD_BYTES: usize = 3;
/// A line longer than this and ending a sentence looks finished (31 % of direct questions still have a line to come after
/// 2.5 s; length and ending tell which).
const COMPLETE_MIN_CHARS: usize = 20;

/// What the words of a line show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) form: Form,
    pub(crate) signs: Signs,
    /// The words that say something about the topic, where somebody asked for them.
    pub(crate) words: Words,
    pub(crate) bytes: u32,
}

impl Reading {
    /// Of a line that is read once.
    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Self {
        let mut reading = Self::default();
        reading.read(text, true);
        reading
    }

    /// Reads a line. `text` may be of any length; the caller cuts it. Which words it has is noted only if that is wanted.
    pub(crate) fn read(&mut self, text: &str, wants_words: bool) {
        self.bytes = text.len() as u32;
        self.words.clear();
        let tokens = Tokens::of(text);
        let (ascii, bytes) = (tokens.ascii, text.as_bytes());
        let body_from = text.len() - strip_address(text).len();
        let end = text.trim_end();
        let mut form = FormPass::of(text.len());
        if ends_sentence(end) && if ascii { text.len() > COMPLETE_MIN_CHARS } else { text.chars().nth(COMPLETE_MIN_CHARS).is_some() } {
            form.complete();
        }
        let asks = may_ask(text, ascii);
        let mut signs = SignPass { body_from, ..SignPass::default() };
        // Where the last word ended, and for the form, which passes over links, the last word or link.
        let (mut before, mut form_before) = (0, body_from);
        for token in tokens {
            let gap = bytes.get(before..token.start).unwrap_or_default();
            let word = bytes.get(token.start..token.end).unwrap_or_default();
            let known = Known::of(token.letters, word);
            let link = bytes.get(token.end..).is_some_and(|tail| tail.starts_with(b"://"));
            signs.word(token.start, gap, word, known.sort, link);
            if wants_words && word.len() >= MIN_WORD_BYTES && known.sort == Sort::Other {
                let hash = if ascii {
                    hash_letters(token.letters, word.get(size_of::<u64>()..).unwrap_or_default())
                } else {
                    hash_lower(text.get(token.start..token.end).unwrap_or_default())
                };
                self.words.push(hash as u32);
            }
            before = token.end;
            if token.start < form_before {
                continue;
            }
            let gap = bytes.get(form_before..token.start).unwrap_or_default();
            if asks && gap_asks(gap) {
                form.asks();
            }
            form_before = token.end;
            if link && let Some(end) = url_end(text, word, token.end) {
                form.link();
                form_before = end;
            } else {
                form.word(gap, known);
            }
        }
        if asks && gap_asks(bytes.get(form_before..).unwrap_or_default()) {
            form.asks();
        }
        self.form = form.done();
        self.words.settle();
        signs.has |= if end.ends_with(['?', '\u{ff1f}']) { Signs::ENDS_ASKING } else { 0 };
        signs.has |= if text.starts_with('!') { Signs::COMMAND } else { 0 };
        self.signs = Signs(signs.has);
    }
}

/// The signs on the way through a line.
struct SignPass {
    has: u16,
    /// Where the text begins that is not the address.
    body_from: usize,
    /// Words of it so far.
    body_words: usize,
    /// The sort of the word before.
    before: Sort,
    place: Place,
}

/// Where in a line the next word stands.
#[derive(PartialEq, Eq)]
enum Place {
    First,
    /// After a first word that may begin a greeting.
    AfterGood,
    Later,
}

impl Default for SignPass {
    fn default() -> Self {
        Self { has: 0, body_from: 0, body_words: 0, before: Sort::Other, place: Place::First }
    }
}

impl SignPass {
    fn word(&mut self, start: usize, gap: &[u8], word: &[u8], sort: Sort, link: bool) {
        let mut has = if link { Signs::LINK } else { 0 };
        match self.place {
            Place::Later => {}
            Place::First => {
                has |= if sort == Sort::Hello { Signs::GREETS } else { 0 };
                self.place = if sort == Sort::Good { Place::AfterGood } else { Place::Later };
            }
            Place::AfterGood => {
                let time = [b"morning".as_slice(), b"evening", b"afternoon", b"day"].iter().any(|time| word.eq_ignore_ascii_case(time));
                has |= if time { Signs::GREETS } else { 0 };
                self.place = Place::Later;
            }
        }
        let single = gap == b" ";
        if start >= self.body_from {
            let opens = self.body_words == 0 && self.only_spaces(start, gap);
            if opens && sort.responds() || self.body_words == 1 && single && self.before.responds_with(sort) {
                has |= Signs::RESPONDS;
            }
            has |= if opens && sort == Sort::Advice { Signs::ADVISES } else { 0 };
            self.body_words += 1;
            has |= match sort {
                Sort::You | Sort::Your => Signs::YOU,
                Sort::I | Sort::My => Signs::FIRST_PERSON,
                _ => 0,
            };
        }
        has |= if sort == Sort::Anyone || sort == Sort::One && self.before == Sort::Some && single { Signs::ANYONE } else { 0 };
        self.has |= has;
        self.before = sort;
    }

    /// Whether nothing but spaces stands between the begin of the body and its first word.
    fn only_spaces(&self, start: usize, gap: &[u8]) -> bool {
        let inside = gap.len().min(start - self.body_from);
        gap.get(gap.len() - inside..).is_some_and(|gap| gap.trim_ascii().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_to_whom_it_is_said_and_what_it_leads_on_from() {
        for (text, want) in [
            ("hi, anyone here?", Signs::GREETS | Signs::ANYONE | Signs::ENDS_ASKING),
            ("good morning all", Signs::GREETS),
            ("good luck", 0),
            ("yes it does", Signs::RESPONDS),
            ("ada: yes", Signs::RESPONDS),
            ("ada: \"yes", 0),
            ("did you try it", Signs::RESPONDS | Signs::YOU),
            ("I did that", Signs::RESPONDS | Signs::FIRST_PERSON),
            ("can some one help me?", Signs::ANYONE | Signs::ENDS_ASKING),
            ("my kiln https://example.org/x", Signs::FIRST_PERSON | Signs::LINK),
            ("try the other one", Signs::ADVISES),
            ("!kiln", Signs::COMMAND),
            ("", 0),
        ] {
            assert_eq!(Reading::of(text).signs, Signs(want), "{text:?}");
        }
    }

    #[test]
    fn words_in_common_are_those_that_say_something() {
        let a = Reading::of("How hot is the kiln for porcelain?").words;
        let b = Reading::of("the KILN: porcelain wants 1280, how is that").words;
        assert_eq!((a.len(), a.common(&b), b.common(&a)), (3, 2, 2));
        let beyond = Reading::of("\u{e9}t\u{e9} KILN").words;
        assert_eq!((beyond.len(), beyond.common(&a)), (2, 1));
    }

    #[test]
    fn a_reading_that_is_used_again_knows_nothing_of_the_line_before() {
        let mut reading = Reading::of("hi, how hot is the kiln?");
        reading.read("the porcelain", true);
        assert_eq!((reading.form, reading.signs), (Reading::of("the porcelain").form, Signs(0)));
        assert_eq!((reading.words.len(), reading.bytes), (1, 13));
        reading.read("the porcelain", false);
        assert_eq!(reading.words.len(), 0);
    }
}
