//! The owner's mute. It is written as one from a chat is: a row that the gateway adds at once and nobody changes, beside the policy
//! that the documents make, so that neither a change of a document nor a restart lifts it. Lifting is the controller's.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use parlor_core::Millis;

use super::{
    reader::LedgerRooms,
    table::{Entry, Table},
};
use crate::{
    actor::wall_ms,
    ledger::{Admin, LedgerError, Logins, Mouth, Reader, Ringer},
    ports::{MuteError, Muted, Mutes, Unmuted},
};

/// Mutes rooms of the table.
pub(crate) struct DevMutes {
    mouth: Mouth,
    admin: Admin,
    reader: Reader,
    table: Table,
    ringer: Ringer,
    rooms: Arc<LedgerRooms>,
}

impl DevMutes {
    pub(crate) fn new(logins: &Logins, table: Table, ringer: Ringer, rooms: Arc<LedgerRooms>) -> Self {
        Self { mouth: logins.mouth(), admin: logins.admin(), reader: logins.reader(), table, ringer, rooms }
    }

    fn entry(&self, room: &str, by: &str) -> Result<Entry, MuteError> {
        let entry = self.table.get(room).ok_or_else(|| MuteError::NoRoom(room.to_owned()))?;
        let owners = entry.config.policy(0, wall_ms()).owners;
        if owners.iter().any(|owner| owner == by) { Ok(entry) } else { Err(MuteError::NotOwner) }
    }

    /// Tells the room's actor and its pages.
    fn tell(&self, room: &str, stream: i64) {
        self.ringer.ring(stream);
        self.rooms.look(room);
    }
}

impl Mutes for DevMutes {
    fn mute<'a>(&'a self, room: &'a str, by: &'a str, reason: &'a str, for_ms: Option<Millis>) -> BoxFuture<'a, Result<Muted, MuteError>> {
        async move {
            let stream = self.entry(room, by)?.stream;
            let until = for_ms.map(|ms| wall_ms().saturating_add(ms));
            let refused = self.mouth.chat_mute(stream, by, reason, until).await?;
            self.tell(room, stream);
            Ok(Muted { refused, hush: self.reader.hush(stream).await? })
        }
        .boxed()
    }

    fn unmute<'a>(&'a self, room: &'a str, by: &'a str) -> BoxFuture<'a, Result<Unmuted, MuteError>> {
        async move {
            let entry = self.entry(room, by)?;
            let lifted = self.admin.lift_chat_mutes(entry.stream).await?;
            self.tell(room, entry.stream);
            Ok(Unmuted { lifted, hush: self.reader.hush(entry.stream).await?, stays: declared(&entry, wall_ms()) })
        }
        .boxed()
    }
}

/// What the documents say, which no owner's word lifts.
fn declared(entry: &Entry, now: Millis) -> Option<String> {
    match (&entry.broken, entry.config.muted(now)) {
        (Some(problem), _) => Some(format!("its documents cannot be read: {problem}; mend them")),
        (None, Some(mute)) => Some(format!("{} declares a mute ({}); take spec.mute out of it", mute.file, mute.reason)),
        (None, None) => None,
    }
}

impl From<LedgerError> for MuteError {
    fn from(error: LedgerError) -> Self {
        if error.is_transient() { Self::Unavailable } else { Self::Failed(error.to_string()) }
    }
}
