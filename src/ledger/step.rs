//! What a room machine persists: each input with what came of it in one transaction, and the way back after a restart.

use parlor_core::{Decision, Row, RowKind};
use serde::Deserialize;
use serde_json::{json, value::RawValue};
use sqlx::{Connection as _, Row as _};

use super::{
    Cursor, LedgerError, Session,
    pool::{bounded, decode, storable},
    session::raw,
};

/// One input of the machine and everything of its effects that has to be stored with it.
#[derive(Clone, Debug)]
pub struct StepRecord {
    /// Number of the input, from 1, without gaps.
    pub n: i64,
    /// The `now` that the machine was given, ms.
    pub now_ms: i64,
    /// The input as JSON, kept byte for byte.
    pub input: Box<RawValue>,
    /// The effects `Record`, in order.
    pub decisions: Vec<Decision>,
    /// The effects `Submit`, in order.
    pub rows: Vec<Row>,
    /// The effects `Withdraw`: dedupe keys of rows.
    pub withdrawals: Vec<String>,
    /// Jobs that this input took up: they are done now.
    pub jobs: Vec<i64>,
    /// Where the reader of items stands after this input.
    pub cursor: Cursor,
    /// Where the reader of outcomes stands.
    pub outcome_n: i64,
    /// The policy that the machine holds.
    pub policy_revision: i64,
    /// The floor as people see it, JSON.
    pub view: Box<RawValue>,
    /// State after this input, when a snapshot is due. Inputs before the last two snapshots are deleted with it.
    pub snapshot: Option<Snapshot>,
}

/// State of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The input after which it was taken.
    pub n: i64,
    /// Number of the format; an unknown one is not read.
    pub format: i32,
    /// The state.
    pub state: Vec<u8>,
}

/// A step is stored.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct StepDone {
    /// Number of the input.
    pub n: i64,
    /// Whether it had been stored before; then this call wrote nothing.
    pub repeated: bool,
    /// What became of `rows`, in order; empty for a repeated step.
    pub rows: Vec<Born>,
}

/// A row that a step submitted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Born {
    /// Its dedupe key.
    pub dedupe: String,
    /// Its number in the stream.
    pub n: i64,
    /// Its state after the step.
    pub state: RowState,
    /// Whether the key was known: nothing was inserted, and an outcome that the row already had is given again.
    pub found: bool,
}

/// State of an outbox row (docs/ledger.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowState {
    /// Waits for a gateway.
    Queued,
    /// A gateway is at it.
    Claimed,
    /// The platform has answered.
    Sent,
    /// Our own echo is in the ledger.
    Done,
    /// It will not be posted.
    Refused,
    /// It was taken back in time.
    Withdrawn,
    /// Nobody knows; a person decides.
    Parked,
    /// Its time was over.
    Expired,
    /// The room is in Shadow: recorded, never claimed.
    Shadow,
}

/// What a restart resumes from.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The last two snapshots at most, newest first.
    pub snapshots: Vec<Snapshot>,
    /// Inputs after the older of them, in order: at most what was stored since, which the shell bounds by taking a snapshot
    /// each 256 inputs.
    pub inputs: Vec<StoredInput>,
    /// Where the reader of items stood.
    pub cursor: Cursor,
    /// Where the reader of outcomes stood.
    pub outcome_n: i64,
    /// The policy that the machine held.
    pub policy_revision: i64,
    /// Number of the last input, 0 for none.
    pub last_n: i64,
}

/// An input as stored.
#[derive(Clone, Debug)]
pub struct StoredInput {
    /// Its number.
    pub n: i64,
    /// The `now` that came with it, ms.
    pub now_ms: i64,
    /// The input as JSON.
    pub input: Box<RawValue>,
}

impl Session {
    /// Stores one step. Repeating it writes nothing and says so; a gap in the numbers is a [`LedgerError::Conflict`].
    pub async fn step(&self, step: &StepRecord) -> Result<StepDone, LedgerError> {
        let done = self.steps(std::slice::from_ref(step)).await?;
        done.into_iter().next().ok_or_else(|| LedgerError::Other("the ledger answered a step with nothing".into()))
    }

    /// Stores several steps in one transaction; see [`Session::step`]. At most 500.
    pub async fn steps(&self, steps: &[StepRecord]) -> Result<Vec<StepDone>, LedgerError> {
        let Some(last) = steps.last() else { return Ok(Vec::new()) };
        let writes: Vec<_> = steps.iter().filter_map(writes_of).collect();
        let snapshots: Vec<&Snapshot> = steps.iter().filter_map(|s| s.snapshot.as_ref()).collect();
        let query = sqlx::query_scalar(
            "select api.step($1, $2, $3, $4, $5, $6::text::json, $7, $8, $9, $10, $11, $12, $13, $14::text::json)::text",
        )
        .bind(self.stream)
        .bind(self.boot)
        .bind(steps.iter().map(|s| s.n).collect::<Vec<_>>())
        .bind(steps.iter().map(|s| s.now_ms).collect::<Vec<_>>())
        .bind(steps.iter().map(|s| s.input.get().to_owned()).collect::<Vec<_>>())
        .bind(serde_json::Value::from(writes).to_string())
        .bind(snapshots.iter().map(|s| s.n).collect::<Vec<_>>())
        .bind(snapshots.iter().map(|s| s.format).collect::<Vec<_>>())
        .bind(snapshots.iter().map(|s| s.state.clone()).collect::<Vec<_>>())
        .bind(last.cursor.epoch)
        .bind(last.cursor.seq)
        .bind(last.outcome_n)
        .bind(last.policy_revision)
        .bind(last.view.get().to_owned());
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("the answer to a step", &json)
    }

    /// What this room's machine resumes from.
    pub async fn restore(&self) -> Result<Restored, LedgerError> {
        bounded(self.restore_rows()).await?
    }

    async fn restore_rows(&self) -> Result<Result<Restored, LedgerError>, sqlx::Error> {
        // A stop may drop this call between the server's BEGIN and the driver's note of it; back in the pool such a connection
        // would swallow the writes of whoever gets it next. So it is not given back.
        let mut conn = self.ledger.pool().acquire().await?;
        conn.close_on_drop();
        let mut tx = conn.begin_with("begin isolation level repeatable read read only").await?;
        let head = sqlx::query("select * from api.resume_point($1, $2)").bind(self.stream).bind(self.boot).fetch_one(&mut *tx).await?;
        let snapshots = sqlx::query("select n, format, state from api.snapshots($1, $2)").bind(self.stream).bind(self.boot);
        let snapshots = snapshots
            .fetch_all(&mut *tx)
            .await?
            .iter()
            .map(|r| Ok(Snapshot { n: r.try_get("n")?, format: r.try_get("format")?, state: r.try_get("state")? }))
            .collect::<Result<Vec<_>, sqlx::Error>>()?;
        let rows = sqlx::query("select n, now_ms, input::text as input from api.inputs($1, $2, $3) order by n")
            .bind(self.stream)
            .bind(self.boot)
            .bind(snapshots.last().map_or(0, |s| s.n))
            .fetch_all(&mut *tx)
            .await?;
        tx.commit().await?;
        let mut inputs = Vec::with_capacity(rows.len());
        for r in &rows {
            match raw(r.try_get("input")?) {
                Ok(input) => inputs.push(StoredInput { n: r.try_get("n")?, now_ms: r.try_get("now_ms")?, input }),
                Err(e) => return Ok(Err(e)),
            }
        }
        Ok(Ok(Restored {
            snapshots,
            inputs,
            cursor: Cursor { epoch: head.try_get("read_epoch")?, seq: head.try_get("read_seq")? },
            outcome_n: head.try_get("read_outcome_n")?,
            policy_revision: head.try_get("read_policy")?,
            last_n: head.try_get("input_n")?,
        }))
    }
}

/// The part of a step that only some steps have, as `api.step` takes it.
fn writes_of(step: &StepRecord) -> Option<serde_json::Value> {
    if step.decisions.is_empty() && step.rows.is_empty() && step.withdrawals.is_empty() && step.jobs.is_empty() {
        return None;
    }
    let decisions: Vec<_> = step
        .decisions
        .iter()
        .map(|d| {
            json!({"what": d.what.code(), "why": d.why.code(), "persona": d.persona.as_deref().map(storable),
                   "obligations": d.obligations, "effect": d.effect, "cursor": d.seen.cursor, "lines": d.seen.lines, "odds": d.odds})
        })
        .collect();
    Some(json!({
        "n": step.n, "at_ms": step.now_ms, "decisions": decisions, "rows": step.rows.iter().map(row_of).collect::<Vec<_>>(),
        "withdrawals": step.withdrawals.iter().map(|w| storable(w)).collect::<Vec<_>>(), "jobs": step.jobs,
    }))
}

fn row_of(row: &Row) -> serde_json::Value {
    let (kind, body, emoji) = match &row.kind {
        RowKind::Post { text } => ("post", Some(storable(text)), None),
        RowKind::React { emoji } => ("react", None, Some(storable(emoji))),
    };
    json!({
        "dedupe": storable(&row.dedupe), "persona": storable(&row.persona), "kind": kind, "body": body, "emoji": emoji,
        "reply_to": row.address.as_ref().map(|a| storable(&a.platform_id)),
        "reply_shows": row.address.as_ref().is_some_and(|a| a.reply),
        "obligations": {"settles": row.settles, "lines": row.settles_lines, "owed": row.owed},
        "unprompted": row.unprompted, "shadow": row.shadow, "expires_ms": row.expires_at,
    })
}
