//! What the console shows, read from the ledger. Rooms and their settings come from the table of this process, everything else, and
//! whether they may speak, from the database, and the bell of a room says when to look again.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use futures::{FutureExt, future::BoxFuture};
use parlor_core::{Author, Item, Link, Millis, View};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::table::{Entry, Table};
use crate::{
    cli,
    console::{Door, Logged, ReadError, RoomFacts, RoomReader, Typist},
    ledger::{DecisionRow, Hub, ITEMS_AT_ONCE, LedgerError, LedgerItem, Page, Reader},
    ports::Silence,
};

/// Reads rooms of the table from the ledger.
pub(crate) struct LedgerRooms {
    reader: Reader,
    table: Table,
    wall: fn() -> Millis,
    /// One entry per room of the table: at most as many as the folder has.
    looks: Mutex<BTreeMap<String, watch::Sender<u64>>>,
}

impl LedgerRooms {
    pub(crate) fn new(reader: Reader, table: Table, wall: fn() -> Millis) -> Self {
        Self { reader, table, wall, looks: Mutex::new(BTreeMap::new()) }
    }

    /// From now on `changes` of this room moves with its bell, until `stop`.
    pub(crate) fn listen(self: &Arc<Self>, room: &str, stream: i64, hub: &Hub, tracker: &TaskTracker, stop: CancellationToken) {
        let sender = watch::channel(0).0;
        let mut bell = hub.subscribe(stream);
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).insert(room.to_owned(), sender);
        let (rooms, room) = (Arc::clone(self), room.to_owned());
        tracker.spawn(async move {
            loop {
                tokio::select! {
                    () = stop.cancelled() => break,
                    () = bell.rung() => rooms.look(&room),
                }
            }
            rooms.looks.lock().unwrap_or_else(PoisonError::into_inner).remove(&room);
        });
    }

    /// Says that something about a room may have changed.
    pub(crate) fn look(&self, room: &str) {
        if let Some(sender) = self.looks.lock().unwrap_or_else(PoisonError::into_inner).get(room) {
            sender.send_modify(|n| *n = n.wrapping_add(1));
        }
    }

    async fn facts(&self, name: String, entry: &Entry) -> Result<RoomFacts, ReadError> {
        let mut policy = entry.config.policy(0, (self.wall)());
        let hush = self.reader.hush(entry.stream).await?;
        policy.muted = hush.why.is_some_and(|why| why != Silence::Stopped);
        let topic = match &entry.broken {
            Some(problem) => format!("Muted until its documents can be read: {problem}"),
            None => cli::told(&hush).join(". "),
        };
        Ok(RoomFacts { name, topic, policy })
    }

    fn stream(&self, room: &str) -> Result<i64, ReadError> {
        // A room that is gone between two requests: the next one says so.
        self.table.get(room).map(|e| e.stream).ok_or(ReadError::Unavailable)
    }
}

impl RoomReader for LedgerRooms {
    fn now(&self) -> Millis {
        (self.wall)()
    }

    fn door(&self, room: &str) -> Option<Door> {
        self.table.get(room).map(|entry| entry.config.only.clone().map_or(Door::Everybody, Door::Only))
    }

    fn rooms(&self) -> BoxFuture<'_, Result<Vec<RoomFacts>, ReadError>> {
        async move {
            let mut rooms = Vec::new();
            for (name, entry) in self.table.all() {
                rooms.push(self.facts(name, &entry).await?);
            }
            Ok(rooms)
        }
        .boxed()
    }

    fn room<'a>(&'a self, room: &'a str) -> BoxFuture<'a, Result<Option<RoomFacts>, ReadError>> {
        async move {
            match self.table.get(room) {
                Some(entry) => Ok(Some(self.facts(room.to_owned(), &entry).await?)),
                None => Ok(None),
            }
        }
        .boxed()
    }

    fn lines<'a>(&'a self, room: &'a str, before: Option<u64>, limit: u32) -> BoxFuture<'a, Result<Vec<Item>, ReadError>> {
        async move {
            let rows = self.reader.lines(self.stream(room)?, before.map_or(i64::MAX, signed), limit as usize).await?;
            Ok(rows.into_iter().map(item).collect())
        }
        .boxed()
    }

    fn after<'a>(&'a self, room: &'a str, after: u64, limit: u32) -> BoxFuture<'a, Result<Vec<Item>, ReadError>> {
        async move {
            let rows = self.reader.items(self.stream(room)?, Page::After(signed(after)), limit as usize).await?;
            Ok(rows.into_iter().map(item).collect())
        }
        .boxed()
    }

    fn about<'a>(&'a self, room: &'a str, platform_ids: &'a [String]) -> BoxFuture<'a, Result<Vec<Item>, ReadError>> {
        async move {
            let rows = self.reader.about(self.stream(room)?, platform_ids).await?;
            Ok(rows.into_iter().map(item).collect())
        }
        .boxed()
    }

    fn decisions<'a>(&'a self, room: &'a str, before: Option<u64>, limit: u32) -> BoxFuture<'a, Result<Vec<Logged>, ReadError>> {
        let page = before.map_or(Page::Last, |n| Page::Before(signed(n)));
        async move {
            let rows = self.reader.decisions(self.stream(room)?, page, limit as usize).await?;
            rows.iter().map(logged).collect()
        }
        .boxed()
    }

    fn decisions_after<'a>(&'a self, room: &'a str, after: u64, limit: u32) -> BoxFuture<'a, Result<Vec<Logged>, ReadError>> {
        async move {
            let page = Page::After(signed(after));
            let rows = self.reader.decisions(self.stream(room)?, page, limit as usize).await?;
            rows.iter().map(logged).collect()
        }
        .boxed()
    }

    fn floor<'a>(&'a self, room: &'a str) -> BoxFuture<'a, Result<Option<View>, ReadError>> {
        async move {
            let Some(row) = self.reader.floor(self.stream(room)?).await? else { return Ok(None) };
            serde_json::from_str(row.view.get()).map(Some).map_err(|e| ReadError::Broken(format!("the floor: {:?} error", e.classify())))
        }
        .boxed()
    }

    fn typing<'a>(&'a self, room: &'a str) -> BoxFuture<'a, Result<Vec<Typist>, ReadError>> {
        async move {
            let rows = self.reader.typing(self.stream(room)?).await?;
            Ok(rows.into_iter().map(|t| Typist { who: t.who, until: t.until_ms }).collect())
        }
        .boxed()
    }

    fn names<'a>(&'a self, room: &'a str) -> BoxFuture<'a, Result<Vec<(String, String)>, ReadError>> {
        async move { Ok(self.reader.names(self.stream(room)?, ITEMS_AT_ONCE).await?) }.boxed()
    }

    fn changes(&self, room: &str) -> watch::Receiver<u64> {
        let looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a bell the channel is closed, and the caller polls.
        looks.get(room).map_or_else(|| watch::channel(0).1, watch::Sender::subscribe)
    }
}

impl From<LedgerError> for ReadError {
    fn from(error: LedgerError) -> Self {
        if error.is_transient() { Self::Unavailable } else { Self::Broken(error.to_string()) }
    }
}

/// Numbers in a stream have 63 bits.
fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or_default()
}

fn item(row: LedgerItem) -> Item {
    Item {
        seq: unsigned(row.seq),
        at: row.at_ms,
        platform_id: row.platform_id,
        author: Author { id: row.author, name: row.name, kind: row.author_kind },
        text: row.text,
        mentions: Vec::new(),
        find_names: false,
        links: row.reply_to.map(|id| Link { id, author: row.of_author }).into_iter().collect(),
        kind: row.kind,
    }
}

fn logged(row: &DecisionRow) -> Result<Logged, ReadError> {
    Ok(Logged { n: unsigned(row.n), at: row.at_ms, decision: row.decision()? })
}
