//! What the form of a line says: question, request, thanks, taking back, a finished sentence.
//!
//! One pass over the bytes, no allocation: this runs for every line of every room. The word lists follow the rules that the
//! replay metrics are defined by (docs/replay.md), so that live use and scoring mean the same by "asks".

use serde::{Deserialize, Serialize};

use scan::{Found, letters_of, scan};
use word::Word;

mod scan;
mod word;

pub(crate) use scan::next_word;

/// The form of one line, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Form(u8);

impl Form {
    const QUESTION: u8 = 1;
    const REQUEST: u8 = 2;
    const THANKS: u8 = 4;
    const COMPLETE: u8 = 8;
    const SHORT: u8 = 16;

    fn set(&mut self, bit: u8, on: bool) {
        self.0 |= if on { bit } else { 0 };
    }
    /// It asks.
    pub(crate) fn question(self) -> bool {
        self.0 & Self::QUESTION != 0
    }
    /// It asks, or says that help is wanted.
    pub(crate) fn request(self) -> bool {
        self.0 & (Self::QUESTION | Self::REQUEST) != 0
    }
    /// It thanks.
    pub(crate) fn thanks(self) -> bool {
        self.0 & Self::THANKS != 0
    }
    /// It is a thanks and nothing else.
    pub(crate) fn bare_thanks(self) -> bool {
        self.0 & Self::THANKS != 0 && !self.request() && self.0 & Self::SHORT != 0
    }
    /// It looks finished: the turn-over wait is the short one.
    pub(crate) fn complete(self) -> bool {
        self.0 & Self::COMPLETE != 0
    }
    /// The same line, known to be a name alone or a greeting.
    pub(crate) fn made_complete(mut self) -> Self {
        self.0 |= Self::COMPLETE;
        self
    }
}

/// A line longer than this and ending a sentence looks finished (31 % of direct questions still have a line to come after
/// 2.5 s; length and ending tell which).
const COMPLETE_MIN_CHARS: usize = 20;
/// A thanks shorter than this holds nothing else.
const BARE_THANKS_MAX_BYTES: usize = 60;

/// Reads the form of a line. `text` may be of any length; the caller cuts it.
pub(crate) fn form(text: &str) -> Form {
    let mut form = Form::default();
    form.set(Form::SHORT, text.len() < BARE_THANKS_MAX_BYTES);
    form.set(Form::COMPLETE, ends_sentence(text) && text.chars().nth(COMPLETE_MIN_CHARS).is_some());
    let body = strip_address(text);
    let mut at_start = true;
    let (mut prev, mut prev2) = (Word::Other, Word::Other);
    let mut rest = body;
    loop {
        let Found { gap, word, tail, letters } = scan(rest);
        let single = matches!(gap.as_bytes(), [b' ']);
        if !single && gap.contains(['?', '\u{ff1f}']) {
            form.set(Form::QUESTION, true);
        }
        if word.is_empty() {
            break;
        }
        if is_url(word, tail) {
            rest = skip_url(tail);
            (prev2, prev) = (Word::Other, Word::Other);
            at_start = false;
            continue;
        }
        let w = Word::of(letters, word.len());
        if at_start {
            at_start = opener_gap(gap) && w.is_filler();
            if opener_gap(gap) && w.asks_at_start() {
                form.set(Form::QUESTION, true);
            }
        }
        if w != Word::Other {
            form.set(Form::REQUEST, w.requests_alone() || pair_requests(prev2, prev, gap, w));
            form.set(Form::THANKS, w.thanks_alone() || single && pair_thanks(prev, w));
        }
        prev2 = if single || is_apostrophe(gap) { prev } else { Word::Other };
        prev = w;
        rest = tail;
    }
    form
}

fn ends_sentence(text: &str) -> bool {
    matches!(
        text.trim_end().chars().next_back(),
        Some('.' | '?' | '!' | ')' | '\u{2026}' | '\u{3002}' | '\u{ff1f}' | '\u{ff01}' | '\u{ff0e}' | '\u{ff09}')
    )
}

/// Fillers before the first word of a question are separated by these only.
fn opener_gap(gap: &str) -> bool {
    gap.bytes().all(|c| matches!(c, b',' | b'.' | b'!' | b':' | b' ' | b'\t' | b'\r' | b'\n'))
}

/// `name: text`, `@name, text`: gives the text.
pub(crate) fn strip_address(text: &str) -> &str {
    let t = text.trim_start();
    let inner = t.trim_start_matches(['@', '<']);
    if t.len() - inner.len() > 3 {
        return text;
    }
    let name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '[' | ']' | '\\' | '`' | '^' | '{' | '}' | '|');
    let after = inner.trim_start_matches(name);
    if after.len() == inner.len() {
        return text;
    }
    let after = after.strip_prefix('>').unwrap_or(after).trim_start();
    after.strip_prefix([':', ',', ';', '>']).map_or(text, str::trim_start)
}

fn is_url(word: &str, tail: &str) -> bool {
    tail.starts_with("://") && (word.eq_ignore_ascii_case("http") || word.eq_ignore_ascii_case("https"))
}

fn skip_url(tail: &str) -> &str {
    let end = tail.find(char::is_whitespace).unwrap_or(tail.len());
    tail.split_at(end).1
}

/// Whether the word is one that every line may hold, so that it names nobody by itself.
pub(crate) fn is_common_word(word: &str) -> bool {
    Word::of(letters_of(word), word.len()) != Word::Other
        || matches!(word.to_ascii_lowercase().as_str(), "a" | "an" | "the" | "may" | "mark" | "rose" | "hope" | "grace" | "bill" | "art")
}

/// Two or three words that say that help is wanted, with one space or apostrophe between.
fn pair_requests(prev2: Word, prev: Word, gap: &str, w: Word) -> bool {
    match gap {
        " " => match (prev, w) {
            (Word::Does, Word::Any)
            | (Word::Is, Word::There)
            | (Word::Can, Word::I)
            | (Word::How, Word::Do | Word::Can | Word::To | Word::Would | Word::Should)
            | (Word::What, Word::Is | Word::Are | Word::Does)
            | (Word::Where, Word::Is | Word::Can | Word::Do)
            | (Word::Why, Word::Is | Word::Does | Word::Do | Word::Are)
            | (Word::Help, Word::Me)
            | (Word::Need, Word::Help)
            | (Word::Im, Word::Trying | Word::Having)
            | (Word::Problem, Word::With)
            | (Word::Trying, Word::To)
            | (Word::Doesnt, Word::Work)
            | (Word::Not, Word::Working) => true,
            (Word::M, Word::Trying | Word::Having) => prev2 == Word::I,
            (Word::T, Word::Work) => prev2 == Word::Doesn,
            _ => false,
        },
        _ => is_apostrophe(gap) && (prev, w) == (Word::What, Word::S),
    }
}

fn is_apostrophe(gap: &str) -> bool {
    matches!(gap, "'" | "\u{2019}")
}

fn pair_thanks(prev: Word, w: Word) -> bool {
    matches!(
        (prev, w),
        (Word::Thank, Word::You) | (Word::Got, Word::It) | (Word::Makes, Word::Sense) | (Word::That, Word::Work | Word::Works)
    )
}

/// At most this many words are looked at to find a taking back or a greeting: longer lines say more than that.
const FEW_WORDS: usize = 8;

/// Whether the line only takes the question back. `is_name` tells the personas' names, which may stand beside it.
pub(crate) fn takes_back(text: &str, is_name: impl Fn(&str) -> bool) -> bool {
    const PHRASES: &[&[&str]] = &[
        &["never", "mind"],
        &["nevermind"],
        &["nvm"],
        &["nm"],
        &["forget", "it"],
        &["forget", "that"],
        &["ignore", "me"],
        &["ignore", "that"],
        &["got", "it", "working"],
        &["found", "it"],
        &["solved"],
        &["solved", "it"],
    ];
    let Some(words) = few_words(text) else { return false };
    let said: Vec<String> =
        words.into_iter().filter(|w| !is_name(w) && !matches!(w.as_str(), "oh" | "ok" | "ah" | "actually" | "sorry" | "i")).collect();
    PHRASES.iter().any(|p| p.iter().eq(said.iter()))
}

/// Whether the line is a persona's name alone or a greeting.
pub(crate) fn greets(text: &str, is_name: impl Fn(&str) -> bool) -> bool {
    let Some(words) = few_words(text) else { return false };
    let hello = |w: &str| {
        matches!(
            w,
            "hi" | "hey" | "hello" | "hiya" | "howdy" | "yo" | "greetings" | "good" | "morning" | "evening" | "afternoon" | "day" | "there"
        )
    };
    !words.is_empty() && words.iter().all(|w| is_name(w) || hello(w))
}

fn few_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = text;
    loop {
        let (_, word, tail) = next_word(rest);
        if word.is_empty() {
            return Some(words);
        }
        if words.len() == FEW_WORDS {
            return None;
        }
        words.push(word.to_lowercase());
        rest = tail;
    }
}

#[cfg(test)]
mod tests;
