//! A model whose every answer the test gives by hand: it holds each call until the test replies, fails or forgets it.

use std::time::Duration;

use futures::{FutureExt, future::BoxFuture};
use parlor::ports::{ModelAct, ModelCall, Models};
use parlor_core::{DraftAct, Failure, ObligationId};
use tokio::sync::{Mutex, mpsc, oneshot};

/// Longer than any wait that a test's policy sets; a test that needs all of it has failed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// The double.
pub(crate) struct HeldModels {
    calls: mpsc::Sender<Held>,
    waiting: Mutex<mpsc::Receiver<Held>>,
}

/// One call, waiting for the test.
pub(crate) struct Held {
    pub(crate) call: ModelCall,
    answer: oneshot::Sender<Result<ModelAct, Failure>>,
}

impl HeldModels {
    pub(crate) fn new() -> Self {
        // More calls at once than any test makes; the actor itself makes one.
        let (calls, waiting) = mpsc::channel(64);
        Self { calls, waiting: Mutex::new(waiting) }
    }

    /// The next call that the actor makes or has made.
    pub(crate) async fn next(&self) -> Held {
        let next = async { self.waiting.lock().await.recv().await.expect("the double holds a sender") };
        tokio::time::timeout(DEADLINE, next).await.expect("the actor should have asked for a draft")
    }

    /// A call that waits already, if there is one.
    pub(crate) async fn waiting(&self) -> Option<Held> {
        self.waiting.lock().await.try_recv().ok()
    }

    /// Whether a call waits that nobody took.
    pub(crate) async fn is_idle(&self) -> bool {
        self.waiting.lock().await.is_empty()
    }
}

impl Models for HeldModels {
    fn draft(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelAct, Failure>> {
        async move {
            let (answer, wait) = oneshot::channel();
            self.calls.try_send(Held { call, answer }).expect("no test makes 64 calls without looking");
            wait.await.unwrap_or(Err(Failure::Provider))
        }
        .boxed()
    }
}

impl Held {
    /// Everything that the model is shown of the room, as one text.
    pub(crate) fn room_text(&self) -> String {
        let lines: Vec<String> = self.items().map(|i| format!("{} {} {}: {}", i.seq, i.kind, i.name, i.text)).collect();
        lines.join("\n")
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = &parlor::ports::ReadItem> {
        self.call.reads.iter().flat_map(|r| &r.items)
    }

    pub(crate) fn offered(&self) -> Vec<ObligationId> {
        self.call.owed.iter().map(|o| o.id).collect()
    }

    /// Replies for everything that is owed.
    pub(crate) fn reply(self, text: &str) {
        let settles = self.offered();
        self.act(ModelAct { act: DraftAct::Reply { text: text.into() }, settles });
    }

    /// The same, where the actor may have given the call up.
    pub(crate) fn reply_if_wanted(self, text: &str) {
        let settles = self.offered();
        let _ = self.answer.send(Ok(ModelAct { act: DraftAct::Reply { text: text.into() }, settles }));
    }

    pub(crate) fn pass(self, reason: &str) {
        let settles = self.offered();
        self.act(ModelAct { act: DraftAct::Pass { reason: reason.into() }, settles });
    }

    pub(crate) fn act(self, act: ModelAct) {
        self.answer.send(Ok(act)).expect("the actor should still wait for this draft");
    }

    pub(crate) fn fail(self, failure: Failure) {
        self.answer.send(Err(failure)).expect("the actor should still wait for this draft");
    }

    /// Waits until the actor has given the call up.
    pub(crate) async fn dropped(mut self) {
        tokio::time::timeout(DEADLINE, self.answer.closed()).await.expect("the actor should have given this draft up");
    }
}
