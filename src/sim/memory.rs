//! Rooms in memory: an exact small ledger, and the steps of a room's process without anything that waits (`crate::actor` does
//! the same around the real ledger).

mod ledger;

use std::{collections::BTreeMap, mem, rc::Rc};

use parlor_core::{Echo, Effect, EffectKind, Input, Item, ItemKind, Millis, Mode, OutboxResult, Policy, Room, Row, Submission, What};

use super::{
    broken::Broken,
    script::Cut,
    world::{Event, Looked, Site, Stepped, World, WorldError},
};
use crate::ledger::Claimed;
use ledger::{Ledger, Places, Write};

/// As the real shell does it (`actor::batch`).
const SNAPSHOT_EVERY: u64 = 256;
/// Deaf for longer than this, what was said meanwhile is a backlog (`actor::room`).
const GAP_MS: Millis = 5_000;

/// Makes rooms in memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    pub(super) broken: Option<Broken>,
}

impl World for Memory {
    type Site = MemorySite;

    fn site(&mut self, _: usize, policy: &Policy) -> Result<MemorySite, WorldError> {
        Ok(MemorySite { broken: self.broken, ledger: Ledger::new(policy, self.broken), boot: None, lost_input: false })
    }

    fn set_now(&mut self, _: Millis) -> Result<(), WorldError> {
        Ok(())
    }
}

/// A room in memory.
pub(super) struct MemorySite {
    broken: Option<Broken>,
    ledger: Ledger,
    boot: Option<Boot>,
    /// Whether the world has lost an input; see [`Broken::LoseInput`].
    lost_input: bool,
}

/// A running process.
struct Boot {
    id: u64,
    machine: Room,
    places: Places,
    clock: Millis,
    arrived: Vec<Input>,
    typing: BTreeMap<String, Millis>,
    has_read: bool,
    has_resumed: bool,
    deaf_since: Option<Millis>,
}

/// What one look stepped.
#[derive(Default)]
struct Batch {
    steps: Vec<Stepped>,
    writes: Vec<Write>,
}

impl Boot {
    fn begin(ledger: &mut Ledger, lost: bool) -> Result<Self, WorldError> {
        let id = ledger.begin();
        let machine = restored(ledger, lost)?;
        let clock = ledger.inputs.last().map_or(Millis::MIN, |(now, _)| *now);
        Ok(Self {
            id,
            machine,
            places: ledger.places,
            clock,
            arrived: Vec::new(),
            typing: BTreeMap::new(),
            has_read: false,
            has_resumed: false,
            deaf_since: None,
        })
    }

    /// Reads everything after its places and steps the machine.
    fn round(&mut self, ledger: &mut Ledger, now: Millis, broken: Option<Broken>) -> Batch {
        self.clock = self.clock.max(now);
        let mut batch = Batch::default();
        if ledger.policy.revision != self.places.policy {
            self.places.policy = ledger.policy.revision;
            let told = told(&ledger.policy, broken);
            self.feed(&mut batch, Input::Policy(Box::new(told)), None, broken);
        }
        let deaf = self.deaf_since.take().is_some_and(|since| now - since > GAP_MS);
        if !mem::replace(&mut self.has_read, true) || deaf {
            self.feed(&mut batch, Input::Resumed, None, broken);
        }
        if broken != Some(Broken::LoseOutcomes) {
            for (n, row, outcome) in ledger.outcomes_after(self.places.outcome_n) {
                self.places.outcome_n = n;
                self.feed(&mut batch, Input::Outbox(OutboxResult { row, outcome }), None, broken);
            }
        }
        let from = usize::try_from(self.places.seq).unwrap_or(usize::MAX);
        for (item, row) in ledger.items.get(from..).unwrap_or_default() {
            self.places.seq = item.seq;
            if broken != Some(Broken::HideDeletes) || item.kind != ItemKind::Delete {
                self.feed(&mut batch, input_of(item, row.as_ref()), None, broken);
            }
        }
        self.typists(&mut batch, ledger, now);
        if ledger.next_job().is_some_and(|due| due <= now) {
            for (n, submission) in ledger.claim_jobs(now) {
                self.feed(&mut batch, Input::Submission(submission), Some(n), broken);
            }
        }
        for input in mem::take(&mut self.arrived) {
            self.feed(&mut batch, input, None, broken);
        }
        if broken != Some(Broken::LoseTicks) && self.machine.next_wake().is_some_and(|due| due <= self.clock) {
            self.feed(&mut batch, Input::Tick, None, broken);
        }
        batch
    }

    fn typists(&mut self, batch: &mut Batch, ledger: &Ledger, now: Millis) {
        if ledger.typing.is_empty() && self.typing.is_empty() {
            return;
        }
        let typing: BTreeMap<String, Millis> =
            ledger.typing.iter().filter(|(_, until)| **until > now).map(|(w, u)| (w.clone(), *u)).collect();
        let went_on = typing.iter().filter(|(who, until)| self.typing.get(*who).is_none_or(|known| known < *until));
        let inputs: Vec<Input> = went_on.map(|(who, _)| Input::Typing { author: who.clone() }).collect();
        self.typing = typing;
        for input in inputs {
            self.feed(batch, input, None, None);
        }
    }

    fn feed(&mut self, batch: &mut Batch, input: Input, job: Option<usize>, broken: Option<Broken>) {
        let input = Rc::new(input);
        let mut effects = self.machine.step(self.clock, input.as_ref().clone());
        if broken == Some(Broken::MeetTwice) {
            effects.extend(effects.clone().into_iter().filter_map(with_another_key));
        }
        let n = self.machine.inputs();
        let mut write = Write { n, now: self.clock, input: Some(Rc::clone(&input)), job, ..Write::default() };
        for effect in &effects {
            match &effect.kind {
                EffectKind::Submit(row) => write.rows.push(row.clone()),
                EffectKind::Withdraw { row } => write.withdrawals.push(row.clone()),
                EffectKind::Gate(_)
                | EffectKind::Draft(_)
                | EffectKind::CancelDraft { .. }
                | EffectKind::Typing { .. }
                | EffectKind::Record(_) => {}
            }
        }
        batch.writes.push(write);
        batch.steps.push(Stepped { n, now: self.clock, input, effects, tally: self.machine.tally(), open: self.machine.open() });
    }
}

impl MemorySite {
    fn store(&mut self, boot: &Boot, batch: &Batch, now: Millis, again: bool, rest: bool) -> Result<(), WorldError> {
        if !batch.writes.is_empty() {
            self.ledger.step(boot.id, &batch.writes, boot.places, now)?;
        }
        if again && !self.ledger.step(boot.id, &batch.writes, boot.places, now)? && self.broken != Some(Broken::ForgetStep) {
            return Err(WorldError::Wrong("a step that was stored was stored again".into()));
        }
        let before = boot.machine.inputs() - batch.writes.len() as u64;
        if rest || boot.machine.inputs() / SNAPSHOT_EVERY != before / SNAPSHOT_EVERY {
            self.ledger.snapshot = Some(serde_json::to_vec(&boot.machine).map_err(|e| WorldError::Wrong(e.to_string()))?);
            self.ledger.inputs.clear();
        }
        Ok(())
    }

    /// What is lost of what was stepped, in a broken world.
    fn lose(&self, batch: &mut Batch) {
        for step in &mut batch.steps {
            match self.broken {
                Some(Broken::LoseIgnored) => step.effects.retain(|e| !recorded(e, What::Ignored)),
                Some(Broken::LoseOpened) => step.effects.retain(|e| !recorded(e, What::Opened)),
                Some(Broken::KeepDrafts) => step.effects.retain(|e| !matches!(e.kind, EffectKind::CancelDraft { .. })),
                Some(Broken::LoseSettles) => step.effects.iter_mut().for_each(without_settles),
                _ => {}
            }
        }
    }

    /// Another process begins while this one runs, which then looks once more and must not write.
    fn overlap(&mut self, mut old: Boot, now: Millis) -> Result<(), WorldError> {
        let mut new = Boot::begin(&mut self.ledger, false)?;
        new.clock = old.clock;
        self.boot = Some(new);
        old.arrived.push(Input::Typing { author: "u1".into() });
        let batch = old.round(&mut self.ledger, now, self.broken);
        match self.store(&old, &batch, now, false, false) {
            Err(WorldError::Wrong(why)) if why == "fenced" => Ok(()),
            Err(other) => Err(other),
            Ok(()) => Err(WorldError::Wrong("a process that another has followed stored a step".into())),
        }
    }
}

impl Site for MemorySite {
    fn hear(&mut self, event: &Event) -> Result<bool, WorldError> {
        Ok(self.ledger.hear(event))
    }

    fn typing(&mut self, who: &str, until: Millis) -> Result<(), WorldError> {
        self.ledger.typing.insert(who.to_owned(), until);
        Ok(())
    }

    fn set_policy(&mut self, policy: &Policy, _: Millis) -> Result<u64, WorldError> {
        Ok(self.ledger.set_policy(policy))
    }

    fn put_job(&mut self, submission: &Submission, _: Millis) -> Result<(), WorldError> {
        self.ledger.put_job(submission);
        Ok(())
    }

    fn deliver(&mut self, input: Input) -> Result<(), WorldError> {
        if let Some(boot) = &mut self.boot {
            boot.arrived.push(input);
        }
        Ok(())
    }

    fn look(&mut self, now: Millis, cut: Option<Cut>) -> Result<Looked, WorldError> {
        let mut looked = Looked::default();
        let mut boot = if let Some(boot) = self.boot.take() {
            boot
        } else {
            looked.restarted = true;
            let lose = self.broken == Some(Broken::LoseInput) && !self.ledger.inputs.is_empty();
            self.lost_input |= lose;
            let mut boot = Boot::begin(&mut self.ledger, lose)?;
            boot.clock = boot.clock.max(now);
            boot
        };
        let mut batch = boot.round(&mut self.ledger, now, self.broken);
        if cut == Some(Cut::BeforeStore) {
            return Ok(looked);
        }
        self.store(&boot, &batch, now, cut == Some(Cut::AnswerLost), false)?;
        self.lose(&mut batch);
        let of_steps = batch.steps.iter().flat_map(|s| &s.effects);
        looked.begun = of_steps.filter(|e| is_begun(e)).cloned().collect();
        if !mem::replace(&mut boot.has_resumed, true) {
            looked.begun.extend(boot.machine.pending());
        }
        looked.steps = batch.steps;
        match cut {
            Some(Cut::AfterEffects(k)) => looked.begun.truncate(k),
            Some(Cut::Overlap) => self.overlap(boot, now)?,
            Some(Cut::BeforeStore | Cut::AnswerLost) | None => {
                self.boot = Some(boot);
                looked.alive = true;
            }
        }
        Ok(looked)
    }

    fn was_deaf(&mut self, since: Millis) {
        if let Some(boot) = &mut self.boot {
            boot.deaf_since.get_or_insert(since);
        }
    }

    fn kill(&mut self) {
        self.boot = None;
    }

    fn stop(&mut self, now: Millis) -> Result<Looked, WorldError> {
        let Some(mut boot) = self.boot.take() else { return Ok(Looked::default()) };
        boot.clock = boot.clock.max(now);
        let mut batch = Batch::default();
        boot.feed(&mut batch, Input::Tick, None, self.broken);
        self.store(&boot, &batch, now, false, true)?;
        self.lose(&mut batch);
        Ok(Looked { steps: batch.steps, ..Looked::default() })
    }

    fn machine(&self) -> Option<&Room> {
        self.boot.as_ref().map(|b| &b.machine)
    }

    fn look_at(&self) -> Option<Millis> {
        self.ledger.next_job()
    }

    fn stored(&mut self) -> Result<Room, WorldError> {
        restored(&mut self.ledger, self.lost_input || self.broken == Some(Broken::StaleStore))
    }

    fn claim(&mut self, now: Millis, lease: Millis) -> Result<Option<Claimed>, WorldError> {
        Ok(self.ledger.claim(now, lease))
    }

    fn settle(&mut self, row: &Claimed, platform_id: Option<&str>) -> Result<bool, WorldError> {
        Ok(self.ledger.settle(row, platform_id))
    }

    fn refuse(&mut self, row: &Claimed, _: &str) -> Result<bool, WorldError> {
        Ok(self.ledger.refuse(row))
    }

    fn park(&mut self, row: &Claimed) -> Result<bool, WorldError> {
        Ok(self.ledger.park(row))
    }

    fn forgets_nonces(&self) -> bool {
        self.broken == Some(Broken::ForgetNonce)
    }

    fn undecided(&mut self) -> Result<Vec<String>, WorldError> {
        Ok(self.ledger.undecided())
    }
}

/// The machine as stored; `lose` leaves out its last input.
fn restored(ledger: &mut Ledger, lose: bool) -> Result<Room, WorldError> {
    let start = match &ledger.snapshot {
        Some(state) => serde_json::from_slice(state).map_err(|e| WorldError::Wrong(format!("a snapshot cannot be read: {e}")))?,
        None => Room::new(closed()),
    };
    let keep = ledger.inputs.len() - usize::from(lose && !ledger.inputs.is_empty());
    let since = ledger.inputs.iter().take(keep).map(|(now, input)| (*now, input.as_ref().clone()));
    let room = Room::restore(start, since);
    if room.inputs() == ledger.input_n {
        return Ok(room);
    }
    // So that a broken world stumbles over what it lost, not over a number.
    Ok(room.numbered_from(ledger.input_n))
}

/// As `actor::policy` has it: nobody has said anything about the room yet.
pub(super) fn closed() -> Policy {
    Policy { revision: 0, mode: Mode::Shadow, muted: true, stopped: true, ..Policy::new(Vec::new()) }
}

fn told(policy: &Policy, broken: Option<Broken>) -> Policy {
    let mut told = policy.clone();
    match broken {
        Some(Broken::HideMute) => (told.muted, told.stopped) = (false, false),
        Some(Broken::HideShadow) => told.mode = Mode::Active,
        Some(Broken::HideBudget) => told.budget.unprompted_per_hour = 1_000,
        Some(Broken::HideTurns) => told.budget.agent_turns = 1_000,
        _ => {}
    }
    told
}

fn input_of(item: &Item, row: Option<&String>) -> Input {
    match row {
        Some(row) => Input::Echo(Echo { row: row.clone(), item: item.clone() }),
        None => Input::Item(item.clone()),
    }
}

pub(super) fn is_begun(effect: &Effect) -> bool {
    matches!(effect.kind, EffectKind::Gate(_) | EffectKind::Draft(_) | EffectKind::CancelDraft { .. })
}

fn recorded(effect: &Effect, what: What) -> bool {
    matches!(&effect.kind, EffectKind::Record(d) if d.what == what)
}

fn with_another_key(effect: Effect) -> Option<Effect> {
    let EffectKind::Submit(row) = effect.kind else { return None };
    let row = Row { dedupe: format!("{} again", row.dedupe), ..row };
    Some(Effect { kind: EffectKind::Submit(row), ..effect })
}

fn without_settles(effect: &mut Effect) {
    if let EffectKind::Submit(Row { settles, .. }) = &mut effect.kind {
        settles.clear();
    }
}
