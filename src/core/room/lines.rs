//! Items: lines, edits, deletes and reactions, and the bursts they make.

use super::{About, By, MAX_RECENT, MAX_RESTING, Out, Room};
use crate::{
    Audience, AuthorKind, Item, ItemKind, Line, Millis, ObligationKind, Place, What, Why,
    burst::{Burst, Said, To},
    hash::hash,
    judge::signs::Signs,
    newest::keep,
    people::Who,
    text::{Form, greets, lower, next_word, takes_back},
};

/// Text past this is not read (floor.md 1).
const MAX_LINE_BYTES: usize = 4_096;
/// A line that replies to its own author's line continues the burst within this gap (docs/replay.md, judged turns).
const OWN_LINK_GAP_MS: Millis = 180_000;
/// A late line older than this when heard is part of a backlog; a younger one is treated as live.
const BACKLOG_AGE_MS: Millis = 20_000;

impl Room {
    pub(super) fn on_item(&mut self, item: Item, out: &mut Out) {
        if item.seq <= self.cursor {
            return;
        }
        self.cursor = item.seq;
        match item.kind {
            ItemKind::Message if self.persona_no(&item.author.id).is_some() => {
                self.on_own_item(&item);
                self.on_member_line(&item, out);
            }
            ItemKind::Message => self.on_message(item, out),
            ItemKind::Edit => self.on_edit(&item, out),
            ItemKind::Delete => self.on_delete(&item, out),
            ItemKind::Reaction => self.on_reaction(&item),
            ItemKind::Unreaction | ItemKind::System => {}
        }
    }

    pub(super) fn on_typing(&mut self, author: &str) {
        let who = self.seat(author, AuthorKind::Human);
        let now = self.now;
        if let Some(p) = self.people.get_mut(who) {
            p.typing = Some(now);
            p.types = true;
        }
        let hold = now + self.policy.timings.typing_fresh_ms;
        for b in self.active.iter_mut().filter(|b| b.who == who) {
            b.gate_due = b.gate_due.map(|due| due.max(hold));
        }
    }

    /// The seat of somebody; seats that are owed to, or whose burst is open, are kept.
    fn seat(&mut self, id: &str, kind: AuthorKind) -> Who {
        let (active, owed) = (&self.active, &self.owed);
        self.people.seat(id, kind, |w| active.iter().any(|b| b.who == w) || owed.iter().any(|o| o.who == Some(w)))
    }

    fn on_message(&mut self, item: Item, out: &mut Out) {
        let (person, judged) = (item.author.kind.is_person(), self.judged());
        let who = self.seat(&item.author.id, item.author.kind);
        let text = cut(&item.text);
        let found = self.mentions_of(&item, text);
        let mut addressed = self.address(&item, found.as_deref().unwrap_or(&item.mentions), person);
        let mut reading = std::mem::take(&mut self.reading);
        reading.read(text, judged);
        let (mut form, signs) = (reading.form, reading.signs);
        self.tell_about_from_to(&mut addressed.to, form, signs);
        if addressed.to.personas != 0 && !form.complete() && self.may_greet(text) && greets(text, |w| self.names.is_persona(w)) {
            form = form.made_complete();
            reading.form = form;
        }
        let last_at = self.people.get(who).and_then(|p| p.last_at);
        let silence = last_at.map(|l| (item.at - l).max(0));
        let at = last_at.map_or(item.at, |l| l.max(item.at));
        let heard = if self.catching_up { at.min(self.now) } else { self.now };
        if person {
            if judged {
                self.hear_beside(who, &item, &reading, &addressed, at);
                if addressed.to.others {
                    self.author_turns(who, form.thanks());
                }
            }
            self.note_answers(who, &item, form, &addressed, at, out);
            self.note_statement(who, &item, text, form);
        }
        let taken_back = person && self.owes_to(who) && takes_back(text, |w| self.names.is_persona(w));
        self.remember(&item.platform_id, By::Person(who));
        let line = Line { seq: item.seq, platform_id: item.platform_id };
        let said = Said { line, form, signs, bytes: reading.bytes, to: addressed.to.clone() };
        let mut burst = self.join_or_begin(who, at, silence, &said, out);
        burst.late = self.catching_up && self.now - at > BACKLOG_AGE_MS;
        if burst.lines.is_empty() {
            burst.began_at = at;
            if person && judged {
                self.look_back(&mut burst, at);
            }
        }
        burst.say(said, &reading.words);
        self.reading = reading;
        // The line joins the past only now: a burst is judged by what was before it.
        self.people.spoke(who, at, item.author.kind);
        self.note_line(who, &addressed, person, at);
        if person && judged {
            self.note_talk(who, &addressed, form, at);
        }
        (burst.last_at, burst.heard) = (at, heard);
        let joined = burst.lines.len() > 1;
        let id = burst.id;
        self.active.push(burst);
        if taken_back && joined {
            self.withdraw_burst(id, Why::NeverMind, out);
        } else {
            self.classify(id, person, Why::AskerAdded, out);
        }
        self.rest_if_done(id);
        self.side_talk_closes(out);
    }

    /// A member's post is an agent's line for the others: only the platform's own mention of another opens anything.
    pub(super) fn on_member_line(&mut self, item: &Item, out: &mut Out) {
        if item.kind != ItemKind::Message || self.members.len() < 2 {
            return;
        }
        let found = if item.find_names { self.names.find(cut(&item.text)) } else { item.mentions.clone() };
        let to = self.address(item, &found, false).to;
        if to.personas == 0 {
            return;
        }
        let who = self.seat(&item.author.id, AuthorKind::Own);
        let mut burst = Box::new(Burst::new(out.next_burst(), who, None));
        let text = cut(&item.text);
        let mut reading = std::mem::take(&mut self.reading);
        reading.read(text, self.judged());
        let line = Line { seq: item.seq, platform_id: item.platform_id.clone() };
        burst.say(Said { line, form: reading.form, signs: reading.signs, bytes: reading.bytes, to }, &reading.words);
        self.reading = reading;
        (burst.began_at, burst.last_at, burst.heard) = (item.at, item.at, self.now);
        let id = burst.id;
        self.active.push(burst);
        self.classify(id, false, Why::AskerAdded, out);
        self.rest_if_done(id);
    }

    /// Names found in the text, where the item leaves that to us: the platform's own mentions first.
    fn mentions_of(&mut self, item: &Item, text: &str) -> Option<Vec<crate::Mention>> {
        if !item.find_names {
            return None;
        }
        self.names.learn(&item.author.id, &item.author.name);
        let mut all: Vec<crate::Mention> = item.mentions.iter().filter(|m| m.pos == Place::Typed).cloned().collect();
        all.extend(self.names.find(text).into_iter().filter(|f| !item.mentions.iter().any(|m| m.id == f.id && m.pos == Place::Typed)));
        Some(all)
    }

    /// Spares most lines the closer look: a greeting is short and begins with a persona's name or a greeting.
    fn may_greet(&self, text: &str) -> bool {
        const LONGEST_GREETING_BYTES: usize = 64;
        let (_, first, _) = next_word(text);
        text.len() <= LONGEST_GREETING_BYTES && (greets(first, |_| false) || self.names.is_persona(&lower(first)))
    }

    pub(super) fn remember(&mut self, platform_id: &str, by: By) {
        keep(&mut self.recent, MAX_RECENT, (hash(platform_id), by));
    }

    fn owes_to(&self, who: Who) -> bool {
        self.owed.iter().any(|o| o.who == Some(who))
    }

    /// The author's last burst if the line joins it, else a new one. The burst is handed out of the room.
    fn join_or_begin(&mut self, who: Who, at: Millis, silence: Option<Millis>, said: &Said, out: &mut Out) -> Box<Burst> {
        if let Some(i) = self.active.iter().rposition(|b| b.who == who) {
            if self.active.get(i).is_some_and(|b| self.joins(b, at, said)) {
                return self.active.remove(i);
            }
        } else if let Some(b) = self.people.get_mut(who).and_then(|p| p.rest.take()) {
            if self.joins(&b, at, said) {
                return b;
            }
            self.spare = Some(b);
        }
        let id = out.next_burst();
        match self.spare.take() {
            Some(mut b) => {
                b.begin(id, who, silence);
                b
            }
            None => Box::new(Burst::new(id, who, silence)),
        }
    }

    fn joins(&self, b: &Burst, at: Millis, said: &Said) -> bool {
        let addressed = b.personas();
        let other_persona = said.to.personas != 0 && addressed != 0 && said.to.personas & addressed == 0;
        if said.to.others || other_persona || b.settled || b.answered.is_some() {
            return false;
        }
        let gap = at - b.last_at;
        gap <= self.policy.timings.burst_gap_ms
            || said.to.own_link && gap <= OWN_LINK_GAP_MS
            || b.gate_due.is_some()
            || self.owed.iter().any(|o| o.burst == Some(b.id))
    }

    /// Decides what a burst opens, as it stands now (floor.md 4).
    pub(super) fn classify(&mut self, id: u64, person: bool, changed: Why, out: &mut Out) {
        let Some(b) = self.burst(id) else { return };
        if let Some(why) = self.wants_nothing(b, person) {
            return self.record(out, What::Silent, why, About { burst: Some(id), ..About::default() });
        }
        let personas = b.personas() & self.members.iter().fold(0, |all, p| all | 1u64 << p.0);
        if personas != 0 {
            if self.agents_have_talked_enough(person) {
                return self.end_the_loop(id, out);
            }
            for persona in self.members.clone() {
                if personas & 1 << persona.0 != 0 {
                    self.owe_direct(id, persona, changed, out);
                }
            }
            return;
        }
        let Some(b) = self.burst(id) else { return };
        if b.lines.last().is_some_and(|l| l.to.others) {
            return self.record(out, What::Silent, Why::ForOthers, About { burst: Some(id), ..About::default() });
        }
        if !person {
            return;
        }
        if self.owed.iter().any(|o| o.burst == Some(id)) {
            return self.renew(id, changed, out);
        }
        if !b.gated && self.judged() && self.before_ours_was_read(b) {
            return self.record(out, What::Silent, Why::BeforeOurs, About { burst: Some(id), ..About::default() });
        }
        if !b.gated {
            let due = self.turn_end(b);
            if let Some(b) = self.burst_mut(id) {
                b.gate_due = Some(due);
            }
            self.bound_active(out);
        }
    }

    /// A thanks asks nothing, and what is said about a persona is not said to it. Where something is owed already it is one more
    /// line of that.
    fn wants_nothing(&self, b: &Burst, person: bool) -> Option<Why> {
        let owed = self.owed.iter().any(|o| o.burst == Some(b.id));
        if !person || owed || self.policy.audience == Audience::Direct {
            return None;
        }
        if b.only_thanks() {
            return Some(Why::OnlyThanks);
        }
        b.only_about().then_some(Why::AboutPersona)
    }

    /// A name inside a statement that speaks to nobody is about its bearer.
    fn tell_about_from_to(&self, to: &mut To, form: Form, signs: Signs) {
        let direct = self.policy.audience == Audience::Direct;
        if to.why == Some(Why::NameInside) && !form.request() && !signs.you() && !direct {
            (to.about, to.personas, to.why) = (to.personas, 0, None);
        }
    }

    /// Puts a burst that is neither owed nor waiting for a gate back to its author, if it is still their last.
    pub(super) fn rest_if_done(&mut self, id: u64) {
        let Some(i) = self.active.iter().position(|b| b.id == id) else { return };
        let waits = self.active.get(i).is_some_and(|b| b.gate_due.is_some() || b.gate_call.is_some());
        if waits || self.owed.iter().any(|o| o.burst == Some(id)) {
            return;
        }
        let b = self.active.remove(i);
        let newer = self.active.iter().any(|x| x.who == b.who && x.id > b.id);
        if let Some(p) = self.people.get_mut(b.who)
            && !newer
            && p.rest.as_ref().is_none_or(|r| r.id <= b.id)
        {
            let key = (b.who, b.id);
            self.spare = p.rest.replace(b).or(self.spare.take());
            self.resting.push_back(key);
        }
        if self.resting.len() > MAX_RESTING
            && let Some((who, id)) = self.resting.pop_front()
        {
            self.forget_burst(id, Some(who));
        }
    }

    /// An edit changes the line where it is still known; one that adds a name opens what a new line would.
    fn on_edit(&mut self, item: &Item, out: &mut Out) {
        self.forget_statement(&item.platform_id);
        let Some(id) = self.wake_burst_of(&item.platform_id) else { return };
        let text = cut(&item.text);
        let found = self.mentions_of(item, text);
        let person = item.author.kind.is_person();
        let mut addressed = self.address(item, found.as_deref().unwrap_or(&item.mentions), person);
        let mut reading = std::mem::take(&mut self.reading);
        reading.read(text, self.judged());
        let (form, signs, heard) = (reading.form, reading.signs, self.now);
        self.tell_about_from_to(&mut addressed.to, form, signs);
        let mut changed = false;
        if let Some(b) = self.burst_mut(id)
            && let Some(l) = b.lines.iter_mut().find(|l| l.line.platform_id == item.platform_id)
        {
            // What was settled stays so, unless the edit addresses a persona that it did not address before.
            let adds = addressed.to.personas & !l.to.personas != 0;
            (l.form, l.signs, l.bytes, l.to) = (form, signs, reading.bytes, addressed.to);
            b.weighed.words.join(&reading.words);
            changed = !b.settled || adds;
            b.settled &= !adds;
            if changed {
                b.heard = b.heard.max(heard);
            }
        }
        self.reading = reading;
        if changed && takes_back(text, |w| self.names.is_persona(w)) {
            self.withdraw_burst(id, Why::NeverMind, out);
        } else if changed {
            self.classify(id, person, Why::AskerEdited, out);
        }
        self.rest_if_done(id);
    }

    /// The last line deleted takes back what it asked; one of several changes it.
    fn on_delete(&mut self, item: &Item, out: &mut Out) {
        self.posts.retain(|p| p.platform_id.as_deref() != Some(item.platform_id.as_str()));
        self.forget_statement(&item.platform_id);
        self.forget_answer(&item.platform_id);
        self.wake_rest_of(&item.platform_id);
        // A question that found the queue full stands in its author's older burst too.
        let held = self.active.iter().filter(|b| b.holds(&item.platform_id)).map(|b| b.id);
        for id in held.collect::<Vec<_>>() {
            self.delete_from(id, &item.platform_id, out);
        }
    }

    fn delete_from(&mut self, id: u64, platform_id: &str, out: &mut Out) {
        let (mut left, now) = (0, self.now);
        if let Some(b) = self.burst_mut(id) {
            if b.lines.len() > 1 {
                b.lines.retain(|l| l.line.platform_id != platform_id);
                left = b.lines.len();
            }
            b.heard = b.heard.max(now);
        }
        let who = self.burst(id).map(|b| b.who);
        // What was settled stays so: a line less asks nothing new.
        let spent = self.burst(id).is_some_and(|b| b.settled) && !self.owed.iter().any(|o| o.burst == Some(id));
        if left == 0 {
            self.withdraw_burst(id, Why::AskerDeleted, out);
            self.rest_if_done(id);
            self.forget_burst(id, who);
        } else if !spent {
            self.close_unaddressed(id, out);
            let person = who.and_then(|w| self.people.get(w)).is_some_and(|p| p.kind.is_person());
            self.classify(id, person, Why::AskerDeleted, out);
        }
        self.rest_if_done(id);
    }

    /// Nothing is left of the burst: a late edit of its line must not bring it back.
    fn forget_burst(&mut self, id: u64, who: Option<Who>) {
        if let Some(p) = who.and_then(|w| self.people.get_mut(w))
            && p.rest.as_ref().is_some_and(|b| b.id == id)
        {
            p.rest = None;
        }
    }

    /// A direct obligation whose addressing line was deleted is owed no more.
    fn close_unaddressed(&mut self, id: u64, out: &mut Out) {
        let personas = self.burst(id).map_or(0, Burst::personas);
        let gone = |o: &&crate::obligation::Obligation| {
            o.burst == Some(id) && o.kind == ObligationKind::Direct && o.persona.is_some_and(|p| personas & 1 << p.0 == 0)
        };
        for o in self.owed.iter().filter(gone).map(|o| o.id).collect::<Vec<_>>() {
            self.withdraw(o, Why::AskerDeleted, out);
        }
    }

    /// Finds the burst that holds a line and makes it active.
    fn wake_burst_of(&mut self, platform_id: &str) -> Option<u64> {
        if let Some(b) = self.active.iter().find(|b| b.holds(platform_id)) {
            return Some(b.id);
        }
        self.wake_rest_of(platform_id)
    }

    fn wake_rest_of(&mut self, platform_id: &str) -> Option<u64> {
        let Some(By::Person(who)) = self.author_of(platform_id) else { return None };
        let rest = &mut self.people.get_mut(who)?.rest;
        if !rest.as_ref()?.holds(platform_id) {
            return None;
        }
        let b = rest.take()?;
        let id = b.id;
        self.active.push(b);
        Some(id)
    }

    fn on_reaction(&mut self, item: &Item) {
        if self.persona_no(&item.author.id).is_none() {
            let post = self.posts.iter().find(|p| p.platform_id.as_deref() == Some(item.platform_id.as_str()));
            if let Some(p) = post.map(|p| p.persona) {
                self.restraint.heeded(p);
            }
        }
    }
}

/// At most the part of a line that is read, on a character's boundary.
fn cut(text: &str) -> &str {
    if text.len() <= MAX_LINE_BYTES {
        return text;
    }
    let end = (0..=MAX_LINE_BYTES).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    text.split_at(end).0
}
