//! The broker answers model calls: it holds the keys, keeps the budgets, and lets only a checked act through.
//!
//! It must not post, decide when to speak, or read a room by itself: everything it knows of a room stands in the call. One
//! call is one attempt; tries and waits are the room machine's.

mod account;
mod acts;
mod config;
mod leaks;
mod price;
mod stub;

use std::sync::Arc;

use futures::future::BoxFuture;
use parlor_core::Failure;

pub use account::{Accounts, CallRecord, Denied, Purpose, Reservation, Ticket};
pub use config::{BrokerConfig, ConfigError, Deadlines, Endpoint};
pub use price::{Price, PriceError, PriceTable, Usage};

use crate::{
    ports::{ModelAct, ModelCall, Models},
    telemetry::Metrics,
};
use account::Meters;

/// See the module.
pub struct Broker {
    config: BrokerConfig,
    meters: Meters,
}

impl Broker {
    /// A broker with its books; without them nothing is budgeted and nothing audited.
    pub fn new(config: BrokerConfig, accounts: Option<Arc<dyn Accounts>>, metrics: Metrics) -> Self {
        Self { config, meters: Meters::new(accounts, metrics) }
    }

    /// Waits until every charge is written or given up. Call it when no call is under way any more.
    pub async fn drained(&self) {
        self.meters.drained().await;
    }
}

impl Models for Broker {
    fn draft(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelAct, Failure>> {
        Box::pin(async move {
            tokio::time::sleep(stub::delay(&call)).await;
            acts::checked(stub::act(&call)).map_err(|_| Failure::NoAct)
        })
    }
}
