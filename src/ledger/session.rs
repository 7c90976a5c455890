//! One boot of a room's actor: what it may read, and its place in the log.

use parlor_core::{Mode, Outcome};
use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::{
    ITEMS_AT_ONCE, Ledger, LedgerError, LedgerItem,
    pool::{bounded, decode, storable},
};

/// A boot of a room's actor. Every call is refused as [`LedgerError::Fenced`] once a newer boot has begun.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) ledger: Ledger,
    pub(crate) stream: i64,
    pub(crate) boot: Uuid,
}

/// A reader's place: the last item read, in an epoch of the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Epoch of the stream.
    pub epoch: i64,
    /// Last item read, 0 for none.
    pub seq: i64,
}

/// What happened after a cursor, from one snapshot. To be fed in this order: policy, outcomes, items, typing, jobs.
#[derive(Clone, Debug, Deserialize)]
pub struct Reading {
    /// Epoch of the stream. When it is not the cursor's, `items` is empty: the reader has to find its place again.
    pub epoch: i64,
    /// Last item of the stream; more than the last of `items` when there is more to read.
    pub head: i64,
    /// Whether nothing may be said now: muted by policy or chat mute, or no policy at all.
    pub muted: bool,
    /// When a chat mute ends by itself, ms, if one stands.
    pub mute_ends_ms: Option<i64>,
    /// The policy, if its revision is not the one named.
    pub policy: Option<PolicyRead>,
    /// What became of rows after the number named, in order.
    pub outcomes: Vec<RowOutcome>,
    /// Items after the cursor in order, at most [`ITEMS_AT_ONCE`].
    pub items: Vec<LedgerItem>,
    /// Who is typing now.
    pub typing: Vec<TypingNow>,
    /// Grants whose items are to be copied into the room; [`Session::release`] does it.
    pub releases: Vec<String>,
    /// Jobs that are due and not handed out; [`Session::job_claim`] hands them out.
    pub due_jobs: i64,
    /// When the next other job is due, ms.
    pub next_job_ms: Option<i64>,
}

/// A policy as stored.
#[derive(Clone, Debug, Deserialize)]
pub struct PolicyRead {
    /// Grows with each change.
    pub revision: i64,
    /// Whether the resource mutes the room; see [`Reading::muted`] for what counts.
    pub muted: bool,
    /// Whether rows may leave.
    pub mode: Mode,
    /// Whether the room is stopped.
    pub stopped: bool,
    /// Everything else.
    pub value: serde_json::Value,
}

/// What became of an outbox row.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RowOutcome {
    /// Dense number of outcomes in the stream.
    pub outcome_n: i64,
    /// Dedupe key of the row.
    pub row: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// Somebody is typing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TypingNow {
    /// Authenticated id, or a persona's resource name.
    pub who: String,
    /// Whether it is one of our personas.
    pub own: bool,
    /// Until when it is shown, ms.
    pub until_ms: i64,
}

impl Session {
    /// Begins a boot: from now on any older one is fenced, and jobs handed out to it are free again.
    pub async fn begin(ledger: &Ledger, stream: i64) -> Result<Self, LedgerError> {
        let boot = Uuid::new_v4();
        bounded(sqlx::query("select api.begin($1, $2)").bind(stream).bind(boot).execute(ledger.pool())).await?;
        Ok(Self { ledger: ledger.clone(), stream, boot })
    }

    /// The room's stream.
    pub fn stream(&self) -> i64 {
        self.stream
    }

    /// Everything after a cursor, an outcome number and a policy revision. The same call is made whatever woke the actor.
    pub async fn read_after(&self, cursor: Cursor, outcome_n: i64, policy_revision: i64) -> Result<Reading, LedgerError> {
        let query = sqlx::query_scalar("select api.read_after($1, $2, $3, $4, $5, $6, $7)::text")
            .bind(self.stream)
            .bind(self.boot)
            .bind(cursor.epoch)
            .bind(cursor.seq)
            .bind(outcome_n)
            .bind(policy_revision)
            .bind(ITEMS_AT_ONCE as i64);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("a reading of the room", &json)
    }

    /// Items before a seq, newest last, at most `limit` (and at most [`ITEMS_AT_ONCE`]).
    pub async fn history(&self, before_seq: i64, limit: usize) -> Result<Vec<LedgerItem>, LedgerError> {
        let query = sqlx::query_scalar("select api.history($1, $2, $3, $4)::text")
            .bind(self.stream)
            .bind(self.boot)
            .bind(before_seq)
            .bind(limit.min(ITEMS_AT_ONCE) as i64);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("the room's history", &json)
    }

    /// Places of the lines that the decisions say are still owed and that no row of the outbox covers, at most
    /// [`ITEMS_AT_ONCE`]: what a machine that lost its state has to be told again.
    pub async fn open_lines(&self) -> Result<Vec<i64>, LedgerError> {
        let query = sqlx::query_scalar("select api.open_lines($1, $2, $3)").bind(self.stream).bind(self.boot).bind(ITEMS_AT_ONCE as i64);
        bounded(query.fetch_one(self.ledger.pool())).await
    }

    /// Lines of this room with these words, newest first, without what was deleted.
    pub async fn search(&self, words: &str, limit: usize) -> Result<Vec<LedgerItem>, LedgerError> {
        let query = sqlx::query_scalar("select api.search($1, $2, $3, $4)::text")
            .bind(self.stream)
            .bind(self.boot)
            .bind(storable(words))
            .bind(limit.min(ITEMS_AT_ONCE) as i64);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("what was found", &json)
    }

    /// Shows a persona as typing until `until_ms`; a time that has passed ends it.
    pub async fn typing(&self, persona: &str, until_ms: i64) -> Result<(), LedgerError> {
        let query = sqlx::query("select api.persona_typing($1, $2, $3, $4)")
            .bind(self.stream)
            .bind(self.boot)
            .bind(storable(persona))
            .bind(until_ms);
        bounded(query.execute(self.ledger.pool())).await.map(drop)
    }
}

/// Kept so that a snapshot or a view can be passed on without being parsed.
pub(crate) fn raw(json: String) -> Result<Box<RawValue>, LedgerError> {
    RawValue::from_string(json).map_err(|e| LedgerError::unreadable("stored JSON", &e))
}
