//! What a page shows of a room beyond pages of items.

use super::{
    ITEMS_AT_ONCE, LedgerError, LedgerItem, Reader,
    pool::{bounded, decode},
};
use crate::ports::Hush;

/// Items about the lines of one page: each may have some edits and reactions.
const ABOUT_AT_ONCE: i64 = 5_000;

impl Reader {
    /// The newest messages and system notices before a seq, ascending, as they were first said. At most `limit`, and at most
    /// [`ITEMS_AT_ONCE`].
    pub async fn lines(&self, stream: i64, before: i64, limit: usize) -> Result<Vec<LedgerItem>, LedgerError> {
        let query =
            sqlx::query_scalar("select api.read_lines($1, $2, $3)::text").bind(stream).bind(before).bind(limit.min(ITEMS_AT_ONCE) as i64);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("the room's lines", &json)
    }

    /// Every item that is or changes one of these messages, ascending. At most 5,000.
    pub async fn about(&self, stream: i64, platform_ids: &[String]) -> Result<Vec<LedgerItem>, LedgerError> {
        let query = sqlx::query_scalar("select api.read_about($1, $2, $3)::text").bind(stream).bind(platform_ids).bind(ABOUT_AT_ONCE);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("the room's items", &json)
    }

    /// The last display name of each author of the last 10,000 items, the latest author first: authenticated id, name. At most
    /// `limit`.
    pub async fn names(&self, stream: i64, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let query = sqlx::query_scalar("select api.read_names($1, $2)::text").bind(stream).bind(limit as i64);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("the names of a room", &json)
    }

    /// Whether and why a room is silent, with its mutes.
    pub async fn hush(&self, stream: i64) -> Result<Hush, LedgerError> {
        let query = sqlx::query_scalar("select api.read_hush($1)::text").bind(stream);
        let json: String = bounded(query.fetch_one(self.ledger.pool())).await?;
        decode("why a room is silent", &json)
    }
}
