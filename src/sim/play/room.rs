//! One room while a script is played: its process, its models, what is due in it.

use std::collections::BTreeMap;

use parlor_core::{
    Act as DraftAnswer, Draft, DraftAct, DraftFailed, EffectId, EffectKind, Input, Millis, ObligationId, Outcome, Policy, RowKind, Verdict,
};

use super::{Counts, WorldFault, mouth::Mouth, people::Lines};
use crate::{
    replay::Random,
    sim::{
        check::{Checker, Rule},
        script::{Change, Cut, Setting, Talk},
        words,
        world::{Looked, Site},
    },
};

/// How often a room is looked at where no bell comes.
const POLL_MS: Millis = 5_000;
/// A stored machine is compared with the live one after this share of looks: reading one costs more than a hundred steps.
const COMPARED: f64 = 0.002;
/// A tick is tried before the wake after this share of looks.
const PROBED: f64 = 0.02;
/// A machine that has just looked may be due again at once so many times.
const MAX_LOOKS_AT_ONCE: u32 = 24;

/// See the module.
pub(in crate::sim) struct RoomPlay<S> {
    pub(super) site: S,
    pub(super) policy: Policy,
    pub(super) checker: Checker,
    pub(super) counts: Counts,
    pub(super) lines: Lines,
    pub(super) mouth: Mouth,
    pub(super) talk: Talk,
    draft_ms: Millis,
    twice: bool,
    gate: (f64, f64),
    gate_ms: Millis,
    drafts: BTreeMap<EffectId, (Millis, Draft)>,
    gates: BTreeMap<EffectId, Millis>,
    /// Something rang; the room looks then.
    rung: Option<Millis>,
    bells: bool,
    away_until: Option<Millis>,
    deaf: Option<(Millis, Millis)>,
    pub(super) cut: Option<Cut>,
    looks_at_once: (Millis, u32),
}

impl Setting {
    pub(super) fn policy(self) -> Policy {
        let mut policy = Policy::new(words::members(self.members));
        policy.gate = self.gate;
        policy.slow_mode_ms = self.slow_mode_ms;
        policy.budget.unprompted_per_hour = self.unprompted_per_hour;
        policy.budget.agent_turns = self.agent_turns;
        if self.shadow {
            policy.mode = parlor_core::Mode::Shadow;
        }
        if self.direct {
            policy.audience = parlor_core::Audience::Direct;
        }
        policy
    }
}

impl<S: Site> RoomPlay<S> {
    pub(super) fn new(room: usize, site: S, setting: Setting) -> Self {
        let policy = setting.policy();
        Self {
            site,
            policy,
            checker: Checker::new(room),
            counts: Counts::default(),
            lines: Lines::default(),
            mouth: Mouth::new(setting.pace_ms),
            talk: Talk::Reply,
            draft_ms: 3_000,
            twice: false,
            gate: (0.1, 0.2),
            gate_ms: 300,
            drafts: BTreeMap::new(),
            gates: BTreeMap::new(),
            rung: None,
            bells: true,
            away_until: None,
            deaf: None,
            cut: None,
            looks_at_once: (0, 0),
        }
    }

    /// When something happens here next.
    pub(super) fn next_due(&self) -> Option<Millis> {
        let models = self.drafts.values().map(|(t, _)| *t).chain(self.gates.values().copied()).min();
        let mut due = [models, self.mouth.due(), self.lines.echo_due()].into_iter().flatten().min();
        let held = self.away_until.or(self.deaf.map(|(_, until)| until));
        let looks = match (held, self.site.machine()) {
            (Some(until), _) => Some(until),
            (None, None) => Some(Millis::MIN),
            (None, Some(machine)) => machine.next_wake().into_iter().chain(self.rung).chain(self.site.look_at()).min(),
        };
        due = due.into_iter().chain(looks).min();
        due
    }

    /// The next thing happens.
    pub(super) fn happen(&mut self, now: Millis, dice: &mut Random) -> Result<(), WorldFault> {
        if let Some(draft) = self.drafts.iter().find(|(_, (t, _))| *t <= now).map(|(id, _)| *id) {
            return self.draft_ends(draft, now);
        }
        if let Some(gate) = self.gates.iter().find(|(_, t)| **t <= now).map(|(id, _)| *id) {
            self.gates.remove(&gate);
            let (me, room) = self.gate;
            self.site.deliver(Input::Verdict(Verdict { gate, me, room }))?;
            self.rung = Some(now);
            return Ok(());
        }
        if self.lines.echo_due().is_some_and(|t| t <= now) {
            return self.late_echo(now);
        }
        if self.mouth.due().is_some_and(|t| t <= now) {
            return self.mouth_turn(now);
        }
        self.away_until.take_if(|t| *t <= now);
        if let Some((since, _)) = self.deaf.take_if(|(_, until)| *until <= now) {
            self.site.was_deaf(since);
        }
        self.look(now, dice)
    }

    /// Something happened in the room's store: the process looks now, or when it next does by itself.
    pub(super) fn ring(&mut self, now: Millis) {
        let at = if self.bells { now } else { now + POLL_MS };
        self.rung = Some(self.rung.map_or(at, |t| t.min(at)));
    }

    /// Something may have happened that rings no bell.
    pub(super) fn polled(&mut self, now: Millis) {
        self.rung = Some(self.rung.map_or(now + POLL_MS, |t| t.min(now + POLL_MS)));
    }

    /// The process reads, steps, stores, acts.
    pub(super) fn look(&mut self, now: Millis, dice: &mut Random) -> Result<(), WorldFault> {
        if self.away_until.is_some() || self.deaf.is_some() {
            return Ok(());
        }
        self.rung = None;
        let cut = self.cut.take();
        let looked = self.site.look(now, cut)?;
        if looked.restarted {
            self.counts.restarts += 1;
            self.drafts.clear();
            self.gates.clear();
        }
        let alive = looked.alive;
        self.take(looked, now)?;
        if alive {
            for id in std::mem::take(&mut self.lines.gone) {
                self.checker.deleted(&id);
            }
        }
        if cut.is_some() {
            self.counts.crashes += 1;
        }
        if !alive {
            self.drafts.clear();
            self.gates.clear();
        }
        self.probe(now, dice)
    }

    /// Checks and counts what was stored, and begins what was asked for.
    fn take(&mut self, looked: Looked, now: Millis) -> Result<(), WorldFault> {
        for step in &looked.steps {
            self.counts.steps += 1;
            if let Input::Outbox(result) = step.input.as_ref() {
                match result.outcome {
                    Outcome::Refused { .. } => self.counts.refused += 1,
                    Outcome::Withdrawn => self.counts.withdrawn += 1,
                    Outcome::Parked { .. } => self.counts.parked += 1,
                    Outcome::Settled { .. } | Outcome::Expired => {}
                }
            }
            for effect in &step.effects {
                if let EffectKind::Submit(row) = &effect.kind {
                    self.counts.rows += 1;
                    self.counts.shadows += u64::from(row.shadow);
                    self.mouth.wake(now);
                    self.lines.note_row(row);
                }
            }
            self.checker.step(step, &self.policy)?;
        }
        for effect in looked.begun {
            match effect.kind {
                EffectKind::Draft(draft) => {
                    self.counts.drafts += 1;
                    if self.talk != Talk::Never {
                        self.drafts.entry(effect.id).or_insert((now + self.draft_ms, draft));
                    }
                }
                EffectKind::Gate(_) => {
                    self.counts.gates += 1;
                    if self.gate_ms >= 0 {
                        self.gates.entry(effect.id).or_insert(now + self.gate_ms);
                    }
                }
                // A late answer is one that nobody waits for any more: it comes all the same, half of the time.
                EffectKind::CancelDraft { draft } if draft.input % 2 == 0 => drop(self.drafts.remove(&draft)),
                _ => {}
            }
        }
        Ok(())
    }

    /// A machine that was just asked wants nothing at once; before its wake it wants nothing at all; what is stored is what runs.
    fn probe(&mut self, now: Millis, dice: &mut Random) -> Result<(), WorldFault> {
        let Some(machine) = self.site.machine() else { return Ok(()) };
        let wake = machine.next_wake();
        if wake.is_some_and(|t| t <= now) {
            let (at, times) = self.looks_at_once;
            self.looks_at_once = if at == now { (now, times + 1) } else { (now, 1) };
            if self.looks_at_once.1 > MAX_LOOKS_AT_ONCE {
                return Err(self.checker.fails(Rule::Wake, now, format!("it asks for {wake:?} again and again")).into());
            }
        }
        if dice.chance(PROBED) {
            self.counts.probes += 1;
            // The tick that ends a gap is a wake of its own.
            let early = wake.map_or(now + 86_400_000, |t| t - 1);
            if early > now {
                let effects = machine.clone().step(early, Input::Tick);
                if !effects.is_empty() {
                    let what = format!("a tick at {early}, before {wake:?}, did {} things", effects.len());
                    return Err(self.checker.fails(Rule::Wake, now, what).into());
                }
            }
        }
        if dice.chance(COMPARED) {
            self.compare(now)?;
        }
        Ok(())
    }

    /// The stored machine is the live one, text by text.
    pub(super) fn compare(&mut self, now: Millis) -> Result<(), WorldFault> {
        let Some(live) = self.site.machine().map(serde_json::to_vec) else { return Ok(()) };
        self.counts.restores += 1;
        let stored = serde_json::to_vec(&self.site.stored()?);
        let what = match (live, stored) {
            (Ok(live), Ok(stored)) if live == stored => return Ok(()),
            (Ok(live), Ok(stored)) => differences(&live, &stored),
            (Err(e), _) | (_, Err(e)) => format!("it cannot be written down: {e}"),
        };
        Err(self.checker.fails(Rule::Restored, now, what).into())
    }

    fn draft_ends(&mut self, id: EffectId, now: Millis) -> Result<(), WorldFault> {
        let Some((_, draft)) = self.drafts.remove(&id) else { return Ok(()) };
        let answer = self.answer(id, &draft);
        self.counts.failures += u64::from(matches!(answer, Input::DraftFailed(_)));
        if self.twice {
            self.site.deliver(answer.clone())?;
        }
        self.site.deliver(answer)?;
        self.rung = Some(now);
        Ok(())
    }

    fn answer(&self, id: EffectId, draft: &Draft) -> Input {
        let all: Vec<ObligationId> = draft.owed.iter().map(|o| o.id).collect();
        let act = |settles, act| Input::Act(DraftAnswer { draft: id, settles, act });
        let reply = |text: String| DraftAct::Reply { text };
        match self.talk {
            Talk::Reply | Talk::Never => act(all, reply(unlike(id, draft))),
            Talk::Same => act(all, reply("It is fired at cone six, for some hours, and left alone until it is cold.".into())),
            Talk::Echoing => act(all, reply(self.lines.last_said().unwrap_or("so it is").to_owned())),
            Talk::First => act(all.into_iter().take(1).collect(), reply(unlike(id, draft))),
            Talk::Strange => act(vec![ObligationId { input: u64::MAX, index: u16::MAX }], reply(unlike(id, draft))),
            Talk::Token => act(all, reply("NO_REPLY".into())),
            Talk::Empty => act(all, reply(" ".into())),
            Talk::React => act(all, DraftAct::React { emoji: "\u{1f44c}".into() }),
            Talk::Pass => act(all, DraftAct::Pass { reason: "nothing to add".into() }),
            Talk::Fail(kind) => Input::DraftFailed(DraftFailed { draft: id, kind }),
        }
    }

    pub(super) fn model(&mut self, talk: Talk, ms: Millis, twice: bool) {
        (self.talk, self.draft_ms, self.twice) = (talk, ms, twice);
    }

    pub(super) fn gate_model(&mut self, me: f64, room: f64, ms: Millis) {
        (self.gate, self.gate_ms) = ((me, room), ms);
    }

    pub(super) fn bells(&mut self, come: bool) {
        self.bells = come;
    }

    pub(super) fn goes_away(&mut self, now: Millis, ms: Millis) {
        self.site.kill();
        self.counts.crashes += 1;
        self.drafts.clear();
        self.gates.clear();
        self.away_until = Some(now + ms);
    }

    pub(super) fn goes_deaf(&mut self, now: Millis, ms: Millis) {
        self.deaf = Some((now, now + ms));
    }

    pub(super) fn stops(&mut self, now: Millis) -> Result<(), WorldFault> {
        if self.deaf.is_some() || self.away_until.is_some() {
            return Ok(());
        }
        let looked = self.site.stop(now)?;
        self.take(looked, now)?;
        self.drafts.clear();
        self.gates.clear();
        Ok(())
    }

    pub(super) fn change(&mut self, change: Change, now: Millis) -> Result<(), WorldFault> {
        let p = &mut self.policy;
        match change {
            Change::Mute(on) => p.muted = on,
            Change::Stop(on) => p.stopped = on,
            Change::Shadow(on) => p.mode = if on { parlor_core::Mode::Shadow } else { parlor_core::Mode::Active },
            Change::Members(count) => p.members = words::members(count),
            Change::Unprompted(n) => p.budget.unprompted_per_hour = n,
            Change::AgentTurns(n) => p.budget.agent_turns = n,
            Change::Gate(kind) => p.gate = kind,
            Change::SlowMode(ms) => p.slow_mode_ms = ms,
            Change::Direct(on) => p.audience = if on { parlor_core::Audience::Direct } else { parlor_core::Audience::Room },
        }
        self.counts.mutes += u64::from(change == Change::Mute(true));
        self.policy.revision = self.site.set_policy(&self.policy, now)?;
        self.mouth.wake(now);
        self.ring(now);
        Ok(())
    }

    /// From now on everything works and nothing is forbidden.
    pub(super) fn calm(&mut self, now: Millis, dice: &mut Random) -> Result<(), WorldFault> {
        (self.away_until, self.bells, self.cut) = (None, true, None);
        if let Some((since, _)) = self.deaf.take() {
            self.site.was_deaf(since);
        }
        self.model(Talk::Reply, 3_000, false);
        self.gate_model(0.1, 0.2, 300);
        self.mouth.mend(now);
        self.change(Change::Stop(false), now)?;
        self.change(Change::Mute(false), now)?;
        self.look(now, dice)?;
        self.compare(now)
    }

    /// What is still owed waits for a person who decides about a parked row, and for nothing else.
    pub(super) fn nothing_is_forgotten(&mut self, now: Millis) -> Result<(), WorldFault> {
        let undecided = self.site.undecided()?;
        let waits: Vec<ObligationId> = undecided.iter().filter_map(|key| self.checker.settles(key)).flatten().copied().collect();
        let left: Vec<ObligationId> = self.checker.open.iter().filter(|id| !waits.contains(id)).copied().collect();
        if left.is_empty() { Ok(()) } else { Err(self.checker.fails(Rule::Forgotten, now, format!("{left:?} are still owed")).into()) }
    }

    pub(super) fn is_at_rest(&mut self, now: Millis) -> Result<(), WorldFault> {
        self.compare(now)?;
        let wake = self.site.machine().and_then(parlor_core::Room::next_wake);
        match wake {
            None => Ok(()),
            Some(t) => Err(self.checker.fails(Rule::Forgotten, now, format!("the silent room still waits for {t}")).into()),
        }
    }

    pub(super) fn posted(&mut self, kind: &RowKind) {
        match kind {
            RowKind::Post { .. } => self.counts.posts += 1,
            RowKind::React { .. } => self.counts.reactions += 1,
        }
    }
}

/// Words that no other draft has, so that nothing counts as said already.
fn unlike(id: EffectId, draft: &Draft) -> String {
    let words = ["cone", "glaze", "shelf", "engobe", "raku", "bisque", "grog", "celadon", "saggar", "slip", "ash", "salt"];
    let mut dice = Random::new(id.input, "words");
    let some: Vec<&str> = (0..8).filter_map(|_| dice.pick(&words).copied()).collect();
    format!("{id}: {} of {} for {} lines", some.join(" "), draft.owed.len(), draft.cursor)
}

/// The fields in which two machines differ, without what stands in them.
fn differences(live: &[u8], stored: &[u8]) -> String {
    let [live, stored] = [live, stored].map(|text| serde_json::from_slice::<serde_json::Value>(text).unwrap_or_default());
    let fields = live.as_object().into_iter().flatten().filter(|(k, v)| stored.get(k) != Some(v)).map(|(k, _)| k.as_str());
    format!("they differ in {}", fields.collect::<Vec<_>>().join(", "))
}
