//! The room machine: its state, and the one call that drives it.
//!
//! An input changes what is known and owed; only a tick moves the floor. So a reader may feed everything after its cursor and
//! then one tick, and one decision is taken on all of it.

mod address;
mod clock;
mod floor;
mod gate;
mod hush;
mod judged;
mod lines;
mod outbox;
mod owe;
mod restraint;
mod validate;
mod view;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::{
    Decision, Effect, EffectId, EffectKind, GateKind, Input, Judges, Line, Millis, ObligationId, Observation, Policy, Seen, Tally, What,
    Why,
    burst::Burst,
    input::LATEST_NOW_MS,
    judge::talk::{By, Talk},
    names::Names,
    obligation::Obligation,
    people::{People, PersonaNo, Who},
    reading::Reading,
};
use floor::{Flight, Floor};
use outbox::{Post, Sending};
use restraint::Restraint;

/// Format of a stored [`Room`]; a store that finds another rebuilds the room from the ledger.
pub const SNAPSHOT_FORMAT: u32 = 3;

/// Lines whose author is remembered, to tell whom a bare reply link is for. A reply goes back further than this in under 1 %
/// of links of the archives; such a link counts as one to somebody else.
const MAX_RECENT: usize = 256;
/// Closed bursts that are kept for their authors' edits and further lines.
const MAX_RESTING: usize = 64;
/// Personas that were ever members; the roster only grows, so that its numbers stay true.
const MAX_ROSTER: usize = 64;

/// One room. See the crate's page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Room {
    n: u64,
    now: Millis,
    cursor: u64,
    policy: Policy,
    roster: Vec<String>,
    members: Vec<PersonaNo>,
    names: Names,
    people: People,
    talk: Talk,
    recent: VecDeque<(u64, By)>,
    /// Bursts that are owed, or wait for a gate.
    #[expect(clippy::vec_box, reason = "a burst goes to and fro between here and its author, and is a large thing to move")]
    active: Vec<Box<Burst>>,
    /// Closed bursts that an edit, a delete or a join may still find, oldest first: whose, and which.
    resting: VecDeque<(Who, u64)>,
    owed: Vec<Obligation>,
    floor: Floor,
    /// The text of a draft that was overtaken, for the next draft of the same obligations.
    overtaken: Option<Overtaken>,
    /// Rows whose fate is unknown.
    held: Vec<Sending>,
    /// Rows (reactions of decline and the like) whose outcome changes nothing.
    loose: VecDeque<String>,
    posts: VecDeque<Post>,
    /// Keys of submissions that ended: one that is handed in again is known.
    spent: VecDeque<String>,
    restraint: Restraint,
    /// Waits of people's first answers to room questions, newest last.
    first_answers: VecDeque<Millis>,
    /// What people stated lately while something was owed, to know a draft that only says it again.
    #[serde(default)]
    stated: VecDeque<Stated>,
    /// Room questions that we answered and people may still answer.
    watched: VecDeque<Watched>,
    hushed_since: Option<Millis>,
    /// The shell catches up after a gap.
    catching_up: bool,
    tally: Tally,
    #[serde(skip, default = "Judges::embedded")]
    judges: &'static Judges,
    /// The line that is read just now: its memory is used again for the next.
    #[serde(skip)]
    reading: Reading,
    /// A burst that nobody knows any more: its memory is used again for the next.
    #[serde(skip)]
    spare: Option<Box<Burst>>,
    /// For training: what the models were asked.
    #[serde(skip)]
    observed: Option<Vec<Observation>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Overtaken {
    owed: Vec<ObligationId>,
    text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stated {
    who: Who,
    line: Line,
    /// Its words in order, as [`words_of`](crate::shingle::words_of) finds them.
    words: Vec<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Watched {
    who: Who,
    at: Millis,
    lines: Vec<String>,
}

/// The effects of one input, numbered as they come.
struct Out {
    input: u64,
    effects: Vec<Effect>,
    /// Bursts that this input began.
    bursts: u64,
}

/// Room for the bursts of one input in their ids: each asker of a row may begin one, and a row settles 64 obligations at most.
const BURSTS_PER_INPUT: u64 = 256;

impl Out {
    fn next_id(&self) -> EffectId {
        EffectId { input: self.input, index: self.effects.len() as u16 }
    }

    /// An id for a burst, above those of every earlier one.
    fn next_burst(&mut self) -> u64 {
        self.bursts += 1;
        self.input * BURSTS_PER_INPUT + self.bursts - 1
    }

    fn push(&mut self, kind: EffectKind) -> EffectId {
        let id = self.next_id();
        self.effects.push(Effect { id, kind });
        id
    }
}

impl Room {
    /// A room that has seen nothing.
    #[must_use]
    pub fn new(mut policy: Policy) -> Self {
        policy.level();
        let mut room = Self {
            n: 0,
            now: 0,
            cursor: 0,
            policy,
            roster: Vec::new(),
            members: Vec::new(),
            names: Names::default(),
            people: People::default(),
            talk: Talk::default(),
            recent: VecDeque::new(),
            active: Vec::new(),
            resting: VecDeque::new(),
            owed: Vec::new(),
            floor: Floor::Idle,
            overtaken: None,
            held: Vec::new(),
            loose: VecDeque::new(),
            posts: VecDeque::new(),
            spent: VecDeque::new(),
            restraint: Restraint::default(),
            first_answers: VecDeque::new(),
            stated: VecDeque::new(),
            watched: VecDeque::new(),
            hushed_since: None,
            catching_up: false,
            tally: Tally::default(),
            judges: Judges::embedded(),
            reading: Reading::default(),
            spare: None,
            observed: None,
        };
        room.enrol();
        room
    }

    /// The same room, whose inputs and so whose effects are numbered on from here: for one that is rebuilt from a log.
    #[must_use]
    pub fn numbered_from(mut self, n: u64) -> Self {
        self.n = n;
        self
    }

    /// The same room with other weights, for training and for comparing them.
    #[must_use]
    pub fn judged_by(mut self, judges: &'static Judges) -> Self {
        self.judges = judges;
        self
    }

    /// A stored room, brought up to date with the inputs stored since.
    #[must_use]
    pub fn restore(stored: Self, since: impl IntoIterator<Item = (Millis, Input)>) -> Self {
        let mut room = stored;
        for (now, input) in since {
            room.step(now, input);
        }
        room
    }

    /// Takes one input at a time and gives what is to be done, in order. Time never goes back: an earlier `now` counts as the
    /// latest one seen, and one outside the years 1970 to 9999 as the nearest within. Nothing here panics or fails; what does not
    /// fit is recorded and ignored.
    pub fn step(&mut self, now: Millis, mut input: Input) -> Vec<Effect> {
        self.n += 1;
        let before = self.now;
        self.now = self.now.max(now.clamp(0, LATEST_NOW_MS));
        let mut out = Out { input: self.n, effects: Vec::new(), bursts: 0 };
        input.level();
        match input {
            Input::Item(item) => self.on_item(item, &mut out),
            Input::Echo(echo) => self.on_echo(&echo, &mut out),
            Input::Typing { author } => self.on_typing(&author),
            Input::Policy(policy) => self.on_policy(*policy, &mut out),
            Input::Verdict(verdict) => self.on_verdict(verdict, &mut out),
            Input::Act(act) => self.on_act(act, &mut out),
            Input::DraftFailed(failed) => self.on_draft_failed(failed, &mut out),
            Input::Outbox(result) => self.on_outbox(result, &mut out),
            Input::Submission(submission) => self.on_submission(submission, &mut out),
            Input::Resumed => self.resume(before),
            Input::Tick => self.on_tick(&mut out),
        }
        out.effects
    }

    /// The number of the last input.
    #[must_use]
    pub fn inputs(&self) -> u64 {
        self.n
    }

    /// The place of the last item seen.
    #[must_use]
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// The policy in force.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// How many obligations were opened, and how each ended.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// How many obligations are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.owed.len()
    }

    /// Puts the members of the policy into the roster and the table of names.
    fn enrol(&mut self) {
        self.members.clear();
        for m in &self.policy.members {
            let no = self.roster.iter().position(|id| *id == m.id);
            let no = match no {
                Some(no) => no,
                None if self.roster.len() < MAX_ROSTER => {
                    self.roster.push(m.id.clone());
                    self.roster.len() - 1
                }
                None => continue,
            };
            self.members.push(PersonaNo(no as u8));
        }
        self.names.set_members(&self.policy.members);
    }

    fn persona_no(&self, id: &str) -> Option<PersonaNo> {
        self.roster.iter().position(|r| r == id).map(|i| PersonaNo(i as u8))
    }

    fn persona_id(&self, no: PersonaNo) -> &str {
        self.roster.get(usize::from(no.0)).map_or("", String::as_str)
    }

    fn is_member(&self, no: PersonaNo) -> bool {
        self.members.contains(&no)
    }

    /// Muted or stopped: nothing is drafted, no model is called.
    fn hushed(&self) -> bool {
        self.policy.muted || self.policy.stopped
    }

    /// Whether the trained models judge, and not the plain rules.
    fn judged(&self) -> bool {
        match self.policy.gate {
            GateKind::Rules => false,
            GateKind::Embedded | GateKind::Model => true,
        }
    }

    fn burst(&self, id: u64) -> Option<&Burst> {
        self.active.iter().find(|b| b.id == id).map(AsRef::as_ref)
    }

    fn burst_mut(&mut self, id: u64) -> Option<&mut Burst> {
        self.active.iter_mut().find(|b| b.id == id).map(AsMut::as_mut)
    }

    fn obligation(&self, id: ObligationId) -> Option<&Obligation> {
        self.owed.iter().find(|o| o.id == id)
    }

    fn record(&self, out: &mut Out, what: What, why: Why, about: About) {
        let burst = about.burst.and_then(|id| self.burst(id));
        let odds = burst.filter(|b| b.weighed.me + b.weighed.room > 0.0 || b.weighed.measured.is_some()).map(Self::odds_of);
        let lines = burst.map_or(about.lines, Burst::seqs);
        out.push(EffectKind::Record(Decision {
            what,
            why,
            persona: about.persona.map(|p| self.persona_id(p).to_owned()),
            obligations: about.obligations,
            effect: about.effect,
            seen: Seen { cursor: self.cursor, lines },
            odds,
        }));
    }
}

/// What a record is about.
#[derive(Default)]
struct About {
    persona: Option<PersonaNo>,
    obligations: Vec<ObligationId>,
    effect: Option<EffectId>,
    burst: Option<u64>,
    lines: Vec<u64>,
}

impl About {
    fn obligation(o: &Obligation) -> Self {
        Self { persona: o.persona, obligations: vec![o.id], burst: o.burst, ..Self::default() }
    }

    fn flight(f: &Flight) -> Self {
        Self { persona: Some(f.persona), obligations: f.owed.clone(), effect: Some(f.draft), ..Self::default() }
    }
}

#[cfg(test)]
mod tests;
