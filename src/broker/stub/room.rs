//! The room as the reads leave it: lines with their edits, without what was deleted.

use std::collections::BTreeMap;

use crate::ports::{OwedLine, Read};

pub(super) struct Room<'a> {
    lines: BTreeMap<u64, &'a str>,
    own: Vec<&'a str>,
    released: Option<(&'a str, &'a str)>,
}

impl<'a> Room<'a> {
    pub(super) fn new(reads: &'a [Read], persona: &str) -> Self {
        let mut lines: BTreeMap<u64, &'a str> = BTreeMap::new();
        let mut own: BTreeMap<u64, &'a str> = BTreeMap::new();
        let mut released = None;
        for item in reads.iter().flat_map(|r| &r.items) {
            let place = item.of.unwrap_or(item.seq);
            match item.kind.as_str() {
                "message" => {
                    lines.insert(item.seq, &item.text);
                    if item.author == persona {
                        own.insert(item.seq, &item.text);
                    }
                }
                "system" if !item.text.is_empty() => released = Some((item.name.as_str(), item.text.as_str())),
                "edit" => {
                    lines.insert(place, &item.text);
                }
                "delete" => {
                    lines.remove(&place);
                    own.remove(&place);
                }
                _ => {}
            }
        }
        Self { lines, own: own.into_values().collect(), released }
    }

    /// What the obligation's lines say now, oldest first.
    pub(super) fn texts_of(&self, owed: &OwedLine) -> Vec<&'a str> {
        owed.lines.iter().filter_map(|seq| self.lines.get(seq).copied()).collect()
    }

    pub(super) fn last_of(&self, owed: &OwedLine) -> Option<&'a str> {
        owed.lines.iter().rev().find_map(|seq| self.lines.get(seq).copied())
    }

    /// Whether any of its lines still stands.
    pub(super) fn knows(&self, owed: &OwedLine) -> bool {
        self.last_of(owed).is_some()
    }

    /// The last line that was released into the room, and who had said it.
    pub(super) fn released(&self) -> Option<(&'a str, &'a str)> {
        self.released
    }

    /// What the persona has posted, oldest first.
    pub(super) fn own_posts(&self) -> &[&'a str] {
        &self.own
    }
}
