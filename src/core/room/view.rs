//! The floor as people see it.

use super::{Room, floor::Floor};
use crate::{Millis, Mode, ObligationKind, ObligationView, Phase, View, WaitingFor, burst::Burst, obligation::Obligation};

impl Room {
    /// What is to be shown of the room at that time.
    #[must_use]
    pub fn view(&self, now: Millis) -> View {
        let shown = self.shown();
        let mut obligations: Vec<ObligationView> = self.owed.iter().map(|o| self.view_of(o)).collect();
        obligations.sort_by_key(|o| o.id);
        View {
            now,
            phase: shown.phase,
            since: shown.since,
            until: shown.until,
            waiting_for: if self.hushed() { WaitingFor::Unmute } else { shown.waiting_for },
            persona: shown.persona,
            effect: match &self.floor {
                Floor::Drafting(f) | Floor::Validating(f, _) => Some(f.draft),
                Floor::Sending(s) => s.row.parse().ok(),
                Floor::Idle | Floor::Cooldown { .. } => None,
            },
            obligations,
            muted: self.policy.muted,
            shadow: self.policy.mode == Mode::Shadow,
            room_wait_ms: self.room_wait(),
            cursor: self.cursor,
        }
    }

    fn shown(&self) -> Shown {
        let t = &self.policy.timings;
        let name = |p| Some(self.persona_id(p).to_owned());
        match &self.floor {
            Floor::Idle => self.waiting(),
            Floor::Drafting(f) => Shown {
                phase: Phase::Drafting,
                since: f.started,
                until: Some(f.started + t.draft_timeout_ms),
                waiting_for: WaitingFor::Model,
                persona: name(f.persona),
            },
            Floor::Validating(f, ready) => Shown {
                phase: Phase::Validating,
                since: f.started,
                until: Some(self.turn_over_at(&ready.settles)),
                waiting_for: WaitingFor::TurnEnd,
                persona: name(f.persona),
            },
            Floor::Sending(s) => {
                Shown { phase: Phase::Sending, since: s.since, until: None, waiting_for: WaitingFor::Platform, persona: name(s.persona) }
            }
            Floor::Cooldown { until } => Shown {
                phase: Phase::Cooldown,
                since: until - t.cooldown_ms,
                until: Some(*until),
                waiting_for: WaitingFor::Cooldown,
                persona: None,
            },
        }
    }

    /// What an idle floor waits for first.
    fn waiting(&self) -> Shown {
        let owed = self.owed.iter().filter(|o| o.is_open()).map(|o| (self.ripe_at(o), self.waits_for(o), o.age_from, self.offered_to(o)));
        let gated = self.active.iter().filter(|b| b.gate_due.is_some()).map(|b| (b.gate_due, WaitingFor::Burst, b.heard, None));
        let first = owed.chain(gated).min_by_key(|(until, ..)| (until.is_none(), *until));
        match first {
            None => Shown { phase: Phase::Idle, since: self.now, until: None, waiting_for: WaitingFor::Nothing, persona: None },
            Some((until, waiting_for, since, persona)) => {
                Shown { phase: Phase::Waiting, since, until, waiting_for, persona: persona.map(|p| self.persona_id(p).to_owned()) }
            }
        }
    }

    fn waits_for(&self, o: &Obligation) -> WaitingFor {
        if o.failures > 0 && o.ripe > self.now {
            return WaitingFor::Retry;
        }
        match o.kind {
            ObligationKind::Direct | ObligationKind::FollowUp if self.ripe_at(o).is_some_and(|t| t > o.ripe) => WaitingFor::Typing,
            ObligationKind::Direct | ObligationKind::FollowUp => WaitingFor::AskerQuiet,
            ObligationKind::RoomQuestion => WaitingFor::People,
            ObligationKind::Opening => WaitingFor::Lull,
            ObligationKind::Task => WaitingFor::Platform,
        }
    }

    fn view_of(&self, o: &Obligation) -> ObligationView {
        let lines = o.burst.and_then(|b| self.burst(b)).map_or_else(Vec::new, Burst::said);
        ObligationView {
            id: o.id,
            kind: o.kind,
            state: o.state,
            persona: self.offered_to(o).map(|p| self.persona_id(p).to_owned()),
            asker: o.who.map_or_else(String::new, |w| self.people.id(w).to_owned()),
            lines,
            ripe_at: self.ripe_at(o).unwrap_or(o.ripe),
            drafts: o.drafts,
            answered: o.answered.is_some(),
        }
    }
}

/// The floor's part of a view.
struct Shown {
    phase: Phase,
    since: Millis,
    until: Option<Millis>,
    waiting_for: WaitingFor,
    persona: Option<String>,
}
