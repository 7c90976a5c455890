//! The visible past: who spoke when and to whom, and how each person stands to the personas and to the others.
//!
//! Bounded in time and in number, and kept up line by line, so that a look at it costs the last ten minutes and no more.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{
    numbers::{Past, ago, count, few, within, yes},
    signs::Words,
};
use crate::{
    Millis,
    newest::keep,
    people::{Person, PersonaNo, Who},
};

const MINUTE_MS: Millis = 60_000;
/// Lines older than this are past.
const KEPT_MS: Millis = 10 * MINUTE_MS;
/// A room does not say more in ten minutes that one person could follow.
const MAX_KEPT: usize = 256;
/// Questions to the room that are remembered.
const MAX_ASKS: usize = 12;
/// People who helped somebody lately; more than four count as four.
const MAX_HELPERS: usize = 6;
/// Lines in which side talk shows.
const SIDE_LINES: usize = 6;
/// Speakers are told apart up to so many.
const MAX_SPEAKERS: usize = 15;

/// Who said or was told something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum By {
    /// Somebody.
    Person(Who),
    /// A persona.
    Own(PersonaNo),
}

/// A line of the last minutes.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Spoke {
    at: Millis,
    by: By,
    /// The one that it was to, if that showed.
    to: Option<By>,
}

/// How somebody stands to the others.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Standing {
    /// Lines so far.
    lines: u32,
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
    /// Notes a line of theirs.
    pub(crate) fn note_line(&mut self, at: Millis, to: Option<By>) {
        self.lines = self.lines.saturating_add(1);
        if let Some(to) = to {
            self.spoke_to = Some((at, to));
        }
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
    lines: VecDeque<Spoke>,
    /// When somebody asked the room.
    asks: VecDeque<(Millis, Who)>,
    /// The last post of each persona.
    own: Vec<(PersonaNo, Millis)>,
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
    /// Notes a line or a post.
    pub(crate) fn note(&mut self, at: Millis, by: By, to: Option<By>) {
        keep(&mut self.lines, MAX_KEPT, Spoke { at, by, to });
    }

    /// Notes a post of a persona.
    pub(crate) fn note_own(&mut self, at: Millis, persona: PersonaNo, to: Option<By>) {
        self.own.retain(|(p, _)| *p != persona);
        self.own.push((persona, at));
        self.note(at, By::Own(persona), to);
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
        self.lines.iter().rev().map(|l| l.by).find(|by| *by != By::Person(who))
    }

    /// Whether the last line is theirs.
    pub(crate) fn last_is(&self, who: Who) -> bool {
        self.lines.back().is_some_and(|l| l.by == By::Person(who))
    }

    /// How somebody stands to a persona as they begin to speak.
    pub(crate) fn past(&self, who: Who, person: &Person, persona: PersonaNo, now: Millis) -> Past {
        let s = &person.standing;
        let gap = |t: Option<Millis>| t.map(|t| now - t);
        let me_last = self.own.iter().find(|(p, _)| *p == persona).map(|(_, t)| *t);
        let ours = s.ours(persona);
        let me_to = ours.map(|o| o.at);
        let me_gap = gap(me_to);
        let helped = s.helped;
        let helped_gap = gap(helped.map(|(t, _)| t));
        let by_other = helped.filter(|(_, by)| *by != By::Own(persona));
        let helped_since = by_other.is_some_and(|(t, _)| me_to.is_none_or(|m| t > m));
        let mine = |ms: Millis| yes(me_gap.is_some_and(|g| !helped_since && g < ms));
        let to_other = s.spoke_to.filter(|(_, to)| *to != By::Own(persona));
        let to_other_within = |ms: Millis| yes(to_other.is_some_and(|(t, _)| now - t < ms));
        let round = self.round(who, persona, me_to, now);
        Past {
            new_author: yes(s.lines == 0),
            author_lines: count(s.lines as usize),
            author_gap: ago(gap(person.last_at)),
            me_gap: ago(gap(me_last)),
            me_to_gap: ago(me_gap),
            me_to_n: count(ours.map_or(0, |o| o.posts as usize)),
            me_to_after: if me_to.is_some() { count(round.since) } else { NEVER_AFTER },
            me_share: if round.lines == 0 { 0.0 } else { round.mine as f64 / round.lines as f64 },
            me_lines: few(round.mine, 10),
            pace: count(round.lines),
            speakers: few(round.speakers, MAX_SPEAKERS),
            others_talk: count(round.others),
            to_me_last: yes(s.spoke_to.is_some() && to_other.is_none()),
            to_other_last: yes(to_other.is_some()),
            to_gap: ago(gap(s.spoke_to.map(|(t, _)| t))),
            to_other_2m: to_other_within(2 * MINUTE_MS),
            to_other_5m: to_other_within(5 * MINUTE_MS),
            helped_other: yes(by_other.is_some()),
            helped_gap: ago(helped_gap),
            helped_since: yes(helped_since),
            helped_2m: yes(helped_gap.is_some_and(|g| g < 2 * MINUTE_MS)),
            helpers: few(s.helpers.iter().filter(|(_, t)| now - t <= KEPT_MS).count(), 4),
            mine_last: mine(Millis::MAX),
            mine_1m: mine(MINUTE_MS),
            mine_2m: mine(2 * MINUTE_MS),
            mine_5m: mine(5 * MINUTE_MS),
            mine_10m: mine(KEPT_MS),
            before_gap: within(gap(round.before.map(|l| l.at)), 5 * MINUTE_MS),
            before_me: yes(round.before.is_some_and(|l| l.by == By::Own(persona))),
            before_to_author: yes(round.before.is_some_and(|l| l.to == Some(By::Person(who)))),
            side_talk: yes(self.side_talk(who, persona)),
            spoke_direct: yes(ours.is_some_and(|o| o.direct)),
            open_asks: self.asks.iter().filter(|(t, w)| *w != who && now - t < 2 * MINUTE_MS).count() as f64,
        }
    }

    /// One look back over the kept lines.
    fn round(&self, who: Who, persona: PersonaNo, me_to: Option<Millis>, now: Millis) -> Round<'_> {
        let (me, author) = (By::Own(persona), By::Person(who));
        let mut round = Round::default();
        let mut seen = [None; MAX_SPEAKERS];
        for l in self.lines.iter().rev().take_while(|l| now - l.at <= KEPT_MS) {
            let other = l.by != me && l.by != author;
            if l.by != author && round.before.is_none() {
                round.before = Some(l);
            }
            round.since += usize::from(other && me_to.is_some_and(|t| l.at > t));
            if now - l.at > 5 * MINUTE_MS {
                continue;
            }
            round.lines += 1;
            round.mine += usize::from(l.by == me);
            round.others += usize::from(other);
            if let Some(slot) = seen.iter_mut().find(|s| s.is_none_or(|by| by == l.by))
                && slot.is_none()
            {
                *slot = Some(l.by);
                round.speakers += 1;
            }
        }
        round
    }

    fn side_talk(&self, who: Who, persona: PersonaNo) -> bool {
        let mut two: [Option<By>; 2] = [None; 2];
        let mut lines = 0;
        for l in self.lines.iter().rev().take(SIDE_LINES).filter(|l| l.by != By::Own(persona)) {
            lines += 1;
            let Some(slot) = two.iter_mut().find(|s| s.is_none_or(|by| by == l.by)) else { return false };
            *slot = Some(l.by);
        }
        lines >= SIDE_LINES - 1 && two.iter().all(Option::is_some) && two.contains(&Some(By::Person(who)))
    }
}

/// Where the persona never spoke to somebody, this stands for the lines since: more than are kept of most rooms.
const NEVER_AFTER: f64 = 4.0;

#[derive(Default)]
struct Round<'a> {
    lines: usize,
    mine: usize,
    others: usize,
    speakers: usize,
    /// Lines of others since the persona spoke to the author.
    since: usize,
    /// The last line of anybody else.
    before: Option<&'a Spoke>,
}
