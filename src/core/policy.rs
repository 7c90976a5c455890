//! What a room is allowed to do, as the controller wrote it, and the named constants of the floor with their sources.

use serde::{Deserialize, Serialize};

use crate::Millis;

/// The whole policy of a room. Written outside the agent; the machine only reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Grows with each change.
    pub revision: u64,
    /// Whether rows may leave.
    pub mode: Mode,
    /// Whether the room is muted.
    pub muted: bool,
    /// Whether the room is stopped (replicas 0).
    pub stopped: bool,
    /// Who may know what is said here.
    pub audience: Audience,
    /// Authenticated ids of the owners.
    pub owners: Vec<String>,
    /// The personas in turn order, 1 to 12.
    pub members: Vec<Member>,
    /// Which gate judges unnamed bursts.
    pub gate: GateKind,
    /// Waits and limits.
    pub timings: Timings,
    /// How likely something must be for the trained models to act on it.
    #[serde(default)]
    pub bars: Bars,
    /// The platform's slow mode, ms; 0 for none.
    pub slow_mode_ms: Millis,
    /// What may be spent.
    pub budget: Budget,
    /// Emoji of a decline.
    pub decline_emoji: String,
    /// Emoji put on a person's answer that came before ours.
    pub answered_emoji: String,
}

/// Whether rows may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Drafts and records; nothing can be claimed.
    Shadow,
    /// Speaks.
    Active,
}

/// Who may know what is said in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Audience {
    /// Anybody.
    Public,
    /// The people of the room.
    Room,
    /// One person: every line is addressed.
    Direct,
    /// The operators.
    Operator,
}

/// A persona as the machine knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Resource name; the author id of its own posts.
    pub id: String,
    /// Display name.
    pub name: String,
    /// What people also call it, at most 8.
    pub aliases: Vec<String>,
}

/// Which gate judges unnamed bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GateKind {
    /// The rules of floor.md 4, inside the machine.
    Rules,
    /// The trained models, inside the machine.
    Embedded,
    /// One `Gate` effect per burst, answered by a `Verdict`.
    Model,
}

impl GateKind {
    /// Every kind.
    pub const ALL: &'static [Self] = &[Self::Rules, Self::Embedded, Self::Model];
}

/// How likely something must be, in thousandths. Chosen on real group chat (docs/judgement.md gives the curves).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bars {
    /// For the persona: a burst that asks.
    pub follow_asks_permille: u16,
    /// For the persona: a burst that states something.
    pub follow_permille: u16,
    /// For the persona or for the room: a question to the room.
    pub room_permille: u16,
    /// The same: a remark may fit.
    pub remark_permille: u16,
    /// A line is somebody's answer: the room learns its wait from it.
    pub answer_permille: u16,
    /// A question to the room was answered.
    pub answered_room_permille: u16,
    /// A follow-up was answered.
    pub answered_follow_permille: u16,
    /// A question to the room still wants an answer.
    pub wanted_permille: u16,
    /// A statement to the persona soon after its post wants an answer.
    pub statement_permille: u16,
}

impl Default for Bars {
    fn default() -> Self {
        Self {
            follow_asks_permille: 150,
            follow_permille: 500,
            room_permille: 400,
            remark_permille: 250,
            answer_permille: 400,
            answered_room_permille: 140,
            answered_follow_permille: 300,
            wanted_permille: 600,
            statement_permille: 600,
        }
    }
}

/// What may be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Unprompted posts per room and persona in any sliding hour.
    pub unprompted_per_hour: u32,
    /// Consecutive posts by agents since the last human line.
    pub agent_turns: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { unprompted_per_hour: 0, agent_turns: 4 }
    }
}

/// Waits and limits of the floor, all in milliseconds. The defaults were chosen on real group chat (docs/floor.md gives the
/// figures behind each).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timings {
    /// A line joins its author's last burst within this gap.
    pub burst_gap_ms: Millis,
    /// Quiet of the asker before a draft begins.
    pub draft_quiet_ms: Millis,
    /// Quiet before sending when the last line looks finished.
    pub turn_done_ms: Millis,
    /// Quiet before sending when the last line looks open.
    pub turn_open_ms: Millis,
    /// As `turn_done_ms`, where the asker's typing is seen.
    pub typing_done_ms: Millis,
    /// As `turn_open_ms`, where the asker's typing is seen.
    pub typing_open_ms: Millis,
    /// Quiet before sending in a room of one person, or a DM.
    pub alone_ms: Millis,
    /// A typing event younger than this counts as not quiet.
    pub typing_fresh_ms: Millis,
    /// Wait of a room question while the room has no history.
    pub room_wait_start_ms: Millis,
    /// Least wait of a room question.
    pub room_wait_min_ms: Millis,
    /// Greatest wait of a room question.
    pub room_wait_max_ms: Millis,
    /// A room question expires this long after its wait.
    pub room_expiry_ms: Millis,
    /// Quiet of the whole room before a remark.
    pub lull_ms: Millis,
    /// A remark not made by then is not made.
    pub opening_expiry_ms: Millis,
    /// Pause after each post.
    pub cooldown_ms: Millis,
    /// A draft without an answer is given up.
    pub draft_timeout_ms: Millis,
    /// An older draft is written again.
    pub draft_max_age_ms: Millis,
    /// A direct question is declined after this age.
    pub direct_max_age_ms: Millis,
    /// The typing indicator is refreshed this often.
    pub typing_refresh_ms: Millis,
    /// What somebody writes this soon after our post to them was written before they read it.
    pub read_ms: Millis,
    /// A statement to the persona this soon after its post to the author may be the rest of what was answered.
    pub statement_window_ms: Millis,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            burst_gap_ms: 20_000,
            draft_quiet_ms: 2_500,
            turn_done_ms: 12_000,
            turn_open_ms: 30_000,
            typing_done_ms: 4_000,
            typing_open_ms: 5_000,
            alone_ms: 4_000,
            typing_fresh_ms: 8_000,
            room_wait_start_ms: 100_000,
            room_wait_min_ms: 90_000,
            room_wait_max_ms: 130_000,
            room_expiry_ms: 600_000,
            lull_ms: 180_000,
            opening_expiry_ms: 300_000,
            cooldown_ms: 3_000,
            draft_timeout_ms: 90_000,
            draft_max_age_ms: 180_000,
            direct_max_age_ms: 600_000,
            typing_refresh_ms: 8_000,
            read_ms: 10_000,
            statement_window_ms: 180_000,
        }
    }
}

/// The longest wait that is believed, ms: a year. Documents allow far less; this is for what was written past them.
const LONGEST_WAIT_MS: Millis = 366 * 86_400_000;

impl Timings {
    /// Each of them.
    fn all_mut(&mut self) -> [&mut Millis; 21] {
        [
            &mut self.burst_gap_ms,
            &mut self.draft_quiet_ms,
            &mut self.turn_done_ms,
            &mut self.turn_open_ms,
            &mut self.typing_done_ms,
            &mut self.typing_open_ms,
            &mut self.alone_ms,
            &mut self.typing_fresh_ms,
            &mut self.room_wait_start_ms,
            &mut self.room_wait_min_ms,
            &mut self.room_wait_max_ms,
            &mut self.room_expiry_ms,
            &mut self.lull_ms,
            &mut self.opening_expiry_ms,
            &mut self.cooldown_ms,
            &mut self.draft_timeout_ms,
            &mut self.draft_max_age_ms,
            &mut self.direct_max_age_ms,
            &mut self.typing_refresh_ms,
            &mut self.read_ms,
            &mut self.statement_window_ms,
        ]
    }
}

impl Policy {
    /// Brings its waits into a range that can be reckoned with.
    pub(crate) fn level(&mut self) {
        for ms in self.timings.all_mut().into_iter().chain([&mut self.slow_mode_ms]) {
            *ms = (*ms).clamp(0, LONGEST_WAIT_MS);
        }
    }

    /// A policy with every default, for one or several personas: Active, not muted, gate `Embedded`.
    #[must_use]
    pub fn new(members: Vec<Member>) -> Self {
        Self {
            revision: 1,
            mode: Mode::Active,
            muted: false,
            stopped: false,
            audience: Audience::Room,
            owners: Vec::new(),
            members,
            gate: GateKind::Embedded,
            timings: Timings::default(),
            bars: Bars::default(),
            slow_mode_ms: 0,
            budget: Budget::default(),
            decline_emoji: "\u{1f937}".into(),
            answered_emoji: "\u{1f44d}".into(),
        }
    }
}
