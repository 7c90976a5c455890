//! What a machine heard, decided and did in one room, kept for the pages of a report: times, ids and names, and texts only where
//! they were asked for. It ends at a number of decisions, so that a room of a million lines is no page of a million rows.

use std::{cell::Cell, collections::BTreeMap};

use parlor_core::{Author, AuthorKind, Decision, Item, ItemKind, Millis, ObligationId, Row, RowKind};

/// Decisions of a room that are shown: some ten screens of a page, and a few hundred kilobytes of memory.
pub(super) const MAX_DECISIONS: usize = 500;
/// Lines of a room that are kept: a page's decisions are mostly about fewer than a thousand.
const MAX_LINES: usize = 5_000;
/// Rooms that have a page: with the bound on decisions a report stays below some tens of megabytes.
pub(super) const MAX_ROOMS: usize = 200;
/// Characters of a text that are shown.
const TEXT_CHARS: usize = 300;

/// What a report wants to know of rooms.
pub(super) struct Keep {
    rooms_left: Cell<usize>,
    texts: bool,
}

impl Keep {
    pub(super) fn new(texts: bool) -> Self {
        Self { rooms_left: Cell::new(MAX_ROOMS), texts }
    }

    /// A diary of one more room, while there may be more.
    pub(super) fn diary(&self) -> Option<Box<Diary>> {
        let left = self.rooms_left.get().checked_sub(1)?;
        self.rooms_left.set(left);
        Some(Box::new(Diary { texts: self.texts, ..Diary::default() }))
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Diary {
    texts: bool,
    /// Places of the stream before the first line here.
    before: u64,
    /// What was heard, by its place in the stream less one, and less those before; shorter than the stream where the diary ended.
    pub lines: Vec<Heard>,
    /// Names by id.
    pub names: BTreeMap<String, String>,
    pub decisions: Vec<(Millis, Decision)>,
    pub acts: Vec<Acted>,
    /// Decisions after the end of the diary.
    pub left_out: u64,
}

/// Something in the room.
pub(super) struct Heard {
    pub ts: Millis,
    pub id: String,
    pub author: String,
    pub kind: HeardKind,
    pub text: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HeardKind {
    Person,
    Bot,
    OwnPost,
    OwnReaction,
    /// Something about an earlier line: an edit, a deletion, a reaction, a notice.
    Change,
}

impl HeardKind {
    pub(super) fn of(author: AuthorKind, item: ItemKind) -> Self {
        match (author, item) {
            (AuthorKind::Own, ItemKind::Message) => Self::OwnPost,
            (AuthorKind::Own, _) => Self::OwnReaction,
            (_, ItemKind::Edit | ItemKind::Delete | ItemKind::Reaction | ItemKind::Unreaction | ItemKind::System) => Self::Change,
            (AuthorKind::Bot | AuthorKind::Webhook, ItemKind::Message) => Self::Bot,
            (AuthorKind::Owner | AuthorKind::Human, ItemKind::Message) => Self::Person,
        }
    }
}

/// A post or reaction of the machine.
pub(super) struct Acted {
    pub ts: Millis,
    pub settles: Vec<ObligationId>,
    pub reaction: bool,
}

impl Diary {
    /// Of a part of a stream, after so many places of it.
    pub(super) fn after(before: u64, texts: bool) -> Self {
        Self { texts, before, ..Self::default() }
    }

    fn is_full(&self) -> bool {
        self.decisions.len() >= MAX_DECISIONS || self.lines.len() >= MAX_LINES
    }

    pub(super) fn heard(&mut self, item: &Item) {
        if self.is_full() {
            return;
        }
        let Author { id, name, kind } = &item.author;
        let kind = HeardKind::of(*kind, item.kind);
        self.line_was(Heard { ts: item.at, id: item.platform_id.clone(), author: id.clone(), kind, text: None }, name, &item.text);
    }

    /// The next line; its text is kept where texts are wanted.
    pub(super) fn line_was(&mut self, line: Heard, name: &str, text: &str) {
        if self.is_full() {
            return;
        }
        if !self.names.contains_key(&line.author) {
            self.names.insert(line.author.clone(), if name.is_empty() { line.author.as_str() } else { name }.to_owned());
        }
        let text = self.texts.then(|| cut(text));
        self.lines.push(Heard { text, ..line });
    }

    pub(super) fn decided(&mut self, now: Millis, decision: Decision) {
        if self.is_full() {
            self.left_out += 1;
        } else {
            self.decisions.push((now, decision));
        }
    }

    pub(super) fn acted(&mut self, now: Millis, row: &Row) {
        self.act(Acted { ts: now, settles: row.settles.clone(), reaction: matches!(row.kind, RowKind::React { .. }) });
    }

    pub(super) fn act(&mut self, act: Acted) {
        if !self.is_full() {
            self.acts.push(act);
        }
    }

    /// The line at this place of the stream.
    pub(super) fn line(&self, seq: u64) -> Option<&Heard> {
        self.lines.get(usize::try_from(seq.checked_sub(self.before + 1)?).ok()?)
    }

    /// What somebody is called.
    pub(super) fn name<'a>(&'a self, id: &'a str) -> &'a str {
        self.names.get(id).map_or(id, String::as_str)
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS) {
        Some((at, _)) => format!("{}\u{2026}", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
