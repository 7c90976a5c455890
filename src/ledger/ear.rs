//! What the gateway's ear may do: store what the platform said, show who is typing.

use serde::Deserialize;
use sqlx::Row;

use super::{
    ITEMS_AT_ONCE, Ledger, LedgerError, NewItem, Stored,
    item::{author_code, item_code},
    pool::{bounded, decode, storable},
};

/// The gateway's ear.
#[derive(Clone, Debug)]
pub struct Ear {
    pub(crate) ledger: Ledger,
}

/// A message as it stands now.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct MessageState {
    /// Place of the message in the stream.
    pub seq: i64,
    /// Authenticated id of its author, or a persona's resource name.
    pub author: String,
    /// Whether it was deleted since.
    pub deleted: bool,
    /// Whether the person asked about has the emoji asked about on it.
    pub reacted: bool,
    /// Where that changed last, if it ever did.
    pub reaction_seq: Option<i64>,
}

impl Ear {
    /// Stores at most [`ITEMS_AT_ONCE`] events in one transaction, in this order, and answers in this order. A known event
    /// key gives the seq it has. An own item settles its outbox row.
    pub async fn ingest(&self, items: &[NewItem]) -> Result<Vec<Stored>, LedgerError> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        if items.len() > ITEMS_AT_ONCE {
            return Err(LedgerError::Refused(format!(
                "{} items at once, at most {ITEMS_AT_ONCE} are taken; send them in parts",
                items.len()
            )));
        }
        let text = |f: fn(&NewItem) -> &str| items.iter().map(|i| storable(f(i))).collect::<Vec<_>>();
        let query = sqlx::query(
            "select r.stream, r.seq, r.fresh, r.dedupe from api.ingest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) r order by r.i",
        )
        .bind(items.iter().map(|i| i.stream).collect::<Vec<_>>())
        .bind(items.iter().map(|i| i.at_ms).collect::<Vec<_>>())
        .bind(text(|i| &i.author))
        .bind(text(|i| author_code(i.author_kind)))
        .bind(text(|i| &i.name))
        .bind(text(|i| item_code(i.kind)))
        .bind(text(|i| &i.event_key))
        .bind(text(|i| &i.platform_id))
        .bind(items.iter().map(|i| i.reply_to.as_deref().map(storable)).collect::<Vec<_>>())
        .bind(text(|i| &i.text))
        .bind(items.iter().map(|i| storable_json(&i.mentions)).collect::<Vec<_>>())
        .bind(items.iter().map(|i| storable_json(&i.attachments)).collect::<Vec<_>>())
        .bind(items.iter().map(|i| i.outbox_n).collect::<Vec<_>>());
        let rows = bounded(query.fetch_all(self.ledger.pool())).await?;
        rows.iter()
            .map(|r| {
                Ok(Stored { stream: r.try_get("stream")?, seq: r.try_get("seq")?, fresh: r.try_get("fresh")?, row: r.try_get("dedupe")? })
            })
            .collect::<Result<_, sqlx::Error>>()
            .map_err(LedgerError::from)
    }

    /// What stands in the room under a platform id, and whether `who` has `emoji` on it: what decides whether a change of it
    /// may be taken in, and whether it changes anything.
    pub async fn message(&self, stream: i64, platform_id: &str, who: &str, emoji: &str) -> Result<Option<MessageState>, LedgerError> {
        let query = sqlx::query_scalar("select api.message_state($1, $2, $3, $4)::text")
            .bind(stream)
            .bind(storable(platform_id))
            .bind(storable(who))
            .bind(storable(emoji));
        let json: Option<String> = bounded(query.fetch_one(self.ledger.pool())).await?;
        json.map(|j| decode("the state of a message", &j)).transpose()
    }

    /// Shows somebody as typing until `until_ms`. Losing one is harmless.
    pub async fn presence(&self, stream: i64, who: &str, until_ms: i64) -> Result<(), LedgerError> {
        let query = sqlx::query("select api.presence($1, $2, $3)").bind(stream).bind(storable(who)).bind(until_ms);
        bounded(query.execute(self.ledger.pool())).await.map(drop)
    }
}

/// JSON as Postgres can hold it: a NUL inside a string becomes U+FFFD.
fn storable_json(value: &serde_json::Value) -> String {
    let text = value.to_string();
    if text.contains("\\u0000") { without_nul(value.clone()).to_string() } else { text }
}

/// Replaces each NUL; the depth is bounded by serde_json's own limit on what it parses.
fn without_nul(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value as V;
    match value {
        V::String(s) => V::String(storable(&s)),
        V::Array(a) => V::Array(a.into_iter().map(without_nul).collect()),
        V::Object(o) => V::Object(o.into_iter().map(|(k, v)| (storable(&k), without_nul(v))).collect()),
        other @ (V::Null | V::Bool(_) | V::Number(_)) => other,
    }
}
