//! Waits: when a turn looks over, when an obligation is ripe, and when the machine wants to be called again.

use super::{Room, floor::Floor};
use crate::{Audience, Millis, ObligationKind, ObligationState, Policy, burst::Burst, obligation::Obligation, people::Who};

/// Slow mode adds at most this to the asker's quiet (floor.md 3).
const SLOW_MODE_MAX_MS: Millis = 60_000;
/// Answers kept to learn the room's wait (floor.md 2).
pub(super) const MAX_FIRST_ANSWERS: usize = 50;
/// Fewer answers than this are no history.
const MIN_FIRST_ANSWERS: usize = 5;

impl Room {
    /// When the machine wants a tick. A tick before that changes nothing; none means that only an input can change anything.
    #[must_use]
    pub fn next_wake(&self) -> Option<Millis> {
        let mut wake = Earliest(None);
        for o in &self.owed {
            wake.at(self.ends_at(o));
        }
        wake.at(self.restraint.next_check());
        if self.hushed() {
            return wake.0;
        }
        for b in &self.active {
            wake.at(b.gate_due.filter(|_| b.gate_call.is_none()));
        }
        match &self.floor {
            Floor::Idle => {
                if self.catching_up {
                    wake.at(Some(self.now));
                }
                wake.at(self.next_ripe());
            }
            Floor::Drafting(f) => {
                wake.at(Some(f.started + self.policy.timings.draft_timeout_ms));
                wake.at(f.typing_at);
            }
            Floor::Validating(f, ready) => {
                wake.at(Some(self.turn_over_at(&ready.settles)));
                wake.at(f.typing_at);
            }
            Floor::Sending(s) => wake.at(Some(s.given_up)),
            Floor::Cooldown { until } => wake.at(Some(*until)),
        }
        wake.0
    }

    /// The earliest time at which a draft or a submission may begin.
    fn next_ripe(&self) -> Option<Millis> {
        let mut wake = Earliest(None);
        for o in self.owed.iter().filter(|o| o.is_open()) {
            wake.at(self.ripe_at(o));
        }
        wake.0
    }

    /// When a draft for it may begin; none if nothing but an input can make it ripe.
    pub(super) fn ripe_at(&self, o: &Obligation) -> Option<Millis> {
        let own = match o.kind {
            ObligationKind::Direct | ObligationKind::FollowUp => o.ripe.max(o.who.map_or(0, |w| self.typing_hold(w))),
            ObligationKind::RoomQuestion => o.ripe,
            ObligationKind::Opening => self.opening_ripe(o)?,
            ObligationKind::Task => self.task_ripe(o)?,
        };
        Some(if o.backlog { own.max(self.backlog_ripe()) } else { own })
    }

    /// One decision is taken on a backlog: when all of it is ripe.
    fn backlog_ripe(&self) -> Millis {
        self.owed.iter().filter(|o| o.backlog && o.is_open()).map(|o| o.ripe).max().unwrap_or(0)
    }

    /// When it ends by itself.
    pub(super) fn ends_at(&self, o: &Obligation) -> Option<Millis> {
        let waits = match o.state {
            ObligationState::Open => true,
            ObligationState::Drafting | ObligationState::Sending | ObligationState::Held => false,
        };
        let old = (o.kind == ObligationKind::Direct && !self.hushed()).then(|| o.age_from + self.policy.timings.direct_max_age_ms);
        o.expires.or(old).filter(|_| waits)
    }

    /// Until when somebody who was seen typing counts as not quiet.
    fn typing_hold(&self, who: Who) -> Millis {
        self.people.get(who).and_then(|p| p.typing).map_or(0, |t| t + self.policy.timings.typing_fresh_ms)
    }

    /// Quiet after which the turn of a burst's author looks over.
    pub(super) fn turn_quiet(&self, b: &Burst) -> Millis {
        let Policy { timings: t, slow_mode_ms, audience, .. } = &self.policy;
        let alone = *audience == Audience::Direct || self.people.humans() <= 1;
        let types = self.people.get(b.who).is_some_and(|p| p.types);
        let quiet = match (b.complete(), types) {
            (true, true) => t.typing_done_ms,
            (false, true) => t.typing_open_ms,
            (true, false) => t.turn_done_ms,
            (false, false) => t.turn_open_ms,
        };
        let quiet = if alone { quiet.min(t.alone_ms) } else { quiet };
        quiet + (*slow_mode_ms).clamp(0, SLOW_MODE_MAX_MS)
    }

    /// When the turn of a burst's author looks over.
    pub(super) fn turn_end(&self, b: &Burst) -> Millis {
        (b.heard + self.turn_quiet(b)).max(self.typing_hold(b.who))
    }

    /// When the turns of all askers look over.
    pub(super) fn turn_over_at(&self, settles: &[crate::ObligationId]) -> Millis {
        let bursts = settles.iter().filter_map(|id| self.obligation(*id)?.burst);
        bursts.filter_map(|id| self.burst(id)).map(|b| self.turn_end(b)).max().unwrap_or(self.now)
    }

    /// What people are given to answer a room question before us: the 90th percentile of their own first answers.
    pub(super) fn room_wait(&self) -> Millis {
        let t = &self.policy.timings;
        if self.first_answers.len() < MIN_FIRST_ANSWERS {
            return t.room_wait_start_ms;
        }
        let mut waits: Vec<Millis> = self.first_answers.iter().copied().collect();
        waits.sort_unstable();
        let p90 = waits.get(waits.len() * 9 / 10).or(waits.last()).copied().unwrap_or(t.room_wait_start_ms);
        p90.clamp(t.room_wait_min_ms, t.room_wait_max_ms.max(t.room_wait_min_ms))
    }
}

/// The earliest of several times.
struct Earliest(Option<Millis>);

impl Earliest {
    fn at(&mut self, t: Option<Millis>) {
        self.0 = match (self.0, t) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}
