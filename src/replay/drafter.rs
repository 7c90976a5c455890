//! Drafts by a model instead of the stub: asked one at a time, counted, and ended at a cap.
//!
//! Whoever starts the replay brings the model; nothing here knows a provider. On the virtual clock a draft takes its fixed time
//! whatever the provider takes, and it is asked for only when that time is over: a draft that was given up costs nothing. Once a
//! cap is reached the rest of the run has the stub's empty drafts, so that its figures are still about the whole archive.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
};

use parlor_core::{Act, Draft, DraftAct, DraftFailed, EffectId, Failure, Input, Item, Member, Millis, ObligationId};
use serde::Serialize;
use serde_json::{Value, json};

use crate::ports::{ModelAct, ModelCall};

/// Writes drafts for the machines of a replay.
pub trait Drafter {
    /// Takes a place in a room.
    fn desk(&self, room: &str, persona: &Member) -> Box<dyn Desk>;
    /// Waits for one answer.
    fn ask(&self, call: ModelCall) -> Result<ModelAct, Failure>;
    /// What was spent so far.
    fn spent(&self) -> Spent;
}

/// What a drafter knows of one room.
pub trait Desk {
    /// Something is in the room now.
    fn heard(&mut self, item: &Item);
    /// The call for a draft, with the room as it is now.
    fn call(&mut self, draft: &Draft) -> ModelCall;
}

/// What calls have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Tokens, read and written.
    pub tokens: u64,
    /// Millionths of a dollar.
    pub cost_microusd: u64,
}

/// A drafter within its caps, and what came of it.
pub(super) struct Drafts {
    drafter: Rc<dyn Drafter>,
    most: u64,
    tally: RefCell<Tally>,
    stopped: Cell<bool>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Tally {
    asked: u64,
    replies: u64,
    reactions: u64,
    passes: u64,
    /// Failed drafts by their kind.
    failed: BTreeMap<&'static str, u64>,
    /// Given up before their time was over, and never asked for.
    given_up: u64,
    /// Drafts of the stub after the cap.
    empty: u64,
    stopped: Option<Stopped>,
}

/// Where a run went on without the model.
#[derive(Clone, Debug, Serialize)]
struct Stopped {
    /// The option whose cap was reached.
    by: &'static str,
    room: String,
    ts: Millis,
}

impl Drafts {
    pub(super) fn new(drafter: Rc<dyn Drafter>, most: u64) -> Self {
        Self { drafter, most, tally: RefCell::default(), stopped: Cell::new(false) }
    }

    fn stop(&self, by: &'static str, room: &str, ts: Millis) {
        self.stopped.set(true);
        self.tally.borrow_mut().stopped = Some(Stopped { by, room: room.to_owned(), ts });
    }

    /// The model's answer; none once a cap is reached.
    fn ask(&self, call: ModelCall, ts: Millis) -> Option<Result<ModelAct, Failure>> {
        if !self.stopped.get() && self.tally.borrow().asked >= self.most {
            self.stop("--max-drafts", &call.room, ts);
        }
        if self.stopped.get() {
            self.tally.borrow_mut().empty += 1;
            return None;
        }
        let room = call.room.clone();
        let answer = self.drafter.ask(call);
        let mut tally = self.tally.borrow_mut();
        if matches!(answer, Err(Failure::OverBudget)) {
            tally.empty += 1;
            drop(tally);
            self.stop("--max-cost", &room, ts);
            return None;
        }
        tally.asked += 1;
        match &answer {
            Ok(ModelAct { act: DraftAct::Reply { .. }, .. }) => tally.replies += 1,
            Ok(ModelAct { act: DraftAct::React { .. }, .. }) => tally.reactions += 1,
            Ok(ModelAct { act: DraftAct::Pass { .. }, .. }) => tally.passes += 1,
            Err(failure) => *tally.failed.entry(word(*failure)).or_default() += 1,
        }
        Some(answer)
    }

    /// What is said of it in a report.
    pub(super) fn summary(&self) -> Summary {
        Summary { tally: self.tally.borrow().clone(), spent: self.drafter.spent() }
    }
}

fn word(failure: Failure) -> &'static str {
    match failure {
        Failure::Timeout => "timeout",
        Failure::Provider => "provider",
        Failure::NoAct => "no_act",
        Failure::Refused => "refused",
        Failure::OverBudget => "over_budget",
        Failure::NoBooks => "no_books",
    }
}

/// What came of the drafts.
#[derive(Clone, Debug)]
pub(super) struct Summary {
    tally: Tally,
    spent: Spent,
}

impl Summary {
    pub(super) fn json(&self) -> Value {
        let mut json = json!(self.tally);
        if let Some(json) = json.as_object_mut() {
            json.insert("tokens".into(), self.spent.tokens.into());
            json.insert("cost_usd".into(), (self.spent.cost_microusd as f64 / 1e6).into());
        }
        json
    }

    /// In sentences.
    pub(super) fn lines(&self) -> Vec<String> {
        let Tally { asked, replies, reactions, passes, failed, given_up, empty, stopped } = &self.tally;
        let failures = match failed.iter().map(|(kind, n)| format!("{n} {kind}")).collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "none".to_owned(),
            some => some,
        };
        let mut lines = vec![format!(
            "The model wrote {asked} drafts for ${:.4} ({} tokens): {replies} replies, {reactions} reactions, {passes} passes; failed: {failures}; \
             {given_up} were given up before their time",
            self.spent.cost_microusd as f64 / 1e6,
            self.spent.tokens
        )];
        if let Some(Stopped { by, room, ts }) = stopped {
            let at = jiff::Timestamp::from_millisecond(*ts).map_or_else(|_| ts.to_string(), |t| t.to_string());
            lines.push(format!("{by} was reached in room {room:?} at {at}: {empty} drafts from there on are empty, as without a model"));
        }
        lines
    }
}

/// What a machine's drafts are written with.
pub(super) struct Pen(Option<(Rc<Drafts>, Box<dyn Desk>)>);

impl Pen {
    pub(super) fn new(drafts: Option<&Rc<Drafts>>, room: &str, persona: &Member) -> Self {
        Self(drafts.map(|drafts| (Rc::clone(drafts), drafts.drafter.desk(room, persona))))
    }

    pub(super) fn heard(&mut self, item: &Item) {
        if let Some((_, desk)) = &mut self.0 {
            desk.heard(item);
        }
    }

    /// Begins a draft: what the room holds now is what it is about.
    pub(super) fn begin(&mut self, draft: &Draft) -> Option<Box<ModelCall>> {
        self.0.as_mut().map(|(_, desk)| Box::new(desk.call(draft)))
    }

    /// A draft was given up.
    pub(super) fn drop_draft(&self) {
        if let Some((drafts, _)) = &self.0 {
            drafts.tally.borrow_mut().given_up += 1;
        }
    }

    /// Ends a draft.
    pub(super) fn finish(&self, call: Option<Box<ModelCall>>, draft: EffectId, settles: Vec<ObligationId>, now: Millis) -> Input {
        let answer = self.0.as_ref().zip(call).and_then(|((drafts, _), call)| drafts.ask(*call, now));
        match answer {
            None => Input::Act(Act { draft, settles, act: DraftAct::Reply { text: String::new() } }),
            Some(Ok(ModelAct { act, settles })) => Input::Act(Act { draft, settles, act }),
            Some(Err(kind)) => Input::DraftFailed(DraftFailed { draft, kind }),
        }
    }
}
