//! What the form of a line says: question, request, thanks, taking back, a finished sentence.
//!
//! [`crate::reading`] walks over the words. Their lists follow the rules that the
//! replay metrics are defined by (docs/replay.md), so that live use and scoring mean the same by "asks".

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use scan::letters_of;
use word::Word;

mod lexicon;
mod scan;
mod sort;
mod tokens;
mod word;

pub(crate) use lexicon::Known;
pub(crate) use scan::next_word;
pub(crate) use sort::Sort;
pub(crate) use tokens::Tokens;

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

/// A thanks shorter than this holds nothing else.
const BARE_THANKS_MAX_BYTES: usize = 60;

/// The form of a line on the way through its words.
pub(crate) struct FormPass {
    form: Form,
    /// Nothing but fillers came yet.
    at_start: bool,
    /// The last word, and the one before it where one space or apostrophe stands between.
    prev: Word,
    prev2: Word,
}

impl FormPass {
    /// Before the first word of a line of this length.
    pub(crate) fn of(bytes: usize) -> Self {
        let mut form = Form::default();
        form.set(Form::SHORT, bytes < BARE_THANKS_MAX_BYTES);
        Self { form, at_start: true, prev: Word::Other, prev2: Word::Other }
    }

    /// It looks finished.
    pub(crate) fn complete(&mut self) {
        self.form.set(Form::COMPLETE, true);
    }

    /// A question mark stands in it.
    pub(crate) fn asks(&mut self) {
        self.form.set(Form::QUESTION, true);
    }

    /// The next is a link.
    pub(crate) fn link(&mut self) {
        (self.at_start, self.prev2, self.prev) = (false, Word::Other, Word::Other);
    }

    /// The next word, and what stands before it.
    #[inline]
    pub(crate) fn word(&mut self, gap: &[u8], known: Known) {
        let (form, w) = (&mut self.form, known.word);
        if self.at_start {
            let opens = opener_gap(gap);
            form.set(Form::QUESTION, opens && w.asks_at_start());
            self.at_start = opens && w.is_filler();
        }
        let joint = Joint::of(gap);
        if w != Word::Other {
            form.set(Form::REQUEST, w.requests_alone() || pair_requests(self.prev2, self.prev, joint, w));
            form.set(Form::THANKS, w.thanks_alone() || joint == Joint::Space && pair_thanks(self.prev, w));
        }
        self.prev2 = if joint == Joint::Other { Word::Other } else { self.prev };
        self.prev = w;
    }

    pub(crate) fn done(self) -> Form {
        self.form
    }
}

/// What stands between two words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joint {
    Space,
    Apostrophe,
    Other,
}

impl Joint {
    fn of(gap: &[u8]) -> Self {
        match gap {
            b" " => Self::Space,
            b"'" | b"\xe2\x80\x99" => Self::Apostrophe,
            _ => Self::Other,
        }
    }
}

const WIDE_MARK: &[u8] = "\u{ff1f}".as_bytes();

/// Whether a question mark may stand anywhere in a text: most lines are spared the look at their gaps by this.
pub(crate) fn may_ask(text: &str, ascii: bool) -> bool {
    text.as_bytes().contains(&b'?') || !ascii && text.contains('\u{ff1f}')
}

/// Whether what stands between two words holds a question mark.
pub(crate) fn gap_asks(gap: &[u8]) -> bool {
    gap.contains(&b'?') || gap.windows(WIDE_MARK.len()).any(|w| w == WIDE_MARK)
}

/// Whether a text without what is blank after it ends as a sentence does.
pub(crate) fn ends_sentence(text: &str) -> bool {
    matches!(
        text.chars().next_back(),
        Some('.' | '?' | '!' | ')' | '\u{2026}' | '\u{3002}' | '\u{ff1f}' | '\u{ff01}' | '\u{ff0e}' | '\u{ff09}')
    )
}

/// Fillers before the first word of a question are separated by these only.
fn opener_gap(gap: &[u8]) -> bool {
    gap.iter().all(|c| matches!(c, b',' | b'.' | b'!' | b':' | b' ' | b'\t' | b'\r' | b'\n'))
}

/// `name: text`, `@name, text`: gives the text. A link that begins the line addresses nobody.
pub(crate) fn strip_address(text: &str) -> &str {
    let t = text.trim_start();
    // Most lines begin with a word that no separator follows, and that shows in two bytes.
    let word = t.bytes().take_while(u8::is_ascii_alphanumeric).count();
    if let Some((_, [b' ', b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9', ..] | [b'\'' | b'.' | b'?' | b'!', ..])) =
        t.as_bytes().split_at_checked(word)
        && word > 0
    {
        return text;
    }
    let inner = t.trim_start_matches(['@', '<']);
    if t.len() - inner.len() > 3 {
        return text;
    }
    let name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '[' | ']' | '\\' | '`' | '^' | '{' | '}' | '|');
    let after = inner.trim_start_matches(name);
    if after.len() == inner.len() {
        return text;
    }
    if after.starts_with("://") {
        // A link, and nobody's name.
        return text;
    }
    let after = after.strip_prefix('>').unwrap_or(after).trim_start();
    after.strip_prefix([':', ',', ';', '>']).map_or(text, str::trim_start)
}

/// Where a link ends, if this word before `://` begins one.
pub(crate) fn url_end(text: &str, word: &[u8], word_end: usize) -> Option<usize> {
    if !word.eq_ignore_ascii_case(b"http") && !word.eq_ignore_ascii_case(b"https") {
        return None;
    }
    let tail = text.get(word_end..)?;
    Some(word_end + tail.find(char::is_whitespace).unwrap_or(tail.len()))
}

/// Whether the word is one that every line may hold, so that it names nobody by itself.
pub(crate) fn is_common_word(word: &str) -> bool {
    Known::of(letters_of(word), word.as_bytes()).word != Word::Other
        || matches!(word.to_ascii_lowercase().as_str(), "a" | "an" | "the" | "may" | "mark" | "rose" | "hope" | "grace" | "bill" | "art")
}

/// Two or three words that say that help is wanted, with one space or apostrophe between.
fn pair_requests(prev2: Word, prev: Word, joint: Joint, w: Word) -> bool {
    match joint {
        Joint::Space => match (prev, w) {
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
        Joint::Apostrophe => (prev, w) == (Word::What, Word::S),
        Joint::Other => false,
    }
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
    let said = || words.said().filter(|w| !matches!(*w, "oh" | "ok" | "ah" | "actually" | "sorry" | "i") && !is_name(w));
    PHRASES.iter().any(|p| said().eq(p.iter().copied()))
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
    words.said().next().is_some() && words.said().all(|w| hello(w) || is_name(w))
}

/// The words of a short line, in lower case.
struct FewWords<'t>([Cow<'t, str>; FEW_WORDS]);

impl FewWords<'_> {
    fn said(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref).take_while(|w: &&str| !w.is_empty())
    }
}

fn few_words(text: &str) -> Option<FewWords<'_>> {
    let mut words = [const { Cow::Borrowed("") }; FEW_WORDS];
    let mut rest = text;
    for place in &mut words {
        let (_, word, tail) = next_word(rest);
        (*place, rest) = (lower(word), tail);
    }
    let (_, beyond, _) = next_word(rest);
    beyond.is_empty().then_some(FewWords(words))
}

/// A word in lower case, without a copy where it is so already.
pub(crate) fn lower(word: &str) -> Cow<'_, str> {
    let is_lower = word.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase());
    if is_lower { Cow::Borrowed(word) } else { Cow::Owned(word.to_lowercase()) }
}

#[cfg(test)]
mod tests;
