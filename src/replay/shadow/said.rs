//! What the persona would have said: the rows of the outbox that were born in Shadow, and what people did there.

use std::collections::{BTreeMap, BTreeSet};

use parlor_core::{EffectId, Millis, ObligationId};
use serde::Serialize;

use super::{
    super::{score::Post, truth::Truth},
    Played,
    heard::Room,
};
use crate::ledger::{DecisionRow, LedgerItem, OutboxRow, RowState};

/// A row that was born in Shadow, with when the machine submitted it.
pub(super) struct ShadowRow<'r> {
    pub at_ms: Millis,
    pub row: &'r OutboxRow,
}

/// A post that was not made, beside what people did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Said {
    /// When it would have been posted, ms.
    pub at_ms: i64,
    /// What it answers; nothing for a remark or a reminder.
    pub to: Vec<Line>,
    /// What it would have said.
    pub text: String,
    /// The first answer of somebody else to what it answers.
    pub people: Option<Line>,
}

/// A line of somebody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Its number in the room.
    pub seq: i64,
    /// When, ms.
    pub at_ms: i64,
    /// Who.
    pub name: String,
    /// What, after edits.
    pub text: String,
}

/// The persona's rows in Shadow since an event. Their times are the machine's own, like those of the lines that it heard: a row of a
/// draft bears the number of the input that submitted it, and a task is known by what it settles.
pub(super) fn rows<'r>(rows: &'r [OutboxRow], decisions: &[DecisionRow], persona: &str, first: &LedgerItem) -> Vec<ShadowRow<'r>> {
    let by_input: BTreeMap<i64, Millis> = decisions.iter().map(|d| (d.input_n, d.at_ms)).collect();
    let submitted = |row: &OutboxRow| decisions.iter().find(|d| d.what == "submitted" && d.obligations == row.settles).map(|d| d.at_ms);
    let at = |row: &OutboxRow| match row.dedupe.parse::<EffectId>() {
        Ok(id) => i64::try_from(id.input).ok().and_then(|n| by_input.get(&n).copied()),
        Err(_) => submitted(row),
    };
    let ours = rows.iter().filter(|r| r.state == RowState::Shadow && r.persona == persona);
    ours.map(|row| ShadowRow { at_ms: at(row).unwrap_or(row.created_ms), row }).filter(|r| r.at_ms >= first.at_ms).collect()
}

/// The same for the scorer.
pub(super) fn played(rows: &[ShadowRow<'_>], decisions: &[DecisionRow], room: &Room) -> Played {
    let named = |row: &OutboxRow| row.settles_lines.iter().filter_map(|id| room.facts.row_named(id)).collect::<Vec<u32>>();
    let (posts, reactions): (Vec<_>, Vec<_>) = rows.iter().partition(|r| r.row.kind == "post");
    // A draft is about the lines of what is owed.
    let mut lines: BTreeMap<ObligationId, BTreeSet<u32>> = BTreeMap::new();
    for d in decisions {
        for id in &d.obligations {
            lines.entry(*id).or_default().extend(d.lines.iter().filter_map(|seq| room.row_of.get(seq)));
        }
    }
    let drafted = decisions.iter().filter(|d| d.what == "drafting");
    let about = |d: &DecisionRow| d.obligations.iter().filter_map(|id| lines.get(id)).flatten().copied().collect();
    Played {
        posts: posts.iter().map(|r| Post { ts: r.at_ms, rows: named(r.row) }).collect(),
        reactions: reactions.iter().map(|r| named(r.row)).collect(),
        gate_calls: Vec::new(),
        drafts: drafted.map(about).collect(),
    }
}

/// The same beside what people did.
pub(super) fn beside(rows: &[ShadowRow<'_>], items: &[LedgerItem], room: &Room) -> Vec<Said> {
    let truth = Truth::of(&room.facts);
    let line = |row: u32| {
        let seq = *room.seq_of.get(row as usize)?;
        let item = items.get(items.binary_search_by_key(&seq, |i| i.seq).ok()?)?;
        let text = room.texts.get(&seq).cloned().unwrap_or_default();
        Some(Line { seq, at_ms: item.at_ms, name: item.name.clone(), text })
    };
    let said = |r: &ShadowRow<'_>| {
        let to: Vec<u32> = r.row.settles_lines.iter().filter_map(|id| room.facts.row_named(id)).collect();
        Said {
            at_ms: r.at_ms,
            text: r.row.body.clone().unwrap_or_default(),
            people: truth.first_answer(&room.facts, &to).and_then(line),
            to: to.into_iter().filter_map(line).collect(),
        }
    };
    rows.iter().filter(|r| r.row.kind == "post").map(said).collect()
}
