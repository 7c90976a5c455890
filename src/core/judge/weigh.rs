//! From a burst and what came after it to the numbers of the models.

use serde::{Deserialize, Serialize};

use super::{
    before::Before,
    numbers::{Beside, Past, Said, Since, count, few, seconds, yes},
    signs::{Signs, Words},
    talk::By,
};
use crate::{Line, Measured, Millis, ObligationKind, Why, burst::Burst, people::Who, text::Form};

/// Text below this is very short.
const SHORT_BYTES: usize = 15;
/// An author who was silent for this long begins anew.
const FRESH_MS: Millis = 120_000;
/// People who spoke since a burst are told apart up to so many.
const MAX_SPEAKERS: usize = 8;
/// No single line is a sure answer, or nothing else would count beside it.
const SUREST: f64 = 0.999;
/// What is this likely may well be an answer.
const MAY_ANSWER: f64 = 0.3;

/// What a burst is judged by, beside its lines.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Weighed {
    /// The past as it began; none where nobody looked.
    pub(crate) before: Option<Before>,
    /// How likely it is for the persona, and for the room, once it was gated.
    pub(crate) me: f64,
    pub(crate) room: f64,
    /// What was last held against a bar, for the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) measured: Option<Measured>,
    pub(crate) words: Words,
    after: After,
}

/// What came after a burst.
#[expect(clippy::struct_excessive_bools, reason = "each is a sign of its own, and a number of the models")]
#[derive(Clone, Debug, Serialize, Deserialize)]
struct After {
    lines: u32,
    /// Who spoke, and the likelihood of their likeliest line.
    speakers: Vec<(Who, f64)>,
    named_first: u32,
    /// Lines that name the author or reply.
    named: u32,
    /// Likelihood that no line answers it.
    none: f64,
    best: f64,
    second: f64,
    /// Lines above the bar of what may well be an answer.
    likely: u32,
    best_at: Millis,
    more_asks: bool,
    more_after_best: u32,
    /// The likeliest answer.
    answer: Option<Line>,
    asker_to_others: u32,
    asker_thanked: bool,
    /// Lines that the asker added after others spoke.
    more: u32,
    more_thanks: bool,
    more_responds: bool,
    more_you: bool,
}

impl Default for After {
    fn default() -> Self {
        Self {
            lines: 0,
            speakers: Vec::new(),
            named_first: 0,
            named: 0,
            none: 1.0,
            best: 0.0,
            second: 0.0,
            likely: 0,
            best_at: 0,
            more_asks: false,
            more_after_best: 0,
            answer: None,
            asker_to_others: 0,
            asker_thanked: false,
            more: 0,
            more_thanks: false,
            more_responds: false,
            more_you: false,
        }
    }
}

/// A later line of somebody else, as far as it concerns any burst.
pub(crate) struct Later<'a> {
    pub(crate) seq: u64,
    pub(crate) platform_id: &'a str,
    pub(crate) who: Who,
    pub(crate) at: Millis,
    pub(crate) form: Form,
    pub(crate) signs: Signs,
    pub(crate) words: &'a Words,
    /// Its length, and the time since the last line of its author, as the model sees them.
    pub(crate) length: f64,
    pub(crate) answerer_gap: f64,
    /// It opens with a name or names somebody.
    pub(crate) names_anybody: bool,
    pub(crate) to_me: bool,
    pub(crate) links_others: bool,
    /// Its author spoke to this one in the last 10 minutes, and to somebody who is no persona in the last 3.
    pub(crate) speaks_with: Option<Who>,
    pub(crate) spoke_to_other: Option<Who>,
    /// Who last spoke to its author, in the last 3 minutes.
    pub(crate) told_by: Option<By>,
    /// The author of the last line before it that is not its author's.
    pub(crate) before: Option<By>,
}

/// What a later line shows beside one burst.
#[expect(clippy::struct_excessive_bools, reason = "each is a sign of its own, and a number of the models")]
pub(crate) struct Toward {
    pub(crate) names_first: bool,
    pub(crate) names: bool,
    pub(crate) link: bool,
    pub(crate) asks_since: usize,
    pub(crate) right_after: bool,
    pub(crate) owed: Option<ObligationKind>,
}

impl Weighed {
    /// Of another burst, with the memory of this.
    pub(crate) fn emptied(self) -> Self {
        let Self { mut words, after: After { mut speakers, .. }, .. } = self;
        words.clear();
        speakers.clear();
        Self { words, after: After { speakers, ..After::default() }, ..Self::default() }
    }

    /// What the models see of the past.
    pub(crate) fn past(&self) -> Past {
        self.before.as_ref().map(Before::numbers).unwrap_or_default()
    }

    /// Takes up a line of the burst itself.
    pub(crate) fn add(&mut self, form: Form, signs: Signs, words: &Words) {
        self.words.join(words);
        let after = &mut self.after;
        if after.lines > 0 {
            after.more += 1;
            after.more_asks |= form.request();
            after.more_after_best += 1;
            after.more_thanks |= form.thanks() && !form.request();
            after.more_responds |= signs.responds();
            after.more_you |= signs.you();
        }
    }

    /// Takes up a line of the author to somebody else.
    pub(crate) fn author_turned(&mut self, thanks: bool) {
        self.after.asker_to_others += 1;
        self.after.asker_thanked |= thanks;
    }

    /// The likeliest answer so far.
    pub(crate) fn answer(&self) -> Option<&Line> {
        self.after.answer.as_ref()
    }

    /// The likeliest answer was taken back: what is left is as if it had not come, but for who spoke.
    pub(crate) fn unsay(&mut self, platform_id: &str) {
        let after = &mut self.after;
        if after.answer.take_if(|line| line.platform_id == platform_id).is_none() {
            return;
        }
        after.none = (after.none / (1.0 - after.best.min(SUREST))).min(1.0);
        after.likely = after.likely.saturating_sub(u32::from(after.best >= MAY_ANSWER));
        (after.best, after.second) = (after.second, 0.0);
    }

    /// Whether no line so far was that likely an answer.
    pub(crate) fn answer_below(&self, permille: u16) -> bool {
        self.after.best * 1_000.0 < f64::from(permille)
    }

    /// Whether anybody else spoke since.
    pub(crate) fn heard_anybody(&self) -> bool {
        self.after.lines > 0
    }

    /// Takes up a later line of somebody else, and how likely it is the answer.
    pub(crate) fn heard(&mut self, later: &Later<'_>, toward: &Toward, likely: f64) {
        let after = &mut self.after;
        after.lines += 1;
        if let Some((_, best)) = after.speakers.iter_mut().find(|(who, _)| *who == later.who) {
            *best = best.max(likely);
        } else if after.speakers.len() < MAX_SPEAKERS {
            after.speakers.push((later.who, likely));
        }
        after.named_first += u32::from(toward.names_first);
        after.likely += u32::from(likely >= MAY_ANSWER);
        after.named += u32::from(toward.names || toward.link);
        after.none *= 1.0 - likely.min(SUREST);
        if likely <= after.best {
            after.second = after.second.max(likely);
        } else {
            (after.second, after.best, after.best_at, after.more_after_best) = (after.best, likely, later.at, 0);
            after.answer = Some(Line { seq: later.seq, platform_id: later.platform_id.to_owned() });
        }
    }
}

impl Burst {
    /// Whether any of its lines is so.
    fn any(&self, is: impl Fn(&crate::burst::Said) -> bool) -> f64 {
        yes(self.lines.iter().any(is))
    }

    /// Its length.
    fn bytes(&self) -> usize {
        self.lines.iter().map(|l| l.bytes as usize).sum()
    }

    /// The numbers of the burst itself.
    pub(crate) fn numbers(&self, persona_bit: u64, used: Option<&Words>, past: &Past) -> Said {
        let w = &self.weighed;
        let (ask, you) = (self.any(|l| l.form.request()), self.any(|l| l.signs.you()));
        let responds = yes(self.lines.first().is_some_and(|l| l.signs.responds()));
        let bytes = self.bytes();
        let topic = used.map_or(0.0, |used| w.words.common(used) as f64 / w.words.len().max(1) as f64);
        let inside =
            |l: &crate::burst::Said| l.to.about & persona_bit != 0 || l.to.personas & persona_bit != 0 && l.to.why == Some(Why::NameInside);
        Said {
            names_me_inside: self.any(inside),
            names_other_inside: self.any(|l| l.to.names && !l.to.others),
            own_link: self.any(|l| l.to.own_link),
            question: self.any(|l| l.form.question()),
            ends_asking: yes(self.lines.last().is_some_and(|l| l.signs.ends_asking())),
            request: ask,
            thanks: self.any(|l| l.form.thanks()),
            bare_thanks: yes(self.only_thanks()),
            link: self.any(|l| l.signs.link()),
            command: yes(self.lines.first().is_some_and(|l| l.signs.command())),
            lines: few(self.lines.len(), 6),
            length: count(bytes),
            short: yes(bytes < SHORT_BYTES),
            responds,
            you,
            greets: self.any(|l| l.signs.greets()),
            anyone: self.any(|l| l.signs.anyone()),
            first_person: self.any(|l| l.signs.first_person()),
            topic,
            fresh_ask: ask * yes(self.silence.is_none_or(|s| s >= FRESH_MS)),
            mine_ask: ask * past.mine_5m,
            mine_responds: responds * past.mine_5m,
            ask_responds: ask * responds,
            ask_you: ask * you,
            ask_helped: ask * past.helped_2m,
            ask_side: ask * past.to_other_5m,
            since: count(w.after.lines as usize),
            named_since: yes(w.after.named > 0),
            named_ask: ask * yes(w.after.named > 0),
            ask_new: ask * past.new_author,
            ask_author_gap: ask * past.author_gap,
            ask_me_gap: ask * past.me_to_gap,
            ask_mine_1m: ask * past.mine_1m,
            state_mine_1m: (1.0 - ask) * past.mine_1m,
            ask_pace: ask * past.pace,
            ask_side_talk: ask * past.side_talk,
            ask_length: ask * count(bytes),
            ask_marked: ask * self.any(|l| l.signs.ends_asking()),
        }
    }

    /// The numbers of a later line beside the burst.
    pub(crate) fn beside(&self, later: &Later<'_>, toward: &Toward) -> Beside {
        let w = &self.weighed;
        let common = later.words.common(&w.words);
        let spoke = w.after.speakers.iter().find(|(who, _)| *who == later.who).map(|(_, best)| *best);
        let asker = By::Person(self.who);
        let person = |by: &By| matches!(by, By::Person(_));
        let share = |of: usize| common as f64 / of.max(1) as f64;
        Beside {
            names_first: yes(toward.names_first),
            names: yes(toward.names),
            link: yes(toward.link),
            link_elsewhere: yes(later.links_others && !toward.link),
            names_elsewhere: yes(later.names_anybody && !toward.names),
            to_me: yes(later.to_me),
            first: yes(w.after.lines == 0),
            before: count(w.after.lines as usize),
            gap: seconds(later.at - self.last_at),
            common_of_line: share(later.words.len()),
            common: yes(common > 0),
            common_of_burst: share(w.words.len()),
            question: yes(later.form.question()),
            request: yes(later.form.request()),
            length: later.length,
            answerer_gap: later.answerer_gap,
            url: yes(later.signs.link()),
            thanks: yes(later.form.thanks()),
            responds: yes(later.signs.responds()),
            you: yes(later.signs.you()),
            asks_since: toward.asks_since as f64,
            talks_to_asker: yes(later.speaks_with == Some(self.who)),
            talks_to_other: yes(later.spoke_to_other.is_some_and(|w| w != self.who)),
            right_after: yes(toward.right_after),
            room_question: yes(toward.owed == Some(ObligationKind::RoomQuestion)),
            follow_up: yes(toward.owed == Some(ObligationKind::FollowUp)),
            spoke_since: yes(spoke.is_some()),
            me: w.me,
            asks: yes(self.requests()),
            greets: yes(later.signs.greets()),
            first_person: yes(later.signs.first_person()),
            told_by_asker: yes(later.told_by == Some(asker)),
            told_by_other: yes(later.told_by.is_some_and(|by| by != asker && person(&by))),
            told_by_us: yes(later.told_by.is_some_and(|by| !person(&by))),
            before_is_asker: yes(later.before == Some(asker)),
            author_best: spoke.unwrap_or_default(),
            advises: yes(later.signs.advises()),
            ends_asking: yes(later.signs.ends_asking()),
            plain_first: yes(w.after.lines == 0 && !later.form.request() && !later.names_anybody && !later.to_me),
        }
    }

    /// The numbers of all that came after the burst.
    pub(crate) fn since(&self, now: Millis, owed: ObligationKind) -> Since {
        let w = &self.weighed;
        let (a, past) = (&w.after, w.past());
        let named = yes(a.named > 0);
        Since {
            any: 1.0 - a.none,
            best: a.best,
            lines: count(a.lines as usize),
            speakers: few(a.speakers.len(), MAX_SPEAKERS),
            named: few(a.named as usize, 3),
            is_named: named,
            asker_to_others: few(a.asker_to_others as usize, 3),
            asker_thanked: yes(a.asker_thanked),
            gap: seconds(now - self.heard),
            me: w.me,
            room: w.room,
            asks: self.any(|l| l.form.request()),
            question: self.any(|l| l.form.question()),
            follow_up: yes(owed == ObligationKind::FollowUp),
            pace: past.pace,
            crowd: past.speakers,
            helpers: past.helpers,
            helped_2m: past.helped_2m,
            to_other_5m: past.to_other_5m,
            mine_5m: past.mine_5m,
            author_gap: past.author_gap,
            burst_lines: self.lines.len() as f64,
            any_and_named: (1.0 - a.none) * named,
            more: few(a.more as usize, 4),
            more_thanks: yes(a.more_thanks),
            more_responds: yes(a.more_responds),
            more_you: yes(a.more_you),
            responds: yes(self.lines.first().is_some_and(|l| l.signs.responds())),
            anyone: self.any(|l| l.signs.anyone()),
            length: count(self.bytes()),
            second: a.second,
            likely: few(a.likely as usize, 4),
            best_gap: if a.best > 0.0 { seconds(now - a.best_at) } else { 0.0 },
            more_asks: yes(a.more_asks),
            more_after_best: few(a.more_after_best as usize, 4),
            named_first: few(a.named_first as usize, 3),
        }
    }
}
