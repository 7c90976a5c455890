//! The embedded gate and the trained check, inside the machine: when a model is asked, and what follows from its answer.

use super::{By, Out, Room, address::Addressed, gate::ANSWER_MAX_MS};
use crate::{
    Bars, Item, Judge, Likelihood, Line, Measured, Millis, ObligationId, ObligationKind, ObligationState, Observation, Odds, What, Why,
    burst::Burst,
    judge::{
        numbers::{Past, Said, ago, count},
        talk,
        weigh::{Later, Toward},
    },
    obligation::Obligation,
    people::{PersonaNo, Who},
    reading::Reading,
    text::Form,
};

/// Who spoke to somebody this lately is in talk with them.
const IN_TALK_MS: Millis = 600_000;
/// Who spoke to somebody this lately speaks on with them.
const BUSY_MS: Millis = 180_000;

/// What is to become of an obligation, all in all.
pub(super) enum Weighing {
    /// It still wants us.
    Wanted,
    /// A person answered it, likeliest by this line.
    Answered(Option<Line>),
    /// It is not for us.
    NotWanted,
}

/// A probability in thousandths, as bars and records have it.
fn permille(p: f64) -> u16 {
    (p * 1_000.0).round() as u16
}

fn measured(likelihood: Likelihood, p: f64, bar_permille: u16) -> Measured {
    Measured { likelihood, permille: permille(p), bar_permille }
}

fn reaches(p: f64, bar: u16) -> bool {
    p * 1_000.0 >= f64::from(bar)
}

impl Room {
    /// The persona that a burst of somebody may continue with: the one that spoke to them last, else the first of the room.
    pub(super) fn persona_for(&self, who: Who) -> Option<PersonaNo> {
        self.last_spoke_to(who).map(|(_, p)| p).or(self.members.first().copied())
    }

    /// Looks at the past as a burst begins.
    pub(super) fn look_back(&self, b: &mut Burst, at: Millis) {
        b.since_us = self.last_spoke_to(b.who).map(|(t, _)| at - t);
        if let (Some(persona), Some(person)) = (self.persona_for(b.who), self.people.get(b.who)) {
            b.weighed.before = Some(self.talk.before(b.who, person, persona, at));
        }
    }

    /// From here on models judge: they see of what is open already what is known of the time before it, which is little.
    pub(super) fn look_back_at_open(&mut self) {
        let mut active = std::mem::take(&mut self.active);
        for b in active.iter_mut().filter(|b| b.weighed.before.is_none()) {
            self.look_back(b, b.began_at);
        }
        self.active = active;
    }

    /// Keeps what a line says about who talks with whom, once it was compared with the past.
    pub(super) fn note_talk(&mut self, who: Who, addressed: &Addressed, form: Form, at: Millis) {
        let persona = self.members.iter().find(|p| addressed.to.personas & 1 << p.0 != 0).copied();
        let to = persona.map(By::Own).or(addressed.target.map(By::Person));
        if let Some(p) = self.people.get_mut(who) {
            let number = self.talk.note(at, By::Person(who), addressed.target.map(By::Person), p.standing.last());
            p.standing.note_line(at, to, number);
        }
        if let Some(p) = addressed.target.filter(|t| *t != who).and_then(|t| self.people.get_mut(t)) {
            p.standing.note_help(at, who);
        }
        if form.request() && to.is_none() && !addressed.to.others {
            self.talk.note_ask(at, who);
        }
    }

    /// From here on no model judges, and nothing is noted for one. What was noted goes: if models judge again, they begin with an
    /// empty past and not with one that has a hole in it.
    pub(super) fn forget_talk(&mut self) {
        self.talk.forget();
        self.people.forget_talk();
    }

    /// The author of these bursts speaks to somebody else.
    pub(super) fn author_turns(&mut self, who: Who, thanks: bool) {
        for b in self.active.iter_mut().filter(|b| b.who == who) {
            b.weighed.author_turned(thanks);
        }
    }

    /// Weighs a line of somebody beside every open burst of others.
    pub(super) fn hear_beside(&mut self, who: Who, item: &Item, read: &Reading, addressed: &Addressed, at: Millis) {
        self.talk.trim(at);
        if self.active.iter().all(|b| b.who == who) {
            return;
        }
        let Some(author) = self.people.get(who) else { return };
        let person_of = |by: By| match by {
            By::Person(w) => Some(w),
            By::Own(_) => None,
        };
        let later = Later {
            seq: item.seq,
            platform_id: &item.platform_id,
            who,
            at,
            form: read.form,
            signs: read.signs,
            words: &read.words,
            length: count(read.bytes as usize),
            answerer_gap: ago(author.last_at.map(|l| at - l)),
            names_anybody: addressed.to.names,
            to_me: addressed.to.personas != 0 && addressed.to.why != Some(Why::NameInside),
            links_others: addressed.links_others,
            speaks_with: author.standing.spoke_to_within(at, IN_TALK_MS).and_then(person_of),
            told_by: author.standing.told_within(at, BUSY_MS),
            before: self.talk.last_before(who),
            spoke_to_other: author.standing.spoke_to_within(at, BUSY_MS).and_then(person_of),
        };
        let mut active = std::mem::take(&mut self.active);
        let (mut learnt, mut observed) = (Vec::new(), Vec::new());
        for b in active.iter_mut().filter(|b| b.who != who && at - b.last_at <= ANSWER_MAX_MS) {
            let toward = Toward {
                names_first: addressed.opened == Some(b.who),
                names: addressed.named.contains(&b.who),
                link: item.links.iter().any(|l| b.holds(&l.id)),
                asks_since: self.talk.asks_since(b.last_at, b.who, who),
                right_after: self.talk.last_is(b.who),
                owed: self.owed.iter().find(|o| o.burst == Some(b.id)).map(|o| o.kind),
            };
            let numbers = b.beside(&later, &toward).values();
            let likely = if toward.link { 1.0 } else { self.judges.get(Judge::Answer).probability(&[&numbers]) };
            observed.extend(self.observation(Judge::Answer, b, &[&numbers], Some(later.platform_id), toward.owed));
            if toward.owed == Some(ObligationKind::RoomQuestion)
                && b.weighed.answer_below(self.policy.bars.answer_permille)
                && reaches(likely, self.policy.bars.answer_permille)
            {
                learnt.push((at - b.last_at).max(0));
            }
            b.weighed.heard(&later, &toward, likely);
        }
        self.active = active;
        if let Some(all) = &mut self.observed {
            all.append(&mut observed);
        }
        for gap in learnt {
            self.learn_wait(gap);
        }
    }

    /// What a model is asked, where somebody trains on it.
    fn observation(
        &self,
        judge: Judge,
        b: &Burst,
        numbers: &[&[f64]],
        line: Option<&str>,
        owed: Option<ObligationKind>,
    ) -> Option<Observation> {
        self.observed.as_ref()?;
        let (lines, line) = (b.platform_ids().collect(), line.map(str::to_owned));
        Some(Observation { judge, at: self.now, numbers: numbers.concat(), lines, line, owed })
    }

    fn observe(&mut self, observation: Option<Observation>) {
        if let Some(observed) = &mut self.observed {
            observed.extend(observation);
        }
    }

    /// From here on the machine writes down what its models are asked. The notes are no part of its state.
    pub fn start_observing(&mut self) {
        self.observed = Some(Vec::new());
    }

    /// What was written down since the last time.
    pub fn take_observed(&mut self) -> Vec<Observation> {
        self.observed.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Asks the two models about a burst whose turn looks over.
    pub(super) fn gate_embedded(&mut self, id: u64, out: &mut Out) {
        if self.burst(id).is_some_and(|b| b.weighed.before.is_none()) {
            // It began before models judged, and lay by when they came.
            self.look_back_at_open();
        }
        let Some(b) = self.burst(id) else { return };
        let persona = self.persona_for(b.who);
        let (past, said) = self.numbers_of(b, persona);
        let (past, said) = (past.values(), said.values());
        let pieces: [&[f64]; 2] = [&past, &said];
        let (me, room) = (self.judges.get(Judge::Me).probability(&pieces), self.judges.get(Judge::Room).probability(&pieces));
        let (asks, asked) = (b.requests(), self.observation(Judge::Me, b, &pieces, None, None));
        self.observe(asked);
        if let Some(b) = self.burst_mut(id) {
            (b.gate_due, b.gated, b.weighed.me, b.weighed.room) = (None, true, me, room);
        }
        self.decide(id, me, room, asks, persona, out);
        self.rest_if_done(id);
    }

    fn burst_of_mut(&mut self, id: ObligationId) -> Option<&mut Burst> {
        let burst = self.obligation(id)?.burst?;
        self.burst_mut(burst)
    }

    fn numbers_of(&self, b: &Burst, persona: Option<PersonaNo>) -> (Past, Said) {
        let used = persona.and_then(|p| self.people.get(b.who)?.standing.answered_words(p));
        let past = b.weighed.past();
        let said = b.numbers(persona.map_or(0, |p| 1 << p.0), used, &past);
        (past, said)
    }

    /// What follows from two probabilities, whoever gave them.
    pub(super) fn decide(&mut self, id: u64, me: f64, room: f64, asks: bool, persona: Option<PersonaNo>, out: &mut Out) {
        let bars = self.policy.bars;
        let follow_bar = if asks { bars.follow_asks_permille } else { bars.follow_permille };
        let follows = reaches(me, follow_bar);
        let (us, asks_room) = (|bar| measured(Likelihood::ForUs, me + room, bar), reaches(me + room, bars.room_permille));
        let remarks = |r: &Self| r.policy.budget.unprompted_per_hour > 0 && !r.restraint.side_talk();
        let (measured, opens) = if follows && (me >= room || !asks_room) {
            (measured(Likelihood::ForPersona, me, follow_bar), Some((ObligationKind::FollowUp, persona, Why::Continues)))
        } else if asks_room {
            (us(bars.room_permille), Some((ObligationKind::RoomQuestion, None, Why::AsksRoom)))
        } else if reaches(me + room, bars.remark_permille) && remarks(self) {
            (us(bars.remark_permille), Some((ObligationKind::Opening, None, Why::MayRemark)))
        } else {
            (us(bars.room_permille), None)
        };
        self.note_measured(id, measured);
        match opens {
            Some((kind, persona, why)) => self.open_obligation(kind, persona, id, why, out),
            None => self.silent(id, Why::GateSilent, out),
        }
    }

    /// Keeps for the record what was held against a bar.
    fn note_measured(&mut self, burst: u64, measured: Measured) {
        if let Some(b) = self.burst_mut(burst) {
            b.weighed.measured = Some(measured);
        }
    }

    /// Weighs all that happened since against what is owed.
    pub(super) fn weigh(&mut self, id: ObligationId) -> Weighing {
        let Some((o, b)) = self.obligation(id).and_then(|o| Some((o, self.burst(o.burst?)?))) else { return Weighing::Wanted };
        let Bars { answered_room_permille, answered_follow_permille, wanted_permille, .. } = self.policy.bars;
        let (bar, room) = match o.kind {
            ObligationKind::RoomQuestion => (answered_room_permille, true),
            ObligationKind::FollowUp => (answered_follow_permille, false),
            ObligationKind::Direct | ObligationKind::Opening | ObligationKind::Task => return Weighing::Wanted,
        };
        let numbers = b.since(self.now, o.kind).values();
        let asked = self.observation(Judge::Answered, b, &[&numbers], None, Some(o.kind));
        let (burst, heard, answer) = (b.id, b.weighed.heard_anybody(), b.weighed.answer().cloned());
        self.observe(asked);
        if heard {
            let answered = self.judges.get(Judge::Answered).probability(&[&numbers]);
            self.note_measured(burst, measured(Likelihood::Answered, answered, bar));
            if reaches(answered, bar) {
                return Weighing::Answered(answer);
            }
        }
        if room {
            let wanted = self.judges.get(Judge::Wanted).probability(&[&numbers]);
            self.note_measured(burst, measured(Likelihood::Wanted, wanted, wanted_permille));
            if !reaches(wanted, wanted_permille) {
                return Weighing::NotWanted;
            }
        }
        Weighing::Wanted
    }

    /// Before a model is paid: what people answered meanwhile, or what is not wanted, is closed. Gives what is left.
    pub(super) fn still_wanted(&mut self, ids: Vec<ObligationId>, out: &mut Out) -> Vec<ObligationId> {
        if !self.judged() {
            return ids;
        }
        let mut left = Vec::new();
        for id in ids {
            match self.weigh(id) {
                Weighing::Wanted => left.push(id),
                Weighing::Answered(line) => {
                    if let Some(b) = self.burst_of_mut(id) {
                        b.answered = line;
                    }
                    self.end(id, What::Answered, Why::PersonAnswered, out);
                }
                Weighing::NotWanted => self.end(id, What::Passed, Why::NotWanted, out),
            }
        }
        left
    }

    /// The same for a written draft: an answered obligation is marked, so that it gets a reaction. Gives what is left.
    pub(super) fn weigh_draft(&mut self, ids: &[ObligationId], persona: PersonaNo, out: &mut Out) -> Vec<ObligationId> {
        let mut left = Vec::new();
        for id in ids {
            match self.weigh(*id) {
                Weighing::Wanted if self.is_mere_statement(*id) => {
                    let target = self.obligation(*id).and_then(|o| self.burst(o.burst?)?.target().map(|l| l.platform_id.clone()));
                    if let Some(target) = target {
                        self.react(persona, target, self.policy.answered_emoji.clone(), *id, out);
                    }
                    if let Some(b) = self.burst_of_mut(*id) {
                        b.settled = true;
                    }
                    self.end(*id, What::Settled, Why::ByReaction, out);
                }
                Weighing::Wanted => left.push(*id),
                Weighing::Answered(Some(line)) => {
                    if let Some(o) = self.owed.iter_mut().find(|o| o.id == *id) {
                        o.answered.get_or_insert(line);
                    }
                    left.push(*id);
                }
                Weighing::Answered(None) => self.end(*id, What::Answered, Why::PersonAnswered, out),
                Weighing::NotWanted => self.end(*id, What::Passed, Why::NotWanted, out),
            }
        }
        left
    }

    /// Whether a direct line is a statement soon after our post, most likely the rest of what we answered already.
    fn is_mere_statement(&mut self, id: ObligationId) -> bool {
        let direct = |o: &&Obligation| o.kind == ObligationKind::Direct && o.state != ObligationState::Held;
        let Some((o, b)) = self.obligation(id).filter(direct).and_then(|o| Some((o, self.burst(o.burst?)?))) else { return false };
        let soon = b.since_us.is_some_and(|ms| ms < self.policy.timings.statement_window_ms);
        if !soon || b.requests() {
            return false;
        }
        let (past, said) = self.numbers_of(b, o.persona);
        let (past, said) = (past.values(), said.values());
        let pieces: [&[f64]; 2] = [&past, &said];
        let asked = self.observation(Judge::Statement, b, &pieces, None, Some(ObligationKind::Direct));
        let (burst, wants, bar) = (b.id, self.judges.get(Judge::Statement).probability(&pieces), self.policy.bars.statement_permille);
        self.observe(asked);
        self.note_measured(burst, measured(Likelihood::Statement, wants, bar));
        !reaches(wants, bar)
    }

    /// The line was written before a post of ours to its author could be read.
    pub(super) fn before_ours_was_read(&self, b: &Burst) -> bool {
        b.since_us.is_some_and(|ms| ms < self.policy.timings.read_ms)
    }

    /// Keeps who was told what, for judging what they say next.
    pub(super) fn note_own_talk(&mut self, persona: PersonaNo, at: Millis, askers: &[talk::Told]) {
        self.talk.note_own(at, persona, askers.first().map(|t| By::Person(t.who)));
        for told in askers {
            if let Some(p) = self.people.get_mut(told.who) {
                p.standing.note_post(at, persona, told.direct, told.words.clone());
            }
        }
    }

    /// Odds for the record.
    pub(super) fn odds_of(b: &Burst) -> Odds {
        Odds { me_permille: permille(b.weighed.me), room_permille: permille(b.weighed.room), measured: b.weighed.measured }
    }
}
