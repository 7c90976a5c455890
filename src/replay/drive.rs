//! One room machine on a virtual clock, in closed loop: what it posts is in the room at once, and a stub takes the drafter's time.
//!
//! It must not look ahead: a line reaches the machine when its time has come and not before.

use std::time::{Duration, Instant};

use parlor_core::{
    Author, AuthorKind, Draft, Echo, Effect, EffectId, EffectKind, Input, Item, ItemKind, Link, Member, Millis, ObligationId,
    ObligationKind, OutboxResult, Outcome, Policy, Room, Row, RowKind, Verdict, Why,
};

use super::{diary::Diary, drafter::Pen, seat::Seat};
use crate::ports::ModelCall;

/// Steps of one machine at one moment of the virtual clock. A burst of lines costs a handful; a machine that needs more asks for
/// itself for ever.
const MAX_STEPS_AT_ONCE: u32 = 10_000;

/// A room machine and the world around it.
pub(super) struct Drive {
    room: Room,
    pen: Pen,
    diary: Option<Box<Diary>>,
    persona: Member,
    draft_ms: Millis,
    now: Millis,
    /// When the machine wants to be called again.
    room_wake: Option<Millis>,
    seq: u64,
    drafting: Option<Drafting>,
    posts: u64,
    steps_at_once: u32,
    /// How long ticks took, where somebody wants to know.
    ticks: Option<Box<Ticks>>,
    /// What happened, in order.
    pub log: Log,
}

struct Drafting {
    due: Millis,
    id: EffectId,
    settles: Vec<ObligationId>,
    call: Option<Box<ModelCall>>,
}

/// What a machine did.
#[derive(Default)]
pub(super) struct Log {
    pub posts: Vec<Posted>,
    /// Platform ids of the lines that each reaction, gate call and draft was about.
    pub reactions: Vec<Vec<String>>,
    pub gate_calls: Vec<Vec<String>>,
    pub drafts: Vec<Vec<String>>,
}

/// How long single ticks took.
#[derive(Default)]
pub struct Ticks {
    /// Those in which models were asked about a burst whose turn looked over.
    pub gated: Vec<Duration>,
    /// Those in which nothing was to be done.
    pub idle: Vec<Duration>,
}

impl Ticks {
    fn note(&mut self, took: Duration, effects: &[Effect]) {
        let gates = |e: &Effect| match &e.kind {
            EffectKind::Record(d) => matches!(d.why, Why::GateSilent | Why::Continues | Why::AsksRoom | Why::MayRemark),
            _ => false,
        };
        if effects.is_empty() {
            self.idle.push(took);
        } else if effects.iter().any(gates) {
            self.gated.push(took);
        }
    }
}

/// A post of the machine.
pub(super) struct Posted {
    pub ts: Millis,
    pub settles: Vec<String>,
    pub kind: ObligationKind,
    pub prompted: bool,
}

/// The machine asks to be woken at a time that never passes.
#[derive(Debug)]
pub(super) struct Stuck(pub Millis);

/// Hears the lines of one room in order.
pub(super) trait Listener: Sized {
    /// Sits down in a room.
    fn new(room: &str, persona: Member, seat: &Seat) -> Self;
    /// A line is heard; its place in the stream is left to the listener.
    fn line(&mut self, item: Item) -> Result<(), Stuck>;
    /// No line follows.
    fn finish(&mut self) -> Result<(), Stuck>;
}

impl Listener for Drive {
    fn new(room: &str, persona: Member, seat: &Seat) -> Self {
        Self {
            room: Room::new(seat.policy(&persona)).judged_by(seat.judges),
            diary: seat.diary(),
            pen: Pen::new(seat.drafts.as_ref(), room, &persona),
            persona,
            draft_ms: seat.draft_ms,
            now: 0,
            room_wake: None,
            seq: 0,
            drafting: None,
            posts: 0,
            steps_at_once: 0,
            ticks: None,
            log: Log::default(),
        }
    }

    /// All that was due before the line's time happens first; at the same time the line comes first.
    fn line(&mut self, mut item: Item) -> Result<(), Stuck> {
        self.until(item.at)?;
        self.seq += 1;
        item.seq = self.seq;
        self.move_to(item.at);
        self.note(&item);
        self.step(Input::Item(item))
    }

    /// Lets everything happen that is still due.
    fn finish(&mut self) -> Result<(), Stuck> {
        while self.wake().is_some() {
            self.pass()?;
        }
        Ok(())
    }
}

impl Drive {
    /// The machine writes down what its models are asked.
    pub(super) fn observed(mut self) -> Self {
        self.room.start_observing();
        self
    }

    /// The time of each tick is taken down.
    pub(super) fn timed(mut self) -> Self {
        self.ticks = Some(Box::default());
        self
    }

    /// How long ticks took.
    pub(super) fn into_ticks(self) -> Ticks {
        self.ticks.map(|ticks| *ticks).unwrap_or_default()
    }

    /// Lets everything happen that is due before that time.
    fn until(&mut self, at: Millis) -> Result<(), Stuck> {
        while self.wake().is_some_and(|w| w < at) {
            self.pass()?;
        }
        Ok(())
    }

    /// A line, after a change of the policy.
    pub(super) fn line_under(&mut self, item: Item, policy: Policy) -> Result<(), Stuck> {
        self.until(item.at)?;
        self.step(Input::Policy(Box::new(policy)))?;
        self.line(item)
    }

    /// What the machine's models were asked.
    pub(super) fn take_observed(&mut self) -> Vec<parlor_core::Observation> {
        self.room.take_observed()
    }

    /// The machine as it stands.
    pub(super) fn into_room(self) -> Room {
        self.room
    }

    pub(super) fn diary(&self) -> Option<&Diary> {
        self.diary.as_deref()
    }

    /// Something is in the room.
    fn note(&mut self, item: &Item) {
        self.pen.heard(item);
        if let Some(diary) = &mut self.diary {
            diary.heard(item);
        }
    }

    fn wake(&self) -> Option<Millis> {
        let draft = self.drafting.as_ref().map(|d| d.due);
        draft.into_iter().chain(self.room_wake).min().map(|w| w.max(self.now))
    }

    fn move_to(&mut self, to: Millis) {
        if to > self.now {
            (self.now, self.steps_at_once) = (to, 0);
        }
    }

    /// Goes to the next wake: a draft that is ready is handed in before the machine looks at its own clock.
    fn pass(&mut self) -> Result<(), Stuck> {
        let Some(to) = self.wake() else { return Ok(()) };
        self.move_to(to);
        match self.drafting.take_if(|d| d.due <= to) {
            Some(d) => self.step(self.pen.finish(d.call, d.id, d.settles, to)),
            None => self.step(Input::Tick),
        }
    }

    fn step(&mut self, input: Input) -> Result<(), Stuck> {
        let mut follow = Vec::new();
        self.tell(input, &mut follow);
        while self.steps_at_once <= MAX_STEPS_AT_ONCE
            && let Some(input) = follow.pop()
        {
            self.tell(input, &mut follow);
        }
        self.room_wake = self.room.next_wake();
        if self.steps_at_once > MAX_STEPS_AT_ONCE { Err(Stuck(self.now)) } else { Ok(()) }
    }

    /// One input to the machine. Last in, first out: the inputs that its effects lead to are put down in reverse.
    fn tell(&mut self, input: Input, follow: &mut Vec<Input>) {
        self.steps_at_once += 1;
        let started = (self.ticks.is_some() && input == Input::Tick).then(Instant::now);
        let effects = self.room.step(self.now, input);
        if let (Some(started), Some(ticks)) = (started, &mut self.ticks) {
            ticks.note(started.elapsed(), &effects);
        }
        for effect in effects.into_iter().rev() {
            self.perform(effect, follow);
        }
    }

    fn perform(&mut self, Effect { id, kind }: Effect, inputs: &mut Vec<Input>) {
        match kind {
            EffectKind::Draft(draft) => self.draft(id, &draft),
            EffectKind::CancelDraft { draft } => {
                if self.drafting.take_if(|d| d.id == draft).is_some() {
                    self.pen.drop_draft();
                }
            }
            EffectKind::Submit(row) => self.post(row, inputs),
            EffectKind::Gate(call) => {
                self.log.gate_calls.push(call.lines.into_iter().map(|l| l.platform_id).collect());
                // No model is asked in a replay: what the machine's own rules do not decide stays unsaid.
                inputs.push(Input::Verdict(Verdict { gate: id, me: 0.0, room: 0.0 }));
            }
            // A row is posted in the step that submits it, so there is none to take back.
            EffectKind::Withdraw { .. } | EffectKind::Typing { .. } => {}
            EffectKind::Record(decision) => {
                if let Some(diary) = &mut self.diary {
                    diary.decided(self.now, decision);
                }
            }
        }
    }

    fn draft(&mut self, id: EffectId, draft: &Draft) {
        self.log.drafts.push(draft.owed.iter().flat_map(|o| &o.lines).map(|l| l.platform_id.clone()).collect());
        let settles = draft.owed.iter().map(|o| o.id).collect();
        self.drafting = Some(Drafting { due: self.now + self.draft_ms, id, settles, call: self.pen.begin(draft) });
    }

    fn post(&mut self, row: Row, inputs: &mut Vec<Input>) {
        if let Some(diary) = &mut self.diary {
            diary.acted(self.now, &row);
        }
        let target = row.address.as_ref().map(|a| a.platform_id.clone());
        let (platform_id, kind, text, links) = match row.kind {
            RowKind::Post { text } => {
                self.posts += 1;
                let shown = row.address.filter(|a| a.reply).map(|a| Link { id: a.platform_id, author: None });
                let posted = Posted { ts: self.now, settles: row.settles_lines, kind: row.owed, prompted: !row.unprompted };
                self.log.posts.push(posted);
                (Some(format!("own:{}", self.posts)), ItemKind::Message, text, shown.into_iter().collect())
            }
            RowKind::React { emoji } => {
                self.log.reactions.push(row.settles_lines);
                (None, ItemKind::Reaction, emoji, Vec::new())
            }
        };
        // In Shadow nobody in the room sees it; the row ends where it begins.
        if row.shadow {
            return inputs.push(Input::Outbox(OutboxResult { row: row.dedupe, outcome: Outcome::Settled { platform_id: None } }));
        }
        self.seq += 1;
        let item = Item {
            seq: self.seq,
            at: self.now,
            platform_id: platform_id.clone().or(target).unwrap_or_default(),
            author: Author { id: self.persona.id.clone(), name: self.persona.name.clone(), kind: AuthorKind::Own },
            text,
            mentions: Vec::new(),
            find_names: false,
            links,
            kind,
        };
        self.note(&item);
        // Put down in reverse: settled first, then the echo.
        inputs.push(Input::Echo(Echo { row: row.dedupe.clone(), item }));
        inputs.push(Input::Outbox(OutboxResult { row: row.dedupe, outcome: Outcome::Settled { platform_id } }));
    }
}
