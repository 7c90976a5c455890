//! What the console and the terminal may read. Nothing here writes.

use parlor_core::{Decision, ObligationId, Odds, Seen, What, Why};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    ITEMS_AT_ONCE, Ledger, LedgerError, LedgerItem, PolicyRow, RowState, StreamInfo, TypingNow,
    admin::streams_from,
    pool::{bounded, decode},
};

/// A reader of rooms.
#[derive(Clone, Debug)]
pub struct Reader {
    pub(crate) ledger: Ledger,
}

/// Which part of a list: the nearest `limit` after or before a number. The answer is always in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// After this number.
    After(i64),
    /// Before this number.
    Before(i64),
    /// The newest.
    Last,
}

impl Page {
    /// Bounds (exclusive), and whether the newest come first inside them.
    fn bounds(self) -> (i64, i64, bool) {
        match self {
            Self::After(n) => (n, i64::MAX, false),
            Self::Before(n) => (-1, n, true),
            Self::Last => (-1, i64::MAX, true),
        }
    }
}

/// The floor of a room as its actor last wrote it.
#[derive(Clone, Debug)]
pub struct FloorRow {
    /// When it was written, ms.
    pub at_ms: i64,
    /// `parlor_core::View` as JSON.
    pub view: Box<RawValue>,
}

/// A decision as stored.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct DecisionRow {
    /// Number in the stream.
    pub n: i64,
    /// Number of the input that caused it.
    pub input_n: i64,
    /// When, ms.
    pub at_ms: i64,
    /// Code of `parlor_core::What`.
    pub what: String,
    /// Code of `parlor_core::Why`.
    pub why: String,
    /// Persona, where there is one.
    pub persona: Option<String>,
    /// What was owed.
    pub obligations: Vec<ObligationId>,
    /// The draft or the dedupe key of the row it concerns.
    pub effect: Option<String>,
    /// The last item seen.
    pub cursor: i64,
    /// The lines that it is about.
    pub lines: Vec<i64>,
    /// What the models thought of the burst, where they were asked.
    pub odds: Option<Odds>,
}

impl DecisionRow {
    /// The decision; an error where it holds a code of another version.
    pub fn decision(&self) -> Result<Decision, LedgerError> {
        let unknown =
            |code: &str| LedgerError::Other(format!("decision {} holds the code {code:?}, which this version does not know", self.n));
        let unsigned = |n: i64| u64::try_from(n).unwrap_or_default();
        Ok(Decision {
            what: What::ALL.iter().copied().find(|w| w.code() == self.what).ok_or_else(|| unknown(&self.what))?,
            why: Why::ALL.iter().copied().find(|w| w.code() == self.why).ok_or_else(|| unknown(&self.why))?,
            persona: self.persona.clone(),
            obligations: self.obligations.clone(),
            effect: self.effect.as_ref().and_then(|e| e.parse().ok()),
            seen: Seen { cursor: unsigned(self.cursor), lines: self.lines.iter().copied().map(unsigned).collect() },
            odds: self.odds,
        })
    }
}

/// An outbox row as shown.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OutboxRow {
    /// Number in the stream.
    pub n: i64,
    /// Its dedupe key.
    pub dedupe: String,
    /// Who speaks.
    pub persona: String,
    /// `post` or `react`.
    pub kind: String,
    /// The text.
    pub body: Option<String>,
    /// The emoji.
    pub emoji: Option<String>,
    /// Platform id of the message that it replies to or reacts on.
    pub reply_to: Option<String>,
    /// The obligations that it settles.
    pub settles: Vec<ObligationId>,
    /// Platform ids of the lines that it settles.
    pub settles_lines: Vec<String>,
    /// Where it stands.
    pub state: RowState,
    /// Why it was refused or parked.
    pub reason: Option<String>,
    /// When it was written, ms.
    pub created_ms: i64,
    /// Whether nobody asked for it.
    pub unprompted: bool,
    /// The platform's id of the post.
    pub platform_id: Option<String>,
    /// Place of its echo in the stream.
    pub echo_seq: Option<i64>,
}

impl Reader {
    /// Every room's stream, by room name.
    pub async fn streams(&self) -> Result<Vec<StreamInfo>, LedgerError> {
        let query = sqlx::query_scalar("select api.streams()::text");
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        streams_from(&json)
    }

    /// Items of a room, ascending; edits, deletes and reactions are items of their own. At most `limit`, and at most
    /// [`ITEMS_AT_ONCE`].
    pub async fn items(&self, stream: i64, page: Page, limit: usize) -> Result<Vec<LedgerItem>, LedgerError> {
        let (after, before, newest) = page.bounds();
        let query = sqlx::query_scalar("select api.read_items($1, $2, $3, $4, $5)::text")
            .bind(stream)
            .bind(after)
            .bind(before)
            .bind(newest)
            .bind(limit.min(ITEMS_AT_ONCE) as i64);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("the room's items", &json)
    }

    /// The floor, if an actor has stepped since the database started.
    pub async fn floor(&self, stream: i64) -> Result<Option<FloorRow>, LedgerError> {
        let query = sqlx::query_as("select at_ms, view::text from api.read_floor($1)").bind(stream);
        let row: Option<(i64, String)> = bounded(query.fetch_optional(self.ledger.pool())).await?;
        row.map(|(at_ms, view)| Ok(FloorRow { at_ms, view: super::session::raw(view)? })).transpose()
    }

    /// The policy of a room, if one was written.
    pub async fn policy(&self, stream: i64) -> Result<Option<PolicyRow>, LedgerError> {
        let query = sqlx::query_scalar("select api.read_policy($1)::text").bind(stream);
        let json: Option<String> = bounded(query.fetch_one(self.ledger.pool())).await?;
        json.map(|json| decode("the policy", &json)).transpose()
    }

    /// Decisions of a room, ascending by number. At most `limit`, and at most [`ITEMS_AT_ONCE`].
    pub async fn decisions(&self, stream: i64, page: Page, limit: usize) -> Result<Vec<DecisionRow>, LedgerError> {
        self.decision_page(stream, page, None, limit).await
    }

    /// What is to be shown to the owner: decisions of kind notice.
    pub async fn notices(&self, stream: i64, page: Page, limit: usize) -> Result<Vec<DecisionRow>, LedgerError> {
        self.decision_page(stream, page, Some("notice"), limit).await
    }

    async fn decision_page(&self, stream: i64, page: Page, what: Option<&str>, limit: usize) -> Result<Vec<DecisionRow>, LedgerError> {
        let (after, before, newest) = page.bounds();
        let query = sqlx::query_scalar("select api.read_decisions($1, $2, $3, $4, $5, $6)::text")
            .bind(stream)
            .bind(after)
            .bind(before)
            .bind(newest)
            .bind(what)
            .bind(limit.min(ITEMS_AT_ONCE) as i64);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("the decisions", &json)
    }

    /// Every decision about an item: those that name its line, and those of the obligations that they name; for an own post
    /// those of the row that it is the echo of. Ascending, at most [`ITEMS_AT_ONCE`].
    pub async fn decisions_about(&self, stream: i64, seq: i64) -> Result<Vec<DecisionRow>, LedgerError> {
        let query =
            sqlx::query_scalar("select api.read_decisions_about($1, $2, $3)::text").bind(stream).bind(seq).bind(ITEMS_AT_ONCE as i64);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("the decisions", &json)
    }

    /// Who is typing now, people and personas.
    pub async fn typing(&self, stream: i64) -> Result<Vec<TypingNow>, LedgerError> {
        let query = sqlx::query_scalar("select api.read_presence($1)::text").bind(stream);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("who is typing", &json)
    }

    /// Outbox rows of a room, ascending by number. At most `limit`, and at most [`ITEMS_AT_ONCE`].
    pub async fn rows(&self, stream: i64, page: Page, limit: usize) -> Result<Vec<OutboxRow>, LedgerError> {
        let (after, before, newest) = page.bounds();
        let query = sqlx::query_scalar("select api.read_rows($1, $2, $3, $4, $5)::text")
            .bind(stream)
            .bind(after)
            .bind(before)
            .bind(newest)
            .bind(limit.min(ITEMS_AT_ONCE) as i64);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("the outbox", &json)
    }

    /// Outbox rows that settle one of these obligations, ascending. At most [`ITEMS_AT_ONCE`].
    pub async fn rows_settling(&self, stream: i64, obligations: &[ObligationId]) -> Result<Vec<OutboxRow>, LedgerError> {
        let ids: Vec<String> = obligations.iter().map(ToString::to_string).collect();
        let query = sqlx::query_scalar("select api.read_rows_settling($1, $2, $3)::text").bind(stream).bind(ids).bind(ITEMS_AT_ONCE as i64);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("the outbox", &json)
    }

    /// The outbox row that an own item is the echo of.
    pub async fn row_of_item(&self, stream: i64, seq: i64) -> Result<Option<OutboxRow>, LedgerError> {
        let query = sqlx::query_scalar("select api.read_row_of_item($1, $2)::text").bind(stream).bind(seq);
        let json: Option<String> = bounded(query.fetch_one(self.ledger.pool())).await?;
        json.map(|j| decode("the outbox", &j)).transpose()
    }
}
