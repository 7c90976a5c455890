//! Opening, renewing and ending what is owed.

use super::{About, Out, Room, floor::Floor};
use crate::{
    Address, EffectKind, Millis, ObligationId, ObligationKind, ObligationState, Row, RowKind, What, Why,
    newest::keep,
    obligation::{MAX_OPEN, MAX_OPENINGS, Obligation},
    people::PersonaNo,
};

/// From this many drafts on, the next one waits for the end of the turn (floor.md 3).
const PATIENT_AFTER_DRAFTS: u8 = 2;
/// After this many drafts a question that keeps changing is declined (floor.md 3).
const MAX_DRAFTS: u8 = 6;
/// A reaction is not worth more than this many rows in the outbox at once.
const MAX_LOOSE: usize = 64;

/// Ended submissions whose keys are remembered; a source hands one in again within moments or not at all.
const MAX_SPENT: usize = 64;

impl Room {
    /// A line addresses the persona.
    pub(super) fn owe_direct(&mut self, burst: u64, persona: PersonaNo, changed: Why, out: &mut Out) {
        let same = |o: &Obligation| o.burst == Some(burst) && (o.persona == Some(persona) || o.persona.is_none());
        let Some(i) = self.owed.iter().position(same) else {
            let why = self.burst(burst).map_or(Why::NameInside, |b| b.why(1 << persona.0));
            return self.open_obligation(ObligationKind::Direct, Some(persona), burst, why, out);
        };
        if let Some(o) = self.owed.get_mut(i) {
            (o.kind, o.persona, o.expires) = (ObligationKind::Direct, Some(persona), None);
        }
        self.renew(burst, changed, out);
    }

    /// Opens an obligation for a burst; where the room owes as much as it can hold, the least goes (floor.md 2).
    pub(super) fn open_obligation(&mut self, kind: ObligationKind, persona: Option<PersonaNo>, burst: u64, why: Why, out: &mut Out) {
        let Some(b) = self.burst(burst) else { return };
        let (who, heard, late) = (b.who, b.heard, b.late);
        if self.owed.len() >= MAX_OPEN && !self.make_room(out) {
            return self.overflow(kind, persona, burst, out);
        }
        let index = self.owed.iter().filter(|o| o.id.input == self.n).count() as u16;
        let mut o = Obligation::new(ObligationId { input: self.n, index }, kind, self.now);
        (o.persona, o.burst, o.who, o.backlog, o.age_from) = (persona, Some(burst), Some(who), late, self.now.max(heard));
        self.set_wait(&mut o, heard);
        self.tally.opened += 1;
        self.record(out, What::Opened, why, About::obligation(&o));
        self.owed.push(o);
        if let Some(b) = self.burst_mut(burst) {
            (b.gate_due, b.gated) = (None, true);
        }
        if kind == ObligationKind::Opening {
            self.bound_openings(out);
        }
    }

    fn set_wait(&self, o: &mut Obligation, heard: Millis) {
        let t = &self.policy.timings;
        match o.kind {
            ObligationKind::Direct | ObligationKind::FollowUp => {
                let patient = o.drafts >= PATIENT_AFTER_DRAFTS;
                let turn = o.burst.and_then(|b| self.burst(b)).filter(|_| patient).map(|b| self.turn_end(b));
                o.ripe = turn.unwrap_or(heard + t.draft_quiet_ms);
            }
            ObligationKind::RoomQuestion => {
                o.ripe = heard + self.room_wait();
                o.expires = Some(o.ripe + t.room_expiry_ms);
                // A question that people still have time for is live, whenever we heard of it.
                o.backlog = o.backlog && o.ripe <= self.now;
            }
            ObligationKind::Opening => o.expires = Some(heard + t.opening_expiry_ms),
            ObligationKind::Task => {}
        }
    }

    /// The waits of some obligations start again at their askers' last lines.
    pub(super) fn wait_again(&mut self, ids: &[ObligationId]) {
        for id in ids {
            let Some(i) = self.owed.iter().position(|o| o.id == *id) else { continue };
            let mut o = self.owed.remove(i);
            if let Some(heard) = o.burst.and_then(|b| self.burst(b)).map(|b| b.heard) {
                self.set_wait(&mut o, heard);
            }
            self.owed.insert(i, o);
        }
    }

    /// The asker changed something: the wait starts again, and what was written meanwhile is overtaken.
    pub(super) fn renew(&mut self, burst: u64, changed: Why, out: &mut Out) {
        let ids: Vec<ObligationId> = self.owed.iter().filter(|o| o.burst == Some(burst)).map(|o| o.id).collect();
        let Some(heard) = self.burst(burst).map(|b| b.heard) else { return };
        for id in ids {
            let Some(o) = self.obligation(id) else { continue };
            let (state, drafts) = (o.state, o.drafts);
            match state {
                ObligationState::Open => {}
                ObligationState::Drafting => self.cancel_draft(changed, out),
                ObligationState::Sending => {
                    self.withdraw_row(changed, out);
                    continue;
                }
                ObligationState::Held => continue,
            }
            if drafts >= MAX_DRAFTS {
                self.decline(id, Why::TooManyDrafts, out);
                continue;
            }
            let age_from = self.now.max(heard);
            if let Some(o) = self.owed.iter_mut().find(|o| o.id == id) {
                (o.age_from, o.answered, o.answer_seen) = (age_from, None, false);
            }
            self.wait_again(&[id]);
            if let Some(o) = self.obligation(id) {
                self.record(out, What::Updated, changed, About::obligation(o));
            }
        }
        if let Some(b) = self.burst_mut(burst) {
            b.gate_due = None;
        }
    }

    /// Everything that a burst asked is taken back.
    pub(super) fn withdraw_burst(&mut self, burst: u64, why: Why, out: &mut Out) {
        if let Some(b) = self.burst_mut(burst) {
            (b.gate_due, b.gate_call, b.gated, b.settled) = (None, None, true, true);
        }
        for id in self.owed.iter().filter(|o| o.burst == Some(burst)).map(|o| o.id).collect::<Vec<_>>() {
            self.withdraw(id, why, out);
        }
    }

    pub(super) fn withdraw(&mut self, id: ObligationId, why: Why, out: &mut Out) {
        match self.obligation(id).map(|o| o.state) {
            None => return,
            Some(ObligationState::Drafting) => self.cancel_draft(why, out),
            Some(ObligationState::Sending) => self.withdraw_row(why, out),
            Some(ObligationState::Open | ObligationState::Held) => {}
        }
        self.end(id, What::WithdrawnByAsker, why, out);
    }

    /// Ends an obligation; the only way out of the list.
    pub(super) fn end(&mut self, id: ObligationId, what: What, why: Why, out: &mut Out) {
        let Some(i) = self.owed.iter().position(|o| o.id == id) else { return };
        let o = self.owed.remove(i);
        self.tally.ended(what);
        if let Some(s) = &o.submission {
            keep(&mut self.spent, MAX_SPENT, s.key.clone());
        }
        self.record(out, what, why, About::obligation(&o));
        if let Some(burst) = o.burst {
            self.rest_if_done(burst);
        }
    }

    /// Says by a reaction that there will be no answer, and shows it to the owner. A hushed room only records it.
    pub(super) fn decline(&mut self, id: ObligationId, why: Why, out: &mut Out) {
        let Some(o) = self.obligation(id) else { return };
        let (persona, kind, about) = (o.persona, o.kind, About::obligation(o));
        let target = o.burst.and_then(|b| self.burst(b)).and_then(|b| b.target()).map(|l| l.platform_id.clone());
        if kind == ObligationKind::Direct
            && !self.hushed()
            && let (Some(persona), Some(target)) = (persona, target)
        {
            self.react(persona, target, self.policy.decline_emoji.clone(), id, out);
        }
        self.record(out, What::Notice, why, about);
        self.end(id, What::Declined, why, out);
    }

    /// Submits a reaction whose fate changes nothing.
    pub(super) fn react(&mut self, persona: PersonaNo, target: String, emoji: String, settles: ObligationId, out: &mut Out) {
        let Some(o) = self.obligation(settles) else { return };
        let lines = o.burst.and_then(|b| self.burst(b)).map(|b| b.platform_ids().collect());
        let row = Row {
            dedupe: out.next_id().to_string(),
            persona: self.persona_id(persona).to_owned(),
            kind: RowKind::React { emoji },
            address: Some(Address { platform_id: target, reply: false }),
            settles: vec![settles],
            owed: o.kind,
            settles_lines: lines.unwrap_or_default(),
            unprompted: false,
            shadow: self.policy.mode == crate::Mode::Shadow,
            expires_at: self.now + self.policy.timings.draft_max_age_ms,
        };
        keep(&mut self.loose, MAX_LOOSE, row.dedupe.clone());
        out.push(EffectKind::Submit(row));
    }

    /// Drops the oldest remark, else the oldest room question, that nobody works on.
    fn make_room(&mut self, out: &mut Out) -> bool {
        let open = |kind: ObligationKind| self.owed.iter().find(|o| o.kind == kind && o.is_open()).map(|o| o.id);
        let Some(id) = open(ObligationKind::Opening).or_else(|| open(ObligationKind::RoomQuestion)) else { return false };
        self.end(id, What::Overflowed, Why::QueueFull, out);
        true
    }

    /// Nothing can go: a direct question joins its author's own, else it is declined at once.
    fn overflow(&mut self, kind: ObligationKind, persona: Option<PersonaNo>, burst: u64, out: &mut Out) {
        let Some(b) = self.burst(burst) else { return };
        let who = b.who;
        let own =
            |o: &&Obligation| kind == ObligationKind::Direct && o.kind == kind && o.who == Some(who) && o.persona == persona && o.is_open();
        let older = self.owed.iter().find(own).and_then(|o| o.burst);
        let lines = b.lines.clone();
        if let Some(older) = older
            && let now = self.now
            && let Some(o) = self.burst_mut(older)
        {
            for l in lines {
                o.push(l);
            }
            o.heard = now;
            return self.renew(older, Why::AskerAdded, out);
        }
        let ended = if kind == ObligationKind::Direct { What::Declined } else { What::Overflowed };
        self.tally.opened += 1;
        self.tally.ended(ended);
        for what in [ended, What::Notice] {
            self.record(out, what, Why::QueueFull, About { persona, burst: Some(burst), ..About::default() });
        }
    }

    fn bound_openings(&mut self, out: &mut Out) {
        let openings: Vec<ObligationId> =
            self.owed.iter().filter(|o| o.kind == ObligationKind::Opening && o.is_open()).map(|o| o.id).collect();
        if openings.len() > MAX_OPENINGS
            && let Some(oldest) = openings.first()
        {
            self.end(*oldest, What::Overflowed, Why::QueueFull, out);
        }
    }

    /// Ends what is over by itself.
    pub(super) fn expire(&mut self, out: &mut Out) {
        let now = self.now;
        let over: Vec<(ObligationId, ObligationKind)> =
            self.owed.iter().filter(|o| self.ends_at(o).is_some_and(|t| t <= now)).map(|o| (o.id, o.kind)).collect();
        for (id, kind) in over {
            match kind {
                ObligationKind::Direct => self.decline(id, Why::TooOld, out),
                _ => self.end(id, What::Expired, Why::TooOld, out),
            }
        }
    }

    /// Gives up the draft under way. The text, if there is one, helps the next draft.
    pub(super) fn cancel_draft(&mut self, why: Why, out: &mut Out) {
        let (flight, text) = match std::mem::replace(&mut self.floor, Floor::Idle) {
            Floor::Drafting(f) => {
                out.push(EffectKind::CancelDraft { draft: f.draft });
                (f, None)
            }
            Floor::Validating(f, ready) => {
                let text = ready.text();
                (f, text)
            }
            other => {
                self.floor = other;
                return;
            }
        };
        self.reopen(&flight.owed);
        self.stop_typing(&flight, out);
        self.record(out, What::Cancelled, why, About::flight(&flight));
        if let Some(text) = text.or(flight.start) {
            self.overtaken = Some(super::Overtaken { owed: flight.owed, text });
        }
    }

    /// An answer that was taken back is none: nothing is left to put a reaction on.
    pub(super) fn forget_answer(&mut self, platform_id: &str) {
        for o in self.owed.iter_mut().filter(|o| o.answered.as_ref().is_some_and(|l| l.platform_id == platform_id)) {
            (o.answered, o.answer_seen, o.unsure) = (None, false, false);
        }
        for b in &mut self.active {
            b.weighed.unsay(platform_id);
        }
    }

    /// The obligations of a draft or row are open again.
    pub(super) fn reopen(&mut self, ids: &[ObligationId]) {
        for o in self.owed.iter_mut().filter(|o| ids.contains(&o.id)) {
            o.state = ObligationState::Open;
        }
    }
}
