//! The document `Room`: one chat room, what it may do and who is in it. Only fields that have an effect are here; `not_yet` names
//! the known ones that have none.

use std::collections::BTreeMap;

use parlor_core::{Millis, Timings};
use serde::{Deserialize, Serialize};

use super::scalar::{Dollars, Moment, Wait};

/// A Room document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Room {
    /// `parlor.dev/v1alpha1`.
    pub api_version: String,
    /// `Room`.
    pub kind: String,
    /// Name and namespace.
    pub metadata: Metadata,
    /// What is wanted.
    pub spec: RoomSpec,
}

/// Name and namespace of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Metadata {
    /// `^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$`.
    pub name: String,
    /// A folder is one namespace: all its documents name the same one, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// For other tools; Parlor reads none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// For other tools; Parlor reads none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// What is wanted of a room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoomSpec {
    /// Where people and personas meet. Immutable.
    pub surface: Surface,
    /// Who may know what is said here. Immutable: it fixes the label of the room's log.
    pub audience: Audience,
    /// The personas in turn order, 1 to 12, each once.
    pub members: Vec<MemberRef>,
    /// Whether anything is posted.
    #[serde(default)]
    pub mode: Mode,
    /// Present: the room is muted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mute: Option<MuteSpec>,
    /// 0 stops the room, 1 runs it.
    #[serde(default = "one")]
    pub replicas: i32,
    /// When to speak.
    #[serde(default)]
    pub floor: FloorSpec,
    /// What judges lines that name nobody.
    #[serde(default)]
    pub gate: GateSpec,
    /// What may be spent.
    #[serde(default)]
    pub budget: BudgetSpec,
    /// What a model reads.
    #[serde(default)]
    pub context: ContextSpec,
}

/// What a model reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextSpec {
    /// How much of the room, in tokens as estimated, the newest kept whole; 1,000 to 1,000,000. Absent: 16,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<i32>,
}

fn one() -> i32 {
    1
}

/// Where people and personas meet: exactly one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Surface {
    /// The built-in web page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console: Option<ConsoleSurface>,
}

/// The built-in web page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsoleSurface {
    /// The room of one person; with audience Direct, and only with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dm: Option<Dm>,
}

/// The person of a room of one person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dm {
    /// Authenticated id: `owner`, or a visitor's 32 hexadecimal digits.
    pub user_id: String,
}

/// Who may know what is said in a room, or the widest such circle a persona may be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Audience {
    /// Anybody.
    Public,
    /// The people of the room.
    Room,
    /// One person.
    Direct,
    /// The operators.
    Operator,
}

impl Audience {
    /// Greater for more people.
    pub(crate) fn width(self) -> u8 {
        match self {
            Self::Operator => 0,
            Self::Direct => 1,
            Self::Room => 2,
            Self::Public => 3,
        }
    }
}

/// A persona of the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberRef {
    /// Its name.
    pub persona: String,
}

/// Whether anything is posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Listens, drafts and records; posts nothing.
    #[default]
    Shadow,
    /// Speaks.
    Active,
}

/// A mute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MuteSpec {
    /// Why, 1 to 500 characters.
    pub reason: String,
    /// It ends by itself then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
}

/// What judges lines that name nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GateSpec {
    /// Which gate.
    #[serde(default)]
    pub kind: GateKind,
}

/// Which gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum GateKind {
    /// Fixed rules, no model.
    Rules,
    /// Trained models inside the machine; nothing is asked of a provider.
    #[default]
    Embedded,
}

/// What may be spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BudgetSpec {
    /// Posts that nobody asked for, per persona in any sliding hour; 0 to 60.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unprompted_per_hour: Option<i32>,
    /// Model tokens a day (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<i64>,
    /// US dollars a day (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_per_day: Option<Dollars>,
}

/// How turns are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rounds {
    /// Whoever owes something speaks.
    #[default]
    Obligations,
}

/// When to speak. What is absent has the default of docs/floor.md.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FloorSpec {
    /// How turns are given.
    pub rounds: Rounds,
    /// A line joins its author's last burst within this gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_gap: Option<Wait>,
    /// Quiet of the asker before a draft begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft_quiet: Option<Wait>,
    /// Quiet before sending when the last line looks finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_done: Option<Wait>,
    /// Quiet before sending when the last line looks open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_open: Option<Wait>,
    /// As `turnDone`, where the asker's typing is seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typing_done: Option<Wait>,
    /// As `turnOpen`, where the asker's typing is seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typing_open: Option<Wait>,
    /// Quiet before sending in a room of one person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<Wait>,
    /// A typing event younger than this counts as not quiet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typing_fresh: Option<Wait>,
    /// Wait of a room question while the room has no history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_wait_start: Option<Wait>,
    /// Least wait of a room question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_wait_min: Option<Wait>,
    /// Greatest wait of a room question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_wait_max: Option<Wait>,
    /// A room question expires this long after its wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_expiry: Option<Wait>,
    /// Quiet of the whole room before a remark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lull: Option<Wait>,
    /// A remark not made by then is not made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opening_expiry: Option<Wait>,
    /// Pause after each post.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<Wait>,
    /// A draft without an answer is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft_timeout: Option<Wait>,
    /// An older draft is written again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft_max_age: Option<Wait>,
    /// A direct question is declined after this age.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direct_max_age: Option<Wait>,
    /// The typing indicator is refreshed this often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typing_refresh: Option<Wait>,
    /// What somebody writes this soon after our post to them was written before they read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Wait>,
    /// A statement to the persona this soon after its post to the author may be the rest of what was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement_window: Option<Wait>,
    /// Consecutive posts by agents since the last line of a person; 1 to 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_turns: Option<i32>,
    /// Emoji of a decline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decline_emoji: Option<String>,
    /// Emoji put on a person's answer that came before ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_emoji: Option<String>,
}

impl FloorSpec {
    /// Every wait, the default where none is given.
    pub(crate) fn timings(&self) -> Timings {
        let d = Timings::default();
        let or = |given: Option<Wait>, default: Millis| given.map_or(default, |w| w.0);
        Timings {
            burst_gap_ms: or(self.burst_gap, d.burst_gap_ms),
            draft_quiet_ms: or(self.draft_quiet, d.draft_quiet_ms),
            turn_done_ms: or(self.turn_done, d.turn_done_ms),
            turn_open_ms: or(self.turn_open, d.turn_open_ms),
            typing_done_ms: or(self.typing_done, d.typing_done_ms),
            typing_open_ms: or(self.typing_open, d.typing_open_ms),
            alone_ms: or(self.alone, d.alone_ms),
            typing_fresh_ms: or(self.typing_fresh, d.typing_fresh_ms),
            room_wait_start_ms: or(self.room_wait_start, d.room_wait_start_ms),
            room_wait_min_ms: or(self.room_wait_min, d.room_wait_min_ms),
            room_wait_max_ms: or(self.room_wait_max, d.room_wait_max_ms),
            room_expiry_ms: or(self.room_expiry, d.room_expiry_ms),
            lull_ms: or(self.lull, d.lull_ms),
            opening_expiry_ms: or(self.opening_expiry, d.opening_expiry_ms),
            cooldown_ms: or(self.cooldown, d.cooldown_ms),
            draft_timeout_ms: or(self.draft_timeout, d.draft_timeout_ms),
            draft_max_age_ms: or(self.draft_max_age, d.draft_max_age_ms),
            direct_max_age_ms: or(self.direct_max_age, d.direct_max_age_ms),
            typing_refresh_ms: or(self.typing_refresh, d.typing_refresh_ms),
            read_ms: or(self.read, d.read_ms),
            statement_window_ms: or(self.statement_window, d.statement_window_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each wait of the machine can be set, under its own name in the style of the documents.
    #[test]
    fn every_wait_of_the_machine_can_be_set() {
        let mut want = serde_json::to_value(Timings::default()).unwrap();
        let mut floor = serde_json::Map::new();
        for (i, (field, value)) in want.as_object_mut().unwrap().iter_mut().enumerate() {
            *value = serde_json::json!(60_001 + i);
            let mut words = field.strip_suffix("_ms").unwrap().split('_');
            let head = words.next().unwrap().to_owned();
            let camel = words.fold(head, |all, w| all + &w[..1].to_uppercase() + &w[1..]);
            floor.insert(camel, serde_json::json!(format!("{}ms", 60_001 + i)));
        }
        let floor: FloorSpec = serde_json::from_value(serde_json::Value::Object(floor)).unwrap();
        assert_eq!(serde_json::to_value(floor.timings()).unwrap(), want);
    }
}
