//! The floor: one draft in flight, one row out, one pause after a post. Only a tick moves it.

use serde::{Deserialize, Serialize};

use super::{About, Out, Room, outbox::Sending};
use crate::{
    Act, Draft, DraftAct, DraftFailed, EffectId, EffectKind, Failure, Millis, ObligationId, ObligationKind, ObligationState, Owed,
    Submission, What, Why, obligation::Obligation, people::PersonaNo,
};

/// Waits after the first and second failure of a draft (floor.md 3); the third ends it.
const RETRY_MS: [Millis; 2] = [10_000, 30_000];
/// While the budget is used up it is looked at again this often; the question does not age meanwhile.
const BUDGET_RETRY_MS: Millis = 90_000;
/// A database that is away is asked again this soon: it comes back by itself, and somebody waits for an answer.
const BOOKS_RETRY_MS: Millis = 5_000;
/// A tick moves the floor at most this many steps; each step ends something, so more is never needed.
const MAX_MOVES: usize = 16;

/// Who has the floor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Floor {
    Idle,
    Drafting(Flight),
    Validating(Flight, Ready),
    Sending(Box<Sending>),
    Cooldown { until: Millis },
}

/// A draft under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Flight {
    pub(super) draft: EffectId,
    pub(super) persona: PersonaNo,
    pub(super) owed: Vec<ObligationId>,
    pub(super) cursor: u64,
    pub(super) started: Millis,
    pub(super) start: Option<String>,
    /// When the typing indicator is to be refreshed; none if it is not shown.
    pub(super) typing_at: Option<Millis>,
}

/// A draft that waits for the end of the turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ready {
    pub(super) act: DraftAct,
    pub(super) settles: Vec<ObligationId>,
}

impl Ready {
    pub(super) fn text(&self) -> Option<String> {
        match &self.act {
            DraftAct::Reply { text } => Some(text.clone()),
            DraftAct::React { .. } | DraftAct::Pass { .. } => None,
        }
    }
}

impl Room {
    pub(super) fn on_tick(&mut self, out: &mut Out) {
        self.restraint.check_ignored(self.now);
        if !self.hushed() {
            self.gate_what_is_due(out);
        }
        self.expire(out);
        self.catching_up = false;
        if self.hushed() {
            return;
        }
        for _ in 0..MAX_MOVES {
            if !self.move_floor(out) {
                break;
            }
        }
    }

    /// One step of the floor; whether there may be another.
    fn move_floor(&mut self, out: &mut Out) -> bool {
        let now = self.now;
        match &mut self.floor {
            Floor::Idle => self.begin(out),
            Floor::Cooldown { until } if *until <= now => {
                self.floor = Floor::Idle;
                true
            }
            Floor::Drafting(f) if f.started + self.policy.timings.draft_timeout_ms <= now => {
                let draft = f.draft;
                out.push(EffectKind::CancelDraft { draft });
                self.fail(Failure::Timeout, out);
                true
            }
            Floor::Validating(_, ready) => {
                let settles = ready.settles.clone();
                if self.turn_over_at(&settles) <= now {
                    self.validate(out);
                    return true;
                }
                self.refresh_typing(out);
                false
            }
            Floor::Drafting(_) => {
                self.refresh_typing(out);
                false
            }
            Floor::Sending(s) if s.given_up <= now => {
                self.give_up_row(out);
                true
            }
            Floor::Sending(_) | Floor::Cooldown { .. } => false,
        }
    }

    fn refresh_typing(&mut self, out: &mut Out) {
        let refresh = self.policy.timings.typing_refresh_ms;
        let now = self.now;
        let (Floor::Drafting(f) | Floor::Validating(f, _)) = &mut self.floor else { return };
        if f.typing_at.is_some_and(|t| t <= now) {
            f.typing_at = Some(now + refresh);
            let persona = f.persona;
            out.push(EffectKind::Typing { persona: self.persona_id(persona).to_owned(), on: true });
        }
    }

    pub(super) fn stop_typing(&self, f: &Flight, out: &mut Out) {
        if f.typing_at.is_some() {
            out.push(EffectKind::Typing { persona: self.persona_id(f.persona).to_owned(), on: false });
        }
    }

    /// Starts what has been ripe longest: a submission goes straight out, the rest is drafted together for one persona.
    fn begin(&mut self, out: &mut Out) -> bool {
        let now = self.now;
        let ripe = |o: &&Obligation| o.is_open() && self.ripe_at(o).is_some_and(|t| t <= now);
        let Some(first) = self.owed.iter().filter(ripe).min_by_key(|o| (o.kind != ObligationKind::Task, self.ripe_at(o))) else {
            return false;
        };
        if first.kind == ObligationKind::Task {
            let id = first.id;
            self.submit_task(id, out);
            return true;
        }
        let Some(persona) = self.offered_to(first) else {
            let id = first.id;
            self.end(id, What::Expired, Why::NotMember, out);
            return true;
        };
        let ids: Vec<ObligationId> = self
            .owed
            .iter()
            .filter(ripe)
            .filter(|o| o.kind != ObligationKind::Task && self.offered_to(o) == Some(persona))
            .map(|o| o.id)
            .collect();
        let ids = self.still_wanted(ids, out);
        if !ids.is_empty() {
            self.start_draft(persona, ids, out);
        }
        true
    }

    /// Whose turn it is: the persona that owes it, or for the room's the next member that has not passed.
    pub(super) fn offered_to(&self, o: &Obligation) -> Option<PersonaNo> {
        match o.persona {
            Some(p) => self.is_member(p).then_some(p),
            None => self.members.get(usize::from(o.turn)).copied(),
        }
    }

    fn start_draft(&mut self, persona: PersonaNo, ids: Vec<ObligationId>, out: &mut Out) {
        let why = self.owed.iter().find(|o| ids.contains(&o.id)).map_or(Why::Due, |o| match o.kind {
            ObligationKind::Direct | ObligationKind::FollowUp => Why::AskerQuiet,
            ObligationKind::RoomQuestion => Why::RoomWaitOver,
            ObligationKind::Opening => Why::Lull,
            ObligationKind::Task => Why::Due,
        });
        let mut shows = false;
        for o in self.owed.iter_mut().filter(|o| ids.contains(&o.id)) {
            o.state = ObligationState::Drafting;
            o.drafts = o.drafts.saturating_add(1);
            o.answer_seen = o.answered.is_some();
            shows |= matches!(o.kind, ObligationKind::Direct | ObligationKind::FollowUp);
            if o.kind == ObligationKind::Opening {
                self.restraint.use_lull();
            }
        }
        let start = self.overtaken.take().filter(|s| s.owed.iter().any(|id| ids.contains(id))).map(|s| s.text);
        let about = About { persona: Some(persona), obligations: ids.clone(), lines: self.lines_of(&ids), ..About::default() };
        self.record(out, What::Drafting, why, about);
        let mut flight =
            Flight { draft: out.next_id(), persona, owed: ids, cursor: self.cursor, started: self.now, start, typing_at: None };
        out.push(EffectKind::Draft(self.draft_of(&flight)));
        if shows {
            flight.typing_at = Some(self.now + self.policy.timings.typing_refresh_ms);
            out.push(EffectKind::Typing { persona: self.persona_id(persona).to_owned(), on: true });
        }
        self.floor = Floor::Drafting(flight);
    }

    fn lines_of(&self, ids: &[ObligationId]) -> Vec<u64> {
        let bursts = ids.iter().filter_map(|id| self.obligation(*id)?.burst);
        bursts.filter_map(|b| self.burst(b)).flat_map(crate::burst::Burst::seqs).collect()
    }

    /// The draft effect of a flight, as it was or as it is asked for again after a restart.
    pub(super) fn draft_of(&self, f: &Flight) -> Draft {
        let owed = f.owed.iter().filter_map(|id| self.obligation(*id)).map(|o| {
            let burst = o.burst.and_then(|b| self.burst(b));
            Owed {
                id: o.id,
                kind: o.kind,
                asker: o.who.map_or_else(String::new, |w| self.people.id(w).to_owned()),
                lines: burst.map_or_else(Vec::new, crate::burst::Burst::said),
                answered_by: o.answered.clone(),
            }
        });
        Draft { persona: self.persona_id(f.persona).to_owned(), owed: owed.collect(), cursor: f.cursor, start: f.start.clone() }
    }

    pub(super) fn on_act(&mut self, act: Act, out: &mut Out) {
        let flight = match std::mem::replace(&mut self.floor, Floor::Idle) {
            Floor::Drafting(f) if f.draft == act.draft => f,
            other => {
                self.floor = other;
                return self.ignored(act.draft, out);
            }
        };
        let settles: Vec<ObligationId> =
            act.settles.into_iter().filter(|id| flight.owed.contains(id) && self.obligation(*id).is_some()).collect();
        let usable = !settles.is_empty()
            && match &act.act {
                DraftAct::Reply { text } => !super::validate::says_nothing(text),
                DraftAct::React { emoji } => !emoji.trim().is_empty(),
                DraftAct::Pass { .. } => true,
            };
        if !usable {
            self.floor = Floor::Drafting(flight);
            return self.fail(Failure::NoAct, out);
        }
        if let DraftAct::Pass { .. } = act.act {
            return self.pass(&flight, &settles, out);
        }
        self.floor = Floor::Validating(flight, Ready { act: act.act, settles });
    }

    /// The drafter chose silence: the next member is offered what belongs to the room, the rest is closed.
    fn pass(&mut self, flight: &Flight, settles: &[ObligationId], out: &mut Out) {
        self.stop_typing(flight, out);
        self.reopen(&flight.owed);
        let members = self.members.len();
        for id in settles {
            let Some(o) = self.owed.iter_mut().find(|o| o.id == *id) else { continue };
            if o.persona.is_none() && usize::from(o.turn) + 1 < members {
                o.turn += 1;
                continue;
            }
            self.end(*id, What::Passed, Why::DrafterPassed, out);
        }
    }

    pub(super) fn on_draft_failed(&mut self, failed: DraftFailed, out: &mut Out) {
        match &self.floor {
            Floor::Drafting(f) if f.draft == failed.draft => self.fail(failed.kind, out),
            _ => self.ignored(failed.draft, out),
        }
    }

    pub(super) fn ignored(&self, effect: EffectId, out: &mut Out) {
        self.record(out, What::Ignored, Why::UnknownEffect, About { effect: Some(effect), ..About::default() });
    }

    /// A draft failed: it is tried again, for all its obligations together, or they end (floor.md 3).
    fn fail(&mut self, kind: Failure, out: &mut Out) {
        let flight = match std::mem::replace(&mut self.floor, Floor::Idle) {
            Floor::Drafting(f) => f,
            other => {
                self.floor = other;
                return;
            }
        };
        self.stop_typing(&flight, out);
        self.reopen(&flight.owed);
        let why = match kind {
            Failure::Timeout => Why::Timeout,
            Failure::Provider => Why::ProviderError,
            Failure::NoAct => Why::NoAct,
            Failure::Refused => Why::DraftRefused,
            Failure::OverBudget => Why::OverBudget,
            Failure::NoBooks => Why::NoBooks,
        };
        self.record(out, What::Retrying, why, About::flight(&flight));
        for id in &flight.owed {
            let now = self.now;
            let Some(o) = self.owed.iter_mut().find(|o| o.id == *id) else { continue };
            o.drafts = o.drafts.saturating_sub(1);
            let unspent = match kind {
                Failure::OverBudget => Some(BUDGET_RETRY_MS),
                Failure::NoBooks => Some(BOOKS_RETRY_MS),
                Failure::Timeout | Failure::Provider | Failure::NoAct | Failure::Refused => None,
            };
            if let Some(wait) = unspent {
                o.ripe = now + wait;
                o.age_from += wait;
                continue;
            }
            o.failures += 1;
            match RETRY_MS.get(usize::from(o.failures) - 1) {
                Some(wait) => o.ripe = now + wait,
                None if o.kind == ObligationKind::Direct => self.decline(*id, Why::TooManyFailures, out),
                None => self.end(*id, What::Passed, Why::TooManyFailures, out),
            }
        }
        if let Some(text) = flight.start {
            self.overtaken = Some(super::Overtaken { owed: flight.owed, text });
        }
    }

    /// A submission is owed; the same key twice is one.
    pub(super) fn on_submission(&mut self, s: Submission, out: &mut Out) {
        let same = |o: &Obligation| o.submission.as_ref().is_some_and(|x| x.key == s.key);
        if self.owed.iter().any(same) || self.spent.contains(&s.key) {
            return;
        }
        let mut o = Obligation::new(ObligationId { input: self.n, index: 0 }, ObligationKind::Task, self.now);
        o.persona = self.persona_no(&s.persona).filter(|p| self.is_member(*p));
        o.expires = Some(s.expires_at);
        o.submission = Some(Box::new(s));
        self.tally.opened += 1;
        self.record(out, What::Opened, Why::Submission, About::obligation(&o));
        let (id, full) = (o.id, self.owed.len() >= crate::obligation::MAX_OPEN);
        let member = o.persona.is_some();
        self.owed.push(o);
        if !member {
            self.end(id, What::Expired, Why::NotMember, out);
        } else if full {
            self.end(id, What::Overflowed, Why::QueueFull, out);
        }
    }

    /// The gate and draft effects without a completion: to be run again, under their ids, after a restart.
    #[must_use]
    pub fn pending(&self) -> Vec<crate::Effect> {
        let mut pending = self.gates_under_way();
        if let Floor::Drafting(f) = &self.floor {
            pending.push(crate::Effect { id: f.draft, kind: EffectKind::Draft(self.draft_of(f)) });
        }
        pending
    }
}
