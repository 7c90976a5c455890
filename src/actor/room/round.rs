//! One look at the room: policy, outcomes, items, typing, jobs, completions, in this order, then one tick. All of it is stored
//! before anything of it is done.

use std::mem;

use parlor_core::{Effect, Input};

use super::{Boot, GAP_MS};
use crate::{
    actor::{feed, policy, restore},
    ledger::{Cursor, LedgerError, PolicyRead, Reading},
};

impl Boot {
    /// Reads everything, steps the machine, stores, acts. After a transient error it is called again and goes on where it was:
    /// what was stepped is stored first, under the same numbers, and nothing of it was done.
    pub(super) async fn round(&mut self) -> Result<(), LedgerError> {
        self.store().await?;
        loop {
            let at = self.places.cursor;
            let reading = self.session.read_after(at, self.places.outcome_n, self.places.policy_revision).await?;
            if at != Cursor::default() && reading.epoch != at.epoch {
                self.find_place(&reading).await?;
            } else if !self.take(reading).await? {
                break;
            }
        }
        while let Ok(input) = self.mailbox.try_recv() {
            self.arrived.push(input);
        }
        for input in mem::take(&mut self.arrived) {
            self.feed(input)?;
        }
        let now = self.clock.now_ms();
        if self.machine.next_wake().is_some_and(|due| due <= now) {
            self.feed(Input::Tick)?;
        }
        self.store().await?;
        if !mem::replace(&mut self.has_resumed, true) {
            // What an earlier boot had under way, unless this look has ended it.
            self.act(self.machine.pending()).await;
        }
        Ok(())
    }

    /// Feeds one reading; whether there is more to read.
    async fn take(&mut self, reading: Reading) -> Result<bool, LedgerError> {
        self.places.cursor.epoch = reading.epoch;
        self.look_at = reading.mute_ends_ms.into_iter().chain(reading.next_job_ms).min();
        self.take_policy(reading.policy, reading.muted)?;
        let now = self.clock.now_ms();
        let deaf = self.deaf_since.take().is_some_and(|since| now - since > GAP_MS);
        if !mem::replace(&mut self.has_read, true) || deaf {
            self.feed(Input::Resumed)?;
        }
        for item in mem::take(&mut self.retold) {
            self.feed(feed::item(item))?;
        }
        for outcome in reading.outcomes {
            self.places.outcome_n = outcome.outcome_n;
            self.feed(feed::outcome(outcome))?;
        }
        for item in reading.items {
            self.places.cursor.seq = item.seq;
            self.feed(feed::item(item))?;
            if self.batch.is_full() {
                self.store().await?;
            }
        }
        for input in self.typists.inputs(reading.typing) {
            self.feed(input)?;
        }
        let released = self.release(&reading.releases).await?;
        if reading.due_jobs > 0 {
            for job in self.session.job_claim().await? {
                let n = job.n;
                self.feed_with(feed::submission(job), vec![n])?;
            }
        }
        Ok(released || self.places.cursor.seq < reading.head)
    }

    /// Has the ledger copy what grants release into the room; the copies are items, and are read like any. Whether there are some.
    async fn release(&self, grants: &[String]) -> Result<bool, LedgerError> {
        let mut released = false;
        for grant in grants {
            match self.session.release(grant).await {
                Ok(copied) => released |= copied > 0,
                // It ended meanwhile.
                Err(LedgerError::Refused(why)) => tracing::debug!(room = self.config.name, grant, why, "nothing is released"),
                Err(error) => return Err(error),
            }
        }
        Ok(released)
    }

    fn take_policy(&mut self, stored: Option<PolicyRead>, muted: bool) -> Result<(), LedgerError> {
        let policy = match stored {
            Some(stored) => {
                self.places.policy_revision = stored.revision;
                policy::read(&self.config.name, stored, muted)
            }
            // A chat mute began or ended, which changes no revision.
            None if self.machine.policy().muted != muted => {
                let mut policy = self.machine.policy().clone();
                policy.muted = muted;
                policy
            }
            None => return Ok(()),
        };
        self.feed(Input::Policy(Box::new(policy)))
    }

    /// The database was restored or another server promoted: what the machine remembers may never have happened there, so a
    /// boot that finds it midway ends, and the next begins with a machine rebuilt from the log as it is now.
    async fn find_place(&mut self, reading: &Reading) -> Result<(), LedgerError> {
        let was = self.places.cursor;
        if self.has_read {
            return Err(LedgerError::Conflict(format!("the log is of epoch {}, the room was read in {}", reading.epoch, was.epoch)));
        }
        tracing::warn!(
            room = self.config.name,
            from = was.epoch,
            to = reading.epoch,
            "the log has a new epoch; the room is rebuilt from it"
        );
        let cursor = Cursor { epoch: reading.epoch, seq: was.seq.min(reading.head) };
        let rebuilt = restore::rebuilt(&self.session, cursor, feed::signed(self.machine.inputs())).await?;
        self.machine = rebuilt.room;
        self.retold = rebuilt.retold;
        self.places.cursor = cursor;
        self.places.policy_revision = 0;
        Ok(())
    }

    fn feed(&mut self, input: Input) -> Result<(), LedgerError> {
        self.feed_with(input, Vec::new())
    }

    fn feed_with(&mut self, input: Input, jobs: Vec<i64>) -> Result<(), LedgerError> {
        let now = self.clock.now_ms();
        self.batch.step(&mut self.machine, now, input, jobs, self.places)
    }

    /// Stores what was stepped and then does what the machine asked for. When it fails nothing was done, and calling it again
    /// repeats the same call.
    pub(super) async fn store(&mut self) -> Result<(), LedgerError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.batch.close(&self.machine, self.clock.now_ms(), false)?;
        self.session.steps(self.batch.steps()).await?;
        if let Some(journal) = &mut self.journal {
            journal.extend_from_slice(self.batch.steps());
        }
        let (effects, told) = self.batch.stored();
        if told {
            self.means.ringer.ring(self.config.stream);
        }
        self.act(effects).await;
        Ok(())
    }

    async fn act(&mut self, effects: Vec<Effect>) {
        let done = self.flights.perform(effects, self.clock.now_ms()).await;
        self.arrived.extend(done.answers);
        if done.typing {
            self.means.ringer.ring(self.config.stream);
        }
    }
}
