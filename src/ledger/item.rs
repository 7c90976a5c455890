//! Items: what a room's stream holds, on its way in and out.

use parlor_core::{AuthorKind, ItemKind};
use serde::Deserialize;
use serde_json::value::RawValue;

/// At most this many items go in or come out by one call, so that a call is bounded in time and memory.
pub const ITEMS_AT_ONCE: usize = 500;

/// An event of a platform, to be stored once.
#[derive(Clone, Debug, PartialEq)]
pub struct NewItem {
    /// The room's stream.
    pub stream: i64,
    /// The platform's time of the event, ms.
    pub at_ms: i64,
    /// Authenticated id of the author. For an own item whose row is found, the row's persona is stored in its place.
    pub author: String,
    /// What the author is.
    pub author_kind: AuthorKind,
    /// Display name at that time.
    pub name: String,
    /// What the event is.
    pub kind: ItemKind,
    /// What makes it one event: `m:<id>`, `e:<id>:<edit time>`, `d:<id>`, `r:<id>:<reactor>:<emoji>:<n>`.
    pub event_key: String,
    /// The platform's id of the message; for an edit, a delete and a reaction, of the message that is changed.
    pub platform_id: String,
    /// Platform id of the message that it replies to.
    pub reply_to: Option<String>,
    /// The text; for a reaction the emoji; empty for a delete. At most 64 KiB.
    pub text: String,
    /// Who is named, in the form of the surface.
    pub mentions: serde_json::Value,
    /// Name, type, size and address of what is attached.
    pub attachments: serde_json::Value,
    /// For an own item that carries a nonce `p<stream>.<n>`: that n.
    pub outbox_n: Option<i64>,
}

/// Where an event ended up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The stream.
    pub stream: i64,
    /// Place in the stream.
    pub seq: i64,
    /// Whether this call stored it; false when the event was known.
    pub fresh: bool,
    /// For an own item: the dedupe key of the outbox row that it is the echo of. An own fresh item without one is an alert.
    pub row: Option<String>,
}

/// An item as stored.
#[derive(Clone, Debug, Deserialize)]
pub struct LedgerItem {
    /// Place in the stream, from 1, dense.
    pub seq: i64,
    /// The platform's time of the event, ms.
    pub at_ms: i64,
    /// Authenticated id, or a persona's resource name.
    pub author: String,
    /// What the author is.
    pub author_kind: AuthorKind,
    /// Display name at that time.
    pub name: String,
    /// What it is.
    pub kind: ItemKind,
    /// What makes it one event.
    pub event_key: String,
    /// The platform's id of the message (that is changed).
    pub platform_id: String,
    /// Platform id of the message that it replies to.
    pub reply_to: Option<String>,
    /// The text, the emoji, or nothing.
    pub text: String,
    /// Who is named, in the form of the surface.
    pub mentions: Box<RawValue>,
    /// What is attached.
    pub attachments: Box<RawValue>,
    /// Seq of the message that is replied to or changed, where it is in the ledger.
    pub of_seq: Option<i64>,
    /// Author of that message.
    pub of_author: Option<String>,
    /// For an own item: dedupe key of the outbox row that it is the echo of.
    pub row: Option<String>,
}

/// The codes that the tables hold; the same as the core's serialised names, so that an answer can be read as it is.
pub(crate) fn author_code(kind: AuthorKind) -> &'static str {
    match kind {
        AuthorKind::Owner => "owner",
        AuthorKind::Human => "human",
        AuthorKind::Bot => "bot",
        AuthorKind::Webhook => "webhook",
        AuthorKind::Own => "own",
    }
}

/// See [`author_code`].
pub(crate) fn item_code(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Message => "message",
        ItemKind::Edit => "edit",
        ItemKind::Delete => "delete",
        ItemKind::Reaction => "reaction",
        ItemKind::Unreaction => "unreaction",
        ItemKind::System => "system",
    }
}
