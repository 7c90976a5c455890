//! The gateway's mouth and the platform that it speaks to. As a real one it claims a row, posts it under the row's nonce, and
//! says what became of it; as a real one it may end in between, be slow, or not know.

use std::collections::HashMap;

use parlor_core::{Author, AuthorKind, ItemKind, Link, Millis, RowKind};

use super::{WorldFault, people::Shown, people::item, room::RoomPlay};
use crate::{
    ledger::{Claimed, ClaimedKind},
    sim::{
        check::Rule,
        script::MouthFault,
        world::{Event, Site},
    },
};

/// For how long a claimed row belongs to who claimed it.
const LEASE_MS: Millis = 15_000;
/// For how long the platform knows a nonce; after it a repeat would be a second message.
const NONCE_MS: Millis = 120_000;

/// See the module.
#[derive(Default)]
pub(super) struct Mouth {
    due: Option<Millis>,
    fault: Option<MouthFault>,
    /// A row whose post takes its time.
    slow: Option<Claimed>,
    /// What the platform has posted: by nonce, the message (none for a reaction) and when.
    posted: HashMap<String, (Option<String>, Millis)>,
    posts: u64,
    /// From row to row.
    pace_ms: Millis,
    /// The gateway does nothing until then.
    down_until: Millis,
    /// A row that a gateway left behind is free then.
    lease_until: Millis,
}

impl Mouth {
    pub(super) fn new(pace_ms: Millis) -> Self {
        Self { pace_ms, ..Self::default() }
    }

    pub(super) fn due(&self) -> Option<Millis> {
        self.due
    }

    pub(super) fn wake(&mut self, now: Millis) {
        if self.slow.is_none() {
            let soon = self.due.map_or(now + self.pace_ms, |t| t.min(now + self.pace_ms));
            self.due = Some(soon.max(self.down_until));
        }
    }

    pub(super) fn fault(&mut self, fault: MouthFault, now: Millis) {
        match fault {
            MouthFault::Down(ms) => {
                if self.slow.take().is_some() {
                    self.lease_until = now + LEASE_MS + 1;
                }
                self.down_until = now + ms;
                self.due = Some(self.down_until);
            }
            other => self.fault = Some(other),
        }
    }

    pub(super) fn mend(&mut self, now: Millis) {
        (self.fault, self.down_until) = (None, 0);
        self.wake(now);
    }
}

impl<S: Site> RoomPlay<S> {
    /// The gateway takes the next row, or goes on with the one it has.
    pub(super) fn mouth_turn(&mut self, now: Millis) -> Result<(), WorldFault> {
        self.mouth.due = None;
        if let Some(row) = self.mouth.slow.take() {
            return self.send(&row, None, now);
        }
        let Some(row) = self.site.claim(now, LEASE_MS)? else {
            if self.mouth.lease_until > now {
                self.mouth.due = Some(self.mouth.lease_until);
            }
            // Rows that have expired end with a claim, and no bell says so.
            self.polled(now);
            return Ok(());
        };
        self.counts.claims += 1;
        if self.policy.muted || self.policy.stopped || self.policy.mode != parlor_core::Mode::Active {
            return Err(self.checker.fails(Rule::Claimed, now, format!("row {} was claimed in a hushed room", row.dedupe)).into());
        }
        if row.fence == 1 {
            self.checker.claimed(&row.dedupe, now, &self.policy)?;
        }
        self.mouth.due = Some(now + self.mouth.pace_ms);
        match self.mouth.fault.take() {
            Some(MouthFault::CrashClaimed) => {
                self.mouth.lease_until = now + LEASE_MS + 1;
                Ok(())
            }
            Some(MouthFault::Slow(ms)) => {
                self.mouth.slow = Some(row);
                self.mouth.due = Some(now + ms);
                Ok(())
            }
            fault => self.send(&row, fault, now),
        }
    }

    fn send(&mut self, row: &Claimed, fault: Option<MouthFault>, now: Millis) -> Result<(), WorldFault> {
        self.mouth.due = Some(now + self.mouth.pace_ms);
        self.ring(now);
        let before = self.mouth.posted.get(&row.nonce).cloned();
        let gone = row.reply_to.as_ref().is_some_and(|id| !self.lines.stands(id));
        if before.is_none() && (gone || matches!(fault, Some(MouthFault::Refused))) {
            if self.site.refuse(row, "target_gone")? {
                self.checker.refused(&row.dedupe);
            }
            return Ok(());
        }
        if matches!(fault, Some(MouthFault::Unknown { took: false })) || before.is_none() && now - row.first_claimed_ms > NONCE_MS {
            // Nobody knows, and a repeat might be a second message.
            self.site.park(row)?;
            return Ok(());
        }
        let (id, echo) = match before {
            Some((id, _)) if !self.site.forgets_nonces() => (id, None),
            _ => self.post(row, now)?,
        };
        match fault {
            Some(MouthFault::CrashPosted) => {
                // The platform shows it to us all the same, some time later.
                self.echo(echo, now + 2 * LEASE_MS);
                self.mouth.lease_until = now + LEASE_MS + 1;
                return Ok(());
            }
            Some(MouthFault::Unknown { .. }) => {
                self.echo(echo, now + 60_000);
                self.site.park(row)?;
                return Ok(());
            }
            Some(MouthFault::LateEcho(ms)) => self.echo(echo, now + ms),
            // The echo comes before the answer, or after it.
            _ if row.n % 2 == 0 => self.echo_now(echo)?,
            _ => self.echo(echo, now),
        }
        self.site.settle(row, id.as_deref())?;
        Ok(())
    }

    /// The platform takes it: a new message, or an emoji that was not there.
    fn post(&mut self, row: &Claimed, now: Millis) -> Result<(Option<String>, Option<Event>), WorldFault> {
        self.checker.shown(&row.dedupe, now)?;
        let kind = self.lines.kind_of(&row.dedupe).cloned();
        self.posted(&kind.unwrap_or(RowKind::React { emoji: String::new() }));
        self.mouth.posts += 1;
        let author = Author { id: row.persona.clone(), name: row.persona.clone(), kind: AuthorKind::Own };
        let (id, event) = match row.kind {
            ClaimedKind::Post => {
                let id = format!("own:{}", self.mouth.posts);
                let text = row.body.clone().unwrap_or_default();
                let mut said = item(now, author.clone(), &id, text.clone(), ItemKind::Message);
                said.links.extend(row.reply_to.clone().filter(|_| row.reply_shows).map(|id| Link { id, author: None }));
                self.lines.show(Shown { id: id.clone(), author, text, deleted: false });
                (Some(id.clone()), Event { key: format!("m:{id}"), item: said, row_n: Some(row.n) })
            }
            ClaimedKind::React => {
                let target = row.reply_to.clone().unwrap_or_default();
                let emoji = row.emoji.clone().unwrap_or_default();
                let key = format!("r:{target}:{}:{}", row.persona, row.nonce);
                (None, Event { key, item: item(now, author, &target, emoji, ItemKind::Reaction), row_n: Some(row.n) })
            }
        };
        self.mouth.posted.insert(row.nonce.clone(), (id.clone(), now));
        Ok((id, Some(event)))
    }

    fn echo(&mut self, echo: Option<Event>, at: Millis) {
        if let Some(event) = echo {
            self.lines.echo_later(at, event);
        }
    }

    fn echo_now(&mut self, echo: Option<Event>) -> Result<(), WorldFault> {
        if let Some(event) = echo {
            self.site.hear(&event)?;
        }
        Ok(())
    }
}
