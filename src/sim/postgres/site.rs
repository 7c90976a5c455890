//! One room on Postgres: the real boot of its actor, driven look by look, and beside it a machine that is fed what was stored.
//! The two have to agree, and what the machine beside it asks for is what the boot was asked for.

use std::{collections::BTreeSet, rc::Rc, sync::Arc, time::Duration};

use parlor_core::{DraftFailed, Effect, EffectId, EffectKind, Input, ItemKind, Millis, Mode, Phase, Policy, Room, Submission};
use serde_json::json;

use super::{NOW, Postgres, failed, policy_row};
use crate::{
    actor::{ByHand, Means, RoomConfig},
    ledger::{Claimed, LedgerError, NewItem, NewJob, Page, RoomLogin, RowState, StepRecord},
    ports::ModelAct,
    sim::{
        memory::{closed, is_begun},
        script::Cut,
        world::{Event, Looked, Site, Stepped, WorldError},
    },
};

/// A completion reaches the boot's mailbox at once; what takes longer than this is lost.
const MAIL_WITHIN: Duration = Duration::from_secs(10);

/// See the module.
pub(in crate::sim) struct PostgresSite {
    world: Postgres,
    name: String,
    stream: i64,
    login: RoomLogin,
    means: Means,
    boot: Option<ByHand>,
    /// Fed with every input that was stored.
    twin: Room,
    /// Whether this boot has taken up what an earlier one had under way.
    has_resumed: bool,
    answered: BTreeSet<EffectId>,
}

impl PostgresSite {
    pub(super) fn new(world: Postgres, name: String, stream: i64, login: RoomLogin) -> Self {
        let base = &world.0;
        let entered = base.runtime.enter();
        let means = Means {
            ledger: base.logins.room(&login),
            hub: base.hub.clone(),
            ringer: base.ringer.clone(),
            models: Arc::clone(&base.models) as Arc<dyn crate::ports::Models>,
            wall: || NOW.get(),
        };
        drop(entered);
        Self { world, name, stream, login, means, boot: None, twin: Room::new(closed()), has_resumed: false, answered: BTreeSet::new() }
    }

    fn wait<T>(&self, call: impl Future<Output = Result<T, LedgerError>>) -> Result<T, WorldError> {
        self.world.0.runtime.block_on(call).map_err(failed)
    }

    fn begin(&self) -> Result<ByHand, WorldError> {
        let base = &self.world.0;
        let config = RoomConfig { name: self.name.clone(), stream: self.stream };
        self.wait(ByHand::begin(config, base.texts.clone(), self.means.clone(), base.tracker.clone()))
    }

    /// Feeds what was stored to the machine beside the boot.
    fn take(&mut self, steps: &[StepRecord]) -> Result<Vec<Stepped>, WorldError> {
        let mut stepped = Vec::new();
        for step in steps {
            let input: Input = serde_json::from_str(step.input.get()).map_err(|e| WorldError::Wrong(format!("a stored input: {e}")))?;
            let effects = self.twin.step(step.now_ms, input.clone());
            let n = self.twin.inputs();
            if i64::try_from(n) != Ok(step.n) {
                return Err(WorldError::Wrong(format!("input {} was stored as number {n}", step.n)));
            }
            let (tally, open) = (self.twin.tally(), self.twin.open());
            stepped.push(Stepped { n, now: step.now_ms, input: Rc::new(input), effects, tally, open });
        }
        Ok(stepped)
    }

    /// The draft that the boot has under way and nobody has answered.
    fn drafting(&self, draft: EffectId) -> bool {
        let Some(boot) = &self.boot else { return false };
        let view = boot.room().view(0);
        view.phase == Phase::Drafting && view.effect == Some(draft) && !self.answered.contains(&draft)
    }

    /// Lets the model call of a draft end, and waits until the boot has heard of it.
    fn answer(&mut self, draft: EffectId, answer: Result<ModelAct, parlor_core::Failure>) -> Result<(), WorldError> {
        let pending = self.boot.as_ref().map(|b| b.room().pending()).unwrap_or_default();
        let owed = pending.into_iter().find_map(|e| match e.kind {
            EffectKind::Draft(d) if e.id == draft => Some(d.owed.iter().map(|o| o.id).collect::<Vec<_>>()),
            _ => None,
        });
        let (Some(owed), Some(boot)) = (owed.filter(|_| self.drafting(draft)), &self.boot) else { return Ok(()) };
        let base = &self.world.0;
        let answered = async {
            if !base.models.answer(&self.name, &owed, answer).await {
                return Err(WorldError::Wrong(format!("draft {draft} never reached a model")));
            }
            let heard = async {
                while !boot.has_mail() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(MAIL_WITHIN, heard).await.map_err(|_| WorldError::Wrong(format!("the answer to draft {draft} was lost")))
        };
        base.runtime.block_on(answered)?;
        self.answered.insert(draft);
        Ok(())
    }

    /// Another boot begins while this one runs, which then looks once more and must be fenced.
    fn overlap(&mut self, mut old: ByHand) -> Result<(), WorldError> {
        self.boot = Some(self.begin()?);
        match self.world.0.runtime.block_on(old.look()) {
            Err(LedgerError::Fenced) => Ok(()),
            Err(other) => Err(failed(other)),
            Ok(_) => Err(WorldError::Wrong("a process that another has followed could still look".into())),
        }
    }
}

impl Drop for PostgresSite {
    /// A world is made anew for each script, so its logins would pile up.
    fn drop(&mut self) {
        self.boot = None;
        let ended = async {
            self.means.ledger.close().await;
            self.world.0.logins.admin().retire(&self.login.role).await
        };
        // A database that is gone has no login either.
        let _ = self.world.0.runtime.block_on(ended);
    }
}

impl Site for PostgresSite {
    fn hear(&mut self, event: &Event) -> Result<bool, WorldError> {
        let item = &event.item;
        let new = NewItem {
            stream: self.stream,
            at_ms: item.at,
            author: item.author.id.clone(),
            author_kind: item.author.kind,
            name: item.author.name.clone(),
            kind: item.kind,
            event_key: event.key.clone(),
            platform_id: item.platform_id.clone(),
            reply_to: item.links.first().filter(|_| item.kind == ItemKind::Message).map(|l| l.id.clone()),
            text: item.text.clone(),
            mentions: json!([]),
            attachments: json!([]),
            outbox_n: event.row_n,
        };
        let stored = self.wait(self.world.0.logins.ear().ingest(&[new]))?;
        Ok(stored.first().is_some_and(|s| s.fresh))
    }

    fn typing(&mut self, who: &str, until: Millis) -> Result<(), WorldError> {
        self.wait(self.world.0.logins.ear().presence(self.stream, who, until))
    }

    fn set_policy(&mut self, policy: &Policy, _: Millis) -> Result<u64, WorldError> {
        let revision = self.wait(self.world.0.logins.admin().set_policy(self.stream, &policy_row(policy)))?;
        u64::try_from(revision).map_err(|e| WorldError::Wrong(e.to_string()))
    }

    fn put_job(&mut self, submission: &Submission, now: Millis) -> Result<(), WorldError> {
        let job = NewJob {
            dedupe: submission.key.clone(),
            due_ms: now,
            expires_ms: submission.expires_at,
            persona: submission.persona.clone(),
            text: submission.text.clone(),
        };
        self.wait(self.world.0.logins.admin().announce(self.stream, &job)).map(drop)
    }

    fn deliver(&mut self, input: Input) -> Result<(), WorldError> {
        match input {
            Input::Act(act) => self.answer(act.draft, Ok(ModelAct { act: act.act, settles: act.settles })),
            Input::DraftFailed(DraftFailed { draft, kind }) => self.answer(draft, Err(kind)),
            // The shell has no gate model, and says so by itself.
            Input::Verdict(_) => Ok(()),
            other => {
                if let Some(boot) = &mut self.boot {
                    boot.tell(other);
                }
                Ok(())
            }
        }
    }

    fn look(&mut self, _: Millis, cut: Option<Cut>) -> Result<Looked, WorldError> {
        let mut looked = Looked::default();
        let mut boot = if let Some(boot) = self.boot.take() {
            boot
        } else {
            looked.restarted = true;
            self.has_resumed = false;
            self.answered.clear();
            self.begin()?
        };
        if cut == Some(Cut::BeforeStore) {
            return Ok(looked);
        }
        let steps = self.wait(boot.look())?;
        if cut == Some(Cut::AnswerLost) && !steps.is_empty() && !self.wait(boot.store_again(&steps))? {
            return Err(WorldError::Wrong("steps that were stored were stored again".into()));
        }
        looked.steps = self.take(&steps)?;
        looked.begun = looked.steps.iter().flat_map(|s| &s.effects).filter(|e| is_begun(e)).cloned().collect::<Vec<Effect>>();
        if !std::mem::replace(&mut self.has_resumed, true) {
            looked.begun.extend(boot.room().pending());
        }
        match cut {
            Some(Cut::AfterEffects(_)) => {}
            Some(Cut::Overlap) => {
                self.overlap(boot)?;
                (self.has_resumed, self.answered) = (false, BTreeSet::new());
            }
            Some(Cut::BeforeStore | Cut::AnswerLost) | None => {
                self.boot = Some(boot);
                looked.alive = true;
            }
        }
        Ok(looked)
    }

    fn was_deaf(&mut self, _: Millis) {}

    fn kill(&mut self) {
        self.boot = None;
    }

    fn stop(&mut self, _: Millis) -> Result<Looked, WorldError> {
        let Some(boot) = self.boot.take() else { return Ok(Looked::default()) };
        let steps = self.wait(boot.rest())?;
        Ok(Looked { steps: self.take(&steps)?, ..Looked::default() })
    }

    fn machine(&self) -> Option<&Room> {
        self.boot.as_ref().map(ByHand::room)
    }

    fn look_at(&self) -> Option<Millis> {
        let boot = self.boot.as_ref()?;
        if boot.has_mail() { Some(Millis::MIN) } else { boot.look_at() }
    }

    fn stored(&mut self) -> Result<Room, WorldError> {
        let Some(boot) = &self.boot else { return Ok(self.twin.clone()) };
        let stored = self.wait(boot.stored())?.ok_or_else(|| WorldError::Wrong("what is stored cannot be read".into()))?;
        let same = serde_json::to_vec(&stored).ok() == serde_json::to_vec(&self.twin).ok();
        if same { Ok(stored) } else { Err(WorldError::Wrong("the stored inputs do not lead to the stored machine".into())) }
    }

    fn claim(&mut self, _: Millis, lease: Millis) -> Result<Option<Claimed>, WorldError> {
        let lease = Duration::from_millis(u64::try_from(lease).unwrap_or(0));
        self.wait(self.world.0.logins.mouth().claim(&[self.stream], lease))
    }

    fn settle(&mut self, row: &Claimed, platform_id: Option<&str>) -> Result<bool, WorldError> {
        self.wait(self.world.0.logins.mouth().settle(row.stream, row.n, row.fence, platform_id))
    }

    fn refuse(&mut self, row: &Claimed, reason: &str) -> Result<bool, WorldError> {
        self.wait(self.world.0.logins.mouth().refuse(row.stream, row.n, row.fence, reason))
    }

    fn park(&mut self, row: &Claimed) -> Result<bool, WorldError> {
        self.wait(self.world.0.logins.mouth().park(row.stream, row.n, row.fence, "no_answer"))
    }

    fn undecided(&mut self) -> Result<Vec<String>, WorldError> {
        let closed = self.boot.as_ref().is_some_and(|b| b.room().policy().mode == Mode::Shadow);
        let undecided = |state| state == RowState::Parked || closed && state == RowState::Claimed;
        let rows = self.wait(self.world.0.logins.reader().rows(self.stream, Page::Last, 500))?;
        Ok(rows.into_iter().filter(|r| undecided(r.state)).map(|r| r.dedupe).collect())
    }
}
