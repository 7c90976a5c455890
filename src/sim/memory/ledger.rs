//! A small exact model of a room's ledger (docs of `crate::ledger`, migrations): the log, the outbox, what a machine persists.

use std::{
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

use parlor_core::{Input, Item, ItemKind, Millis, Mode, Outcome, Policy, Row, RowKind, Submission};

use super::{Broken, Event};
use crate::{
    ledger::{Claimed, ClaimedKind, RowState},
    sim::world::WorldError,
};

/// The sliding window of the budget.
pub(super) const HOUR_MS: Millis = 3_600_000;
/// A job that was handed out and not taken up is handed out again after this.
const JOB_LEASE_MS: Millis = 60_000;

#[derive(Debug)]
struct Kept {
    row: Row,
    state: RowState,
    reason: &'static str,
    fence: i64,
    created: Millis,
    claimed: Option<Millis>,
    lease_until: Millis,
    outcome_n: Option<usize>,
    echo: bool,
    platform_id: Option<String>,
}

#[derive(Debug)]
struct Job {
    submission: Submission,
    lease_until: Millis,
    open: bool,
}

/// A stored input with what belongs into its transaction.
#[derive(Debug, Default)]
pub(super) struct Write {
    pub(super) n: u64,
    pub(super) now: Millis,
    pub(super) input: Option<Rc<Input>>,
    pub(super) rows: Vec<Row>,
    pub(super) withdrawals: Vec<String>,
    pub(super) job: Option<usize>,
}

/// Where the readers of a room stand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Places {
    pub(super) seq: u64,
    pub(super) outcome_n: usize,
    pub(super) policy: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Ledger {
    broken: Option<Broken>,
    pub(super) items: Vec<(Item, Option<String>)>,
    keys: HashMap<String, u64>,
    authors: HashMap<String, String>,
    pub(super) policy: Policy,
    rows: Vec<Kept>,
    row_of: HashMap<String, usize>,
    /// Rows by the number of their end, from 1; one whose end was told again has a newer number.
    ends: Vec<usize>,
    /// Rows before this have ended for good.
    ended_before: usize,
    pub(super) typing: BTreeMap<String, Millis>,
    jobs: Vec<Job>,
    pub(super) boot: u64,
    pub(super) input_n: u64,
    pub(super) inputs: Vec<(Millis, Rc<Input>)>,
    pub(super) snapshot: Option<Vec<u8>>,
    pub(super) places: Places,
}

impl Ledger {
    pub(super) fn new(policy: &Policy, broken: Option<Broken>) -> Self {
        Self {
            broken,
            items: Vec::new(),
            keys: HashMap::new(),
            authors: HashMap::new(),
            policy: Policy { revision: 1, ..policy.clone() },
            rows: Vec::new(),
            row_of: HashMap::new(),
            ends: Vec::new(),
            ended_before: 0,
            typing: BTreeMap::new(),
            jobs: Vec::new(),
            boot: 0,
            input_n: 0,
            inputs: Vec::new(),
            snapshot: None,
            places: Places::default(),
        }
    }

    pub(super) fn hear(&mut self, event: &Event) -> bool {
        let row = event.row_n.and_then(|n| usize::try_from(n).ok()?.checked_sub(1));
        if self.keys.contains_key(&event.key) {
            return false;
        }
        let mut item = event.item.clone();
        item.seq = self.items.len() as u64 + 1;
        for link in &mut item.links {
            link.author = self.authors.get(&link.id).cloned();
        }
        if item.kind == ItemKind::Message {
            self.authors.entry(item.platform_id.clone()).or_insert_with(|| item.author.id.clone());
        }
        self.keys.insert(event.key.clone(), item.seq);
        let key = row.and_then(|i| self.rows.get(i)).filter(|r| !r.echo).map(|r| r.row.dedupe.clone());
        if let (Some(i), Some(_)) = (row, &key) {
            self.echo(i, &item.platform_id);
        }
        self.items.push((item, key));
        true
    }

    fn echo(&mut self, i: usize, platform_id: &str) {
        let Some(r) = self.rows.get_mut(i) else { return };
        r.echo = true;
        if r.platform_id.is_none() && matches!(r.row.kind, RowKind::Post { .. }) {
            r.platform_id = Some(platform_id.to_owned());
        }
        if r.state == RowState::Sent {
            r.state = RowState::Done;
        } else {
            self.end(i, RowState::Done, "");
        }
    }

    fn end(&mut self, i: usize, state: RowState, reason: &'static str) {
        let Some(r) = self.rows.get_mut(i) else { return };
        self.ends.push(i);
        (r.state, r.outcome_n) = (state, Some(self.ends.len()));
        if !reason.is_empty() {
            r.reason = reason;
        }
    }

    fn hush(&self) -> Option<&'static str> {
        match (self.policy.muted, self.policy.stopped) {
            (true, _) => Some("muted"),
            (false, true) => Some("stopped"),
            (false, false) => None,
        }
    }

    pub(super) fn set_policy(&mut self, policy: &Policy) -> u64 {
        let new = Policy { revision: self.policy.revision, ..policy.clone() };
        if new == self.policy {
            return self.policy.revision;
        }
        self.policy = Policy { revision: self.policy.revision + 1, ..new };
        let withheld = self.hush().or((self.policy.mode != Mode::Active).then_some("shadow"));
        if let Some(reason) = withheld.filter(|_| self.broken != Some(Broken::ClaimMuted)) {
            for i in self.ended_before..self.rows.len() {
                if self.rows.get(i).is_some_and(|r| r.state == RowState::Queued) {
                    self.end(i, RowState::Refused, reason);
                }
            }
        }
        self.policy.revision
    }

    pub(super) fn put_job(&mut self, submission: &Submission) {
        if self.jobs.iter().all(|j| j.submission.key != submission.key) {
            self.jobs.push(Job { submission: Submission { prompted: true, ..submission.clone() }, lease_until: 0, open: true });
        }
    }

    pub(super) fn claim_jobs(&mut self, now: Millis) -> Vec<(usize, Submission)> {
        let mut out = Vec::new();
        for (i, j) in self.jobs.iter_mut().enumerate().filter(|(_, j)| j.open && j.lease_until <= now) {
            if j.submission.expires_at <= now {
                j.open = false;
                continue;
            }
            j.lease_until = now + JOB_LEASE_MS;
            out.push((i, j.submission.clone()));
        }
        out
    }

    pub(super) fn next_job(&self) -> Option<Millis> {
        self.jobs.iter().filter(|j| j.open).map(|j| j.lease_until).min()
    }

    /// A new process: the one before is fenced, and the jobs that it was handed are free.
    pub(super) fn begin(&mut self) -> u64 {
        self.boot += 1;
        for j in self.jobs.iter_mut().filter(|j| j.open) {
            j.lease_until = 0;
        }
        self.boot
    }

    /// Outcomes after a number, in order.
    pub(super) fn outcomes_after(&self, n: usize) -> Vec<(usize, String, Outcome)> {
        let ends = self.ends.iter().enumerate().skip(n).map(|(at, i)| (at + 1, *i));
        ends.filter_map(|(n, i)| Some((n, self.rows.get(i)?)))
            .filter(|(n, r)| r.outcome_n == Some(*n))
            .map(|(n, r)| (n, r.row.dedupe.clone(), outcome(r)))
            .collect()
    }

    /// Stores steps in one transaction; those that are there already are left. Whether all of them were.
    pub(super) fn step(&mut self, boot: u64, writes: &[Write], places: Places, now: Millis) -> Result<bool, WorldError> {
        if boot != self.boot && self.broken != Some(Broken::ForgetFence) {
            return Err(WorldError::Wrong("fenced".into()));
        }
        let mut repeated = true;
        for w in writes {
            let known = w.n <= self.input_n;
            if known && self.broken != Some(Broken::ForgetStep) {
                continue;
            }
            repeated &= known;
            if !known {
                self.input_n += 1;
                if w.n != self.input_n && self.broken != Some(Broken::ForgetFence) {
                    return Err(WorldError::Wrong(format!("step {} follows step {}", w.n, self.input_n - 1)));
                }
                self.inputs.extend(w.input.clone().map(|input| (w.now, input)));
            }
            for row in &w.rows {
                self.submit(row, now);
            }
            for key in &w.withdrawals {
                if let Some(i) = self.row_of.get(key).copied().filter(|i| self.rows.get(*i).is_some_and(|r| r.state == RowState::Queued)) {
                    self.end(i, RowState::Withdrawn, "");
                }
            }
            if let Some(j) = w.job.and_then(|j| self.jobs.get_mut(j)) {
                j.open = false;
            }
        }
        self.places = places;
        Ok(repeated)
    }

    fn submit(&mut self, row: &Row, now: Millis) {
        if let Some(i) = self.row_of.get(&row.dedupe).copied()
            && self.broken != Some(Broken::ForgetStep)
        {
            if let Some((state, true)) = self.rows.get(i).map(|r| (r.state, r.outcome_n.is_some())) {
                self.end(i, state, "");
            }
            return;
        }
        let busy = [RowState::Queued, RowState::Claimed, RowState::Sent, RowState::Done, RowState::Parked, RowState::Shadow];
        let fate = if let Some(hush) = self.hush() {
            (RowState::Refused, hush)
        } else if row.unprompted && self.unprompted_lately(&row.persona, None, &busy, now) >= self.budget() {
            (RowState::Refused, "no_budget")
        } else if self.policy.mode != Mode::Active || row.shadow {
            (RowState::Shadow, "")
        } else {
            (RowState::Queued, "")
        };
        let i = self.rows.len();
        self.row_of.insert(row.dedupe.clone(), i);
        self.rows.push(Kept {
            row: row.clone(),
            state: RowState::Queued,
            reason: "",
            fence: 0,
            created: now,
            claimed: None,
            lease_until: 0,
            outcome_n: None,
            echo: false,
            platform_id: None,
        });
        if fate.0 != RowState::Queued {
            self.end(i, fate.0, fate.1);
        }
    }

    fn budget(&self) -> usize {
        if self.broken == Some(Broken::HideBudget) { usize::MAX } else { self.policy.budget.unprompted_per_hour as usize }
    }

    fn unprompted_lately(&self, persona: &str, but: Option<usize>, states: &[RowState], now: Millis) -> usize {
        let lately = |r: &Kept| r.claimed.unwrap_or(r.created) > now - HOUR_MS;
        let rows = self.rows.iter().enumerate().filter(|(i, _)| Some(*i) != but).map(|(_, r)| r);
        rows.filter(|r| r.row.unprompted && r.row.persona == persona && states.contains(&r.state) && lately(r)).count()
    }

    pub(super) fn claim(&mut self, now: Millis, lease: Millis) -> Option<Claimed> {
        let closed = self.hush().is_some() || self.policy.mode != Mode::Active;
        if closed && self.broken != Some(Broken::ClaimMuted) {
            return None;
        }
        loop {
            let waits = |r: &Kept| matches!(r.state, RowState::Queued | RowState::Claimed);
            while self.rows.get(self.ended_before).is_some_and(|r| !waits(r)) {
                self.ended_before += 1;
            }
            let i = (self.ended_before..self.rows.len()).find(|i| self.rows.get(*i).is_some_and(waits))?;
            let r = self.rows.get(i)?;
            let claimed = r.state == RowState::Claimed;
            if claimed && r.lease_until > now {
                return None;
            }
            let taken = [RowState::Claimed, RowState::Sent, RowState::Done, RowState::Parked];
            if r.row.expires_at <= now {
                let (state, why) = if claimed { (RowState::Parked, "lease_lost") } else { (RowState::Expired, "") };
                self.end(i, state, why);
            } else if r.row.unprompted && !claimed && self.unprompted_lately(&r.row.persona, Some(i), &taken, now) >= self.budget() {
                self.end(i, RowState::Refused, "no_budget");
            } else {
                let r = self.rows.get_mut(i)?;
                (r.state, r.lease_until, r.fence) = (RowState::Claimed, now + lease, r.fence + 1);
                r.claimed.get_or_insert(now);
                return Some(handed_out(i, r));
            }
        }
    }

    /// The row of a claim that is the newest.
    fn fenced(&self, row: &Claimed) -> Option<usize> {
        let i = usize::try_from(row.n).ok()?.checked_sub(1)?;
        self.rows.get(i).is_some_and(|r| r.fence == row.fence).then_some(i)
    }

    pub(super) fn settle(&mut self, row: &Claimed, platform_id: Option<&str>) -> bool {
        let Some(i) = self.fenced(row) else { return false };
        let Some(r) = self.rows.get_mut(i) else { return false };
        if !matches!(r.state, RowState::Claimed | RowState::Sent | RowState::Done) {
            return false;
        }
        if r.platform_id.is_none() {
            r.platform_id = platform_id.map(str::to_owned);
        }
        if r.state == RowState::Claimed {
            self.end(i, RowState::Sent, "");
        }
        true
    }

    pub(super) fn refuse(&mut self, row: &Claimed) -> bool {
        self.end_claimed(row, RowState::Refused, "target_gone")
    }

    pub(super) fn park(&mut self, row: &Claimed) -> bool {
        self.end_claimed(row, RowState::Parked, "no_answer")
    }

    fn end_claimed(&mut self, row: &Claimed, state: RowState, reason: &'static str) -> bool {
        let Some(i) = self.fenced(row).filter(|i| self.rows.get(*i).is_some_and(|r| r.state == RowState::Claimed)) else { return false };
        self.end(i, state, reason);
        true
    }

    pub(super) fn undecided(&self) -> Vec<String> {
        let closed = self.policy.mode != Mode::Active;
        let undecided = |r: &&Kept| r.state == RowState::Parked || closed && r.state == RowState::Claimed;
        self.rows.iter().filter(undecided).map(|r| r.row.dedupe.clone()).collect()
    }
}

fn handed_out(i: usize, r: &Kept) -> Claimed {
    let (kind, emoji, body) = match &r.row.kind {
        RowKind::Post { text } => (ClaimedKind::Post, None, Some(text.clone())),
        RowKind::React { emoji } => (ClaimedKind::React, Some(emoji.clone()), None),
    };
    Claimed {
        stream: 0,
        n: i as i64 + 1,
        fence: r.fence,
        dedupe: r.row.dedupe.clone(),
        persona: r.row.persona.clone(),
        kind,
        reply_to: r.row.address.as_ref().map(|a| a.platform_id.clone()),
        reply_shows: r.row.address.as_ref().is_some_and(|a| a.reply),
        emoji,
        body,
        nonce: format!("p0.{}", i + 1),
        first_claimed_ms: r.claimed.unwrap_or(0),
        expires_ms: r.row.expires_at,
    }
}

fn outcome(r: &Kept) -> Outcome {
    match r.state {
        RowState::Sent | RowState::Done => Outcome::Settled { platform_id: r.platform_id.clone() },
        RowState::Shadow => Outcome::Settled { platform_id: None },
        RowState::Refused => Outcome::Refused { reason: r.reason.into() },
        RowState::Parked => Outcome::Parked { reason: r.reason.into() },
        RowState::Withdrawn => Outcome::Withdrawn,
        // The other two never end.
        RowState::Expired | RowState::Queued | RowState::Claimed => Outcome::Expired,
    }
}
