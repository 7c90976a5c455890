//! From items to lines: what a message reads now, after its edits, its deletion and its reactions.

use std::collections::BTreeMap;

use parlor_core::{Author, Item, ItemKind, Millis};

/// A line as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) seq: u64,
    pub(super) at: Millis,
    pub(super) author: Author,
    pub(super) platform_id: String,
    /// Empty once it is deleted.
    pub(super) text: String,
    pub(super) edited: bool,
    pub(super) deleted: bool,
    /// A join, a pin and the like.
    pub(super) system: bool,
    pub(super) reply_to: Option<String>,
    /// Emoji in the order in which they first came, each with who put it there (id, name).
    pub(super) reactions: Vec<(String, Vec<(String, String)>)>,
}

/// Puts items together, in the order of their seq, by the message that they are about. An edit, a deletion or a reaction whose
/// message is not among the items is left out.
pub(super) fn fold(items: &[Item]) -> BTreeMap<String, Line> {
    let mut order: Vec<&Item> = items.iter().collect();
    order.sort_by_key(|item| item.seq);
    order.dedup_by_key(|item| item.seq);
    let mut lines: BTreeMap<String, Line> = BTreeMap::new();
    for item in order {
        match item.kind {
            ItemKind::Message | ItemKind::System => {
                lines.entry(item.platform_id.clone()).or_insert_with(|| first(item));
            }
            ItemKind::Edit | ItemKind::Delete | ItemKind::Reaction | ItemKind::Unreaction => {
                if let Some(line) = lines.get_mut(&item.platform_id) {
                    change(line, item);
                }
            }
        }
    }
    lines
}

fn first(item: &Item) -> Line {
    Line {
        seq: item.seq,
        at: item.at,
        author: item.author.clone(),
        platform_id: item.platform_id.clone(),
        text: item.text.clone(),
        edited: false,
        deleted: false,
        system: item.kind == ItemKind::System,
        reply_to: item.links.first().map(|link| link.id.clone()),
        reactions: Vec::new(),
    }
}

fn change(line: &mut Line, item: &Item) {
    // What was deleted stays deleted, whatever order a platform tells it in.
    if line.deleted {
        return;
    }
    match item.kind {
        ItemKind::Message | ItemKind::System => {}
        ItemKind::Edit => {
            line.text.clone_from(&item.text);
            line.edited = true;
        }
        ItemKind::Delete => {
            line.text.clear();
            line.reactions.clear();
            line.deleted = true;
        }
        ItemKind::Reaction => {
            let who = (item.author.id.clone(), item.author.name.clone());
            match line.reactions.iter_mut().find(|(emoji, _)| *emoji == item.text) {
                Some((_, by)) if by.iter().any(|(id, _)| *id == who.0) => {}
                Some((_, by)) => by.push(who),
                None => line.reactions.push((item.text.clone(), vec![who])),
            }
        }
        ItemKind::Unreaction => {
            if let Some((_, by)) = line.reactions.iter_mut().find(|(emoji, _)| *emoji == item.text) {
                by.retain(|(id, _)| *id != item.author.id);
            }
            line.reactions.retain(|(_, by)| !by.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use parlor_core::AuthorKind;

    use super::*;

    fn item(seq: u64, kind: ItemKind, of: &str, who: &str, text: &str) -> Item {
        Item {
            seq,
            at: seq as Millis,
            platform_id: of.into(),
            author: Author { id: who.into(), name: who.to_uppercase(), kind: AuthorKind::Human },
            text: text.into(),
            mentions: vec![],
            find_names: false,
            links: vec![],
            kind,
        }
    }

    #[test]
    fn the_last_edit_counts_and_a_deletion_takes_text_and_reactions_away() {
        let mut items = vec![
            item(1, ItemKind::Message, "a", "ada", "seventy"),
            item(2, ItemKind::Edit, "a", "ada", "17"),
            item(3, ItemKind::Reaction, "a", "ben", "👍"),
            item(4, ItemKind::Edit, "a", "ada", "seventeen"),
        ];
        let line = &fold(&items)["a"];
        assert_eq!((line.text.as_str(), line.edited, line.reactions.len()), ("seventeen", true, 1));
        items.push(item(5, ItemKind::Delete, "a", "ada", ""));
        items.push(item(6, ItemKind::Edit, "a", "ada", "back"));
        items.push(item(7, ItemKind::Reaction, "a", "ben", "👍"));
        let line = &fold(&items)["a"];
        assert!(line.deleted && line.text.is_empty() && line.reactions.is_empty());
    }

    #[test]
    fn reactions_stand_once_each_and_can_be_taken_off() {
        let items = [
            item(1, ItemKind::Message, "a", "ada", "hi"),
            item(2, ItemKind::Reaction, "a", "ben", "👍"),
            item(3, ItemKind::Reaction, "a", "ben", "👍"),
            item(4, ItemKind::Reaction, "a", "eve", "👍"),
            item(5, ItemKind::Unreaction, "a", "ben", "👍"),
            item(6, ItemKind::Unreaction, "a", "ben", "🎉"),
        ];
        assert_eq!(fold(&items)["a"].reactions, vec![("👍".to_owned(), vec![("eve".to_owned(), "EVE".to_owned())])]);
        let all_off = [&items[..], &[item(7, ItemKind::Unreaction, "a", "eve", "👍")]].concat();
        assert!(fold(&all_off)["a"].reactions.is_empty());
    }

    #[test]
    fn items_may_come_twice_and_in_any_order_and_without_their_message() {
        let items = [
            item(3, ItemKind::Edit, "a", "ada", "new"),
            item(1, ItemKind::Message, "a", "ada", "old"),
            item(3, ItemKind::Edit, "a", "ada", "new"),
            item(2, ItemKind::Edit, "gone", "ada", "x"),
        ];
        let lines = fold(&items);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines["a"].text, "new");
    }
}
