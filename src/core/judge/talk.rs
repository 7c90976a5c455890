//! The visible past: who spoke when and to whom, and how each person stands to the personas and to the others.
//!
//! Bounded in time and in number, and kept up line by line, so that a look at it costs the last ten minutes and no more.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{
    before::{Before, KEPT_MS, MINUTE_MS, Round, TALK_MS},
    signs::Words,
};
use crate::{
    Millis,
    newest::keep,
    people::{Person, PersonaNo, Who},
};

/// A room does not say more in ten minutes that one person could follow.
const MAX_KEPT: usize = 256;
/// Questions to the room that are remembered.
const MAX_ASKS: usize = 12;
/// People who helped somebody lately; more than four count as four.
const MAX_HELPERS: usize = 6;
/// Lines in which side talk shows.
const SIDE_LINES: usize = 6;

/// Who said or was told something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum By {
    /// Somebody.
    Person(Who),
    /// A persona.
    Own(PersonaNo),
}

/// The same as one number: a look back compares hundreds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Code(u32);

/// Seats are numbered in 16 bits; a persona's number stands above them.
const OWN: u32 = 1 << 16;

impl From<By> for Code {
    fn from(by: By) -> Self {
        match by {
            By::Person(who) => Self(u32::from(who.0)),
            By::Own(persona) => Self(OWN | u32::from(persona.0)),
        }
    }
}

impl From<Code> for By {
    fn from(Code(code): Code) -> Self {
        if code & OWN == 0 { Self::Person(Who(code as u16)) } else { Self::Own(PersonaNo(code as u8)) }
    }
}

/// A line of the last minutes.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Spoke {
    at: Millis,
    by: Code,
    /// The one that it was to, if that showed.
    to: Option<Code>,
    /// The number of the speaker's line before: where that is not among some last lines, this one is their first of those.
    follows: u64,
}

/// How somebody stands to the others.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Standing {
    /// Lines so far.
    lines: u32,
    /// The number of the last of them among the room's.
    last: u64,
    /// When they last spoke to somebody, and to whom.
    spoke_to: Option<(Millis, By)>,
    /// When somebody last spoke to them, and who.
    helped: Option<(Millis, By)>,
    /// Who spoke to them lately, and when.
    helpers: Vec<(Who, Millis)>,
    ours: Vec<Ours>,
}

/// What a persona said to somebody.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Ours {
    persona: PersonaNo,
    at: Millis,
    posts: u32,
    /// Because it was addressed.
    direct: bool,
    /// Words of what it answered.
    words: Words,
}

impl Standing {
    /// Notes a line of theirs, by its number among the room's.
    pub(crate) fn note_line(&mut self, at: Millis, to: Option<By>, number: u64) {
        self.lines = self.lines.saturating_add(1);
        self.last = number;
        if let Some(to) = to {
            self.spoke_to = Some((at, to));
        }
    }

    /// The number of their last line.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Forgets all but what the personas said to them, which is noted under every gate.
    pub(crate) fn forget_talk(&mut self) {
        *self = Self { ours: std::mem::take(&mut self.ours), ..Self::default() };
    }

    /// Notes a line of somebody else to them.
    pub(crate) fn note_help(&mut self, at: Millis, by: Who) {
        self.helped = Some((at, By::Person(by)));
        self.helpers.retain(|(w, t)| *w != by && at - t <= KEPT_MS);
        if self.helpers.len() == MAX_HELPERS {
            self.helpers.remove(0);
        }
        self.helpers.push((by, at));
    }

    /// Notes a post of a persona to them, and what it answered.
    pub(crate) fn note_post(&mut self, at: Millis, persona: PersonaNo, direct: bool, words: Words) {
        self.helped = Some((at, By::Own(persona)));
        match self.ours.iter_mut().find(|o| o.persona == persona) {
            Some(o) => {
                (o.at, o.direct, o.posts) = (at, direct, o.posts.saturating_add(1));
                let before = std::mem::replace(&mut o.words, words);
                o.words.join(&before);
            }
            None => self.ours.push(Ours { persona, at, posts: 1, direct, words }),
        }
    }

    fn ours(&self, persona: PersonaNo) -> Option<&Ours> {
        self.ours.iter().find(|o| o.persona == persona)
    }

    /// Words of what the persona answered them.
    pub(crate) fn answered_words(&self, persona: PersonaNo) -> Option<&Words> {
        self.ours(persona).map(|o| &o.words)
    }

    /// When the persona last spoke to them.
    pub(crate) fn spoken_to_by(&self, persona: PersonaNo) -> Option<Millis> {
        self.ours(persona).map(|o| o.at)
    }

    /// Who last spoke to them, if that was within that time.
    pub(crate) fn told_within(&self, now: Millis, ms: Millis) -> Option<By> {
        self.helped.filter(|(t, _)| now - t < ms).map(|(_, by)| by)
    }

    /// Whom they last spoke to, if that was within that time.
    pub(crate) fn spoke_to_within(&self, now: Millis, ms: Millis) -> Option<By> {
        self.spoke_to.filter(|(t, _)| now - t < ms).map(|(_, to)| to)
    }
}

/// The last minutes of the room.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Talk {
    /// How many lines there were; they are numbered from 1.
    count: u64,
    lines: VecDeque<Spoke>,
    /// When somebody asked the room.
    asks: VecDeque<(Millis, Who)>,
    /// The last post of each persona: when, and the number of the line.
    own: Vec<(PersonaNo, Millis, u64)>,
}

/// Somebody to whom a post was.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) who: Who,
    /// Because the persona was addressed.
    pub(crate) direct: bool,
    /// Words of what was answered.
    pub(crate) words: Words,
}

impl Talk {
    /// Notes a line or a post, which follows that one of the same speaker; gives its number.
    pub(crate) fn note(&mut self, at: Millis, by: By, to: Option<By>, follows: u64) -> u64 {
        self.count += 1;
        keep(&mut self.lines, MAX_KEPT, Spoke { at, by: by.into(), to: to.map(Code::from), follows });
        self.count
    }

    /// Notes a post of a persona.
    pub(crate) fn note_own(&mut self, at: Millis, persona: PersonaNo, to: Option<By>) {
        let before = self.own.iter().position(|(p, ..)| *p == persona).map(|i| self.own.remove(i));
        let number = self.note(at, By::Own(persona), to, before.map_or(0, |(.., n)| n));
        self.own.push((persona, at, number));
    }

    /// Forgets all but when the personas spoke, which is noted under every gate.
    pub(crate) fn forget(&mut self) {
        self.lines.clear();
        self.asks.clear();
    }

    /// Notes that somebody asked whoever is there.
    pub(crate) fn note_ask(&mut self, at: Millis, who: Who) {
        keep(&mut self.asks, MAX_ASKS, (at, who));
    }

    /// Forgets what is past.
    pub(crate) fn trim(&mut self, now: Millis) {
        while self.lines.front().is_some_and(|l| now - l.at > KEPT_MS) {
            self.lines.pop_front();
        }
    }

    /// Others than these two who asked the room since.
    pub(crate) fn asks_since(&self, since: Millis, a: Who, b: Who) -> usize {
        self.asks.iter().filter(|(t, w)| *t > since && *w != a && *w != b).count()
    }

    /// The author of the last line that is not theirs.
    pub(crate) fn last_before(&self, who: Who) -> Option<By> {
        self.lines.iter().rev().map(|l| l.by).find(|by| *by != By::Person(who).into()).map(By::from)
    }

    /// Whether the last line is theirs.
    pub(crate) fn last_is(&self, who: Who) -> bool {
        self.lines.back().is_some_and(|l| l.by == By::Person(who).into())
    }

    /// How somebody stands to a persona as they begin to speak.
    pub(crate) fn before(&self, who: Who, person: &Person, persona: PersonaNo, now: Millis) -> Before {
        let s = &person.standing;
        let gap = |t: Option<Millis>| t.map(|t| now - t);
        let ours = s.ours(persona);
        let me_to = ours.map(|o| o.at);
        let by_other = s.helped.filter(|(_, by)| *by != By::Own(persona));
        Before {
            author_lines: s.lines,
            author_gap: gap(person.last_at),
            me_gap: gap(self.own.iter().find(|(p, ..)| *p == persona).map(|(_, t, _)| *t)),
            me_to_gap: gap(me_to),
            me_to_posts: ours.map_or(0, |o| o.posts),
            spoke_direct: ours.is_some_and(|o| o.direct),
            to_gap: gap(s.spoke_to.map(|(t, _)| t)),
            to_me: s.spoke_to.is_some_and(|(_, to)| to == By::Own(persona)),
            helped_gap: gap(s.helped.map(|(t, _)| t)),
            helped_by_other: by_other.is_some(),
            helped_since: by_other.is_some_and(|(t, _)| me_to.is_none_or(|m| t > m)),
            helpers: s.helpers.iter().filter(|(_, t)| now - t <= KEPT_MS).count() as u32,
            round: self.round(who, persona, me_to, now),
            side_talk: self.side_talk(who, persona),
            open_asks: self.asks.iter().filter(|(t, w)| *w != who && now - t < 2 * MINUTE_MS).count() as u32,
        }
    }

    /// One look back over the kept lines. Times that go back end it sooner.
    fn round(&self, who: Who, persona: PersonaNo, me_to: Option<Millis>, now: Millis) -> Round {
        let (me, author) = (Code::from(By::Own(persona)), Code::from(By::Person(who)));
        let mut round = Round::default();
        if let Some(l) = self.lines.iter().rev().find(|l| l.by != author).filter(|l| now - l.at <= KEPT_MS) {
            (round.gap, round.by_me, round.to_author) = (Some(now - l.at), l.by == me, l.to == Some(author));
        }
        let lately = self.lines.iter().rev().take_while(|l| now - l.at <= TALK_MS).count();
        let first = self.count + 1 - lately as u64;
        let mut authors = 0;
        for l in self.lines.range(self.lines.len() - lately..) {
            round.mine += u32::from(l.by == me);
            authors += u32::from(l.by == author);
            round.speakers += u32::from(l.follows < first);
        }
        round.lines = lately as u32;
        round.others = round.lines - round.mine - authors;
        if let Some(spoke) = me_to {
            let since = self.lines.iter().rev().take_while(|l| now - l.at <= KEPT_MS && l.at > spoke);
            round.since = since.filter(|l| l.by != me && l.by != author).count() as u32;
        }
        round
    }

    fn side_talk(&self, who: Who, persona: PersonaNo) -> bool {
        let (me, author) = (Code::from(By::Own(persona)), Code::from(By::Person(who)));
        let mut two: [Option<Code>; 2] = [None; 2];
        let mut lines = 0;
        for l in self.lines.iter().rev().take(SIDE_LINES).filter(|l| l.by != me) {
            lines += 1;
            let Some(slot) = two.iter_mut().find(|s| s.is_none_or(|by| by == l.by)) else { return false };
            *slot = Some(l.by);
        }
        lines >= SIDE_LINES - 1 && two.iter().all(Option::is_some) && two.contains(&Some(author))
    }
}
