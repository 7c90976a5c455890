//! Finds whom a line names: from the text and a table of the names seen in the room.
//!
//! Names are for addressing only, never for authority. A name that is also a word counts only where it plainly addresses:
//! after an at sign, or at the start of the line before a comma or colon.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::{
    Member, Mention, Place,
    text::{is_common_word, lower, next_word},
};

/// At most this many names of people are remembered; the oldest go first.
const MAX_NAMES: usize = 512;
/// A name of more words than this is cut: display names are at most 80 characters.
const MAX_NAME_WORDS: usize = 6;
/// At most this many different names of one line count.
const MAX_MENTIONS: usize = 16;
/// Names as short as this are matched inside a line only as they are spelled, or "an" would name Ann.
const SHORT_NAME_CHARS: usize = 4;

/// The names that may occur in a line.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Names {
    /// Lower-case first word to the names that begin with it.
    by_first: BTreeMap<String, Vec<Name>>,
    /// People in the order they were first seen.
    people: VecDeque<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Name {
    id: String,
    /// As spelled.
    words: Vec<String>,
    persona: bool,
}

impl Names {
    /// Puts the personas' names and aliases in place of those before.
    pub fn set_members(&mut self, members: &[Member]) {
        self.forget(|n| n.persona);
        for m in members {
            for name in std::iter::once(&m.name).chain(&m.aliases) {
                self.insert(&m.id, name, true);
            }
        }
    }

    /// Learns or changes a person's name.
    pub fn learn(&mut self, id: &str, name: &str) {
        let words = split(name);
        let known = words.first().is_some_and(|w| {
            self.by_first.get(lower(w).as_ref()).is_some_and(|at| at.iter().any(|n| n.id == id && n.words == words && !n.persona))
        });
        if known {
            return;
        }
        self.forget(|n| n.id == id && !n.persona);
        self.people.retain(|p| p != id);
        if self.people.len() >= MAX_NAMES
            && let Some(oldest) = self.people.pop_front()
        {
            self.forget(|n| n.id == oldest && !n.persona);
        }
        self.people.push_back(id.to_owned());
        self.insert(id, name, false);
    }

    fn forget(&mut self, gone: impl Fn(&Name) -> bool) {
        self.by_first.retain(|_, at| {
            at.retain(|n| !gone(n));
            !at.is_empty()
        });
    }

    fn insert(&mut self, id: &str, name: &str, persona: bool) {
        let words = split(name);
        let Some(first) = words.first() else { return };
        self.by_first.entry(first.to_lowercase()).or_default().push(Name { id: id.to_owned(), words, persona });
    }

    /// Whether the word is a name of a persona, or the first word of one.
    pub(crate) fn is_persona(&self, word: &str) -> bool {
        self.by_first.get(word).is_some_and(|at| at.iter().any(|n| n.persona))
    }

    /// Whom the line names, at most once each, in order.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<Mention> {
        let mut found: Vec<Mention> = Vec::new();
        let mut rest = text;
        let mut opening = true;
        loop {
            let (gap, word, tail) = next_word(rest);
            if word.is_empty() || found.len() == MAX_MENTIONS {
                return found;
            }
            let at_sign = gap.ends_with('@');
            if let Some((name, after)) = self.longest(word, tail, at_sign, opening) {
                let pos = if at_sign {
                    Place::Typed
                } else if opening {
                    Place::Open
                } else {
                    Place::In
                };
                if !found.iter().any(|m| m.id == name.id) {
                    found.push(Mention { id: name.id.clone(), pos });
                }
                // A colon ends the address: what follows is said, and not called.
                opening = opening && !after.starts_with(':');
                rest = after;
            } else {
                opening = opening && opens(word);
                rest = tail;
            }
        }
    }

    fn longest<'t>(&self, word: &str, tail: &'t str, at_sign: bool, opening: bool) -> Option<(&Name, &'t str)> {
        let candidates = self.by_first.get(lower(word).as_ref())?;
        let mut best: Option<(&Name, &str)> = None;
        for name in candidates {
            let Some(after) = follows(name, tail) else { continue };
            let addressed = at_sign || opening && after.trim_start().starts_with([',', ':']);
            let spelled =
                name.persona || opening || word.chars().count() > SHORT_NAME_CHARS || name.words.first().is_some_and(|w| w == word);
            let plain = name.words.len() > 1 || !is_common_word(word);
            let longer = best.is_none_or(|(b, _)| name.words.len() > b.words.len() || name.persona && !b.persona);
            if (addressed || spelled && plain) && longer {
                best = Some((name, after));
            }
        }
        best
    }
}

fn split(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = name;
    while words.len() < MAX_NAME_WORDS {
        let (_, word, tail) = next_word(rest);
        if word.is_empty() {
            break;
        }
        words.push(word.to_owned());
        rest = tail;
    }
    words
}

/// The text after the rest of the name's words, if they follow.
fn follows<'t>(name: &Name, tail: &'t str) -> Option<&'t str> {
    let mut rest = tail;
    for want in name.words.iter().skip(1) {
        let (gap, word, after) = next_word(rest);
        if gap.contains(['.', '?', '!', ',', ':', ';']) || lower(word) != lower(want) {
            return None;
        }
        rest = after;
    }
    Some(rest)
}

/// Words that may stand before the name that opens a line.
fn opens(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "hi",
        "hey",
        "hello",
        "hiya",
        "yo",
        "good",
        "morning",
        "evening",
        "afternoon",
        "ok",
        "okay",
        "oh",
        "ah",
        "so",
        "and",
        "also",
        "well",
        "yes",
        "no",
        "yeah",
        "thanks",
        "thank",
        "you",
        "please",
        "sorry",
        "dear",
    ];
    WORDS.iter().any(|w| w.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let mut n = Names::default();
        n.set_members(&[Member { id: "wren".into(), name: "Wren".into(), aliases: vec!["the kiln keeper".into()] }]);
        for (id, name) in [("1", "Ada Lovelace"), ("2", "Will"), ("3", "Ann"), ("4", "\u{5e9}\u{5dc}\u{5d5}\u{5dd}")] {
            n.learn(id, name);
        }
        n
    }

    #[test]
    fn names_are_found_where_they_address() {
        use Place::{In, Open, Typed};
        for (text, want) in [
            ("wren, how hot?", vec![("wren", Open)]),
            ("hi Wren", vec![("wren", Open)]),
            ("@wren how hot?", vec![("wren", Typed)]),
            ("how hot, wren?", vec![("wren", In)]),
            ("ask the kiln keeper about it", vec![("wren", In)]),
            ("thanks Ada Lovelace", vec![("1", Open)]),
            ("Ada. Lovelace", vec![]),
            ("will it rain", vec![]),
            ("will: yes", vec![("2", Open)]),
            ("ask @Will then", vec![("2", Typed)]),
            ("an oven for ann", vec![]),
            ("an oven for Ann", vec![("3", In)]),
            ("\u{5e9}\u{5dc}\u{5d5}\u{5dd}: hello", vec![("4", Open)]),
            ("wrens are birds", vec![]),
            ("ann: wren told me", vec![("3", Open), ("wren", In)]),
            ("will, wren: both of you", vec![("2", Open), ("wren", Open)]),
            ("@everyone who took the tongs?", vec![]),
            ("wren and wren again", vec![("wren", Open)]),
        ] {
            let got: Vec<(String, Place)> = names().find(text).into_iter().map(|m| (m.id, m.pos)).collect();
            let want: Vec<(String, Place)> = want.into_iter().map(|(i, p)| (i.to_owned(), p)).collect();
            assert_eq!(got, want, "{text:?}");
        }
    }

    #[test]
    fn the_table_is_bounded_and_a_new_name_replaces_the_old() {
        let mut n = names();
        for i in 0..2_000 {
            n.learn(&format!("p{i}"), &format!("Person{i}"));
        }
        assert_eq!(n.people.len(), MAX_NAMES);
        n.learn("p1999", "Renamed");
        assert!(n.find("Person1999: hi").is_empty());
        assert_eq!(n.find("Renamed: hi").len(), 1);
        assert!(n.is_persona("wren"));
    }
}
