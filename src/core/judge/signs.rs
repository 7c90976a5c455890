//! What the words of a line show, beside its form: to whom they are said, what they lead on from, and which they are.
//!
//! One pass over the words, like [`crate::text::form`]; no text is kept, only bits and hashes.

use serde::{Deserialize, Serialize};

use crate::{
    people::hash_lower,
    text::{next_word, strip_address},
};

/// Hashes of words kept of one burst; what is said beyond that is the same talk.
const MAX_WORDS: usize = 64;
/// Words shorter than this say nothing about the topic.
const MIN_WORD_BYTES: usize = 3;

/// The signs of one line, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Signs(u16);

impl Signs {
    const RESPONDS: u16 = 1;
    const YOU: u16 = 2;
    const GREETS: u16 = 4;
    const ANYONE: u16 = 8;
    const FIRST_PERSON: u16 = 16;
    const LINK: u16 = 32;
    const ENDS_ASKING: u16 = 64;
    const COMMAND: u16 = 128;
    const ADVISES: u16 = 256;

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
    fn add(&mut self, word: u32) {
        if self.0.len() < MAX_WORDS
            && let Err(at) = self.0.binary_search(&word)
        {
            self.0.insert(at, word);
        }
    }

    /// Adds the words of more text.
    pub(crate) fn join(&mut self, more: &Self) {
        for word in &more.0 {
            self.add(*word);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// How many words both hold.
    pub(crate) fn common(&self, other: &Self) -> usize {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut common = 0;
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            match x.cmp(y) {
                std::cmp::Ordering::Less => drop(a.next()),
                std::cmp::Ordering::Greater => drop(b.next()),
                std::cmp::Ordering::Equal => {
                    common += 1;
                    a.next();
                    b.next();
                }
            }
        }
        common
    }
}

/// Reads the signs and words of a line.
pub(crate) fn read(text: &str) -> (Signs, Words) {
    let mut signs = 0;
    let mut words = Words::default();
    let body_from = text.len() - strip_address(text).len();
    signs |= if text.trim_end().ends_with(['?', '\u{ff1f}']) { Signs::ENDS_ASKING } else { 0 };
    signs |= if text.starts_with('!') { Signs::COMMAND } else { 0 };
    let mut rest = text;
    let (mut first, mut body_words) = (true, 0);
    let mut before = Sort::Other;
    loop {
        let (gap, word, tail) = next_word(rest);
        if word.is_empty() {
            return (Signs(signs), words);
        }
        if tail.starts_with("://") {
            signs |= Signs::LINK;
        }
        let sort = Sort::of(word);
        let single = gap == " ";
        if first && sort.greets(tail) {
            signs |= Signs::GREETS;
        }
        first = false;
        let starts = text.len() - tail.len() - word.len();
        if starts >= body_from {
            let opens = body_words == 0 && text.get(body_from..starts).is_some_and(|gap| gap.trim_ascii().is_empty());
            if opens && sort.responds() || body_words == 1 && single && before.responds_with(sort) {
                signs |= Signs::RESPONDS;
            }
            signs |= if opens && sort == Sort::Advice { Signs::ADVISES } else { 0 };
            body_words += 1;
            signs |= match sort {
                Sort::You | Sort::Your => Signs::YOU,
                Sort::I | Sort::My => Signs::FIRST_PERSON,
                _ => 0,
            };
        }
        signs |= if sort == Sort::Anyone || sort == Sort::One && before == Sort::Some && single { Signs::ANYONE } else { 0 };
        if word.len() >= MIN_WORD_BYTES && sort == Sort::Other {
            words.add(hash_lower(word) as u32);
        }
        before = sort;
        rest = tail;
    }
}

/// Words by what they show. Those that every line may hold say nothing about its topic, and are none of its words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Other,
    /// Says nothing.
    Plain,
    /// Begins an answer.
    Leads,
    Hello,
    Good,
    You,
    Your,
    I,
    My,
    Anyone,
    Some,
    One,
    Did,
    Do,
    Are,
    If,
    Have,
    /// Begins advice.
    Advice,
}

/// The longest word that is known.
const LONGEST_SORTED: usize = 9;

impl Sort {
    fn of(word: &str) -> Self {
        if word.len() > LONGEST_SORTED {
            return Self::Other;
        }
        let mut buffer = [0u8; LONGEST_SORTED];
        for (to, from) in buffer.iter_mut().zip(word.bytes()) {
            *to = from.to_ascii_lowercase();
        }
        match buffer.get(..word.len()).unwrap_or_default() {
            b"yes" | b"yeah" | b"yea" | b"yep" | b"yup" | b"no" | b"nope" | b"nah" | b"ok" | b"okay" | b"oh" | b"ah" | b"aha" | b"hm"
            | b"hmm" | b"hmmm" | b"it" | b"its" | b"that" | b"thats" | b"this" | b"they" | b"he" | b"she" | b"still" | b"done"
            | b"same" | b"but" | b"and" | b"so" | b"then" | b"also" | b"well" | b"cool" | b"sure" | b"right" | b"true" | b"nice"
            | b"lol" | b"sorry" | b"really" | b"thanks" | b"thx" => Self::Leads,
            b"hi" | b"hello" | b"hey" | b"hiya" | b"greetings" | b"howdy" | b"yo" => Self::Hello,
            b"good" => Self::Good,
            b"you" | b"u" => Self::You,
            b"your" | b"ur" => Self::Your,
            b"i" => Self::I,
            b"im" | b"my" | b"we" => Self::My,
            b"anyone" | b"anybody" | b"someone" | b"somebody" | b"guys" | b"folks" | b"everyone" | b"everybody" => Self::Anyone,
            b"any" | b"some" => Self::Some,
            b"one" | b"body" => Self::One,
            b"did" => Self::Did,
            b"do" => Self::Do,
            b"are" => Self::Are,
            b"if" => Self::If,
            b"have" | b"ve" => Self::Have,
            b"try" | b"use" | b"see" | b"check" | b"install" | b"run" | b"type" | b"look" | b"read" | b"make" | b"add" | b"open"
            | b"click" | b"go" | b"just" | b"maybe" | b"probably" | b"depends" => Self::Advice,
            b"the" | b"for" | b"or" | b"is" | b"was" | b"were" | b"be" | b"been" | b"these" | b"those" | b"them" | b"me" | b"his"
            | b"her" | b"our" | b"their" | b"with" | b"at" | b"by" | b"from" | b"as" | b"not" | b"does" | b"has" | b"had" | b"can"
            | b"could" | b"will" | b"would" | b"should" | b"than" | b"there" | b"here" | b"what" | b"which" | b"who" | b"how" | b"when"
            | b"where" | b"why" | b"all" | b"out" | b"up" | b"down" | b"into" | b"over" | b"about" | b"only" | b"very" | b"more"
            | b"most" | b"much" | b"many" | b"get" | b"got" | b"using" | b"know" | b"need" | b"want" | b"like" | b"think" | b"please"
            | b"http" | b"https" | b"don" | b"doesn" | b"www" | b"com" => Self::Plain,
            _ => Self::Other,
        }
    }

    fn greets(self, tail: &str) -> bool {
        match self {
            Self::Hello => true,
            Self::Good => {
                let (_, next, _) = next_word(tail);
                ["morning", "evening", "afternoon", "day"].iter().any(|d| next.eq_ignore_ascii_case(d))
            }
            _ => false,
        }
    }

    fn responds(self) -> bool {
        matches!(self, Self::Leads | Self::You | Self::Your)
    }

    /// `I did`, `I have`, `did you`, `do you`, `are you`, `if you`.
    fn responds_with(self, next: Self) -> bool {
        match self {
            Self::I => matches!(next, Self::Did | Self::Have),
            Self::Did | Self::Do | Self::Are | Self::If => next == Self::You,
            _ => false,
        }
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
            ("did you try it", Signs::RESPONDS | Signs::YOU),
            ("I did that", Signs::RESPONDS | Signs::FIRST_PERSON),
            ("can some one help me?", Signs::ANYONE | Signs::ENDS_ASKING),
            ("my kiln https://example.org/x", Signs::FIRST_PERSON | Signs::LINK),
            ("!kiln", Signs::COMMAND),
            ("", 0),
        ] {
            assert_eq!(read(text).0, Signs(want), "{text:?}");
        }
    }

    #[test]
    fn words_in_common_are_those_that_say_something() {
        let (_, a) = read("How hot is the kiln for porcelain?");
        let (_, b) = read("the KILN: porcelain wants 1280, how is that");
        assert_eq!((a.len(), a.common(&b), b.common(&a)), (3, 2, 2));
        let mut many = Words::default();
        for i in 0..200 {
            many.add(i);
        }
        assert_eq!(many.len(), MAX_WORDS);
    }
}
