//! What single words show of a line: to whom it is said, and what it leads on from.

/// Words by what they show. Those that every line may hold say nothing about its topic, and are none of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
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

/// Every word of a sort.
pub(super) const SORTED: &[(Sort, &[&str])] = &[
    (
        Sort::Leads,
        &[
            "yes", "yeah", "yea", "yep", "yup", "no", "nope", "nah", "ok", "okay", "oh", "ah", "aha", "hm", "hmm", "hmmm", "it", "its",
            "that", "thats", "this", "they", "he", "she", "still", "done", "same", "but", "and", "so", "then", "also", "well", "cool",
            "sure", "right", "true", "nice", "lol", "sorry", "really", "thanks", "thx",
        ],
    ),
    (Sort::Hello, &["hi", "hello", "hey", "hiya", "greetings", "howdy", "yo"]),
    (Sort::Good, &["good"]),
    (Sort::You, &["you", "u"]),
    (Sort::Your, &["your", "ur"]),
    (Sort::I, &["i"]),
    (Sort::My, &["im", "my", "we"]),
    (Sort::Anyone, &["anyone", "anybody", "someone", "somebody", "guys", "folks", "everyone", "everybody"]),
    (Sort::Some, &["any", "some"]),
    (Sort::One, &["one", "body"]),
    (Sort::Did, &["did"]),
    (Sort::Do, &["do"]),
    (Sort::Are, &["are"]),
    (Sort::If, &["if"]),
    (Sort::Have, &["have", "ve"]),
    (
        Sort::Advice,
        &[
            "try", "use", "see", "check", "install", "run", "type", "look", "read", "make", "add", "open", "click", "go", "just", "maybe",
            "probably", "depends",
        ],
    ),
    (
        Sort::Plain,
        &[
            "the", "for", "or", "is", "was", "were", "be", "been", "these", "those", "them", "me", "his", "her", "our", "their", "with",
            "at", "by", "from", "as", "not", "does", "has", "had", "can", "could", "will", "would", "should", "than", "there", "here",
            "what", "which", "who", "how", "when", "where", "why", "all", "out", "up", "down", "into", "over", "about", "only", "very",
            "more", "most", "much", "many", "get", "got", "using", "know", "need", "want", "like", "think", "please", "http", "https",
            "don", "doesn", "www", "com",
        ],
    ),
];

impl Sort {
    /// Whether it begins an answer by itself.
    pub(crate) fn responds(self) -> bool {
        matches!(self, Self::Leads | Self::You | Self::Your)
    }

    /// `I did`, `I have`, `did you`, `do you`, `are you`, `if you`.
    pub(crate) fn responds_with(self, next: Self) -> bool {
        match self {
            Self::I => matches!(next, Self::Did | Self::Have),
            Self::Did | Self::Do | Self::Are | Self::If => next == Self::You,
            _ => false,
        }
    }
}
