//! What the machine asked for, done after the commit: drafts, gates, typing. Each completion comes back as an input that names
//! the effect.

use std::{collections::BTreeMap, mem, panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt;
use parlor_core::{Act, Draft, DraftFailed, Effect, EffectId, EffectKind, Failure, Input, Millis, Verdict};
use tokio::sync::mpsc::{Sender, error::TrySendError};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::drafter::Drafter;
use crate::ledger::Session;

/// How long a persona is shown as typing; the machine asks again each 8 s while it goes on.
const TYPING_MS: Millis = 10_000;

/// The drafts under way. Dropping it ends them.
pub(super) struct Flights {
    room: String,
    drafter: Arc<Drafter>,
    session: Session,
    completions: Sender<Input>,
    tracker: TaskTracker,
    /// One at a time by the machine's rule; a cancelled one leaves at once.
    drafts: BTreeMap<EffectId, AbortOnDropHandle<()>>,
    /// Whether this boot has said that it has no gate model.
    has_warned: bool,
}

/// What came of doing it.
pub(super) struct Done {
    /// Whether people are to be told that a persona types or does not any more.
    pub(super) typing: bool,
    /// Completions that are known at once.
    pub(super) answers: Vec<Input>,
}

impl Flights {
    pub(super) fn new(room: String, drafter: Drafter, session: Session, completions: Sender<Input>, tracker: TaskTracker) -> Self {
        Self { room, drafter: Arc::new(drafter), session, completions, tracker, drafts: BTreeMap::new(), has_warned: false }
    }

    /// Does what is asked, in order. A draft whose id is under way already is left alone.
    pub(super) async fn perform(&mut self, effects: Vec<Effect>, now_ms: Millis) -> Done {
        let mut typing = Vec::new();
        let mut answers = Vec::new();
        for Effect { id, kind } in effects {
            match kind {
                EffectKind::Draft(draft) => self.start(id, draft),
                EffectKind::CancelDraft { draft } => drop(self.drafts.remove(&draft)),
                EffectKind::Gate(_) => answers.push(self.decline_gate(id)),
                EffectKind::Typing { persona, on } => typing.push((persona, if on { now_ms + TYPING_MS } else { 0 })),
                // Stored with the input, see `batch`.
                EffectKind::Submit(_) | EffectKind::Withdraw { .. } | EffectKind::Record(_) => {}
            }
        }
        for (persona, until_ms) in &typing {
            if let Err(error) = self.session.typing(persona, *until_ms).await {
                tracing::debug!(room = self.room, persona, %error, "typing could not be shown");
            }
        }
        Done { typing: !typing.is_empty(), answers }
    }

    fn start(&mut self, id: EffectId, draft: Draft) {
        self.drafts.retain(|_, flight| !flight.is_finished());
        if self.drafts.contains_key(&id) {
            return;
        }
        let (drafter, completions, room) = (Arc::clone(&self.drafter), self.completions.clone(), self.room.clone());
        let flight = self.tracker.spawn(async move {
            let ended = AssertUnwindSafe(drafter.draft(&draft)).catch_unwind().await.unwrap_or_else(|_| {
                tracing::error!(room, draft = %id, "the drafter panicked; the draft counts as failed");
                Err(Failure::Provider)
            });
            let input = match ended {
                Ok(act) => Input::Act(Act { draft: id, settles: act.settles, act: act.act }),
                Err(kind) => Input::DraftFailed(DraftFailed { draft: id, kind }),
            };
            complete(&room, &completions, input).await;
        });
        self.drafts.insert(id, AbortOnDropHandle::new(flight));
    }

    /// No gate model is connected, and a gate that cannot be asked is silence (docs/floor.md).
    fn decline_gate(&mut self, gate: EffectId) -> Input {
        if !mem::replace(&mut self.has_warned, true) {
            tracing::warn!(room = self.room, "the room's policy wants a gate model and there is none; lines that name nobody open nothing");
        }
        Input::Verdict(Verdict { gate, me: 0.0, room: 0.0 })
    }
}

async fn complete(room: &str, completions: &Sender<Input>, input: Input) {
    match completions.try_send(input) {
        Ok(()) | Err(TrySendError::Closed(_)) => {}
        Err(TrySendError::Full(input)) => {
            tracing::error!(room, "the room's mailbox is full; a completion waits");
            let _ = completions.send(input).await;
        }
    }
}
