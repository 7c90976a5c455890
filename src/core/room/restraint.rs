//! Restraint: the budget of unprompted posts, lulls, side talk, and loops between agents (floor.md 6).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{About, Out, Room};
use crate::{
    Millis, ObligationId, ObligationKind, What, Why,
    newest::keep,
    obligation::Obligation,
    people::{PersonaNo, Who},
};

/// The budget's sliding window.
const HOUR_MS: Millis = 3_600_000;
/// An unprompted post without a reply or reaction for this long was ignored.
const IGNORED_AFTER_MS: Millis = 600_000;
/// The interval between unprompted posts grows to at most this.
const MAX_INTERVAL_MS: Millis = 24 * HOUR_MS;
/// Side talk is judged on so many last lines.
const SIDE_TALK_LINES: usize = 6;
/// The interval stops doubling here; the cap in hours is reached long before.
const MAX_DOUBLINGS: u32 = 16;

/// What the room remembers to hold itself back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Restraint {
    last_line: Option<Millis>,
    lull_used: bool,
    lines: VecDeque<Heard>,
    agent_run: u32,
    /// The owner was told that agents have talked enough.
    loop_told: bool,
    personas: Vec<Unprompted>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Heard {
    who: Who,
    to: Option<Who>,
    at: Millis,
}

/// The unprompted posts of one persona.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Unprompted {
    persona: PersonaNo,
    /// Times of the last hour.
    times: VecDeque<Millis>,
    /// How often in a row nobody cared.
    ignored: u32,
    /// When the last one counts as ignored.
    check: Option<Millis>,
    interval: Millis,
}

impl Restraint {
    pub(super) fn note_line(&mut self, who: Who, to: Option<Who>, person: bool, now: Millis) {
        self.last_line = Some(now);
        self.lull_used = false;
        self.agent_run = if person { 0 } else { self.agent_run + 1 };
        self.loop_told &= !person;
        keep(&mut self.lines, SIDE_TALK_LINES, Heard { who, to, at: now });
    }

    pub(super) fn note_own_post(&mut self, now: Millis) {
        self.last_line = Some(now);
        self.agent_run += 1;
    }

    /// Consecutive posts by agents since the last person's line.
    pub(super) fn agent_run(&self) -> u32 {
        self.agent_run
    }

    pub(super) fn use_lull(&mut self) {
        self.lull_used = true;
    }

    /// Whether anybody spoke after that time.
    pub(super) fn spoken_since(&self, t: Millis) -> bool {
        self.lines.back().is_some_and(|l| l.at > t)
    }

    /// Whether somebody else spoke at or after that time.
    pub(super) fn others_spoke_since(&self, who: Who, t: Millis) -> bool {
        let after = self.lines.iter().rposition(|l| l.who == who && l.at <= t);
        self.lines.iter().skip(after.map_or(0, |i| i + 1)).any(|l| l.who != who && l.at >= t)
    }

    /// Two people alternate and address each other.
    pub(super) fn side_talk(&self) -> bool {
        let Some(a) = self.lines.back().map(|l| l.who) else { return false };
        let Some(b) = self.lines.iter().map(|l| l.who).find(|w| *w != a) else { return false };
        let count = |x: Who| self.lines.iter().filter(|l| l.who == x).count();
        let addresses = |x: Who, y: Who| self.lines.iter().any(|l| l.who == x && l.to == Some(y));
        count(a) + count(b) == SIDE_TALK_LINES && count(a) >= 2 && count(b) >= 2 && addresses(a, b) && addresses(b, a)
    }

    pub(super) fn note_unprompted(&mut self, persona: PersonaNo, now: Millis, interval: Millis) {
        let i = self.personas.iter().position(|u| u.persona == persona).unwrap_or_else(|| {
            self.personas.push(Unprompted { persona, times: VecDeque::new(), ignored: 0, check: None, interval });
            self.personas.len() - 1
        });
        let Some(u) = self.personas.get_mut(i) else { return };
        u.times.retain(|t| now - t < HOUR_MS);
        u.times.push_back(now);
        u.check = Some(now + IGNORED_AFTER_MS);
        u.interval = interval;
    }

    /// Somebody cared: the interval is the plain one again.
    pub(super) fn heeded(&mut self, persona: PersonaNo) {
        if let Some(u) = self.personas.iter_mut().find(|u| u.persona == persona) {
            (u.check, u.ignored) = (None, 0);
        }
    }

    pub(super) fn check_ignored(&mut self, now: Millis) {
        for u in self.personas.iter_mut().filter(|u| u.check.is_some_and(|t| t <= now)) {
            u.check = None;
            u.ignored = (u.ignored + 1).min(MAX_DOUBLINGS);
        }
    }

    pub(super) fn next_check(&self) -> Option<Millis> {
        self.personas.iter().filter_map(|u| u.check).min()
    }

    /// When the persona may make an unprompted post again, with `per_hour` of them allowed.
    fn allowed_at(&self, persona: PersonaNo, per_hour: u32) -> Option<Millis> {
        if per_hour == 0 {
            return None;
        }
        let Some(u) = self.personas.iter().find(|u| u.persona == persona) else { return Some(0) };
        let window = u.times.len().checked_sub(per_hour as usize).and_then(|i| u.times.get(i)).map_or(0, |t| t + HOUR_MS);
        let spaced = u.times.back().map_or(0, |t| t + (u.interval << u.ignored).min(MAX_INTERVAL_MS));
        Some(window.max(spaced))
    }
}

impl Room {
    /// Agents have talked long enough without a person: silence, and one notice for the owner.
    pub(super) fn end_the_loop(&mut self, burst: u64, out: &mut Out) {
        let about = || About { burst: Some(burst), ..About::default() };
        self.record(out, What::Silent, Why::AgentTurns, about());
        if !std::mem::replace(&mut self.restraint.loop_told, true) {
            self.record(out, What::Notice, Why::AgentTurns, about());
        }
    }

    /// The plain interval between unprompted posts: the hour shared out evenly.
    pub(super) fn unprompted_interval(&self) -> Millis {
        HOUR_MS / Millis::from(self.policy.budget.unprompted_per_hour.max(1))
    }

    /// A remark waits for a lull with budget left; none where only an input can bring one.
    pub(super) fn opening_ripe(&self, o: &Obligation) -> Option<Millis> {
        let persona = self.offered_to(o)?;
        if self.restraint.lull_used || self.restraint.agent_run >= self.policy.budget.agent_turns || self.restraint.side_talk() {
            return None;
        }
        let allowed = self.restraint.allowed_at(persona, self.policy.budget.unprompted_per_hour)?;
        Some(allowed.max(self.restraint.last_line.unwrap_or(0) + self.policy.timings.lull_ms).max(o.ripe))
    }

    /// A submission that nobody asked for needs budget too.
    pub(super) fn task_ripe(&self, o: &Obligation) -> Option<Millis> {
        let prompted = o.submission.as_ref().is_none_or(|s| s.prompted);
        if prompted {
            return Some(o.ripe);
        }
        let allowed = self.restraint.allowed_at(self.offered_to(o)?, self.policy.budget.unprompted_per_hour)?;
        Some(allowed.max(o.ripe))
    }

    /// Side talk closes what remarks were considered.
    pub(super) fn side_talk_closes(&mut self, out: &mut Out) {
        if self.owed.iter().all(|o| o.kind != ObligationKind::Opening) || !self.restraint.side_talk() {
            return;
        }
        let open = |o: &&Obligation| o.kind == ObligationKind::Opening && o.is_open();
        for id in self.owed.iter().filter(open).map(|o| o.id).collect::<Vec<ObligationId>>() {
            self.end(id, What::Expired, Why::SideTalk, out);
        }
    }
}
