//! Posting on the console surface: our own item is ingested under a key made of the row's nonce, so a row that is posted again
//! after a lost answer is the same item.

use parlor_core::{AuthorKind, ItemKind};
use serde_json::json;

use super::ids;
use crate::ledger::{Claimed, ClaimedKind, Ear, LedgerError, NewItem};

/// What became of a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// It stands in the room; the platform id of the message, for a post.
    Posted(Option<String>),
    /// It cannot be posted, now or later; a short code.
    Impossible(&'static str),
    /// Nobody can know whether it was posted; a short code.
    Unknown(&'static str),
}

/// Shows a claimed row in the room. The same row again changes nothing and gives the same answer.
pub(super) async fn show(ear: &Ear, row: &Claimed, name: &str, now_ms: i64) -> Result<Shown, LedgerError> {
    match row.kind {
        ClaimedKind::Post => post(ear, row, name, now_ms).await,
        ClaimedKind::React => react(ear, row, name, now_ms).await,
    }
}

async fn post(ear: &Ear, row: &Claimed, name: &str, now_ms: i64) -> Result<Shown, LedgerError> {
    let Some(body) = row.body.as_deref().filter(|b| !b.trim().is_empty()) else { return Ok(Shown::Impossible("empty")) };
    let target = row.reply_to.as_deref();
    // Posted before, and its target deleted since: what stands in the room is not refused afterwards.
    let posted_before = row.fence > 1 && ear.message(row.stream, &row.nonce, &row.persona, "").await?.is_some();
    if let (Some(target), false) = (target, posted_before)
        && ear.message(row.stream, target, &row.persona, "").await?.is_none_or(|m| m.deleted)
    {
        return Ok(Shown::Impossible("target_gone"));
    }
    let mut item = own(row, name, now_ms, ItemKind::Message, ids::message_key(&row.nonce), &row.nonce);
    body.clone_into(&mut item.text);
    item.reply_to = target.filter(|_| row.reply_shows).map(str::to_owned);
    store(ear, row, item).await?;
    Ok(Shown::Posted(Some(row.nonce.clone())))
}

async fn react(ear: &Ear, row: &Claimed, name: &str, now_ms: i64) -> Result<Shown, LedgerError> {
    let (Some(target), Some(emoji)) = (row.reply_to.as_deref(), row.emoji.as_deref()) else { return Ok(Shown::Impossible("empty")) };
    match ear.message(row.stream, target, &row.persona, emoji).await? {
        None => return Ok(Shown::Impossible("target_gone")),
        // By this row or an earlier one; a platform shows an emoji of the same reactor once.
        Some(message) if message.reacted => return Ok(Shown::Posted(None)),
        Some(message) if message.deleted => return Ok(Shown::Impossible("target_gone")),
        Some(_) => {}
    }
    let key = ids::reaction_key(target, &row.persona, emoji, &row.nonce);
    let mut item = own(row, name, now_ms, ItemKind::Reaction, key, target);
    emoji.clone_into(&mut item.text);
    store(ear, row, item).await?;
    Ok(Shown::Posted(None))
}

async fn store(ear: &Ear, row: &Claimed, item: NewItem) -> Result<(), LedgerError> {
    let stored = ear.ingest(&[item]).await?;
    if stored.iter().any(|s| s.fresh && s.row.is_none()) {
        tracing::error!(stream = row.stream, row = row.dedupe, "an own item was stored that matches no row of the outbox");
    }
    Ok(())
}

fn own(row: &Claimed, name: &str, at_ms: i64, kind: ItemKind, event_key: String, platform_id: &str) -> NewItem {
    NewItem {
        stream: row.stream,
        at_ms,
        author: row.persona.clone(),
        author_kind: AuthorKind::Own,
        name: name.to_owned(),
        kind,
        event_key,
        platform_id: platform_id.to_owned(),
        reply_to: None,
        text: String::new(),
        mentions: json!([]),
        attachments: json!([]),
        outbox_n: Some(row.n),
    }
}
