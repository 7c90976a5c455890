//! What the form of a line says: question, request, thanks, taking back, a finished sentence.
//!
//! One pass over the bytes, no allocation: this runs for every line of every room. The word lists follow the rules that the
//! replay metrics are defined by (docs/replay.md), so that live use and scoring mean the same by "asks".

use serde::{Deserialize, Serialize};

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
        let (gap, word, tail) = next_word(rest);
        let single = gap == " ";
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
        let w = Word::of(word);
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
    (word.eq_ignore_ascii_case("http") || word.eq_ignore_ascii_case("https")) && tail.starts_with("://")
}

fn skip_url(tail: &str) -> &str {
    let end = tail.find(char::is_whitespace).unwrap_or(tail.len());
    tail.split_at(end).1
}

/// Whether the word is one that every line may hold, so that it names nobody by itself.
pub(crate) fn is_common_word(word: &str) -> bool {
    Word::of(word) != Word::Other
        || matches!(word.to_ascii_lowercase().as_str(), "a" | "an" | "the" | "may" | "mark" | "rose" | "hope" | "grace" | "bill" | "art")
}

/// Classes of bytes: between words, of an ASCII word, of a character beyond ASCII.
const GAP: u8 = 0;
const LETTER: u8 = 1;
const WIDE: u8 = 2;
#[expect(clippy::indexing_slicing, reason = "the index is below the length, and this runs at compile time")]
const CLASS: [u8; 256] = {
    let mut class = [GAP; 256];
    let mut c = 0;
    while c < 256 {
        class[c] = if c >= 0x80 {
            WIDE
        } else if (c as u8).is_ascii_alphanumeric() || c as u8 == b'_' {
            LETTER
        } else {
            GAP
        };
        c += 1;
    }
    class
};

/// What stands before the next word, the word, and the rest.
pub(crate) fn next_word(text: &str) -> (&str, &str, &str) {
    let class = |c: &u8| CLASS.get(usize::from(*c)).copied().unwrap_or(WIDE);
    let bytes = text.as_bytes();
    let start = bytes.iter().position(|c| class(c) != GAP).unwrap_or(bytes.len());
    let (gap, from) = text.split_at(start);
    let mut seen = 0;
    let end = from.as_bytes().iter().position(|c| {
        let class = class(c);
        seen |= class;
        class == GAP
    });
    let (run, tail) = from.split_at(end.unwrap_or(from.len()));
    if seen & WIDE == 0 {
        return (gap, run, tail);
    }
    // Letters of other scripts are words, their punctuation is not.
    match run.char_indices().find(|(_, c)| !(c.is_alphanumeric() || *c == '_')) {
        None => (gap, run, tail),
        Some((0, c)) => {
            let skip = start + c.len_utf8();
            let (more, word, tail) = next_word(text.split_at(skip).1);
            (text.split_at(skip + more.len()).0, word, tail)
        }
        Some((i, _)) => {
            let (word, _) = run.split_at(i);
            (gap, word, text.split_at(start + i).1)
        }
    }
}

/// The words that the rules know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Other,
    Filler,
    /// Asks when it stands first.
    First,
    Any,
    AnyOne,
    Everyone,
    Does,
    Do,
    Is,
    Are,
    Can,
    How,
    What,
    Where,
    Why,
    Which,
    Would,
    Should,
    There,
    I,
    Im,
    M,
    S,
    T,
    To,
    Me,
    Help,
    Need,
    Problem,
    With,
    Trying,
    Having,
    Doesn,
    Doesnt,
    Not,
    Work,
    Works,
    Working,
    Thanks,
    Thank,
    You,
    Got,
    It,
    Makes,
    Sense,
    That,
}

/// The longest known word has nine letters.
const LONGEST_WORD: usize = 9;

impl Word {
    fn of(word: &str) -> Self {
        if word.len() > LONGEST_WORD {
            return Self::Other;
        }
        let mut buffer = [0u8; LONGEST_WORD];
        for (to, from) in buffer.iter_mut().zip(word.bytes()) {
            *to = from.to_ascii_lowercase();
        }
        match buffer.get(..word.len()).unwrap_or_default() {
            b"hi" | b"hey" | b"hello" | b"ok" | b"so" | b"and" | b"also" | b"well" | b"um" | b"umm" | b"ummm" | b"guys" | b"all"
            | b"please" => Self::Filler,
            b"everyone" => Self::Everyone,
            b"who" | b"whats" | b"when" | b"wheres" | b"hows" | b"am" | b"was" | b"did" | b"could" | b"will" | b"has" | b"have" => {
                Self::First
            }
            b"any" => Self::Any,
            b"anyone" | b"anybody" | b"someone" | b"somebody" => Self::AnyOne,
            b"does" => Self::Does,
            b"do" => Self::Do,
            b"is" => Self::Is,
            b"are" => Self::Are,
            b"can" => Self::Can,
            b"how" => Self::How,
            b"what" => Self::What,
            b"where" => Self::Where,
            b"why" => Self::Why,
            b"which" => Self::Which,
            b"would" => Self::Would,
            b"should" => Self::Should,
            b"there" => Self::There,
            b"i" => Self::I,
            b"im" => Self::Im,
            b"m" => Self::M,
            b"s" => Self::S,
            b"t" => Self::T,
            b"to" => Self::To,
            b"me" => Self::Me,
            b"help" => Self::Help,
            b"need" => Self::Need,
            b"problem" => Self::Problem,
            b"with" => Self::With,
            b"trying" => Self::Trying,
            b"having" | b"getting" | b"looking" => Self::Having,
            b"doesn" => Self::Doesn,
            b"doesnt" => Self::Doesnt,
            b"not" => Self::Not,
            b"work" => Self::Work,
            b"works" => Self::Works,
            b"working" => Self::Working,
            b"thanks" | b"thx" | b"ty" | b"cheers" | b"worked" | b"perfect" | b"great" => Self::Thanks,
            b"thank" => Self::Thank,
            b"you" => Self::You,
            b"got" => Self::Got,
            b"it" => Self::It,
            b"makes" => Self::Makes,
            b"sense" => Self::Sense,
            b"that" => Self::That,
            _ => Self::Other,
        }
    }

    fn is_filler(self) -> bool {
        matches!(self, Self::Filler | Self::Everyone)
    }

    fn asks_at_start(self) -> bool {
        matches!(
            self,
            Self::First
                | Self::Any
                | Self::AnyOne
                | Self::Does
                | Self::Do
                | Self::Is
                | Self::Are
                | Self::Can
                | Self::How
                | Self::What
                | Self::Where
                | Self::Why
                | Self::Which
                | Self::Would
                | Self::Should
        )
    }

    fn requests_alone(self) -> bool {
        matches!(self, Self::AnyOne | Self::Which)
    }

    fn thanks_alone(self) -> bool {
        matches!(self, Self::Thanks | Self::Thank)
    }
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
