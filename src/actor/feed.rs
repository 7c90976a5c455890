//! From what the ledger holds to what the machine is told. No decision is taken here.

use std::collections::BTreeMap;

use parlor_core::{Author, AuthorKind, Echo, Input, Item, ItemKind, Link, Mention, Millis, OutboxResult, Submission};

use crate::ledger::{Job, LedgerItem, RowOutcome, TypingNow};

/// An item; our own that answers a row of the outbox is its echo.
pub(super) fn item(item: LedgerItem) -> Input {
    let own = item.author_kind == AuthorKind::Own;
    let row = item.row.clone().filter(|_| own);
    let item = core_item(item);
    match row {
        Some(row) => Input::Echo(Echo { row, item }),
        None => Input::Item(item),
    }
}

fn core_item(item: LedgerItem) -> Item {
    let links = match (item.kind, item.reply_to) {
        (ItemKind::Message, Some(id)) => vec![Link { id, author: item.of_author }],
        _ => Vec::new(),
    };
    Item {
        seq: unsigned(item.seq),
        at: item.at_ms,
        platform_id: item.platform_id,
        author: Author { id: item.author, name: item.name, kind: item.author_kind },
        text: item.text,
        // A surface whose mentions have another form says nothing by them; the names are found in the text.
        mentions: serde_json::from_str::<Vec<Mention>>(item.mentions.get()).unwrap_or_default(),
        find_names: true,
        links,
        kind: item.kind,
    }
}

pub(super) fn outcome(outcome: RowOutcome) -> Input {
    Input::Outbox(OutboxResult { row: outcome.row, outcome: outcome.outcome })
}

/// A job stands behind it, so somebody asked for it.
pub(super) fn submission(job: Job) -> Input {
    Input::Submission(Submission { key: job.dedupe, persona: job.persona, text: job.text, prompted: true, expires_at: job.expires_ms })
}

/// Who has gone on typing since the last look: the machine is told of each key press once, however often the room is read.
#[derive(Debug, Default)]
pub(super) struct Typists {
    /// At most who is typing now.
    until: BTreeMap<String, Millis>,
}

impl Typists {
    pub(super) fn inputs(&mut self, now: Vec<TypingNow>) -> Vec<Input> {
        let people: BTreeMap<String, Millis> = now.into_iter().filter(|t| !t.own).map(|t| (t.who, t.until_ms)).collect();
        let went_on = people.iter().filter(|(who, until)| self.until.get(*who).is_none_or(|known| known < *until));
        let inputs = went_on.map(|(who, _)| Input::Typing { author: who.clone() }).collect();
        self.until = people;
        inputs
    }
}

/// Numbers of a stream count from 0 or 1, and no stream reaches the end of either type.
pub(super) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// See [`signed`].
pub(super) fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typing(who: &str, until_ms: i64, own: bool) -> TypingNow {
        TypingNow { who: who.into(), own, until_ms }
    }

    #[test]
    fn each_key_press_is_told_once_and_our_own_never() {
        let mut typists = Typists::default();
        let told = |t: &mut Typists, now| t.inputs(now).len();
        assert_eq!(told(&mut typists, vec![typing("ada", 100, false), typing("wren", 100, true)]), 1);
        assert_eq!(told(&mut typists, vec![typing("ada", 100, false)]), 0);
        assert_eq!(told(&mut typists, vec![typing("ada", 200, false)]), 1);
        assert_eq!(told(&mut typists, Vec::new()), 0);
        assert_eq!(told(&mut typists, vec![typing("ada", 200, false)]), 1);
    }
}
