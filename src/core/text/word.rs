//! The words that the rules about forms know.

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
pub(super) const KNOWN: &[(Word, &[&str])] = &[
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

impl Word {
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
