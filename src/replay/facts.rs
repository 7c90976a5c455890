//! What is kept of a room's rows for the scorer and the other policies: times, numbers and yes or no, never a text.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use parlor_core::Place;

use super::{question::Asks, row::Row};

/// Gives the same text the same small number. The texts stand one after the other in one string.
#[derive(Default)]
pub(super) struct Numbers {
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    texts: String,
    /// Where each text ends.
    ends: Vec<usize>,
}

impl Numbers {
    pub(super) fn number(&mut self, name: &str) -> u32 {
        let Self { table, hasher, texts, ends } = self;
        let new = ends.len() as u32;
        let same = |n: &u32| text(texts, ends, *n) == name;
        let number = *table.entry(hasher.hash_one(name), same, |n| hasher.hash_one(text(texts, ends, *n))).or_insert(new).get();
        if number == new {
            texts.push_str(name);
            ends.push(texts.len());
        }
        number
    }

    pub(super) fn find(&self, name: &str) -> Option<u32> {
        self.table.find(self.hasher.hash_one(name), |n| text(&self.texts, &self.ends, *n) == name).copied()
    }

    pub(super) fn name(&self, number: u32) -> &str {
        text(&self.texts, &self.ends, number)
    }
}

fn text<'a>(texts: &'a str, ends: &[usize], number: u32) -> &'a str {
    let at = number as usize;
    let from = at.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    ends.get(at).and_then(|to| texts.get(from..*to)).unwrap_or_default()
}

/// One row. Its replies and mentions are parts of the room's lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fact {
    pub ts: i64,
    pub author: u32,
    pub id: u32,
    pub bot: bool,
    pub deleted: bool,
    /// Whether people noted what it replies to.
    pub annotated: bool,
    pub asks: Asks,
    replies: Part,
    mentions: Part,
}

/// From a place of a list to another.
type Part = (u32, u32);

/// The rows of a room.
pub(super) struct Facts {
    /// The persona's number among the authors.
    pub me: u32,
    /// Whose replies are those that the persona is to be measured by: its own, or those of somebody whose part it takes.
    pub part: u32,
    authors: Numbers,
    ids: Numbers,
    rows: Vec<Fact>,
    /// Row by number of its id; ids that are only replied to have none.
    row_of: Vec<Option<u32>>,
    replies: Vec<u32>,
    mentions: Vec<(u32, Place)>,
}

/// The id was used before in this room.
pub(super) struct Duplicate;

impl Facts {
    pub(super) fn new(persona: &str) -> Self {
        let mut authors = Numbers::default();
        let me = authors.number(persona);
        Self {
            me,
            part: me,
            authors,
            ids: Numbers::default(),
            rows: Vec::new(),
            row_of: Vec::new(),
            replies: Vec::new(),
            mentions: Vec::new(),
        }
    }

    /// The persona takes the part of somebody who is in the room beside it.
    pub(super) fn stand_in(&mut self, id: &str) {
        self.part = self.authors.number(id);
    }

    /// Takes up a row at a time that does not go back. What it asks, and whom it names where it does not list them, may follow.
    pub(super) fn add(&mut self, row: &Row<'_>, ts: i64) -> Result<(), Duplicate> {
        let id = self.id_number(&row.id);
        let Some(slot) = self.row_of.get_mut(id as usize).filter(|s| s.is_none()) else { return Err(Duplicate) };
        *slot = Some(self.rows.len() as u32);
        let author = self.authors.number(&row.author_id);
        let from = self.replies.len() as u32;
        for reply in row.reply_to.iter().flatten() {
            let id = self.id_number(&reply.0);
            self.replies.push(id);
        }
        let replies = (from, self.replies.len() as u32);
        let mentions = self.add_mentions(row.mentions.iter().flatten().map(|m| (m.author_id.0.as_ref(), m.pos)));
        let annotated = row.reply_to.is_some() && !row.deleted;
        let asks = Asks::default();
        self.rows.push(Fact { ts, author, id, bot: row.bot, deleted: row.deleted, annotated, asks, replies, mentions });
        Ok(())
    }

    fn add_mentions<'n>(&mut self, mentions: impl Iterator<Item = (&'n str, Place)>) -> Part {
        let from = self.mentions.len() as u32;
        for (name, pos) in mentions {
            let author = self.authors.number(name);
            self.mentions.push((author, pos));
        }
        (from, self.mentions.len() as u32)
    }

    /// What a row asks.
    pub(super) fn note_asks(&mut self, at: usize, asks: Asks) {
        if let Some(fact) = self.rows.get_mut(at) {
            fact.asks = asks;
        }
    }

    /// Whom a row names that does not list them.
    pub(super) fn note_mentions<'n>(&mut self, at: usize, mentions: impl Iterator<Item = (&'n str, Place)>) {
        let part = self.add_mentions(mentions);
        if let Some(fact) = self.rows.get_mut(at) {
            fact.mentions = part;
        }
    }

    fn id_number(&mut self, id: &str) -> u32 {
        let n = self.ids.number(id);
        if n as usize == self.row_of.len() {
            self.row_of.push(None);
        }
        n
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn rows(&self) -> &[Fact] {
        &self.rows
    }

    pub(super) fn row(&self, at: u32) -> Option<&Fact> {
        self.rows.get(at as usize)
    }

    /// The row of this id.
    pub(super) fn row_named(&self, id: &str) -> Option<u32> {
        self.row_of.get(self.ids.find(id)? as usize).copied().flatten()
    }

    pub(super) fn id(&self, row: u32) -> &str {
        self.row(row).map_or("", |f| self.ids.name(f.id))
    }

    pub(super) fn author(&self, row: u32) -> &str {
        self.row(row).map_or("", |f| self.authors.name(f.author))
    }

    /// The rows that a row replies to, as far as they are in the room.
    pub(super) fn replies(&self, at: usize) -> impl Iterator<Item = u32> {
        let ids = part(&self.replies, self.rows.get(at).map(|f| f.replies));
        ids.iter().filter_map(|id| self.row_of.get(*id as usize).copied().flatten())
    }

    /// Whom a row names.
    pub(super) fn mentions(&self, at: usize) -> &[(u32, Place)] {
        part(&self.mentions, self.rows.get(at).map(|f| f.mentions))
    }

    /// The lines of people that the machine sees, by their row.
    pub(super) fn heard(&self) -> impl Iterator<Item = (u32, &Fact)> {
        (0..).zip(&self.rows).filter(|(_, f)| !f.bot && !f.deleted && f.author != self.me)
    }
}

fn part<T>(of: &[T], part: Option<Part>) -> &[T] {
    part.and_then(|(from, to)| of.get(from as usize..to as usize)).unwrap_or_default()
}
