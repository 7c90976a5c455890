//! What a call may cost: reserved before it at the worst case, charged after it, whatever became of it.
//!
//! A call that is dropped half-way is charged in full by [`Meter`]'s drop. A charge that cannot be written is not repeated for
//! ever: its reservation counts in full after ten minutes, so that nothing is spent unseen.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::price::{Price, Usage};
use crate::telemetry::Metrics;

/// Charges being written at once. More means that the database hangs; their reservations then count in full by themselves.
const CHARGES_AT_ONCE: usize = 64;
/// A charge that takes longer is given up; its reservation counts in full.
const CHARGE_DEADLINE: Duration = Duration::from_secs(10);

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Writing a draft.
    Draft,
}

impl Purpose {
    /// The code in the audit.
    pub fn code(self) -> &'static str {
        match self {
            Self::Draft => "draft",
        }
    }
}

/// Who wants to spend how much at worst.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Room name.
    pub room: String,
    /// Persona resource name.
    pub persona: String,
    /// What for.
    pub purpose: Purpose,
    /// Tokens at worst, input and output.
    pub tokens: u64,
    /// Cost at worst, millionths of a dollar.
    pub cost_microusd: u64,
}

/// A reservation that was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The room's stream.
    pub stream: i64,
    /// Number in the stream.
    pub n: i64,
}

/// Why a reservation was not granted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The room's budget of the day would be passed.
    #[error("the budget of the room for today is used up")]
    OverBudget,
    /// The room is muted or stopped.
    #[error("the room is muted or stopped")]
    Hushed,
    /// The books cannot be reached or read, so nothing may be spent.
    #[error("the budget cannot be read: {0}")]
    Unavailable(String),
}

/// What became of a call: one row of the audit. It holds no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRecord {
    /// Room name.
    pub room: String,
    /// Persona resource name.
    pub persona: String,
    /// What for.
    pub purpose: Purpose,
    /// `stub`, `anthropic`, `openai`.
    pub provider: &'static str,
    /// The provider's name of the model.
    pub model: String,
    /// Tokens, input and output.
    pub tokens: u64,
    /// Millionths of a dollar.
    pub cost_microusd: u64,
    /// Length of the call.
    pub duration_ms: u64,
    /// `act`, `asked_again`, `no_act`, `refused`, `provider`, `cancelled`.
    pub outcome: &'static str,
}

/// The books: the ledger's budget and audit, or a double.
pub trait Accounts: Send + Sync + 'static {
    /// Sets money aside, or says why not.
    fn reserve(&self, wanted: Reservation) -> BoxFuture<'_, Result<Ticket, Denied>>;
    /// Replaces a reservation by what was spent, and writes the audit row.
    fn charge(&self, ticket: Ticket, call: CallRecord) -> BoxFuture<'_, Result<(), String>>;
}

/// Opens a [`Meter`] for each call.
#[derive(Clone)]
pub(crate) struct Meters {
    accounts: Option<Arc<dyn Accounts>>,
    metrics: Metrics,
    charging: TaskTracker,
    slots: Arc<Semaphore>,
}

impl Meters {
    pub(crate) fn new(accounts: Option<Arc<dyn Accounts>>, metrics: Metrics) -> Self {
        Self { accounts, metrics, charging: TaskTracker::new(), slots: Arc::new(Semaphore::new(CHARGES_AT_ONCE)) }
    }

    /// Reserves `worst` for a call. `call` says who asks; its tokens, cost, duration and outcome are filled in at the end.
    pub(crate) async fn open(&self, mut call: CallRecord, worst: Usage, price: Price) -> Result<Meter, Denied> {
        call.tokens = worst.total();
        call.cost_microusd = price.cost_microusd(worst);
        call.outcome = "cancelled";
        let ticket = match &self.accounts {
            None => None,
            Some(accounts) => {
                let wanted = Reservation {
                    room: call.room.clone(),
                    persona: call.persona.clone(),
                    purpose: call.purpose,
                    tokens: call.tokens,
                    cost_microusd: call.cost_microusd,
                };
                Some(accounts.reserve(wanted).await?)
            }
        };
        Ok(Meter { meters: self.clone(), ticket, price, began: Instant::now(), call: Some(call) })
    }

    /// Waits until every charge is written or given up, each within [`CHARGE_DEADLINE`].
    pub(crate) async fn drained(&self) {
        self.charging.close();
        self.charging.wait().await;
        self.charging.reopen();
    }

    fn write(&self, ticket: Ticket, call: CallRecord) {
        let (Some(accounts), Ok(slot), Ok(runtime)) =
            (self.accounts.clone(), Arc::clone(&self.slots).try_acquire_owned(), tokio::runtime::Handle::try_current())
        else {
            self.metrics.model_charge_lost();
            tracing::warn!(room = %call.room, "a charge of room {} was not written; its reservation counts in full", call.room);
            return;
        };
        let metrics = self.metrics.clone();
        let charge = async move {
            let room = call.room.clone();
            let failed = match tokio::time::timeout(CHARGE_DEADLINE, accounts.charge(ticket, call)).await {
                Ok(Ok(())) => None,
                Ok(Err(why)) => Some(why),
                Err(_) => Some("the database did not answer in time".to_owned()),
            };
            if let Some(why) = failed {
                metrics.model_charge_lost();
                tracing::warn!(%room, "a charge of room {room} was not written ({why}); its reservation counts in full");
            }
            drop(slot);
        };
        self.charging.spawn_on(charge, &runtime);
    }
}

/// One call under way. Dropping it without [`Meter::close`] charges the reservation in full.
pub(crate) struct Meter {
    meters: Meters,
    ticket: Option<Ticket>,
    price: Price,
    began: Instant,
    call: Option<CallRecord>,
}

impl Meter {
    /// Ends the call. Without usage the reservation is charged in full.
    pub(crate) fn close(mut self, usage: Option<Usage>, outcome: &'static str) {
        self.finish(usage, outcome);
    }

    fn finish(&mut self, usage: Option<Usage>, outcome: &'static str) {
        let Some(mut call) = self.call.take() else { return };
        let length = self.began.elapsed();
        if let Some(used) = usage {
            call.tokens = used.total();
            call.cost_microusd = self.price.cost_microusd(used);
        }
        let counted = usage.unwrap_or_default();
        let metrics = &self.meters.metrics;
        metrics.model_spent(call.provider, counted.input + counted.cache_write, counted.cached, counted.output, call.cost_microusd);
        call.duration_ms = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        call.outcome = outcome;
        metrics.model_call(call.provider, outcome, length);
        if let Some(ticket) = self.ticket {
            self.meters.write(ticket, call);
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.finish(None, "cancelled");
    }
}
