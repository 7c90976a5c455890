//! A script: what people, models, platforms and the operator do in a few rooms, move by move. It is drawn from a seed.
//!
//! A move says what it is about relative to what is there (the third line from the end, the next draft), so that a script with
//! moves left out is still a script: that is what a failing one is shrunk by.

use parlor_core::{Failure, GateKind, Millis};
use serde::{Deserialize, Serialize};

use super::words;
use crate::replay::Random;

/// Rooms of a script at most: enough that keys and people occur in several.
pub(super) const MAX_ROOMS: usize = 3;

/// What happens in some rooms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Script {
    /// How each room begins.
    pub(super) rooms: Vec<Setting>,
    /// What happens, in order.
    pub(super) moves: Vec<Move>,
    /// Seed of what is left to chance while it is played: when a check is made.
    pub(super) seed: u64,
}

/// How a room begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Setting {
    pub(super) members: usize,
    pub(super) gate: GateKind,
    pub(super) shadow: bool,
    pub(super) direct: bool,
    pub(super) unprompted_per_hour: u32,
    pub(super) agent_turns: u32,
    pub(super) slow_mode_ms: Millis,
    /// How long a gateway takes from one row to the next.
    pub(super) pace_ms: Millis,
}

/// Something happens in a room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Move {
    pub(super) room: usize,
    #[serde(flatten)]
    pub(super) act: Act,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum Act {
    /// Somebody says a line, maybe as a reply to the `reply`th line from the end. Numbers of people and lines wrap around.
    Say { who: usize, line: usize, reply: Option<usize> },
    /// The author of the `back`th line from the end changes it.
    Edit { back: usize, line: usize },
    /// Somebody deletes it.
    Delete { back: usize },
    /// Somebody puts an emoji on it or takes it off.
    React { who: usize, back: usize, on: bool },
    /// The platform delivers the event again.
    Again { back: usize },
    /// Very many people say something at once.
    Crowd { people: usize },
    /// Somebody types.
    Typing { who: usize },
    /// Time passes, in every room.
    Wait { ms: Millis },
    /// The room's process ends in the middle of its next look.
    Crash { at: Cut },
    /// The room's process ends in order; it begins again by itself.
    Stop,
    /// The room's process is away for this long.
    Away { ms: Millis },
    /// The database cannot be reached by the room for this long.
    Deaf { ms: Millis },
    /// Bells are lost from now on, or come.
    Bells { come: bool },
    /// The operator changes what the room may do.
    Policy { change: Change },
    /// Something else wants something said. The key's number wraps around, so keys repeat.
    Submit { key: usize, persona: usize, prompted: bool, ttl_ms: Millis, by_job: bool },
    /// How models write from now on.
    Model { talk: Talk, ms: Millis, twice: bool },
    /// How a gate model answers from now on; `ms` below zero is never.
    Gate { me: f64, all: f64, ms: Millis },
    /// What happens to the next row of the outbox.
    Mouth { fault: MouthFault },
}

/// Where the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Cut {
    /// It read and stepped, and nothing was stored.
    BeforeStore,
    /// Everything was stored, and so many of the effects were begun.
    AfterEffects(usize),
    /// It does not end, but the answer to its store is lost: it stores the same again.
    AnswerLost,
    /// Another begins while it still runs; it looks once more.
    Overlap,
}

/// A change of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Change {
    Mute(bool),
    Stop(bool),
    Shadow(bool),
    Members(usize),
    Unprompted(u32),
    AgentTurns(u32),
    Gate(GateKind),
    SlowMode(Millis),
    Direct(bool),
}

/// What a model does with a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Talk {
    /// Replies, with a text of its own, to everything.
    Reply,
    /// Replies with the text that it always gives.
    Same,
    /// Replies with words that somebody in the room has said.
    Echoing,
    /// Replies to the first obligation only.
    First,
    /// Names obligations that nobody offered.
    Strange,
    /// Replies with a word for silence.
    Token,
    /// Replies with nothing.
    Empty,
    /// Reacts.
    React,
    /// Says nothing, on purpose.
    Pass,
    /// Fails.
    Fail(Failure),
    /// Never ends.
    Never,
}

/// What happens to a row on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MouthFault {
    /// The gateway ends after the claim.
    CrashClaimed,
    /// The gateway ends after the platform took it.
    CrashPosted,
    /// The post takes this long.
    Slow(Millis),
    /// The platform refuses it.
    Refused,
    /// Nobody knows whether the platform took it; it did, or not.
    Unknown { took: bool },
    /// The gateway is away for this long.
    Down(Millis),
    /// The platform shows the post to us only after this time.
    LateEcho(Millis),
}

/// Length of the lists that the scripted people draw from.
fn any_line(r: &mut Random) -> usize {
    // What is pasted is long and slow to read: seldom is often enough.
    if r.chance(0.01) { words::LINES.len() + r.below(words::ODD) } else { r.below(words::LINES.len()) }
}

impl Script {
    /// A script of about so many moves.
    pub(super) fn draw(seed: u64, moves: usize) -> Self {
        let mut r = Random::new(seed, "script");
        let rooms = (0..=r.below(MAX_ROOMS)).map(|_| setting(&mut r)).collect::<Vec<_>>();
        // How much goes wrong differs from script to script: one in which everything fails shows little of what works.
        let trouble = [0.0, 0.03, 0.1, 0.3].get(r.below(4)).copied().unwrap_or_default();
        let moves = (0..moves).map(|_| Move { room: r.below(rooms.len()), act: act(&mut r, trouble) }).collect();
        Self { rooms, moves, seed }
    }

    /// How many rooms may be left out because nothing happens in them is not worth the trouble; their moves are.
    pub(super) fn with(&self, moves: Vec<Move>) -> Self {
        Self { rooms: self.rooms.clone(), moves, seed: self.seed }
    }
}

fn setting(r: &mut Random) -> Setting {
    Setting {
        members: 1 + r.below(3),
        gate: gate(r),
        shadow: r.chance(0.1),
        direct: r.chance(0.1),
        unprompted_per_hour: r.below(4) as u32,
        agent_turns: 1 + r.below(5) as u32,
        slow_mode_ms: if r.chance(0.1) { 20_000 } else { 0 },
        pace_ms: [40, 40, 2_000, 20_000].get(r.below(4)).copied().unwrap_or_default(),
    }
}

fn gate(r: &mut Random) -> GateKind {
    r.pick(GateKind::ALL).copied().unwrap_or(GateKind::Rules)
}

fn act(r: &mut Random, trouble: f64) -> Act {
    if r.chance(trouble) {
        return trouble_act(r);
    }
    match r.below(100) {
        0..=39 => Act::Say { who: who(r), line: any_line(r), reply: r.chance(0.25).then(|| r.below(8)) },
        40..=47 => Act::Edit { back: r.below(8), line: any_line(r) },
        48..=51 => Act::Delete { back: r.below(8) },
        52..=54 => Act::React { who: who(r), back: r.below(8), on: r.chance(0.7) },
        55 | 56 => Act::Again { back: r.below(12) },
        57..=61 => Act::Typing { who: who(r) },
        62..=87 => Act::Wait { ms: wait(r) },
        90 | 91 => submit(r),
        92..=94 => model(r, trouble),
        95 => gate_answer(r),
        88 | 89 | 96 => Act::Policy { change: change(r) },
        97 if r.chance(0.02) => Act::Crowd { people: 80 + r.below(560) },
        97 => Act::Bells { come: r.chance(0.7) },
        _ => Act::Wait { ms: r.between(0, 3_000) },
    }
}

/// Mostly the same few people, now and then somebody else.
fn who(r: &mut Random) -> usize {
    if r.chance(0.85) { r.below(4) } else { r.below(words::PEOPLE.len()) }
}

fn wait(r: &mut Random) -> Millis {
    let most = [500, 3_000, 12_000, 40_000, 130_000, 700_000, 4_000_000].get(r.below(16).min(r.below(7))).copied().unwrap_or(3_000);
    r.between(0, most)
}

fn submit(r: &mut Random) -> Act {
    let ttl_ms = [0, 5_000, 60_000, 3_600_000].get(r.below(4)).copied().unwrap_or_default();
    Act::Submit { key: r.below(24), persona: r.below(4), prompted: r.chance(0.5), ttl_ms, by_job: r.chance(0.5) }
}

fn model(r: &mut Random, trouble: f64) -> Act {
    let ms = [0, 400, 3_000, 12_000, 60_000].get(r.below(5)).copied().unwrap_or_default();
    let talk = if r.chance(trouble * 2.0) {
        Talk::Fail(r.pick(FAILURES).copied().unwrap_or(Failure::Provider))
    } else {
        let good = [Talk::Reply, Talk::Reply, Talk::Reply, Talk::First, Talk::React, Talk::Pass, Talk::Same, Talk::Echoing];
        r.pick(&good).copied().unwrap_or(Talk::Reply)
    };
    Act::Model { talk, ms, twice: r.chance(0.2) }
}

fn gate_answer(r: &mut Random) -> Act {
    let p = [0.0, 0.1, 0.2, 0.3, 0.6, 1.0];
    let (me, all) = (p.get(r.below(6)).copied().unwrap_or_default(), p.get(r.below(6)).copied().unwrap_or_default());
    Act::Gate { me, all, ms: [-1, 0, 300, 5_000, 60_000].get(r.below(5)).copied().unwrap_or_default() }
}

fn change(r: &mut Random) -> Change {
    match r.below(14) {
        // What is switched off comes on again more often, or little would happen.
        0 => Change::Mute(true),
        1..=3 => Change::Mute(false),
        4 => Change::Stop(r.chance(0.3)),
        5 => Change::Shadow(true),
        6 | 7 => Change::Shadow(false),
        8 => Change::Members(1 + r.below(3)),
        9 => Change::Unprompted(r.below(4) as u32),
        10 => Change::AgentTurns(1 + r.below(5) as u32),
        11 => Change::Gate(gate(r)),
        12 => Change::SlowMode(if r.chance(0.5) { r.between(0, 90_000) } else { 0 }),
        _ => Change::Direct(r.chance(0.3)),
    }
}

fn trouble_act(r: &mut Random) -> Act {
    match r.below(12) {
        0..=3 => Act::Crash { at: cut(r) },
        4 => Act::Stop,
        5 => Act::Away { ms: wait(r) },
        6 => Act::Deaf { ms: wait(r).min(120_000) },
        7 => {
            let bad = [Talk::Never, Talk::Strange, Talk::Token, Talk::Empty];
            Act::Model { talk: r.pick(&bad).copied().unwrap_or(Talk::Never), ms: r.between(0, 120_000), twice: r.chance(0.5) }
        }
        _ => Act::Mouth { fault: mouth_fault(r) },
    }
}

fn cut(r: &mut Random) -> Cut {
    match r.below(5) {
        0 => Cut::BeforeStore,
        1 => Cut::AnswerLost,
        2 => Cut::Overlap,
        _ => Cut::AfterEffects(r.below(4)),
    }
}

fn mouth_fault(r: &mut Random) -> MouthFault {
    match r.below(8) {
        0 => MouthFault::CrashClaimed,
        1 | 2 => MouthFault::CrashPosted,
        3 => MouthFault::Slow(r.between(0, 40_000)),
        4 => MouthFault::Refused,
        5 => MouthFault::Unknown { took: r.chance(0.5) },
        6 => MouthFault::Down(wait(r).min(300_000)),
        _ => MouthFault::LateEcho(r.between(0, 120_000)),
    }
}

const FAILURES: &[Failure] =
    &[Failure::Timeout, Failure::Provider, Failure::NoAct, Failure::Refused, Failure::OverBudget, Failure::NoBooks];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_script_and_a_script_survives_being_written_down() {
        let script = Script::draw(7, 400);
        assert_eq!(script, Script::draw(7, 400));
        assert_ne!(script, Script::draw(8, 400));
        let text = serde_json::to_string(&script).unwrap();
        assert_eq!(serde_json::from_str::<Script>(&text).unwrap(), script);
    }
}
