//! The lines of people as the scorer wants them. What a line answers is told by what people left to see: the link of their
//! platform, the name that opens it, or that its author goes on.

use std::collections::{BTreeMap, BTreeSet};

use parlor_core::{AuthorKind, ItemKind, Member, Mention, Millis, Names, Place};

use super::{
    super::{
        diary::{Acted, Diary, Heard, HeardKind},
        facts::Facts,
        question,
        row::{Id, Named, Row},
        truth::HORIZON_MS,
    },
    said::ShadowRow,
};
use crate::ledger::{DecisionRow, LedgerItem};

/// A line of the same author this soon after the last goes on with it, unless it names somebody else. On annotated rooms this gives
/// the number of turns, and each rate, that the annotations give, where every answer has a link.
const GOES_ON_MS: Millis = 20_000;

/// A room as it was heard.
pub(super) struct Room {
    pub facts: Facts,
    /// Row by number in the stream.
    pub row_of: BTreeMap<i64, u32>,
    /// Number in the stream by row.
    pub seq_of: Vec<i64>,
    /// Texts as they stand after edits, by number in the stream.
    pub texts: BTreeMap<i64, String>,
}

/// The last line of somebody.
struct Last {
    at: Millis,
    id: String,
    opens: BTreeSet<String>,
}

pub(super) fn hear(items: &[LedgerItem], members: &[Member], me: &Member, stand_in: Option<&str>) -> Room {
    let mut names = Names::default();
    names.set_members(members);
    let mut facts = Facts::new(&me.id);
    if let Some(id) = stand_in {
        facts.stand_in(id);
    }
    let mut room = Room { facts, row_of: BTreeMap::new(), seq_of: Vec::new(), texts: BTreeMap::new() };
    let changed = Changed::of(items);
    let mut last: BTreeMap<&str, Last> = BTreeMap::new();
    let mut now = 0;
    let spoken = items.iter().filter(|i| i.kind == ItemKind::Message && i.author_kind != AuthorKind::Own);
    for item in spoken {
        now = now.max(item.at_ms);
        let text = changed.text(item);
        names.learn(&item.author, &item.name);
        let mentions = mentions(item, &names, text);
        let bot = matches!(item.author_kind, AuthorKind::Bot | AuthorKind::Webhook);
        let deleted = changed.gone.contains(item.platform_id.as_str());
        let opens: BTreeSet<String> = mentions.iter().filter(|m| m.pos != Place::In && m.id != item.author).map(|m| m.id.clone()).collect();
        let answers = answers(item, now, &opens, &last, &room.facts);
        let row = Row {
            room: "".into(),
            id: item.platform_id.as_str().into(),
            ts: now,
            author_id: item.author.as_str().into(),
            author_name: item.name.as_str().into(),
            content: text.into(),
            reply_to: (!bot).then(|| answers.iter().map(|id| Id(id.as_str().into())).collect()),
            mentions: Some(mentions.iter().map(|m| Named { author_id: Id(m.id.as_str().into()), pos: m.pos }).collect()),
            bot,
            deleted,
            reply_to_me: false,
        };
        let at = room.facts.len();
        if room.facts.add(&row, now).is_err() {
            continue;
        }
        room.facts.note_asks(at, question::asks(text));
        room.row_of.insert(item.seq, at as u32);
        room.seq_of.push(item.seq);
        room.texts.insert(item.seq, text.to_owned());
        if !bot && !deleted {
            last.insert(&item.author, Last { at: now, id: item.platform_id.clone(), opens });
        }
    }
    room
}

/// What became of lines later.
struct Changed<'i> {
    texts: BTreeMap<&'i str, &'i str>,
    gone: BTreeSet<&'i str>,
}

impl<'i> Changed<'i> {
    fn of(items: &'i [LedgerItem]) -> Self {
        let of = |kind| items.iter().filter(move |i| i.kind == kind);
        Self {
            texts: of(ItemKind::Edit).map(|i| (i.platform_id.as_str(), i.text.as_str())).collect(),
            gone: of(ItemKind::Delete).map(|i| i.platform_id.as_str()).collect(),
        }
    }

    fn text<'a>(&'a self, item: &'a LedgerItem) -> &'a str {
        self.texts.get(item.platform_id.as_str()).copied().unwrap_or(&item.text)
    }
}

/// Whom a line names, as the machine reads it: the platform's own mentions, and names in the text.
fn mentions(item: &LedgerItem, names: &Names, text: &str) -> Vec<Mention> {
    let mut all: Vec<Mention> = serde_json::from_str(item.mentions.get()).unwrap_or_default();
    all.retain(|m| m.pos == Place::Typed);
    let found = names.find(text);
    all.extend(found.into_iter().filter(|f| !all.iter().any(|m| m.id == f.id)).collect::<Vec<_>>());
    all
}

/// The lines that a line answers, or goes on with.
fn answers(item: &LedgerItem, now: Millis, opens: &BTreeSet<String>, last: &BTreeMap<&str, Last>, facts: &Facts) -> Vec<String> {
    let linked = item.reply_to.clone().filter(|id| facts.row_named(id).is_some());
    let own = last.get(item.author.as_str()).filter(|own| now - own.at <= GOES_ON_MS);
    let to_others: Vec<String> = match linked {
        Some(id) => vec![id],
        None => opens.iter().filter_map(|who| last.get(who.as_str())).filter(|l| now - l.at <= HORIZON_MS).map(|l| l.id.clone()).collect(),
    };
    // What names nobody goes on with whatever its author was saying; what names somebody, only with words to the same.
    let goes_on =
        own.filter(
            |own| if to_others.is_empty() { opens.is_empty() || *opens == own.opens } else { !opens.is_empty() && *opens == own.opens },
        );
    to_others.into_iter().chain(goes_on.map(|own| own.id.clone())).collect()
}

impl Room {
    /// Whether anybody shows whom they answer.
    pub(super) fn anybody_answers(&self) -> bool {
        let of_others = |at: usize, fact: &super::super::facts::Fact| {
            self.facts.replies(at).any(|p| self.facts.row(p).is_some_and(|p| p.author != fact.author))
        };
        self.facts.rows().iter().enumerate().any(|(at, fact)| !fact.bot && of_others(at, fact))
    }
}

/// What the pages show.
pub(super) fn diary(items: &[LedgerItem], rows: &[ShadowRow<'_>], decisions: &[DecisionRow], texts: bool) -> Diary {
    let before = items.first().map_or(0, |i| u64::try_from(i.seq - 1).unwrap_or_default());
    let mut diary = Diary::after(before, texts);
    let mut items = items.iter().peekable();
    for row in decisions {
        while let Some(item) = items.next_if(|i| i.seq <= row.cursor) {
            tell(&mut diary, item);
        }
        // Another version's decision may hold a code that this one does not know; the page does without it.
        if u64::try_from(row.cursor).is_ok_and(|cursor| cursor > before)
            && let Ok(decision) = row.decision()
        {
            diary.decided(row.at_ms, decision);
        }
    }
    items.for_each(|item| tell(&mut diary, item));
    for ShadowRow { at_ms, row } in rows {
        diary.act(Acted { ts: *at_ms, settles: row.settles.clone(), reaction: row.kind == "react" });
    }
    diary
}

fn tell(diary: &mut Diary, item: &LedgerItem) {
    let kind = HeardKind::of(item.author_kind, item.kind);
    diary.line_was(
        Heard { ts: item.at_ms, id: item.platform_id.clone(), author: item.author.clone(), kind, text: None },
        &item.name,
        &item.text,
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What each line answers, by number, of lines `(second, author, kind, text, reply_to)`; ids are `m<seq>`.
    fn answers_of(lines: &[(i64, &str, &str, &str, Option<&str>)]) -> Vec<Vec<i64>> {
        let items: Vec<LedgerItem> = (1..)
            .zip(lines)
            .map(|(seq, (s, who, kind, text, to))| {
                let (author_kind, kind) = if *kind == "bot" { ("bot", "message") } else { ("human", *kind) };
                let of = if kind == "message" { format!("m{seq}") } else { (*to).unwrap_or_default().to_owned() };
                let item = json!({"seq": seq, "at_ms": s * 1_000, "author": who.to_lowercase(), "author_kind": author_kind, "name": who,
                    "kind": kind, "event_key": "", "platform_id": of, "reply_to": to, "text": text, "mentions": [], "attachments": []});
                serde_json::from_str(&item.to_string()).unwrap()
            })
            .collect();
        let wren = Member { id: "wren".into(), name: "Wren".into(), aliases: vec!["Wrennie".into()] };
        let room = hear(&items, std::slice::from_ref(&wren), &wren, None);
        (0..room.facts.len()).map(|at| room.facts.replies(at).filter_map(|row| room.seq_of.get(row as usize).copied()).collect()).collect()
    }

    #[test]
    fn what_a_line_answers_is_told_by_links_names_and_who_goes_on() {
        let say = "message";
        let told = answers_of(&[
            (0, "Ada", say, "is it hot?", None),
            (5, "Ada", say, "the small one", None),
            (8, "Bo", say, "Ada: yes", None),
            (12, "Bo", say, "Ada: very", None),
            (20, "Cid", say, "no, it is off", Some("m1")),
            (24, "Cid", say, "Bo, look again", None),
            (30, "Cid", say, "wrennie: is it?", None),
            (60, "Cid", say, "hm", None),
            (70, "Eve", "bot", "Ada: 20 degrees", None),
            (500, "Dan", say, "Ada: still?", None),
            (510, "Dan", say, "somebody told Ada", Some("gone")),
        ]);
        let want: [&[i64]; 11] = [&[], &[1], &[2], &[2, 3], &[1], &[4], &[], &[], &[], &[], &[10]];
        assert_eq!(told, want);
    }

    #[test]
    fn a_line_stands_as_it_was_changed_and_a_deleted_one_answers_nothing() {
        let told = answers_of(&[
            (0, "Ada", "message", "is it hot?", None),
            (1, "Bo", "message", "mind your own", None),
            (2, "Bo", "edit", "Ada: yes", Some("m2")),
            (3, "Cid", "message", "Ada: no", None),
            (4, "Cid", "delete", "", Some("m4")),
            (5, "Dan", "message", "Cid: why not?", None),
        ]);
        let want: [&[i64]; 4] = [&[], &[1], &[1], &[]];
        assert_eq!(told, want, "Cid's deleted line is known, and nobody is judged by it");
    }
}
