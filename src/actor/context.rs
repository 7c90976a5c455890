//! What a model is shown of the room: the items of the ledger as data, read anew for each call, so that a restart changes
//! nothing and a deleted text is gone.

use std::collections::BTreeSet;

use jiff::Timestamp;
use parlor_core::ItemKind;

use super::{feed, window::Window};
use crate::{
    ledger::{GrantedItem, ITEMS_AT_ONCE, LedgerError, LedgerItem, Session},
    ports::{GrantedLine, ReadItem},
};

/// Pages read for one call at most: more than any window holds, since an item counts some 40 tokens at least.
const MAX_PAGES: usize = 16;
/// Items that may have come in since the machine asked, read along without another page.
const SLACK: u64 = 32;

/// The items that the window shows, oldest first, up to the newest there is: at least up to `cursor`.
pub(super) async fn items(session: &Session, window: &Window, cursor: u64) -> Result<Vec<ReadItem>, LedgerError> {
    let base = window.base();
    let mut pages = Vec::new();
    let mut tokens = 0;
    let mut before = i64::MAX;
    // A window that stands is read in one page: how much it holds is known.
    let wanted = base.map_or(ITEMS_AT_ONCE as u64, |base| cursor.saturating_sub(base) + SLACK);
    let page_size = usize::try_from(wanted).unwrap_or(ITEMS_AT_ONCE).min(ITEMS_AT_ONCE);
    while pages.len() < MAX_PAGES {
        let page = session.history(before, page_size).await?;
        let Some(oldest) = page.first().map(|i| i.seq) else { break };
        let whole = page.len() < page_size;
        before = oldest;
        let page: Vec<ReadItem> = page.into_iter().map(shown).collect();
        tokens += Window::tokens(&page);
        pages.push(page);
        let reached = base.map_or_else(|| window.is_filled_by(tokens), |base| feed::unsigned(oldest) <= base + 1);
        if whole || reached {
            break;
        }
    }
    let mut items: Vec<ReadItem> = pages.into_iter().rev().flatten().collect();
    items.retain(|i| i.seq > base.unwrap_or(0));
    blank_deleted(&mut items);
    Ok(items)
}

/// A message of another room as a model sees it.
pub(super) fn granted(item: GrantedItem) -> GrantedLine {
    let GrantedItem { grant, from, at_ms, author, name, text, .. } = item;
    GrantedLine { grant, from, at: time(at_ms), author, name, text }
}

fn time(ms: i64) -> String {
    Timestamp::from_second(ms.div_euclid(1_000)).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

fn shown(item: LedgerItem) -> ReadItem {
    ReadItem {
        seq: feed::unsigned(item.seq),
        at: time(item.at_ms),
        author: item.author,
        name: item.name,
        kind: kind_word(item.kind).to_owned(),
        text: item.text,
        of: item.of_seq.map(feed::unsigned),
    }
}

fn kind_word(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Message => "message",
        ItemKind::Edit => "edit",
        ItemKind::Delete => "delete",
        ItemKind::Reaction => "reaction",
        ItemKind::Unreaction => "unreaction",
        ItemKind::System => "system",
    }
}

/// A deleted text is never shown to a model, though the log still holds it.
fn blank_deleted(items: &mut [ReadItem]) {
    let deleted: BTreeSet<u64> = items.iter().filter(|i| i.kind == kind_word(ItemKind::Delete)).filter_map(|i| i.of).collect();
    for item in items {
        let target = if item.kind == kind_word(ItemKind::Message) { Some(item.seq) } else { item.of };
        let said = item.kind == kind_word(ItemKind::Message) || item.kind == kind_word(ItemKind::Edit);
        if said && target.is_some_and(|seq| deleted.contains(&seq)) {
            item.text.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(seq: u64, kind: ItemKind, of: Option<u64>) -> ReadItem {
        let text = if kind == ItemKind::Delete { "" } else { "said" };
        ReadItem { seq, at: String::new(), author: "ada".into(), name: "Ada".into(), kind: kind_word(kind).into(), text: text.into(), of }
    }

    #[test]
    fn a_deleted_line_and_its_edits_are_blank() {
        let mut items = vec![
            item(1, ItemKind::Message, None),
            item(2, ItemKind::Message, None),
            item(3, ItemKind::Edit, Some(1)),
            item(4, ItemKind::Message, Some(1)),
            item(5, ItemKind::Delete, Some(1)),
        ];
        blank_deleted(&mut items);
        let texts: Vec<&str> = items.iter().map(|i| i.text.as_str()).collect();
        assert_eq!(texts, ["", "said", "", "said", ""]);
    }
}
