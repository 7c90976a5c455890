//! Bytes as inputs of a machine: any ids, times at the ends of the scale and going back, texts of any length, answers to effects
//! that never were, and, so that runs get somewhere, answers to those that are.

use parlor_core::{
    Act, Audience, Author, AuthorKind, DraftAct, DraftFailed, Echo, Effect, EffectId, EffectKind, Failure, GateKind, Input, Item, ItemKind,
    Link, Member, Mention, Millis, Mode, ObligationId, OutboxResult, Outcome, Place, Policy, Room, Submission, Verdict,
};

use super::Reached;
use crate::{replay::Random, sim::words};

/// Inputs of a run at most, so that each run ends.
const MAX_INPUTS: usize = 600;
/// A machine as text: its queues are bounded, and what fills most is 64 submissions of 64 KiB.
const MAX_STATE_BYTES: usize = 8 << 20;
/// Ids and names of a platform are short by the ledger's rules.
const MAX_ID_CHARS: usize = 200;
/// Obligations that a machine holds (docs/floor.md).
const MAX_OPEN: usize = 64;

const FAILURES: [Failure; 6] =
    [Failure::Timeout, Failure::Provider, Failure::NoAct, Failure::Refused, Failure::OverBudget, Failure::NoBooks];
const EDGES: [i64; 10] = [0, 1, -1, i64::MAX, i64::MIN, i64::MAX - 1, 253_402_300_799_999, 1 << 53, -(1 << 40), 1_700_000_000_000];

/// Random bytes to begin with.
pub(super) fn first(dice: &mut Random) -> Vec<Vec<u8>> {
    (0..16).map(|n| (0..64 << (n % 6)).map(|_| dice.bits() as u8).collect()).collect()
}

/// One run; an error is a machine that did not keep what it promises.
pub fn fuzz_inputs(bytes: &[u8]) -> Result<Reached, String> {
    let mut fuzz =
        Inputs { bytes, at: 0, now: 1_000_000, seq: 0, effects: Vec::new(), rows: Vec::new(), owed: Vec::new(), ids: Vec::new() };
    let mut room = Room::new(fuzz.policy());
    let mut reached = Reached::new();
    for _ in 0..MAX_INPUTS {
        if fuzz.at >= bytes.len() {
            break;
        }
        let input = fuzz.input(&room);
        let now = fuzz.now;
        for effect in room.step(now, input) {
            fuzz.note(&effect, &mut reached);
        }
        let tally = room.tally();
        if tally.opened != tally.ended_in_all() + room.open() as u64 || room.open() > MAX_OPEN {
            return Err(format!("{} open, {tally:?}", room.open()));
        }
        let _ = (room.next_wake(), room.pending(), room.view(now));
    }
    let state = serde_json::to_string(&room).map_err(|e| format!("the machine cannot be stored: {e}"))?;
    if state.len() > MAX_STATE_BYTES {
        return Err(format!("the machine grew to {} bytes", state.len()));
    }
    let again: Room = serde_json::from_str(&state).map_err(|e| format!("the stored machine cannot be read: {e}"))?;
    if serde_json::to_string(&again).ok().as_ref() != Some(&state) {
        return Err("a stored machine is another one".into());
    }
    Ok(reached)
}

/// Reads bytes as inputs.
struct Inputs<'a> {
    bytes: &'a [u8],
    at: usize,
    now: Millis,
    seq: u64,
    effects: Vec<EffectId>,
    rows: Vec<String>,
    owed: Vec<ObligationId>,
    ids: Vec<String>,
}

impl Inputs<'_> {
    fn note(&mut self, effect: &Effect, reached: &mut Reached) {
        match &effect.kind {
            EffectKind::Record(d) => drop(reached.insert(format!("{}:{}", d.what.code(), d.why.code()))),
            EffectKind::Submit(row) => {
                reached.insert("submit".into());
                self.rows.push(row.dedupe.clone());
            }
            EffectKind::Draft(draft) => {
                reached.insert("draft".into());
                self.effects.push(effect.id);
                self.owed = draft.owed.iter().map(|o| o.id).collect();
            }
            EffectKind::Gate(_) => {
                reached.insert("gate".into());
                self.effects.push(effect.id);
            }
            EffectKind::CancelDraft { .. } => drop(reached.insert("cancel".into())),
            EffectKind::Withdraw { .. } => drop(reached.insert("withdraw".into())),
            EffectKind::Typing { on, .. } => drop(reached.insert(format!("typing:{on}"))),
        }
    }

    fn byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied().unwrap_or_default();
        self.at += 1;
        byte
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        let i = self.below(of.len());
        of.get(i).cloned()
    }

    fn flag(&mut self) -> bool {
        self.byte().is_multiple_of(2)
    }

    /// A time: mostly near now, else at an edge, else anything.
    fn time(&mut self) -> Millis {
        match self.below(16) {
            0 => self.one(&EDGES).unwrap_or_default(),
            1 => (0..8).fold(0, |n, _| n << 8 | i64::from(self.byte())),
            2 => self.now.saturating_sub(i64::from(self.byte()) * 1_000),
            _ => self.now.saturating_add(i64::from(self.byte()) * 10),
        }
    }

    fn move_clock(&mut self, room: &Room) {
        self.now = match self.below(12) {
            0..=3 => self.now,
            4..=7 => room.next_wake().unwrap_or(self.now),
            8 => self.now.saturating_add(i64::from(self.byte()) * 1_000),
            9 => self.now.saturating_add(i64::from(self.byte()) * 60_000),
            10 => self.now.saturating_add(1),
            // An earlier time, or, seldom, the end of time: after it nothing moves any more.
            _ if self.below(32) == 0 => self.time(),
            _ => self.now.saturating_sub(1_000),
        };
    }

    fn text(&mut self) -> String {
        match self.below(8) {
            0 => {
                let n = self.below(40);
                let bytes: Vec<u8> = (0..n).map(|_| self.byte()).collect();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            1 if self.below(16) == 0 => {
                let line = words::line(self.below(60));
                line.repeat(60_000 / line.len().max(1))
            }
            2 => {
                let (a, b) = (words::line(self.below(40)), words::line(self.below(40)));
                format!("{a} {b}")
            }
            _ => words::line(self.below(60)),
        }
    }

    fn short(&mut self) -> String {
        self.text().chars().take(MAX_ID_CHARS).collect()
    }

    fn id(&mut self) -> String {
        match self.below(6) {
            0 => self.short(),
            1..=4 => self.one(&self.ids.clone()).unwrap_or_default(),
            _ => format!("m{}", self.byte()),
        }
    }

    fn author(&mut self) -> Author {
        let (id, name, mut kind) = words::person(self.below(12));
        if self.below(16) == 0 {
            kind = self.one(&[AuthorKind::Own, AuthorKind::Bot, AuthorKind::Owner, AuthorKind::Webhook]).unwrap_or(kind);
        }
        match self.below(24) {
            0 => Author { id: words::persona(self.below(4)).to_owned(), name, kind: AuthorKind::Own },
            1 => Author { id: format!("c{}-{}", self.byte(), self.byte()), name: self.short(), kind },
            _ => Author { id, name, kind },
        }
    }

    fn item(&mut self, kind: ItemKind) -> Item {
        self.seq = match self.below(32) {
            0 => self.seq,
            1 => self.seq.saturating_add(u64::from(self.byte())),
            2 if self.below(64) == 0 => u64::MAX,
            _ => self.seq.saturating_add(1),
        };
        let platform_id = if kind == ItemKind::Message { format!("m{}", self.seq) } else { self.id() };
        self.ids.push(platform_id.clone());
        let pos = [Place::Typed, Place::Open, Place::In];
        let mentions = (0..self.below(12).saturating_sub(8))
            .map(|_| {
                let id = if self.flag() { words::persona(self.below(4)).to_owned() } else { words::person(self.below(9)).0 };
                Mention { id, pos: self.one(&pos).unwrap_or(Place::In) }
            })
            .collect();
        let links = (0..self.below(8).saturating_sub(5))
            .map(|_| Link { id: self.id(), author: self.flag().then(|| words::persona(self.below(4)).to_owned()) })
            .collect();
        Item {
            seq: self.seq,
            at: self.time(),
            platform_id,
            author: self.author(),
            text: self.text(),
            mentions,
            find_names: self.flag(),
            links,
            kind,
        }
    }

    fn effect(&mut self) -> EffectId {
        match self.below(8) {
            0 => EffectId { input: self.one(&EDGES).unwrap_or_default() as u64, index: u16::from(self.byte()) },
            _ => self.effects.last().copied().unwrap_or(EffectId { input: 1, index: 0 }),
        }
    }

    fn row(&mut self) -> String {
        match self.below(8) {
            0 => self.short(),
            1 => self.one(&self.rows.clone()).unwrap_or_default(),
            _ => self.rows.last().cloned().unwrap_or_default(),
        }
    }

    fn input(&mut self, room: &Room) -> Input {
        self.move_clock(room);
        match self.below(32) {
            0..=9 => Input::Item(self.item(ItemKind::Message)),
            10 | 11 => Input::Item(self.item(ItemKind::Edit)),
            12 => Input::Item(self.item(ItemKind::Delete)),
            13 => {
                let kinds = [ItemKind::Reaction, ItemKind::Unreaction, ItemKind::System];
                let kind = self.one(&kinds).unwrap_or(ItemKind::System);
                Input::Item(self.item(kind))
            }
            14 => Input::Echo(Echo { row: self.row(), item: self.item(ItemKind::Message) }),
            15 => Input::Typing { author: self.author().id },
            16 => Input::Policy(Box::new(self.policy())),
            17 => Input::Verdict(Verdict { gate: self.effect(), me: self.share(), room: self.share() }),
            18..=20 => self.act(),
            21 => {
                let kind = self.one(&FAILURES).unwrap_or(Failure::Provider);
                Input::DraftFailed(DraftFailed { draft: self.effect(), kind })
            }
            22..=24 => self.outcome(),
            25 => Input::Submission(Submission {
                key: format!("k{}", self.below(80)),
                persona: words::persona(self.below(4)).to_owned(),
                text: self.text(),
                prompted: self.flag(),
                expires_at: self.time(),
            }),
            26 => Input::Resumed,
            _ => Input::Tick,
        }
    }

    fn share(&mut self) -> f64 {
        [0.0, 0.1, 0.3, 0.6, 1.0, -1.0, f64::NAN, f64::INFINITY].get(self.below(8)).copied().unwrap_or_default()
    }

    fn act(&mut self) -> Input {
        let mut settles = self.owed.clone();
        match self.below(8) {
            0 => settles.truncate(1),
            1 => settles.push(ObligationId { input: u64::MAX, index: u16::MAX }),
            2 => settles.extend(settles.clone()),
            3 => settles.clear(),
            _ => {}
        }
        let act = match self.below(6) {
            0 => DraftAct::React { emoji: self.short() },
            1 => DraftAct::Pass { reason: self.text() },
            2 => DraftAct::Reply { text: self.text() },
            _ => DraftAct::Reply { text: format!("{} things about {} and {}", self.byte(), self.byte(), self.byte()) },
        };
        Input::Act(Act { draft: self.effect(), settles, act })
    }

    fn outcome(&mut self) -> Input {
        let row = self.row();
        let outcome = match self.below(8) {
            0 => Outcome::Refused { reason: self.one(&["muted", "no_budget", "shadow", "gone"]).unwrap_or_default().to_owned() },
            1 => Outcome::Withdrawn,
            2 => Outcome::Expired,
            3 => Outcome::Parked { reason: String::new() },
            4 => Outcome::Settled { platform_id: None },
            _ => Outcome::Settled { platform_id: Some(format!("own:{row}")) },
        };
        Input::Outbox(OutboxResult { row, outcome })
    }

    fn policy(&mut self) -> Policy {
        let mut members = words::members(self.below(5));
        if self.below(8) == 0 {
            members.extend((0..self.byte()).map(|n| Member { id: format!("x{n}"), name: self.short(), aliases: Vec::new() }));
        }
        let mut policy = Policy::new(members);
        policy.revision = u64::from(self.byte());
        policy.mode = if self.below(6) == 0 { Mode::Shadow } else { Mode::Active };
        policy.muted = self.below(12) == 0;
        policy.stopped = self.below(16) == 0;
        policy.audience = self.one(&[Audience::Room, Audience::Room, Audience::Public, Audience::Direct]).unwrap_or(Audience::Room);
        policy.gate = self.one(GateKind::ALL).unwrap_or(GateKind::Rules);
        policy.slow_mode_ms = if self.below(4) == 0 { self.one(&EDGES).unwrap_or_default() } else { 0 };
        if self.below(8) == 0 {
            let t = &mut policy.timings;
            for ms in [&mut t.draft_quiet_ms, &mut t.turn_done_ms, &mut t.room_wait_max_ms, &mut t.draft_max_age_ms, &mut t.cooldown_ms] {
                if self.below(3) == 0 {
                    *ms = self.one(&EDGES).unwrap_or_default();
                }
            }
        }
        policy.budget.unprompted_per_hour = self.one(&[0, 1, 2, 60, u32::MAX]).unwrap_or_default();
        policy.budget.agent_turns = self.one(&[0, 1, 4, u32::MAX]).unwrap_or_default();
        policy
    }
}
