//! A new policy: mute, stop, mode and members take effect at once, from outside the agent.

use super::{About, Out, Room, floor::Floor};
use crate::{Millis, ObligationId, Policy, What, Why};

impl Room {
    pub(super) fn on_policy(&mut self, policy: Policy, out: &mut Out) {
        let (was_hushed, old_mode) = (self.hushed(), self.policy.mode);
        let (first, was_judged) = (self.policy.revision == 0, self.judged());
        self.policy = policy;
        match (was_judged, self.judged()) {
            (true, false) => self.forget_talk(),
            (false, true) => self.look_back_at_open(),
            (true, true) | (false, false) => {}
        }
        self.enrol();
        self.let_go_of_strangers(out);
        if first {
            // Revision 0 stands for a policy that was not read yet: nothing changed for anybody.
            self.hushed_since = self.hushed().then_some(self.now);
            return;
        }
        match (was_hushed, self.hushed()) {
            (false, true) => self.hush(out),
            (true, false) => self.unhush(out),
            (true, true) | (false, false) => {}
        }
        if old_mode != self.policy.mode {
            self.cancel_draft(Why::ModeChanged, out);
            self.record(out, What::Hushed, Why::ModeChanged, About::default());
        }
    }

    /// What a persona owes that is no member any more ends.
    fn let_go_of_strangers(&mut self, out: &mut Out) {
        let persona = match &self.floor {
            Floor::Drafting(f) | Floor::Validating(f, _) => Some(f.persona),
            Floor::Idle | Floor::Sending(_) | Floor::Cooldown { .. } => None,
        };
        if persona.is_some_and(|p| !self.is_member(p)) {
            self.cancel_draft(Why::NotMember, out);
        }
        let gone = |o: &&crate::obligation::Obligation| o.is_open() && o.persona.is_some_and(|p| !self.is_member(p));
        for id in self.owed.iter().filter(gone).map(|o| o.id).collect::<Vec<ObligationId>>() {
            self.end(id, What::Expired, Why::NotMember, out);
        }
    }

    fn hush(&mut self, out: &mut Out) {
        let why = if self.policy.muted { Why::Muted } else { Why::Stopped };
        self.hushed_since = Some(self.now);
        self.cancel_draft(why, out);
        self.overtaken = None;
        for b in &mut self.active {
            b.gate_call = None;
        }
        for id in self.active.iter().map(|b| b.id).collect::<Vec<_>>() {
            self.rest_if_done(id);
        }
        self.record(out, What::Hushed, why, About::default());
    }

    /// The shell listens again after a gap since `before`, in which nothing aged. What was under way goes on.
    pub(super) fn resume(&mut self, before: Millis) {
        self.catching_up = true;
        if before == 0 {
            return;
        }
        let gap = self.now - before;
        for o in &mut self.owed {
            o.age_from += gap;
        }
        match &mut self.floor {
            Floor::Drafting(f) | Floor::Validating(f, _) => f.started += gap,
            Floor::Sending(s) => s.given_up += gap,
            Floor::Idle | Floor::Cooldown { .. } => {}
        }
    }

    /// The hushed time does not age a question, and all that is open is a backlog: one decision, at most one post.
    fn unhush(&mut self, out: &mut Out) {
        let now = self.now;
        let since = self.hushed_since.take().unwrap_or(now);
        for o in &mut self.owed {
            o.age_from += now - since.max(o.age_from).min(now);
            o.backlog |= o.is_open();
        }
        self.record(out, What::Resumed, Why::Unmuted, About { obligations: self.owed.iter().map(|o| o.id).collect(), ..About::default() });
    }
}
