//! The ledger as the broker's accounts: budgets by room and day, and the audit.

use std::{
    collections::BTreeMap,
    sync::{PoisonError, RwLock},
};

use futures::future::BoxFuture;
use parlor_core::Millis;

use super::account::{Accounts, CallRecord, Denied, Reservation, Ticket};
use crate::ledger::{AuditRow, Books, Caps, Reserved, Spent};

/// The ledger's books with the rooms that may spend. A room that is not listed spends nothing.
pub struct RoomBooks {
    books: Books,
    now: fn() -> Millis,
    rooms: RwLock<BTreeMap<String, (i64, Caps)>>,
}

impl RoomBooks {
    /// Books without rooms. `now` tells the time, because a budget is for a day.
    pub fn new(books: Books, now: fn() -> Millis) -> Self {
        Self { books, now, rooms: RwLock::default() }
    }

    /// Lists a room by name with its stream and caps, or changes its caps.
    pub fn set(&self, room: &str, stream: i64, caps: Caps) {
        self.rooms.write().unwrap_or_else(PoisonError::into_inner).insert(room.to_owned(), (stream, caps));
    }

    /// Takes a room off the list.
    pub fn forget(&self, room: &str) {
        self.rooms.write().unwrap_or_else(PoisonError::into_inner).remove(room);
    }
}

impl Accounts for RoomBooks {
    fn reserve(&self, wanted: Reservation) -> BoxFuture<'_, Result<Ticket, Denied>> {
        Box::pin(async move {
            let listed = self.rooms.read().unwrap_or_else(PoisonError::into_inner).get(&wanted.room).copied();
            let (stream, caps) = listed.ok_or_else(|| Denied::Unavailable(format!("room {} has no stream yet", wanted.room)))?;
            let unavailable = |e: &dyn std::fmt::Display| Denied::Unavailable(e.to_string());
            let day = jiff::Timestamp::from_millisecond((self.now)()).map_err(|e| unavailable(&e))?.strftime("%F").to_string();
            match self.books.reserve(stream, &day, spent(wanted.tokens, wanted.cost_microusd), caps).await {
                Ok(Reserved::Ok(granted)) => Ok(Ticket { stream: granted.stream, n: granted.n }),
                Ok(Reserved::OverBudget) => Err(Denied::OverBudget),
                Ok(Reserved::Hushed) => Err(Denied::Hushed),
                Err(e) => Err(unavailable(&e)),
            }
        })
    }

    fn charge(&self, ticket: Ticket, call: CallRecord) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let spent = spent(call.tokens, call.cost_microusd);
            let reservation = crate::ledger::Reservation { stream: ticket.stream, n: ticket.n };
            self.books.charge(reservation, spent).await.map_err(|e| e.to_string())?;
            let row = AuditRow {
                persona: call.persona,
                purpose: call.purpose.code().to_owned(),
                model: format!("{}/{}", call.provider, call.model),
                spent,
                duration_ms: i64::try_from(call.duration_ms).unwrap_or(i64::MAX),
                outcome: call.outcome.to_owned(),
            };
            self.books.audit(ticket.stream, &row).await.map_err(|e| e.to_string())
        })
    }
}

/// In the ledger's numbers; more than they hold counts as the most that they hold.
fn spent(tokens: u64, cost_microusd: u64) -> Spent {
    let most = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    Spent { tokens: most(tokens), cost_micro: most(cost_microusd) }
}
