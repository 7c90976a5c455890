//! What must hold, whatever happens: the invariants of a room (docs/simulation.md lists them), checked on what its machine was
//! told and did. The checker knows the truth from outside: what the policy is, what was said, what was deleted.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    fmt,
};

use parlor_core::{
    AuthorKind, Decision, EffectId, EffectKind, Input, Item, ItemKind, Millis, Mode, ObligationId, Outcome, Policy, Row, RowKind, What,
};
use serde::Serialize;

use super::world::Stepped;

/// The sliding window of the budget.
const HOUR_MS: Millis = 3_600_000;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// What was violated.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Rule { $($(#[$doc])* $name,)* }
        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// Its name in reports and docs.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }
        }
    };
}

rules! {
    /// At most one draft is in flight.
    OneDraft = "one_draft",
    /// Each draft is answered once at most.
    OneAnswer = "one_answer",
    /// Nothing is submitted, and no model is asked, while the room is muted or stopped.
    Muted = "muted",
    /// In Shadow every row is a shadow, and only there.
    Shadow = "shadow",
    /// A row names what it settles, and that is owed.
    Settles = "settles",
    /// What was opened has ended in one way or is open.
    Conserved = "conserved",
    /// The budget of unprompted posts holds in each sliding hour.
    Budget = "budget",
    /// Agents among themselves open nothing beyond the cap.
    AgentTurns = "agent_turns",
    /// Nothing is emitted for a line that is not there or was deleted.
    Deleted = "deleted",
    /// A key is submitted once, and shown once.
    Once = "once",
    /// What is owed is met once.
    MetOnce = "met_once",
    /// Nothing is claimed while the room is hushed or in Shadow.
    Claimed = "claimed",
    /// A restored machine is the one that was stored.
    Restored = "restored",
    /// A tick before the wake changes nothing, and the room does not ask for itself without end.
    Wake = "wake",
    /// Once people are silent everything owed ends.
    Forgotten = "forgotten",
    /// The store and the shell do what they promise.
    Store = "store",
}

/// A rule was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// In which room of the script.
    pub room: usize,
    /// Virtual time, ms.
    pub at: Millis,
    /// What was seen, in ids and numbers.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (room {}, at {} ms)", self.rule.code(), self.what, self.room, self.at)
    }
}

struct Known {
    agent: bool,
    deleted: bool,
}

/// A row that the machine submitted.
pub(super) struct Submitted {
    settles: Vec<ObligationId>,
    unprompted: bool,
    persona: String,
    shown: u32,
    /// The machine knows it as posted.
    posted: bool,
}

/// What is known of one room.
#[derive(Default)]
pub(super) struct Checker {
    room: usize,
    n: u64,
    lines: HashMap<String, Known>,
    /// Platform id of the line at each place that the machine has heard of.
    places: HashMap<u64, String>,
    pub(super) open: BTreeSet<ObligationId>,
    drafts: BTreeSet<EffectId>,
    answered: HashSet<EffectId>,
    rows: HashMap<String, Submitted>,
    /// Unprompted rows that the machine knows as posted, by persona.
    posted: BTreeMap<String, VecDeque<Millis>>,
    /// Unprompted rows that a gateway took up, by persona.
    claimed: BTreeMap<String, VecDeque<Millis>>,
    met: HashMap<ObligationId, u32>,
    agent_run: u32,
    counted: HashSet<String>,
}

impl Checker {
    pub(super) fn new(room: usize) -> Self {
        Self { room, ..Self::default() }
    }

    pub(super) fn fails(&self, rule: Rule, at: Millis, what: impl Into<String>) -> Violation {
        Violation { rule, room: self.room, at, what: what.into() }
    }

    /// After each input that was stored, under the policy in force.
    pub(super) fn step(&mut self, s: &Stepped, policy: &Policy) -> Result<(), Violation> {
        if s.n != self.n + 1 {
            return Err(self.fails(Rule::Store, s.now, format!("input {} follows input {}", s.n, self.n)));
        }
        self.n = s.n;
        let answers = self.heard(s);
        let ignored = |id: EffectId| {
            s.effects.iter().any(|e| matches!(&e.kind, EffectKind::Record(d) if d.what == What::Ignored && d.effect == Some(id)))
        };
        if let Some(draft) = answers.filter(|id| !ignored(*id))
            && !self.answered.insert(draft)
        {
            return Err(self.fails(Rule::OneAnswer, s.now, format!("draft {draft} was answered twice")));
        }
        for effect in &s.effects {
            match &effect.kind {
                EffectKind::Record(d) => self.decided(d, s.now, policy)?,
                EffectKind::Submit(row) => self.submitted(row, s.now, policy)?,
                EffectKind::Draft(draft) => {
                    self.hushed("a draft", s.now, policy)?;
                    self.drafts.insert(effect.id);
                    if self.drafts.len() > 1 {
                        return Err(self.fails(Rule::OneDraft, s.now, format!("drafts {:?} are in flight", self.drafts)));
                    }
                    if draft.owed.is_empty() || draft.owed.iter().any(|o| !self.open.contains(&o.id)) {
                        return Err(self.fails(Rule::Settles, s.now, format!("draft {} is for what is not owed", effect.id)));
                    }
                }
                EffectKind::Gate(_) => self.hushed("a gate call", s.now, policy)?,
                EffectKind::CancelDraft { draft } => drop(self.drafts.remove(draft)),
                EffectKind::Withdraw { row } if !self.rows.contains_key(row) => {
                    return Err(self.fails(Rule::Settles, s.now, format!("row {row} is withdrawn and was never submitted")));
                }
                EffectKind::Withdraw { .. } | EffectKind::Typing { .. } => {}
            }
        }
        if s.tally.opened != s.tally.ended_in_all() + s.open as u64 || s.open != self.open.len() {
            let what = format!("{:?} and {} open, {} by the records", s.tally, s.open, self.open.len());
            return Err(self.fails(Rule::Conserved, s.now, what));
        }
        Ok(())
    }

    fn hushed(&self, what: &str, now: Millis, policy: &Policy) -> Result<(), Violation> {
        if policy.muted || policy.stopped {
            return Err(self.fails(Rule::Muted, now, format!("{what} while the room is muted or stopped")));
        }
        Ok(())
    }

    /// Takes down what an input says; the draft that it answers.
    fn heard(&mut self, s: &Stepped) -> Option<EffectId> {
        match s.input.as_ref() {
            Input::Item(item) => self.item(item),
            Input::Echo(echo) => {
                if echo.item.kind == ItemKind::Message {
                    self.counts_as_agent(&echo.row);
                }
                self.note_posted(&echo.row, s.now);
                self.item(&echo.item);
            }
            Input::Outbox(result) => {
                if let Outcome::Settled { .. } = result.outcome {
                    self.note_posted(&result.row, s.now);
                    self.counts_as_agent(&result.row);
                }
            }
            Input::Act(act) => {
                self.drafts.remove(&act.draft);
                return Some(act.draft);
            }
            Input::DraftFailed(failed) => {
                self.drafts.remove(&failed.draft);
                return Some(failed.draft);
            }
            Input::Typing { .. } | Input::Policy(_) | Input::Verdict(_) | Input::Submission(_) | Input::Resumed | Input::Tick => {}
        }
        None
    }

    fn item(&mut self, item: &Item) {
        match item.kind {
            ItemKind::Message => {
                let agent = !item.author.kind.is_person();
                if !agent {
                    self.agent_run = 0;
                } else if item.author.kind != AuthorKind::Own {
                    self.agent_run += 1;
                }
                self.places.insert(item.seq, item.platform_id.clone());
                self.lines.entry(item.platform_id.clone()).or_insert(Known { agent, deleted: false });
            }
            ItemKind::Delete => {
                if let Some(line) = self.lines.get_mut(&item.platform_id) {
                    line.deleted = true;
                }
            }
            ItemKind::Edit | ItemKind::Reaction | ItemKind::Unreaction | ItemKind::System => {}
        }
    }

    /// The machine has had every chance to hear that the line was deleted.
    pub(super) fn deleted(&mut self, platform_id: &str) {
        if let Some(line) = self.lines.get_mut(platform_id) {
            line.deleted = true;
        }
    }

    /// A post of ours counts once as an agent's, when the machine first hears of it.
    fn counts_as_agent(&mut self, row: &str) {
        let post = self.rows.get(row).is_none_or(|r| !r.settles.is_empty());
        if post && self.counted.insert(row.to_owned()) {
            self.agent_run += 1;
        }
    }

    fn note_posted(&mut self, row: &str, now: Millis) {
        let Some(r) = self.rows.get_mut(row).filter(|r| r.unprompted && !r.posted) else { return };
        r.posted = true;
        self.posted.entry(r.persona.clone()).or_default().push_back(now);
    }

    fn decided(&mut self, d: &Decision, now: Millis, policy: &Policy) -> Result<(), Violation> {
        match d.what {
            What::Opened => {
                self.open.extend(&d.obligations);
                let asks = d.seen.lines.last().and_then(|seq| self.places.get(seq)).and_then(|id| self.lines.get(id));
                if asks.is_some_and(|l| l.agent) && self.agent_run > policy.budget.agent_turns {
                    let what = format!("{:?} was opened by an agent after {} agents' lines", d.obligations, self.agent_run);
                    return Err(self.fails(Rule::AgentTurns, now, what));
                }
            }
            What::Settled | What::Answered | What::WithdrawnByAsker | What::Passed | What::Declined | What::Expired | What::Overflowed => {
                for id in &d.obligations {
                    self.open.remove(id);
                }
            }
            What::Updated
            | What::Silent
            | What::Drafting
            | What::Cancelled
            | What::Submitted
            | What::Withdrawing
            | What::Dropped
            | What::Retrying
            | What::Reopened
            | What::Held
            | What::Hushed
            | What::Resumed
            | What::Notice
            | What::Ignored => {}
        }
        Ok(())
    }

    fn submitted(&mut self, row: &Row, now: Millis, policy: &Policy) -> Result<(), Violation> {
        self.hushed("a row", now, policy)?;
        if row.shadow != (policy.mode == Mode::Shadow) {
            return Err(self.fails(Rule::Shadow, now, format!("row {} with shadow {} in {:?}", row.dedupe, row.shadow, policy.mode)));
        }
        let owed: BTreeSet<&ObligationId> = row.settles.iter().collect();
        if owed.is_empty() || owed.len() != row.settles.len() || owed.iter().any(|id| !self.open.contains(*id)) {
            return Err(self.fails(Rule::Settles, now, format!("row {} settles {:?}", row.dedupe, row.settles)));
        }
        let target = row.address.as_ref().map(|a| &a.platform_id);
        let gone = |id: &&String| self.lines.get(*id).is_none_or(|l| l.deleted);
        if let Some(id) = target.into_iter().chain(&row.settles_lines).find(gone) {
            return Err(self.fails(Rule::Deleted, now, format!("row {} is about line {id}, which is not there", row.dedupe)));
        }
        if row.unprompted {
            self.within_budget(row, now, policy)?;
        }
        let (settles, unprompted, persona) = (row.settles.clone(), row.unprompted, row.persona.clone());
        if matches!(row.kind, RowKind::React { .. }) {
            // The run of agents counts what they say.
            self.counted.insert(row.dedupe.clone());
        }
        if self.rows.insert(row.dedupe.clone(), Submitted { settles, unprompted, persona, shown: 0, posted: false }).is_some() {
            return Err(self.fails(Rule::Once, now, format!("key {} was submitted twice", row.dedupe)));
        }
        Ok(())
    }

    fn within_budget(&mut self, row: &Row, now: Millis, policy: &Policy) -> Result<(), Violation> {
        let allowed = policy.budget.unprompted_per_hour as usize;
        let times = self.posted.entry(row.persona.clone()).or_default();
        times.retain(|t| now - t < HOUR_MS);
        let lately = times.len();
        if lately >= allowed {
            let what = format!("row {} is unprompted after {lately} in an hour, {allowed} are allowed", row.dedupe);
            return Err(self.fails(Rule::Budget, now, what));
        }
        Ok(())
    }

    /// A gateway was handed a row for the first time.
    pub(super) fn claimed(&mut self, key: &str, now: Millis, policy: &Policy) -> Result<(), Violation> {
        let Some(row) = self.rows.get(key).filter(|r| r.unprompted) else { return Ok(()) };
        let allowed = policy.budget.unprompted_per_hour as usize;
        let times = self.claimed.entry(row.persona.clone()).or_default();
        times.retain(|t| now - t < HOUR_MS);
        times.push_back(now);
        let lately = times.len();
        if lately > allowed {
            return Err(self.fails(
                Rule::Budget,
                now,
                format!("row {key} is claimed as number {lately} of an hour, {allowed} are allowed"),
            ));
        }
        Ok(())
    }

    /// What a gateway was handed was not posted for certain.
    pub(super) fn refused(&mut self, key: &str) {
        if let Some(row) = self.rows.get(key).filter(|r| r.unprompted)
            && let Some(times) = self.claimed.get_mut(&row.persona)
        {
            times.pop_back();
        }
    }

    /// The platform shows a row in the room.
    pub(super) fn shown(&mut self, key: &str, now: Millis) -> Result<(), Violation> {
        let Some(row) = self.rows.get_mut(key) else {
            return Err(self.fails(Rule::Once, now, format!("key {key} is shown and was never submitted")));
        };
        row.shown += 1;
        if row.shown > 1 {
            return Err(self.fails(Rule::Once, now, format!("key {key} is shown twice")));
        }
        for id in row.settles.clone() {
            let met = self.met.entry(id).or_default();
            *met += 1;
            if *met > 1 {
                return Err(self.fails(Rule::MetOnce, now, format!("{id} is met twice, now by {key}")));
            }
        }
        Ok(())
    }

    /// Keys of what the machine submitted.
    pub(super) fn settles(&self, key: &str) -> Option<&[ObligationId]> {
        self.rows.get(key).map(|r| r.settles.as_slice())
    }
}
