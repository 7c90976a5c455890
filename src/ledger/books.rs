//! What the broker may do: reserve before a model call, charge after it, and keep the audit.

use super::{
    Ledger, LedgerError,
    pool::{bounded, storable},
};

/// The broker's books.
#[derive(Clone, Debug)]
pub struct Books {
    pub(crate) ledger: Ledger,
}

/// What may be spent by a room in a day (UTC); none for no cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// Tokens.
    pub tokens: Option<i64>,
    /// Millionths of the currency unit.
    pub cost_micro: Option<i64>,
}

/// What a call spends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Tokens.
    pub tokens: i64,
    /// Millionths of the currency unit.
    pub cost_micro: i64,
}

/// A sum set aside; it counts in full until less is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The room's stream.
    pub stream: i64,
    /// Number in the stream.
    pub n: i64,
}

/// Answer to [`Books::reserve`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// The call may be made.
    Ok(Reservation),
    /// It would pass a cap of this day.
    OverBudget,
    /// The room is muted, stopped or without a policy: no model is called.
    Hushed,
}

/// A model or tool call as audited: no prompt, no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Persona resource name.
    pub persona: String,
    /// `gate`, `draft`, `review`, `tool`.
    pub purpose: String,
    /// Provider and model, or the tool.
    pub model: String,
    /// What it spent.
    pub spent: Spent,
    /// How long it took, ms.
    pub duration_ms: i64,
    /// `ok` or a short code of what failed.
    pub outcome: String,
}

impl Books {
    /// Sets the worst case aside before a call. `day` is the date in UTC, `YYYY-MM-DD`.
    pub async fn reserve(&self, stream: i64, day: &str, worst: Spent, caps: Caps) -> Result<Reserved, LedgerError> {
        let query = sqlx::query_scalar("select api.reserve($1, $2::text::date, $3, $4, $5, $6)")
            .bind(stream)
            .bind(day)
            .bind(worst.tokens)
            .bind(worst.cost_micro)
            .bind(caps.tokens)
            .bind(caps.cost_micro);
        let n: i64 = bounded(query.fetch_one(self.ledger.pool())).await?;
        Ok(match n {
            0 => Reserved::OverBudget,
            n if n < 0 => Reserved::Hushed,
            n => Reserved::Ok(Reservation { stream, n }),
        })
    }

    /// Replaces the sum set aside by what was spent, which may be more. False when it was charged before: then nothing
    /// changed.
    pub async fn charge(&self, reservation: Reservation, spent: Spent) -> Result<bool, LedgerError> {
        let query = sqlx::query_scalar("select api.charge($1, $2, $3, $4)")
            .bind(reservation.stream)
            .bind(reservation.n)
            .bind(spent.tokens)
            .bind(spent.cost_micro);
        bounded(query.fetch_one(self.ledger.pool())).await
    }

    /// Appends to the audit.
    pub async fn audit(&self, stream: i64, row: &AuditRow) -> Result<(), LedgerError> {
        let query = sqlx::query("select api.audit($1, $2, $3, $4, $5, $6, $7, $8)")
            .bind(stream)
            .bind(storable(&row.persona))
            .bind(storable(&row.purpose))
            .bind(storable(&row.model))
            .bind(row.spent.tokens)
            .bind(row.spent.cost_micro)
            .bind(row.duration_ms)
            .bind(storable(&row.outcome));
        bounded(query.execute(self.ledger.pool())).await.map(drop)
    }
}
