//! What people do in a room, and what its platform shows.

use std::collections::HashMap;

use parlor_core::{Author, AuthorKind, Input, Item, ItemKind, Link, Millis, Row, RowKind, Submission};

use super::{WorldFault, room::RoomPlay};
use crate::{
    replay::Random,
    sim::{
        script::{Act, Cut},
        words,
        world::{Event, Site},
    },
};

/// How long somebody is shown as typing.
const TYPING_MS: Millis = 8_000;

/// A message on the platform.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) id: String,
    pub(super) author: Author,
    pub(super) text: String,
    pub(super) deleted: bool,
}

/// What the platform of a room holds.
#[derive(Default)]
pub(super) struct Lines {
    said: Vec<Shown>,
    at: HashMap<String, usize>,
    /// The newest events, for those that come again.
    events: Vec<Event>,
    events_in_all: u64,
    rows: HashMap<String, RowKind>,
    /// Deleted lines that the machine need not know of yet.
    pub(super) gone: Vec<String>,
    /// Echoes that the platform has not shown us yet.
    echoes: Vec<(Millis, Event)>,
}

/// Events that may come again.
const EVENTS_KEPT: usize = 16;

impl Lines {
    pub(super) fn last_said(&self) -> Option<&str> {
        self.said.iter().rev().find(|l| l.author.kind != AuthorKind::Own && !l.deleted).map(|l| l.text.as_str())
    }

    fn back(&self, n: usize) -> Option<&Shown> {
        self.said.iter().rev().nth(n)
    }

    pub(super) fn show(&mut self, line: Shown) {
        self.at.insert(line.id.clone(), self.said.len());
        self.said.push(line);
    }

    pub(super) fn stands(&self, id: &str) -> bool {
        self.at.get(id).and_then(|i| self.said.get(*i)).is_some_and(|l| !l.deleted)
    }

    fn delete(&mut self, id: &str) {
        if let Some(line) = self.at.get(id).and_then(|i| self.said.get_mut(*i)) {
            line.deleted = true;
        }
    }

    pub(super) fn note_row(&mut self, row: &Row) {
        self.rows.insert(row.dedupe.clone(), row.kind.clone());
    }

    pub(super) fn kind_of(&self, key: &str) -> Option<&RowKind> {
        self.rows.get(key)
    }

    pub(super) fn echo_later(&mut self, at: Millis, event: Event) {
        self.echoes.push((at, event));
    }

    pub(super) fn echo_due(&self) -> Option<Millis> {
        self.echoes.iter().map(|(t, _)| *t).min()
    }
}

/// An item before it has a place.
pub(super) fn item(at: Millis, author: Author, platform_id: &str, text: String, kind: ItemKind) -> Item {
    Item { seq: 0, at, platform_id: platform_id.to_owned(), author, text, mentions: Vec::new(), find_names: true, links: Vec::new(), kind }
}

fn author(n: usize) -> Author {
    let (id, name, kind) = words::person(n);
    Author { id, name, kind }
}

impl<S: Site> RoomPlay<S> {
    /// A move of the script.
    pub(super) fn act(&mut self, act: &Act, now: Millis, dice: &mut Random) -> Result<(), WorldFault> {
        match act {
            Act::Say { who, line, reply } => self.say(author(*who), words::line(*line), *reply, now),
            Act::Edit { back, line } => self.edit(*back, words::line(*line), now),
            Act::Delete { back } => self.delete(*back, now),
            Act::React { who, back, on } => self.react(*who, *back, *on, now),
            Act::Again { back } => self.again(*back, now),
            Act::Crowd { people } => self.crowd(*people, now),
            Act::Typing { who } => {
                self.site.typing(&author(*who).id, now + TYPING_MS)?;
                self.ring(now);
                Ok(())
            }
            Act::Wait { .. } => Ok(()),
            Act::Crash { at } => self.crash(*at, now, dice),
            Act::Stop => self.stops(now),
            Act::Away { ms } => {
                self.goes_away(now, *ms);
                Ok(())
            }
            Act::Deaf { ms } => {
                self.goes_deaf(now, *ms);
                Ok(())
            }
            Act::Bells { come } => {
                self.bells(*come);
                Ok(())
            }
            Act::Policy { change } => self.change(*change, now),
            Act::Submit { key, persona, prompted, ttl_ms, by_job } => {
                let submission = Submission {
                    key: format!("k{key}"),
                    persona: words::persona(*persona).to_owned(),
                    text: format!("A reminder about thing number {key}: look at the kiln"),
                    prompted: *prompted,
                    expires_at: now + ttl_ms,
                };
                self.submit(submission, *by_job, now)
            }
            Act::Model { talk, ms, twice } => {
                self.model(*talk, *ms, *twice);
                Ok(())
            }
            Act::Gate { me, all, ms } => {
                self.gate_model(*me, *all, *ms);
                Ok(())
            }
            Act::Mouth { fault } => {
                self.mouth.fault(*fault, now);
                Ok(())
            }
        }
    }

    /// Stores an event, and remembers it as one that may come again.
    fn hear(&mut self, event: Event, now: Millis) -> Result<(), WorldFault> {
        self.site.hear(&event)?;
        self.lines.events_in_all += 1;
        if self.lines.events.len() == EVENTS_KEPT {
            self.lines.events.remove(0);
        }
        self.lines.events.push(event);
        self.ring(now);
        Ok(())
    }

    fn say(&mut self, author: Author, text: String, reply: Option<usize>, now: Millis) -> Result<(), WorldFault> {
        let id = format!("m{}", self.lines.said.len() + 1);
        let mut said = item(now, author.clone(), &id, text.clone(), ItemKind::Message);
        said.links.extend(reply.and_then(|n| self.lines.back(n)).map(|to| Link { id: to.id.clone(), author: None }));
        self.counts.lines += 1;
        self.lines.show(Shown { id: id.clone(), author, text, deleted: false });
        self.hear(Event { key: format!("m:{id}"), item: said, row_n: None }, now)
    }

    fn edit(&mut self, back: usize, text: String, now: Millis) -> Result<(), WorldFault> {
        let Some(line) = self.lines.back(back).filter(|l| !l.deleted && l.author.kind != AuthorKind::Own).cloned() else { return Ok(()) };
        let key = format!("e:{}:{}", line.id, self.lines.events_in_all);
        self.counts.edits += 1;
        self.hear(Event { key, item: item(now, line.author, &line.id, text, ItemKind::Edit), row_n: None }, now)
    }

    fn delete(&mut self, back: usize, now: Millis) -> Result<(), WorldFault> {
        let Some(line) = self.lines.back(back).filter(|l| !l.deleted).cloned() else { return Ok(()) };
        self.lines.delete(&line.id);
        self.lines.gone.push(line.id.clone());
        self.counts.deletes += 1;
        // A post of ours is deleted by an owner.
        let by = if line.author.kind == AuthorKind::Own { author(2) } else { line.author };
        self.hear(Event { key: format!("d:{}", line.id), item: item(now, by, &line.id, String::new(), ItemKind::Delete), row_n: None }, now)
    }

    fn react(&mut self, who: usize, back: usize, on: bool, now: Millis) -> Result<(), WorldFault> {
        let Some(id) = self.lines.back(back).filter(|l| !l.deleted).map(|l| l.id.clone()) else { return Ok(()) };
        let kind = if on { ItemKind::Reaction } else { ItemKind::Unreaction };
        let key = format!("r:{id}:{who}:{}", self.lines.events_in_all);
        self.hear(Event { key, item: item(now, author(who), &id, "\u{1f44d}".into(), kind), row_n: None }, now)
    }

    fn again(&mut self, back: usize, now: Millis) -> Result<(), WorldFault> {
        let Some(event) = self.lines.events.iter().rev().nth(back).cloned() else { return Ok(()) };
        let fresh = self.site.hear(&event)?;
        self.ring(now);
        if fresh {
            let what = format!("event {} was stored twice", event.key);
            return Err(self.checker.fails(crate::sim::check::Rule::Store, now, what).into());
        }
        Ok(())
    }

    fn crowd(&mut self, people: usize, now: Millis) -> Result<(), WorldFault> {
        for n in 0..people {
            let text = if n % 3 == 0 { "wren, where are we?" } else { "hello from the crowd" };
            self.say(author(words::PEOPLE.len() + n), text.to_owned(), None, now)?;
        }
        Ok(())
    }

    fn crash(&mut self, at: Cut, now: Millis, dice: &mut Random) -> Result<(), WorldFault> {
        self.cut = Some(at);
        self.look(now, dice)
    }

    fn submit(&mut self, submission: Submission, by_job: bool, now: Millis) -> Result<(), WorldFault> {
        self.counts.submissions += 1;
        if by_job {
            // The key of a job is its own, so that it is no other source's.
            let submission = Submission { key: format!("j{}", submission.key), ..submission };
            self.site.put_job(&submission, now)?;
        } else {
            self.site.deliver(Input::Submission(submission))?;
        }
        self.ring(now);
        Ok(())
    }

    pub(super) fn late_echo(&mut self, now: Millis) -> Result<(), WorldFault> {
        let Some(i) = self.lines.echoes.iter().position(|(t, _)| *t <= now) else { return Ok(()) };
        let (_, event) = self.lines.echoes.remove(i);
        self.hear(event, now)
    }
}
