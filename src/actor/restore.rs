//! The way back after a restart: the newest snapshot that this version can read, and the inputs stored since.

use std::collections::BTreeSet;

use parlor_core::{AuthorKind, Input, ItemKind, Millis, Room, SNAPSHOT_FORMAT};

use super::{feed, policy};
use crate::ledger::{Cursor, ITEMS_AT_ONCE, LedgerError, LedgerItem, Restored, Session, StoredInput};

/// Format of the snapshots that this version writes and reads.
#[expect(clippy::cast_possible_wrap, reason = "a small constant; the column is a Postgres integer")]
pub(super) const FORMAT: i32 = SNAPSHOT_FORMAT as i32;

/// A room as it was, and the time of its last input.
pub(super) struct Found {
    pub(super) room: Room,
    pub(super) last_ms: Millis,
}

/// A new machine in place of one that cannot be read.
pub(super) struct Rebuilt {
    pub(super) room: Room,
    /// What it has to be told before it reads on after the cursor.
    pub(super) retold: Vec<LedgerItem>,
}

/// Own posts that the machine is reminded of: as many as it remembers.
const OWN_POSTS: usize = 50;

/// A machine that goes on with the numbers of inputs, and is told again what the log says it still owes (by the decisions and
/// the outbox) and its own last posts. Drafts under way are dropped; so is what it had learned about people's habits.
pub(super) async fn rebuilt(session: &Session, cursor: Cursor, last_n: i64) -> Result<Rebuilt, LedgerError> {
    let open: BTreeSet<i64> = session.open_lines().await?.into_iter().collect();
    let mut own = 0;
    let mut retold = session.history(cursor.seq.saturating_add(1), ITEMS_AT_ONCE).await?;
    // From the newest, so that the newest own posts are kept.
    retold.reverse();
    retold.retain(|item| {
        if item.author_kind == AuthorKind::Own {
            own += usize::from(item.kind == ItemKind::Message);
            return item.kind == ItemKind::Message && own <= OWN_POSTS;
        }
        let of = if item.kind == ItemKind::Message { Some(item.seq) } else { item.of_seq };
        of.is_some_and(|seq| open.contains(&seq))
    });
    retold.reverse();
    Ok(Rebuilt { room: Room::new(policy::closed()).numbered_from(feed::unsigned(last_n)), retold })
}

/// The room as stored; none where no stored state can be read by this version.
pub(super) fn room(name: &str, restored: &Restored) -> Option<Found> {
    if restored.inputs.is_empty() && restored.snapshots.is_empty() && restored.last_n > 0 {
        tracing::info!(room = name, "what the room's machine knew was taken out of the ledger; it is rebuilt from the log");
        return None;
    }
    let whole = restored.inputs.first().is_none_or(|i| i.n == 1) && restored.snapshots.is_empty();
    let start = if whole { Some(Room::new(policy::closed())) } else { newest(name, restored) };
    let start = start?;
    let from = feed::signed(start.inputs());
    let Ok(since) = restored.inputs.iter().filter(|i| i.n > from).map(parsed).collect::<Result<Vec<_>, _>>() else {
        tracing::warn!(room = name, "stored inputs of the room are of another version; it is rebuilt from the log");
        return None;
    };
    let last_ms = since.iter().map(|(now, _)| *now).max().unwrap_or(Millis::MIN);
    let room = Room::restore(start, since);
    if feed::signed(room.inputs()) != restored.last_n {
        let (found, wanted) = (room.inputs(), restored.last_n);
        tracing::error!(room = name, found, wanted, "stored inputs of the room do not reach its last one; it is rebuilt from the log");
        return None;
    }
    Some(Found { room, last_ms })
}

fn newest(name: &str, restored: &Restored) -> Option<Room> {
    for snapshot in &restored.snapshots {
        if snapshot.format != FORMAT {
            tracing::warn!(room = name, format = snapshot.format, known = FORMAT, "a snapshot has another format and is passed over");
            continue;
        }
        match serde_json::from_slice::<Room>(&snapshot.state) {
            Ok(room) => return Some(room),
            // The error of a parser may quote what it parsed; its class says enough.
            Err(error) => tracing::warn!(room = name, class = ?error.classify(), "a snapshot cannot be read and is passed over"),
        }
    }
    None
}

fn parsed(stored: &StoredInput) -> Result<(Millis, Input), serde_json::Error> {
    Ok((stored.now_ms, serde_json::from_str(stored.input.get())?))
}
