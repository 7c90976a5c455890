//! The numbers that the models see, each by name. Gaps are logarithms of seconds; yes or no is 1 or 0.
//!
//! Training and live use build the same structures, in the same places of the machine; there is no second way to make a number.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::Millis;

/// Longer ago than this is long ago.
const LONG_MS: Millis = 3_600_000;

macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $meaning:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub(crate) struct $name { $(#[doc = $meaning] pub(crate) $field: f64,)* }
        impl $name {
            /// Name and meaning of each number, in order.
            pub(crate) const NAMES: &[(&str, &str)] = &[$((stringify!($field), $meaning),)*];
            /// The numbers, in the order of the names.
            pub(crate) fn values(&self) -> [f64; [$(stringify!($field)),*].len()] {
                [$(self.$field),*]
            }
        }
    };
}

numbers! {
    /// The visible past as a burst begins: how its author stands to the persona, to others and to the room.
    Past {
        new_author: "the author never spoke here",
        author_lines: "lines of the author so far",
        author_gap: "time since the author's last line",
        me_gap: "time since the persona spoke",
        me_to_gap: "time since the persona spoke to the author",
        me_to_n: "posts of the persona to the author",
        me_to_after: "lines of others since the persona spoke to the author",
        me_share: "share of the last 5 minutes' lines that are the persona's",
        me_lines: "lines of the persona in the last 5 minutes",
        pace: "lines in the last 5 minutes",
        speakers: "speakers in the last 5 minutes",
        others_talk: "lines of others in the last 5 minutes",
        to_me_last: "whom the author last spoke to is the persona",
        to_other_last: "whom the author last spoke to is somebody else",
        to_gap: "time since the author last spoke to anybody",
        to_other_2m: "the author spoke to somebody else in the last 2 minutes",
        to_other_5m: "the author spoke to somebody else in the last 5 minutes",
        helped_other: "who last spoke to the author is not the persona",
        helped_gap: "time since anybody spoke to the author",
        helped_since: "somebody else spoke to the author since the persona did",
        helped_2m: "somebody spoke to the author in the last 2 minutes",
        helpers: "people who spoke to the author in the last 10 minutes",
        mine_last: "the persona spoke to the author, and nobody since",
        mine_1m: "the same, within 1 minute",
        mine_2m: "the same, within 2 minutes",
        mine_5m: "the same, within 5 minutes",
        mine_10m: "the same, within 10 minutes",
        before_gap: "time since the last line of anybody else",
        before_me: "that line was the persona's",
        before_to_author: "that line was to the author",
        side_talk: "the author and one other had the last lines to themselves",
        spoke_direct: "the persona last spoke to the author because it was addressed",
        open_asks: "others who asked the room in the last 2 minutes",
    }
}

numbers! {
    /// The burst itself, as its turn looks over.
    Said {
        names_me_inside: "the persona's name stands inside a line",
        names_other_inside: "another name stands inside a line",
        own_link: "a line replies to the author's own line",
        question: "a line is a question",
        ends_asking: "the last line ends with a question mark",
        request: "a line asks or says that help is wanted",
        thanks: "a line thanks",
        bare_thanks: "there is nothing but thanks",
        link: "a line holds a link",
        command: "it begins like a command to a bot",
        lines: "lines of the burst",
        length: "length of the burst",
        short: "it is very short",
        responds: "it begins as an answer does",
        you: "it speaks to a second person",
        greets: "it begins with a greeting",
        anyone: "it speaks to whoever is there",
        first_person: "it speaks of its author",
        topic: "share of its words that the author used in what the persona answered",
        fresh_ask: "it asks after 2 minutes of the author's silence",
        mine_ask: "it asks, and the persona spoke to the author within 5 minutes",
        mine_responds: "it begins as an answer does, and the persona spoke to the author within 5 minutes",
        ask_responds: "it asks and begins as an answer does",
        ask_you: "it asks a second person",
        ask_helped: "it asks, and somebody spoke to the author in the last 2 minutes",
        ask_side: "it asks, and the author spoke to somebody else in the last 5 minutes",
        since: "lines of others since",
        named_since: "somebody named the author or replied since",
        named_ask: "the same, and it asks",
        ask_new: "it asks, and the author never spoke here",
        ask_author_gap: "time since the author's last line, if it asks",
        ask_me_gap: "time since the persona spoke to the author, if it asks",
        ask_mine_1m: "it asks, and the persona spoke to the author within 1 minute",
        state_mine_1m: "it asks nothing, and the persona spoke to the author within 1 minute",
        ask_pace: "lines in the last 5 minutes, if it asks",
        ask_side_talk: "it asks, and the author and one other had the last lines to themselves",
        ask_length: "its length, if it asks",
        ask_marked: "it asks and ends with a question mark",
    }
}

numbers! {
    /// A later line of somebody else beside a burst: may it be the answer?
    Beside {
        names_first: "it opens with the author's name",
        names: "it names the author",
        link: "it replies to the burst",
        link_elsewhere: "it replies to something else",
        names_elsewhere: "it names others only",
        to_me: "it is for the persona",
        first: "it is the first line of others since",
        before: "lines of others since",
        gap: "time since the burst",
        common_of_line: "share of its words that the burst holds",
        common: "they have a word in common",
        common_of_burst: "share of the burst's words that it holds",
        question: "it is a question",
        request: "it asks or says that help is wanted",
        length: "its length",
        answerer_gap: "time since its author's last line",
        url: "it holds a link",
        thanks: "it thanks",
        responds: "it begins as an answer does",
        you: "it speaks to a second person",
        asks_since: "others who asked the room since the burst",
        talks_to_asker: "its author spoke to the asker in the last 10 minutes",
        talks_to_other: "its author spoke to somebody else in the last 3 minutes",
        right_after: "the line before it is the asker's",
        room_question: "the burst is owed as a question to the room",
        follow_up: "the burst is owed as a follow-up",
        spoke_since: "its author spoke since the burst already",
        me: "how likely the burst was for the persona",
        asks: "the burst asks",
        greets: "it begins with a greeting",
        first_person: "it speaks of its author",
        told_by_asker: "who last spoke to its author, in the last 3 minutes, is the asker",
        told_by_other: "who last spoke to its author, in the last 3 minutes, is somebody else",
        told_by_us: "who last spoke to its author, in the last 3 minutes, is a persona",
        before_is_asker: "the last line before it that is not its author's is the asker's",
        author_best: "likelihood of the likeliest line of its author so far",
        advises: "it begins as advice does",
        ends_asking: "its last character is a question mark",
        plain_first: "it is the first line since, states something and names nobody",
    }
}

numbers! {
    /// All that happened since a burst, before something is said to it.
    Since {
        any: "likelihood that any later line answers it",
        best: "likelihood of the likeliest",
        lines: "lines of others since",
        speakers: "people who spoke since",
        named: "lines that name the asker or reply",
        is_named: "there is one",
        asker_to_others: "lines of the asker to others since",
        asker_thanked: "one of them thanks",
        gap: "time since the burst",
        me: "how likely the burst was for the persona",
        room: "how likely it was for the room",
        asks: "it asks",
        question: "it is a question",
        follow_up: "it is owed as a follow-up",
        pace: "lines in the 5 minutes before it",
        crowd: "speakers in the 5 minutes before it",
        helpers: "people who spoke to the asker in the 10 minutes before it",
        helped_2m: "somebody spoke to the asker in the 2 minutes before it",
        to_other_5m: "the asker spoke to somebody else in the 5 minutes before it",
        mine_5m: "the persona spoke to the asker in the 5 minutes before it",
        author_gap: "silence of the asker before it",
        burst_lines: "lines of the burst",
        any_and_named: "likelihood that any later line answers it, if one names the asker",
        more: "lines that the asker added after others spoke",
        more_thanks: "one of them thanks",
        more_responds: "one of them begins as an answer does",
        more_you: "one of them speaks to a second person",
        responds: "it begins as an answer does",
        anyone: "it speaks to whoever is there",
        length: "length of the burst",
        second: "likelihood of the second likeliest",
        likely: "lines that are likelier than not unlikely",
        best_gap: "time since the likeliest",
        more_asks: "a line that the asker added after others spoke asks",
        more_after_best: "lines that the asker added after the likeliest",
        named_first: "lines that open with the asker's name",
    }
}

/// Yes or no.
pub(crate) fn yes(is: bool) -> f64 {
    if is { 1.0 } else { 0.0 }
}

/// A count, so that the first few weigh most.
pub(crate) fn count(n: usize) -> f64 {
    COUNTS.get(n).copied().unwrap_or_else(|| (n as f64).ln_1p())
}

/// The counts that are common, reckoned once: a logarithm takes longer than all the rest of a number.
static COUNTS: LazyLock<[f64; 512]> = LazyLock::new(|| std::array::from_fn(|n| (n as f64).ln_1p()));

/// At most so many.
pub(crate) fn few(n: usize, most: usize) -> f64 {
    n.min(most) as f64
}

/// How long ago, an hour at most; never is longer than that.
pub(crate) fn ago(gap: Option<Millis>) -> f64 {
    within(gap, LONG_MS)
}

/// How long ago, `most` at most; never is longer than that.
pub(crate) fn within(gap: Option<Millis>, most: Millis) -> f64 {
    gap.map_or_else(|| seconds(most) + 1.0, |gap| seconds(gap.clamp(0, most)))
}

/// A time, ms, as the logarithm of its seconds.
pub(crate) fn seconds(ms: Millis) -> f64 {
    (ms.max(0) as f64 / 1_000.0).ln_1p()
}
