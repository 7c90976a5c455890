//! Inputs that were stepped in memory and wait to be stored together, and what is to be done once they are.

use std::mem;

use parlor_core::{Effect, EffectKind, Input, Millis, Room};
use serde_json::value::RawValue;

use super::feed;
use crate::ledger::{Cursor, LedgerError, Snapshot, StepRecord};

/// A snapshot is taken each so many inputs: as many are stepped again after a restart, which takes less than a millisecond.
pub(super) const SNAPSHOT_EVERY: i64 = 256;
/// Inputs stored by one call: a page of items goes out in two, so that a call stays short.
pub(super) const BATCH: usize = 250;

/// Where the readers of a room stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) cursor: Cursor,
    pub(super) outcome_n: i64,
    pub(super) policy_revision: i64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Batch {
    steps: Vec<StepRecord>,
    effects: Vec<Effect>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.steps.len() >= BATCH
    }

    pub(super) fn steps(&self) -> &[StepRecord] {
        &self.steps
    }

    /// Steps the machine and keeps what has to be stored of it. `jobs` are those that this input takes up.
    pub(super) fn step(
        &mut self,
        room: &mut Room,
        now_ms: Millis,
        input: Input,
        jobs: Vec<i64>,
        places: Places,
    ) -> Result<(), LedgerError> {
        let stored = raw("an input", &input)?;
        let effects = room.step(now_ms, input);
        let mut step = StepRecord {
            n: feed::signed(room.inputs()),
            now_ms,
            input: stored,
            decisions: Vec::new(),
            rows: Vec::new(),
            withdrawals: Vec::new(),
            jobs,
            cursor: places.cursor,
            outcome_n: places.outcome_n,
            policy_revision: places.policy_revision,
            // Only the view of a batch's last input is stored; see `close`.
            view: RawValue::NULL.to_owned(),
            snapshot: None,
        };
        for effect in effects {
            match effect.kind {
                EffectKind::Record(decision) => step.decisions.push(decision),
                EffectKind::Submit(row) => step.rows.push(row),
                EffectKind::Withdraw { row } => step.withdrawals.push(row),
                EffectKind::Gate(_) | EffectKind::Draft(_) | EffectKind::CancelDraft { .. } | EffectKind::Typing { .. } => {
                    self.effects.push(effect);
                }
            }
        }
        if step.n % SNAPSHOT_EVERY == 0 {
            step.snapshot = Some(snapshot(room)?);
        }
        self.steps.push(step);
        Ok(())
    }

    /// Completes the batch with the room as it stands now; with `rest`, the last input carries a snapshot too.
    pub(super) fn close(&mut self, room: &Room, now_ms: Millis, rest: bool) -> Result<(), LedgerError> {
        let Some(last) = self.steps.last_mut() else { return Ok(()) };
        last.view = raw("the view of a room", &room.view(now_ms))?;
        if rest {
            last.snapshot = Some(snapshot(room)?);
        }
        Ok(())
    }

    /// The batch is stored: what is to be done now, and whether the gateway has something to do.
    pub(super) fn stored(&mut self) -> (Vec<Effect>, bool) {
        let told = self.steps.iter().any(|s| !s.rows.is_empty() || !s.withdrawals.is_empty());
        self.steps.clear();
        (mem::take(&mut self.effects), told)
    }
}

fn snapshot(room: &Room) -> Result<Snapshot, LedgerError> {
    let state = serde_json::to_vec(room).map_err(|e| LedgerError::unreadable("the state of a room", &e))?;
    Ok(Snapshot { n: feed::signed(room.inputs()), format: super::restore::FORMAT, state })
}

fn raw(what: &str, value: &impl serde::Serialize) -> Result<Box<RawValue>, LedgerError> {
    serde_json::value::to_raw_value(value).map_err(|e| LedgerError::unreadable(what, &e))
}
