//! What the gateway's mouth may do: take rows from the outbox, one at a time, and say what became of them; and hush a room on an
//! owner's word.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;

use super::{
    Ledger, LedgerError,
    pool::{bounded, decode, storable},
};

/// The gateway's mouth.
#[derive(Clone, Debug)]
pub struct Mouth {
    pub(crate) ledger: Ledger,
}

/// A row to be posted now.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Claimed {
    /// The room's stream.
    pub stream: i64,
    /// Number of the row in the stream.
    pub n: i64,
    /// Names this claim; an answer with an older one changes nothing.
    pub fence: i64,
    /// Dedupe key of the row.
    pub dedupe: String,
    /// Who speaks.
    pub persona: String,
    /// What is done.
    pub kind: ClaimedKind,
    /// Platform id of the message that it replies to or reacts on.
    pub reply_to: Option<String>,
    /// Whether the post must show as a reply to it.
    pub reply_shows: bool,
    /// The emoji of a reaction.
    pub emoji: Option<String>,
    /// The text of a post.
    pub body: Option<String>,
    /// `p<stream>.<n>`, at most 25 characters: what the platform recognises a repeat by.
    pub nonce: String,
    /// When a gateway first took it up, ms. A fence above 1 means that it may have been posted already.
    pub first_claimed_ms: i64,
    /// After this it is not posted any more, ms.
    pub expires_ms: i64,
}

/// What a claimed row does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimedKind {
    /// Posts `body`.
    Post,
    /// Puts `emoji` on `reply_to`.
    React,
}

/// What became of a row that was taken and posted by one commit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Spoken {
    /// Number of the row in the stream.
    pub n: i64,
    /// Dedupe key of the row.
    pub dedupe: String,
    /// Why it was refused instead of posted; a short code.
    pub refused: Option<String>,
}

impl Mouth {
    /// For a surface whose platform is this ledger: takes the oldest row that may be posted, as [`Mouth::claim`] does, stores its
    /// post as an item of `at_ms` and ends the row, all by one commit. A call that fails has posted nothing, or has posted and
    /// ended the row: it may be repeated. `names` are display names by persona; one that is not listed has its resource name.
    pub async fn speak(&self, stream: i64, names: &BTreeMap<String, String>, at_ms: i64) -> Result<Option<Spoken>, LedgerError> {
        let names: serde_json::Map<_, _> = names.iter().map(|(persona, name)| (persona.clone(), name.as_str().into())).collect();
        let query = sqlx::query_scalar("select api.speak($1, $2::text::json, $3)::text")
            .bind(stream)
            .bind(serde_json::Value::from(names).to_string())
            .bind(at_ms);
        let json: Option<String> = bounded(query.fetch_one(self.ledger.pool())).await?;
        json.map(|j| decode("a row that was posted", &j)).transpose()
    }

    /// For a surface outside of the ledger, which hears of a row only once its claim is stored: the oldest row of these streams that
    /// may be posted now, if there is one. Per destination the next is handed out only
    /// when the one before is no longer claimed. Never a row of a room that is muted, stopped, in Shadow or without a policy.
    /// For `lease` (at most ten minutes) nobody else gets it.
    pub async fn claim(&self, streams: &[i64], lease: Duration) -> Result<Option<Claimed>, LedgerError> {
        let query = sqlx::query_scalar("select api.claim($1, $2)::text")
            .bind(streams.to_vec())
            .bind(i64::try_from(lease.as_millis()).unwrap_or(i64::MAX));
        let json: Option<String> = bounded(query.fetch_one(self.ledger.pool())).await?;
        json.map(|j| decode("a claimed row", &j)).transpose()
    }

    /// The platform took it; its id of the message. False when the claim is not the newest: then nothing changed.
    pub async fn settle(&self, stream: i64, n: i64, fence: i64, platform_id: Option<&str>) -> Result<bool, LedgerError> {
        let query =
            sqlx::query_scalar("select api.settle($1, $2, $3, $4)").bind(stream).bind(n).bind(fence).bind(platform_id.map(storable));
        bounded(query.fetch_one(self.ledger.pool())).await
    }

    /// Nobody can know whether it was posted; a person decides. False when the claim is not the newest.
    pub async fn park(&self, stream: i64, n: i64, fence: i64, reason: &str) -> Result<bool, LedgerError> {
        let query = sqlx::query_scalar("select api.park($1, $2, $3, $4)").bind(stream).bind(n).bind(fence).bind(storable(reason));
        bounded(query.fetch_one(self.ledger.pool())).await
    }

    /// It was certainly not posted and will not be; a short code says why. False when the claim is not the newest.
    pub async fn refuse(&self, stream: i64, n: i64, fence: i64, reason: &str) -> Result<bool, LedgerError> {
        let query = sqlx::query_scalar("select api.refuse($1, $2, $3, $4)").bind(stream).bind(n).bind(fence).bind(storable(reason));
        bounded(query.fetch_one(self.ledger.pool())).await
    }

    /// Confirms which policy this gateway works by: a mute or a stop is reported only after that.
    pub async fn policy_seen(&self, stream: i64, revision: i64) -> Result<(), LedgerError> {
        let query = sqlx::query("select api.policy_seen($1, $2)").bind(stream).bind(revision);
        bounded(query.execute(self.ledger.pool())).await.map(drop)
    }

    /// Hushes a room at once, until `until_ms` or until the controller lifts it. After this returns nothing is claimed, and
    /// what was waiting is refused. The number of rows refused.
    pub async fn chat_mute(&self, stream: i64, by: &str, reason: &str, until_ms: Option<i64>) -> Result<i64, LedgerError> {
        let query = sqlx::query_scalar("select api.chat_mute($1, $2, $3, $4)")
            .bind(stream)
            .bind(storable(by))
            .bind(storable(reason))
            .bind(until_ms);
        bounded(query.fetch_one(self.ledger.pool())).await
    }
}
