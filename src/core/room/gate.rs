//! Bursts that address nobody: what the rules or a model make of them, and whether people have answered them.

use super::{About, Out, Room, Stated, address::Addressed};
use crate::{
    Effect, EffectKind, GateCall, GateKind, Item, Line, Millis, ObligationId, ObligationKind, ObligationState, Verdict, What, Why,
    burst::Burst,
    newest::keep,
    people::{PersonaNo, Who},
    shingle::{Shingles, words_of},
    text::Form,
};

/// Rules: a burst that asks this soon after the persona spoke to its author continues with it (floor.md 4).
const FOLLOW_UP_MS: Millis = 60_000;
/// Rules: an author who was silent for this long opens a topic (floor.md 4).
const TOPIC_GAP_MS: Millis = 120_000;
/// Rules: a plain statement within this time may be the answer (floor.md 4).
const PLAIN_ANSWER_MS: Millis = 60_000;
/// Statements of people kept to be compared with a draft: what is said during one draft of a lively room.
const MAX_STATED: usize = 16;
/// Later lines are no answer any more.
pub(super) const ANSWER_MAX_MS: Millis = 900_000;
/// A room question that we answered is watched this long for a person's answer.
const WATCH_MS: Millis = 600_000;
/// Bursts waiting for a gate; beyond it the oldest is judged silent. Each person has one at a time, and waits are below a minute.
const MAX_ACTIVE: usize = 128;

/// How sure it is that a line answers a burst.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// It replies to it or names its author.
    Addressed,
    /// A plain statement soon after it.
    Soon,
    /// A plain statement later.
    Late,
}

impl Room {
    /// Judges the bursts whose turn looks over.
    pub(super) fn gate_what_is_due(&mut self, out: &mut Out) {
        let now = self.now;
        let due = |b: &Burst| b.gate_call.is_none() && b.gate_due.is_some_and(|t| t <= now);
        if !self.active.iter().any(|b| due(b)) {
            return;
        }
        for id in self.active.iter().filter(|b| due(b)).map(|b| b.id).collect::<Vec<_>>() {
            match self.policy.gate {
                GateKind::Rules => self.gate_by_rules(id, out),
                GateKind::Embedded => self.gate_embedded(id, out),
                GateKind::Model => self.ask_gate(id, out),
            }
        }
    }

    fn gate_by_rules(&mut self, id: u64, out: &mut Out) {
        if let Some(b) = self.burst_mut(id) {
            (b.gate_due, b.gated) = (None, true);
        }
        let Some(b) = self.burst(id) else { return };
        let judged = self.judge(b);
        match judged {
            Ok((kind, persona, why)) => self.open_obligation(kind, persona, id, why, out),
            Err(why) => self.silent(id, why, out),
        }
        self.rest_if_done(id);
    }

    pub(super) fn silent(&mut self, id: u64, why: Why, out: &mut Out) {
        self.record(out, What::Silent, why, About { burst: Some(id), ..About::default() });
    }

    fn judge(&self, b: &Burst) -> Result<(ObligationKind, Option<PersonaNo>, Why), Why> {
        if !b.requests() {
            return Err(Why::NotAsking);
        }
        if b.names_anybody() {
            return Err(Why::ForOthers);
        }
        let person = self.people.get(b.who).ok_or(Why::NotAsking)?;
        if let Some((t, persona)) = self.last_spoke_to(b.who).filter(|(t, _)| b.began_at - t <= FOLLOW_UP_MS) {
            if person.helped_at.is_some_and(|h| h > t) {
                return Err(Why::HelpedByOthers);
            }
            return Ok((ObligationKind::FollowUp, Some(persona), Why::Continues));
        }
        if b.silence.is_some_and(|s| s < TOPIC_GAP_MS) || b.lines.iter().any(|l| l.to.own_link) {
            return Err(Why::InMidTalk);
        }
        if b.answered_early.is_some() {
            return Err(Why::PersonAnswered);
        }
        Ok((ObligationKind::RoomQuestion, None, Why::AsksRoom))
    }

    /// The member who last spoke to somebody, and when.
    pub(super) fn last_spoke_to(&self, who: Who) -> Option<(Millis, PersonaNo)> {
        let person = self.people.get(who)?;
        self.members.iter().filter_map(|m| Some((person.standing.spoken_to_by(*m)?, *m))).max_by_key(|(t, _)| *t)
    }

    fn ask_gate(&mut self, id: u64, out: &mut Out) {
        if self.members.is_empty() {
            return;
        }
        let call = out.next_id();
        if let Some(b) = self.burst_mut(id) {
            (b.gate_due, b.gated, b.gate_call) = (None, true, Some(call));
        }
        if let Some(b) = self.burst(id) {
            out.push(self.gate_call(b));
        }
    }

    fn gate_call(&self, b: &Burst) -> EffectKind {
        let persona = self.members.first().map_or_else(String::new, |p| self.persona_id(*p).to_owned());
        EffectKind::Gate(GateCall { persona, lines: b.said() })
    }

    pub(super) fn gates_under_way(&self) -> Vec<Effect> {
        self.active.iter().filter_map(|b| Some(Effect { id: b.gate_call?, kind: self.gate_call(b) })).collect()
    }

    /// The bars are those of the embedded gate, so that a model's answer means the same.
    pub(super) fn on_verdict(&mut self, v: Verdict, out: &mut Out) {
        let Some(b) = self.active.iter_mut().find(|b| b.gate_call == Some(v.gate)) else { return self.ignored(v.gate, out) };
        b.gate_call = None;
        (b.weighed.me, b.weighed.room) = (v.me, v.room);
        let (id, asks, who) = (b.id, b.requests(), b.who);
        let persona = self.persona_for(who);
        self.decide(id, v.me, v.room, asks, persona, out);
        self.rest_if_done(id);
    }

    pub(super) fn bound_active(&mut self, out: &mut Out) {
        if self.active.len() <= MAX_ACTIVE {
            return;
        }
        let Some(id) = self.active.iter().find(|b| b.gate_due.is_some()).map(|b| b.id) else { return };
        if let Some(b) = self.burst_mut(id) {
            (b.gate_due, b.gated) = (None, true);
        }
        self.silent(id, Why::QueueFull, out);
        self.rest_if_done(id);
    }

    /// Whether a person's line answers what others asked: it replies to it, names its author, or is a plain statement soon
    /// after the only burst that is open.
    pub(super) fn note_answers(&mut self, who: Who, item: &Item, form: Form, addressed: &Addressed, at: Millis, out: &mut Out) {
        self.learn_from_watched(who, item, addressed, at);
        if self.active.is_empty() {
            return;
        }
        let plain = !form.question() && !addressed.to.names && addressed.to.personas == 0 && item.links.is_empty();
        let open = if plain { self.active.iter().filter(|b| b.who != who).count() } else { 0 };
        let mut answered = Vec::new();
        for b in self.active.iter().filter(|b| b.who != who) {
            let gap = (at - b.last_at).max(0);
            let strong = addressed.named.contains(&b.who) || item.links.iter().any(|l| b.holds(&l.id));
            let weak = plain && open == 1 && (b.requests() || self.owed.iter().any(|o| o.burst == Some(b.id)));
            if gap <= ANSWER_MAX_MS && (strong || weak) {
                let sure = if strong {
                    Evidence::Addressed
                } else if gap <= PLAIN_ANSWER_MS {
                    Evidence::Soon
                } else {
                    Evidence::Late
                };
                answered.push((b.id, gap, sure));
            }
        }
        for (id, gap, evidence) in answered {
            let line = Line { seq: item.seq, platform_id: item.platform_id.clone() };
            self.answered_by(id, gap, evidence, &line, out);
        }
    }

    fn answered_by(&mut self, burst: u64, gap: Millis, evidence: Evidence, line: &Line, out: &mut Out) {
        let mut closes = Vec::new();
        let mut owed = false;
        let mut room_question = false;
        let judged = self.judged();
        for o in self.owed.iter_mut().filter(|o| o.burst == Some(burst)) {
            owed = true;
            let working = matches!(o.state, ObligationState::Drafting | ObligationState::Sending);
            match o.kind {
                ObligationKind::FollowUp | ObligationKind::RoomQuestion | ObligationKind::Opening if judged => {}
                ObligationKind::Direct if evidence == Evidence::Addressed || working => {
                    o.answered.get_or_insert_with(|| line.clone());
                }
                ObligationKind::Direct | ObligationKind::Task => {}
                _ if evidence == Evidence::Late => {
                    // Too late to be sure, but a draft under way should see it before it is posted.
                    if working && o.answered.is_none() {
                        (o.answered, o.unsure) = (Some(line.clone()), true);
                    }
                }
                ObligationKind::FollowUp | ObligationKind::RoomQuestion | ObligationKind::Opening => {
                    room_question |= o.kind == ObligationKind::RoomQuestion && (o.answered.is_none() || o.unsure);
                    o.answered.get_or_insert_with(|| line.clone());
                    o.unsure = false;
                    if o.is_open() {
                        closes.push(o.id);
                    }
                }
            }
        }
        if room_question {
            self.learn_wait(gap);
        }
        if let Some(b) = self.burst_mut(burst) {
            if !owed && evidence != Evidence::Late && b.requests() && b.answered_early.is_none() {
                b.answered_early = Some(gap);
            }
            if !closes.is_empty() {
                b.answered = Some(line.clone());
            }
        }
        for id in closes {
            self.end(id, What::Answered, Why::PersonAnswered, out);
        }
    }

    /// Any statement may be the answer for what a draft is concerned that says the same; which one it answers matters little then.
    pub(super) fn note_statement(&mut self, who: Who, item: &Item, text: &str, form: Form) {
        if self.owed.is_empty() {
            return self.stated.clear();
        }
        if form.question() {
            return;
        }
        // The memory of the oldest is used again.
        let oldest = if self.stated.len() == MAX_STATED { self.stated.pop_front() } else { None };
        let mut stated = oldest.unwrap_or_else(|| Stated { who, line: Line { seq: 0, platform_id: String::new() }, words: Vec::new() });
        (stated.who, stated.line.seq) = (who, item.seq);
        stated.line.platform_id.clone_from(&item.platform_id);
        words_of(text, &mut stated.words);
        self.stated.push_back(stated);
    }

    /// A line that was changed or taken back says nothing any more that a draft could repeat.
    pub(super) fn forget_statement(&mut self, platform_id: &str) {
        self.stated.retain(|s| s.line.platform_id != platform_id);
    }

    /// The first line of somebody else, after the asker's first, that says the same as a draft.
    pub(super) fn stated_since(&self, id: ObligationId, words: &Shingles) -> Option<&Line> {
        let o = self.obligation(id)?;
        let asked = self.burst(o.burst?)?.lines.first()?.line.seq;
        let same = |s: &&Stated| s.line.seq > asked && o.who != Some(s.who) && Shingles::of_words(&s.words).same(words);
        self.stated.iter().find(same).map(|s| &s.line)
    }

    fn learn_from_watched(&mut self, who: Who, item: &Item, addressed: &Addressed, at: Millis) {
        if self.watched.is_empty() {
            return;
        }
        let mut learnt = Vec::new();
        self.watched.retain(|w| {
            let answers = w.who != who && (addressed.named.contains(&w.who) || item.links.iter().any(|l| w.lines.contains(&l.id)));
            if answers {
                learnt.push((at - w.at).max(0));
            }
            !answers && at - w.at <= WATCH_MS
        });
        for gap in learnt {
            self.learn_wait(gap);
        }
    }

    pub(super) fn learn_wait(&mut self, gap: Millis) {
        keep(&mut self.first_answers, super::clock::MAX_FIRST_ANSWERS, gap);
    }

    /// Keeps what a line tells about the talk: who helps whom, the lull, who alternates with whom, how long agents have talked.
    pub(super) fn note_line(&mut self, who: Who, addressed: &Addressed, person: bool, at: Millis) {
        if let Some(p) = addressed.target.filter(|t| *t != who).and_then(|t| self.people.get_mut(t)) {
            p.helped_at = Some(at);
        }
        self.restraint.note_line(who, addressed.target, person, self.now);
        for p in &self.members {
            if addressed.to.personas & 1 << p.0 != 0 {
                self.restraint.heeded(*p);
            }
        }
    }

    /// Whether agents have talked long enough for an agent's line to open nothing. The owner sees it once.
    pub(super) fn agents_have_talked_enough(&self, person: bool) -> bool {
        !person && self.restraint.agent_run() >= self.policy.budget.agent_turns
    }
}
