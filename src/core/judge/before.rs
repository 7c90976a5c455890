//! The visible past as a burst begins, as it was counted. The numbers that a model sees are made of it only when one is asked:
//! most bursts are for somebody else, and no model ever sees them.

use serde::{Deserialize, Serialize};

use super::numbers::{Past, ago, count, few, within, yes};
use crate::Millis;

pub(super) const MINUTE_MS: Millis = 60_000;
/// Lines older than this are past.
pub(super) const KEPT_MS: Millis = 10 * MINUTE_MS;
/// Lines of this time are the present talk.
pub(super) const TALK_MS: Millis = 5 * MINUTE_MS;
/// Speakers are told apart up to so many.
const MAX_SPEAKERS: usize = 15;
/// Where the persona never spoke to somebody, this stands for the lines since: more than are kept of most rooms.
const NEVER_AFTER: f64 = 4.0;

/// How the author stands to a persona, to others and to the room. Gaps are times before the burst, ms.
#[expect(clippy::struct_excessive_bools, reason = "each is a sign of its own, and a number of the models")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Before {
    /// Lines of the author so far.
    pub(super) author_lines: u32,
    /// Since the author's last line.
    pub(super) author_gap: Option<Millis>,
    /// Since the persona spoke, and since it spoke to the author.
    pub(super) me_gap: Option<Millis>,
    pub(super) me_to_gap: Option<Millis>,
    /// Posts of the persona to the author.
    pub(super) me_to_posts: u32,
    pub(super) spoke_direct: bool,
    /// Since the author last spoke to anybody, and whether that is the persona.
    pub(super) to_gap: Option<Millis>,
    pub(super) to_me: bool,
    /// Since anybody last spoke to the author, and whether that is not the persona.
    pub(super) helped_gap: Option<Millis>,
    pub(super) helped_by_other: bool,
    /// Somebody else spoke to the author since the persona did.
    pub(super) helped_since: bool,
    /// People who spoke to the author lately.
    pub(super) helpers: u32,
    pub(super) round: Round,
    /// The author and one other had the last lines to themselves.
    pub(super) side_talk: bool,
    /// Others who asked the room lately.
    pub(super) open_asks: u32,
}

/// The last lines of the room.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Round {
    /// Lines of the present talk; those of the persona, and of others than the two.
    pub(super) lines: u32,
    pub(super) mine: u32,
    pub(super) others: u32,
    pub(super) speakers: u32,
    /// Lines of others since the persona spoke to the author.
    pub(super) since: u32,
    /// Since the last line of anybody else; whether that is the persona's, and whether it is to the author.
    pub(super) gap: Option<Millis>,
    pub(super) by_me: bool,
    pub(super) to_author: bool,
}

impl Before {
    /// What the models see of it.
    pub(crate) fn numbers(&self) -> Past {
        let round = &self.round;
        let mine = |ms: Millis| yes(self.me_to_gap.is_some_and(|g| !self.helped_since && g < ms));
        let to_other = self.to_gap.filter(|_| !self.to_me);
        let to_other_within = |ms: Millis| yes(to_other.is_some_and(|g| g < ms));
        Past {
            new_author: yes(self.author_lines == 0),
            author_lines: count(self.author_lines as usize),
            author_gap: ago(self.author_gap),
            me_gap: ago(self.me_gap),
            me_to_gap: ago(self.me_to_gap),
            me_to_n: count(self.me_to_posts as usize),
            me_to_after: if self.me_to_gap.is_some() { count(round.since as usize) } else { NEVER_AFTER },
            me_share: if round.lines == 0 { 0.0 } else { f64::from(round.mine) / f64::from(round.lines) },
            me_lines: few(round.mine as usize, 10),
            pace: count(round.lines as usize),
            speakers: few(round.speakers as usize, MAX_SPEAKERS),
            others_talk: count(round.others as usize),
            to_me_last: yes(self.to_me),
            to_other_last: yes(to_other.is_some()),
            to_gap: ago(self.to_gap),
            to_other_2m: to_other_within(2 * MINUTE_MS),
            to_other_5m: to_other_within(5 * MINUTE_MS),
            helped_other: yes(self.helped_by_other),
            helped_gap: ago(self.helped_gap),
            helped_since: yes(self.helped_since),
            helped_2m: yes(self.helped_gap.is_some_and(|g| g < 2 * MINUTE_MS)),
            helpers: few(self.helpers as usize, 4),
            mine_last: mine(Millis::MAX),
            mine_1m: mine(MINUTE_MS),
            mine_2m: mine(2 * MINUTE_MS),
            mine_5m: mine(5 * MINUTE_MS),
            mine_10m: mine(KEPT_MS),
            before_gap: within(round.gap, 5 * MINUTE_MS),
            before_me: yes(round.by_me),
            before_to_author: yes(round.to_author),
            side_talk: yes(self.side_talk),
            spoke_direct: yes(self.spoke_direct),
            open_asks: f64::from(self.open_asks),
        }
    }
}
