//! Models whose every answer comes from the script.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use parlor_core::{Failure, ObligationId};
use tokio::sync::{Notify, oneshot};

use crate::ports::{ModelAct, ModelCall, Models};

/// A draft that was asked for reads the room and calls; a database that takes longer than this is lost.
const CALL_WITHIN: Duration = Duration::from_secs(20);

/// Calls that wait for the script: one for each room at most, and those that nobody waits for any more.
#[derive(Default)]
pub(super) struct ScriptedModels {
    calls: Mutex<Vec<Call>>,
    called: Notify,
}

struct Call {
    room: String,
    owed: Vec<ObligationId>,
    answer: oneshot::Sender<Result<ModelAct, Failure>>,
}

impl ScriptedModels {
    /// Answers the call of a room about these obligations, once it is made; false where none comes.
    pub(super) async fn answer(&self, room: &str, owed: &[ObligationId], answer: Result<ModelAct, Failure>) -> bool {
        let call = async {
            loop {
                let called = self.called.notified();
                if let Some(call) = self.take(room, owed) {
                    return call;
                }
                called.await;
            }
        };
        match tokio::time::timeout(CALL_WITHIN, call).await {
            Ok(call) => call.answer.send(answer).is_ok(),
            Err(_) => false,
        }
    }

    fn take(&self, room: &str, owed: &[ObligationId]) -> Option<Call> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|c| !c.answer.is_closed());
        let i = calls.iter().position(|c| c.room == room && c.owed == owed)?;
        Some(calls.swap_remove(i))
    }
}

impl Models for ScriptedModels {
    fn draft(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelAct, Failure>> {
        async move {
            let (answer, answered) = oneshot::channel();
            let owed = call.owed.iter().map(|o| o.id).collect();
            self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(Call { room: call.room, owed, answer });
            self.called.notify_waiters();
            answered.await.unwrap_or(Err(Failure::Provider))
        }
        .boxed()
    }
}
