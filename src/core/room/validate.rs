//! The draft against what happened since: the last moment before a row is written (floor.md 5).

use super::{About, Out, Overtaken, Room, floor::Flight, floor::Floor, floor::Ready, outbox::Sending};
use crate::{
    Address, DraftAct, EffectKind, Mode, ObligationId, ObligationKind, ObligationState, Row, RowKind, What, Why, shingle::Shingles,
};

/// Words by which hosts say silence in text. They are typed acts here, so a text that holds one is a leak.
const SILENCE_TOKENS: &[&str] = &["NO_REPLY", "HEARTBEAT_OK", "[silent]", "[silence]", "<silence>", "<pass>"];

/// Whether a text is no speech: a silence token, or `PASS` alone or as its first line.
pub(super) fn says_nothing(text: &str) -> bool {
    let first = text.trim().lines().next().unwrap_or("").trim();
    let alone = text.trim().lines().count() <= 1;
    alone && first.eq_ignore_ascii_case("pass") || SILENCE_TOKENS.iter().any(|t| text.contains(t))
}

impl Room {
    /// Tries the rows of the table from the top; the first that applies decides.
    pub(super) fn validate(&mut self, out: &mut Out) {
        let (flight, mut ready) = match std::mem::replace(&mut self.floor, Floor::Idle) {
            Floor::Validating(f, r) => (f, r),
            other => {
                self.floor = other;
                return;
            }
        };
        ready.settles.retain(|id| self.obligation(*id).is_some());
        if ready.settles.is_empty() {
            return self.drop_draft(&flight, Why::AskerDeleted, out);
        }
        if self.lull_is_over(&flight, &ready) {
            return self.drop_draft(&flight, Why::OthersSpoke, out);
        }
        let words = ready.text().map(|t| Shingles::of(&t));
        if words.as_ref().is_some_and(|w| self.posts.iter().any(|p| p.persona == flight.persona && p.words.same(w))) {
            for id in ready.settles {
                self.end(id, What::Settled, Why::SaidAlready, out);
            }
            return self.drop_draft(&flight, Why::SaidAlready, out);
        }
        if self.judged() {
            ready.settles = self.weigh_draft(&ready.settles, flight.persona, out);
            if ready.settles.is_empty() {
                return self.drop_draft(&flight, Why::NotWanted, out);
            }
        }
        if self.yield_to_people(&flight, &ready, out) {
            return;
        }
        if words.as_ref().is_some_and(|w| self.repeats_people(&flight, &mut ready, w, out)) {
            return;
        }
        if self.now - flight.started > self.policy.timings.draft_max_age_ms {
            return self.draft_again(flight, &ready, Why::DraftTooOld, out);
        }
        self.send(&flight, ready, words.unwrap_or_default(), out);
    }

    /// A remark is for a quiet room: a line since it was begun drops it.
    fn lull_is_over(&self, flight: &Flight, ready: &Ready) -> bool {
        self.cursor > flight.cursor
            && self.restraint.spoken_since(flight.started)
            && ready.settles.iter().all(|id| self.obligation(*id).is_some_and(|o| o.kind == ObligationKind::Opening))
    }

    fn drop_draft(&mut self, flight: &Flight, why: Why, out: &mut Out) {
        self.reopen(&flight.owed);
        self.stop_typing(flight, out);
        self.record(out, What::Dropped, why, About::flight(flight));
    }

    /// People answered while the draft was written: what they answered gets a reaction, a direct question one more draft that
    /// sees the answer. Whether the draft is spent.
    fn yield_to_people(&mut self, flight: &Flight, ready: &Ready, out: &mut Out) -> bool {
        let mut spent = false;
        let mut again = false;
        for id in &ready.settles {
            let Some(o) = self.obligation(*id) else { continue };
            let Some(answer) = o.answered.clone() else { continue };
            if o.kind == ObligationKind::Direct || o.unsure {
                again |= !o.answer_seen && matches!(ready.act, DraftAct::Reply { .. });
                continue;
            }
            spent = true;
            let emoji = self.policy.answered_emoji.clone();
            self.react(flight.persona, answer.platform_id, emoji, *id, out);
            self.mark_answered(*id);
            self.end(*id, What::Answered, Why::AnsweredMeanwhile, out);
        }
        if !spent && !again {
            return false;
        }
        self.draft_again(flight.clone(), ready, Why::AnsweredMeanwhile, out);
        true
    }

    /// A draft that has seen an answer may still only say it again. What it repeats gets a reaction; what else it settles is
    /// drafted again. Whether the draft is spent.
    fn repeats_people(&mut self, flight: &Flight, ready: &mut Ready, words: &Shingles, out: &mut Out) -> bool {
        let mut spent = false;
        ready.settles.retain(|id| {
            let Some(line) = self.stated_since(*id, words).map(|line| line.platform_id.clone()) else { return true };
            spent = true;
            self.react(flight.persona, line, self.policy.answered_emoji.clone(), *id, out);
            self.end(*id, What::Answered, Why::AnsweredMeanwhile, out);
            false
        });
        if spent {
            self.draft_again(flight.clone(), ready, Why::AnsweredMeanwhile, out);
        }
        spent
    }

    fn mark_answered(&mut self, id: ObligationId) {
        let Some((burst, answer)) = self.obligation(id).and_then(|o| Some((o.burst?, o.answered.clone()?))) else { return };
        if let Some(b) = self.burst_mut(burst) {
            b.answered = Some(answer);
        }
    }

    fn draft_again(&mut self, flight: Flight, ready: &Ready, why: Why, out: &mut Out) {
        self.drop_draft(&flight, why, out);
        let now = self.now;
        for o in self.owed.iter_mut().filter(|o| ready.settles.contains(&o.id)) {
            o.ripe = now;
        }
        if let Some(text) = ready.text() {
            self.overtaken = Some(Overtaken { owed: flight.owed, text });
        }
    }

    fn send(&mut self, flight: &Flight, ready: Ready, words: Shingles, out: &mut Out) {
        self.stop_typing(flight, out);
        self.reopen(&flight.owed);
        let first = ready.settles.iter().filter_map(|id| self.obligation(*id)).min_by_key(|o| (o.kind, o.id));
        let Some(first) = first else { return };
        let (owed, burst) = (first.kind, first.burst.and_then(|b| self.burst(b)));
        let target = burst.and_then(|b| b.target()).cloned();
        let others = burst.is_some_and(|b| self.restraint.others_spoke_since(b.who, b.heard));
        let (kind, reacts) = match ready.act {
            DraftAct::React { emoji } => (RowKind::React { emoji }, true),
            DraftAct::Reply { text } => (RowKind::Post { text }, false),
            DraftAct::Pass { .. } => return,
        };
        let why = match (reacts, others) {
            (true, _) => Why::ByReaction,
            (false, true) => Why::OthersSpoke,
            (false, false) => Why::NothingChanged,
        };
        let bursts: Vec<u64> = ready.settles.iter().filter_map(|id| self.obligation(*id)?.burst).collect();
        let lines = bursts.iter().filter_map(|b| self.burst(*b)).flat_map(crate::burst::Burst::platform_ids).collect();
        let about = About {
            persona: Some(flight.persona),
            obligations: ready.settles.clone(),
            effect: Some(flight.draft),
            lines: self.seqs_of(&bursts),
            ..About::default()
        };
        self.record(out, What::Submitted, why, about);
        let row = Row {
            dedupe: out.next_id().to_string(),
            persona: self.persona_id(flight.persona).to_owned(),
            kind,
            address: target
                .filter(|_| owed != ObligationKind::Opening || reacts)
                .map(|l| Address { platform_id: l.platform_id, reply: others && !reacts }),
            settles: ready.settles,
            owed,
            settles_lines: lines,
            unprompted: owed == ObligationKind::Opening && !reacts,
            shadow: self.policy.mode == Mode::Shadow,
            expires_at: self.now + self.policy.timings.draft_max_age_ms,
        };
        self.put_out(row, flight.persona, words, out);
    }

    fn seqs_of(&self, bursts: &[u64]) -> Vec<u64> {
        bursts.iter().filter_map(|b| self.burst(*b)).flat_map(crate::burst::Burst::seqs).collect()
    }

    /// Hands the row out and waits for its outcome.
    pub(super) fn put_out(&mut self, row: Row, persona: crate::people::PersonaNo, words: Shingles, out: &mut Out) {
        for o in self.owed.iter_mut().filter(|o| row.settles.contains(&o.id)) {
            o.state = ObligationState::Sending;
        }
        let text = match &row.kind {
            RowKind::Post { text } => Some(text.clone()),
            RowKind::React { .. } => None,
        };
        self.floor = Floor::Sending(Box::new(Sending {
            row: row.dedupe.clone(),
            persona,
            owed: row.settles.clone(),
            cursor: self.cursor,
            words: text.is_some().then_some(words),
            text,
            unprompted: row.unprompted,
            withdrawing: false,
            since: self.now,
            given_up: row.expires_at.max(self.now).saturating_add(super::outbox::OUTCOME_GRACE_MS),
        }));
        out.push(EffectKind::Submit(row));
    }
}
