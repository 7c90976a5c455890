//! The broker answers model calls: it holds the keys, keeps the budgets, and lets only a checked act through.
//!
//! It must not post, decide when to speak, or read a room by itself: everything it knows of a room stands in the call. One
//! call is one attempt; tries and waits are the room machine's.

mod account;
mod acts;
mod anthropic;
mod books;
mod config;
mod dialect;
mod exchange;
mod failure;
mod leaks;
mod openai;
mod price;
mod prompt;
mod sse;
mod stub;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use futures::future::BoxFuture;
use parlor_core::Failure;

pub use account::{Accounts, CallRecord, Denied, Purpose, Reservation, Ticket};
pub use books::RoomBooks;
pub use config::{BrokerConfig, ConfigError, Deadlines, Endpoint};
pub use price::{Price, PriceError, PriceTable, Usage};

use crate::{
    ports::{ModelAct, ModelCall, Models},
    telemetry::Metrics,
};
use account::{Meter, Meters};
use acts::Unusable;
use dialect::{Answer, Dialect, Stop, max_tokens};
use exchange::Exchange;
use failure::CallError;

/// See the module.
pub struct Broker {
    config: BrokerConfig,
    meters: Meters,
    exchange: Exchange,
    /// Providers whose missing key was told; once is enough.
    keys_missed: Mutex<BTreeSet<Dialect>>,
}

impl Broker {
    /// A broker with its books; without them nothing is budgeted and nothing audited.
    pub fn new(config: BrokerConfig, accounts: Option<Arc<dyn Accounts>>, metrics: Metrics) -> Self {
        let exchange = Exchange::new(config.deadlines);
        if [&config.anthropic, &config.openai].into_iter().any(|e| e.key.is_some() || !e.needs_key) {
            exchange.warm();
        }
        Self { config, meters: Meters::new(accounts, metrics), exchange, keys_missed: Mutex::default() }
    }

    /// Waits until every charge is written or given up. Call it when no call is under way any more.
    pub async fn drained(&self) {
        self.meters.drained().await;
    }

    async fn answer(&self, call: &ModelCall) -> Result<ModelAct, CallError> {
        match call.model.provider.as_str() {
            "stub" => self.stub(call).await,
            "anthropic" => self.ask(call, Dialect::Anthropic).await,
            "openai" => self.ask(call, Dialect::OpenAi).await,
            other => Err(CallError::UnknownProvider(other.to_owned())),
        }
    }

    async fn stub(&self, call: &ModelCall) -> Result<ModelAct, CallError> {
        let meter = self.meters.open(record(call, "stub"), Usage::default(), Price::FREE).await?;
        tokio::time::sleep(stub::delay(call)).await;
        let act = acts::checked(stub::act(call)).map_err(CallError::from);
        close(meter, &act, Some(Usage::default()));
        act
    }

    /// One attempt; a model that ends without an act is asked once more for one.
    async fn ask(&self, call: &ModelCall, dialect: Dialect) -> Result<ModelAct, CallError> {
        match self.request(call, dialect, None).await {
            Err(CallError::Unusable(Unusable::AskAgain { ask, .. })) => self.request(call, dialect, Some(ask)).await,
            done => done,
        }
    }

    async fn request(&self, call: &ModelCall, dialect: Dialect, again: Option<&str>) -> Result<ModelAct, CallError> {
        let endpoint = match dialect {
            Dialect::Anthropic => &self.config.anthropic,
            Dialect::OpenAi => &self.config.openai,
        };
        if endpoint.needs_key && endpoint.key.is_none() {
            return Err(CallError::NoKey(dialect));
        }
        if call.model.name.is_empty() {
            return Err(CallError::NoModel(dialect.name()));
        }
        self.exchange.is_awake(dialect)?;
        let body = serde_json::to_vec(&dialect.body(call, &prompt::prompt(call)?, endpoint, again))?;
        // Over a whole prompt no tokenizer in use makes more than one token of two bytes. Writing to the provider's cache is
        // the dearest way of reading.
        let worst = Usage { cache_write: body.len().div_ceil(2) as u64, output: max_tokens(call), ..Usage::default() };
        let price = self.config.prices.price(&call.model.name);
        let meter = self.meters.open(record(call, dialect.name()), worst, price).await?;
        let mut answer = Answer::default();
        let sent = self.exchange.send(dialect, endpoint, body, &mut answer).await;
        let nothing = sent.as_ref().is_err_and(CallError::cost_nothing).then(Usage::default);
        let act = sent.and_then(|()| act_of(&answer, call));
        close(meter, &act, nothing.or(answer.usage));
        act
    }

    /// Tells the owner's log, once for each failed call; a missing key is told once for good.
    fn tell(&self, call: &ModelCall, error: &CallError) {
        if let CallError::NoKey(dialect) = error
            && !self.keys_missed.lock().unwrap_or_else(PoisonError::into_inner).insert(*dialect)
        {
            return;
        }
        let (room, persona, provider, outcome) = (&call.room, &call.persona, &call.model.provider, error.outcome());
        tracing::warn!(%room, %persona, %provider, outcome, "persona {persona} in room {room} got no act from the model: {error}");
    }
}

impl Models for Broker {
    fn draft(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelAct, Failure>> {
        Box::pin(async move {
            self.answer(&call).await.map_err(|error| {
                self.tell(&call, &error);
                error.failure()
            })
        })
    }
}

fn act_of(answer: &Answer, call: &ModelCall) -> Result<ModelAct, CallError> {
    match answer.stop {
        Some(Stop::Declined) => Err(CallError::Declined),
        Some(Stop::Length) => {
            Err(Unusable::Final("the answer reached max_tokens before its end; raise max_tokens in the persona's params").into())
        }
        Some(Stop::End) | None => Ok(acts::act(&answer.calls, &call.owed)?),
    }
}

fn record(call: &ModelCall, provider: &'static str) -> CallRecord {
    CallRecord {
        room: call.room.clone(),
        persona: call.persona.clone(),
        purpose: Purpose::Draft,
        provider,
        model: call.model.name.clone(),
        tokens: 0,
        cost_microusd: 0,
        duration_ms: 0,
        outcome: "",
    }
}

fn close(meter: Meter, act: &Result<ModelAct, CallError>, usage: Option<Usage>) {
    meter.close(usage, act.as_ref().map_or_else(CallError::outcome, |_| "act"));
}
