//! The words that the rules about forms know, each found by one look into a table that is built at compile time.

use super::scan::letters_of;

/// What a word is to the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
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

/// Every known word.
const KNOWN: &[(Word, &[&str])] = &[
    (Word::Filler, &["hi", "hey", "hello", "ok", "so", "and", "also", "well", "um", "umm", "ummm", "guys", "all", "please"]),
    (Word::Everyone, &["everyone"]),
    (Word::First, &["who", "whats", "when", "wheres", "hows", "am", "was", "did", "could", "will", "has", "have"]),
    (Word::Any, &["any"]),
    (Word::AnyOne, &["anyone", "anybody", "someone", "somebody"]),
    (Word::Does, &["does"]),
    (Word::Do, &["do"]),
    (Word::Is, &["is"]),
    (Word::Are, &["are"]),
    (Word::Can, &["can"]),
    (Word::How, &["how"]),
    (Word::What, &["what"]),
    (Word::Where, &["where"]),
    (Word::Why, &["why"]),
    (Word::Which, &["which"]),
    (Word::Would, &["would"]),
    (Word::Should, &["should"]),
    (Word::There, &["there"]),
    (Word::I, &["i"]),
    (Word::Im, &["im"]),
    (Word::M, &["m"]),
    (Word::S, &["s"]),
    (Word::T, &["t"]),
    (Word::To, &["to"]),
    (Word::Me, &["me"]),
    (Word::Help, &["help"]),
    (Word::Need, &["need"]),
    (Word::Problem, &["problem"]),
    (Word::With, &["with"]),
    (Word::Trying, &["trying"]),
    (Word::Having, &["having", "getting", "looking"]),
    (Word::Doesn, &["doesn"]),
    (Word::Doesnt, &["doesnt"]),
    (Word::Not, &["not"]),
    (Word::Work, &["work"]),
    (Word::Works, &["works"]),
    (Word::Working, &["working"]),
    (Word::Thanks, &["thanks", "thx", "ty", "cheers", "worked", "perfect", "great"]),
    (Word::Thank, &["thank"]),
    (Word::You, &["you"]),
    (Word::Got, &["got"]),
    (Word::It, &["it"]),
    (Word::Makes, &["makes"]),
    (Word::Sense, &["sense"]),
    (Word::That, &["that"]),
];

/// The longest known word has eight letters, so that each fits into a number.
const LONGEST_WORD: usize = 8;
const SLOT_BITS: u32 = 9;
/// Found by trial: it gives each known word a slot of its own, and without that this file does not compile.
const SPREAD: u64 = 0x4c86_7062_2d9b_8ebf;

/// Known words by their slots.
#[expect(clippy::indexing_slicing, reason = "a slot is below the length, and this runs at compile time")]
static TABLE: [(u64, Word); 1 << SLOT_BITS] = {
    let mut table = [(0, Word::Other); 1 << SLOT_BITS];
    let mut classes = KNOWN;
    while let [(word, spellings), more @ ..] = classes {
        let mut spellings = *spellings;
        while let [spelling, others @ ..] = spellings {
            assert!(spelling.len() <= LONGEST_WORD);
            let letters = letters_of(spelling);
            assert!(table[slot(letters)].0 == 0);
            table[slot(letters)] = (letters, *word);
            spellings = others;
        }
        classes = more;
    }
    table
};

const fn slot(letters: u64) -> usize {
    (letters.wrapping_mul(SPREAD) >> (u64::BITS - SLOT_BITS)) as usize
}

impl Word {
    /// The word of these letters, of which there are so many.
    #[inline]
    pub(super) fn of(letters: u64, length: usize) -> Self {
        let known = TABLE.get(slot(letters)).filter(|(known, _)| *known == letters && length <= LONGEST_WORD);
        known.map_or(Self::Other, |(_, word)| *word)
    }

    pub(super) fn is_filler(self) -> bool {
        matches!(self, Self::Filler | Self::Everyone)
    }

    pub(super) fn asks_at_start(self) -> bool {
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

    pub(super) fn requests_alone(self) -> bool {
        matches!(self, Self::AnyOne | Self::Which)
    }

    pub(super) fn thanks_alone(self) -> bool {
        matches!(self, Self::Thanks | Self::Thank)
    }
}
