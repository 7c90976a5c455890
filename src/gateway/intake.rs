//! The ear of the console surface: what a person does in a tab becomes one item of the room's stream.
//!
//! Who somebody is was settled by the console (a signed cookie or the owner's link); here it is decided what they may do:
//! talk, and change what is theirs. It finds no names in text and judges nothing.

mod check;

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use futures::{FutureExt, future::BoxFuture};
use parlor_core::{AuthorKind, ItemKind};
use serde_json::json;

use super::{ConsoleRoom, ConsoleRooms, ids};
use crate::{
    ledger::{Ear, LedgerError, MessageState, NewItem, Ringer},
    ports::{Heard, HeardKind, Intake, IntakeError, Posted},
};

/// How long somebody is shown as typing after a key press: as long as the room machine counts a typing event.
const TYPING_MS: i64 = 8_000;
/// A person's typing is written down once in this time.
const TYPING_EVERY_MS: i64 = 4_000;
/// People whose last typing is remembered; beyond it one more write each is all that is lost.
const TYPISTS: usize = 1_024;

/// Takes in what people do on the console surface.
pub struct ConsoleIntake {
    ear: Ear,
    ringer: Ringer,
    rooms: ConsoleRooms,
    wall: fn() -> i64,
    /// Changes of messages are looked up and then stored; one at a time, so that two of them do not cross.
    changes: tokio::sync::Mutex<()>,
    typists: Mutex<BTreeMap<(i64, String), i64>>,
}

impl ConsoleIntake {
    /// An intake for these rooms; `wall` is the time of this platform in ms since the epoch.
    pub fn new(ear: Ear, ringer: Ringer, rooms: ConsoleRooms, wall: fn() -> i64) -> Self {
        Self { ear, ringer, rooms, wall, changes: tokio::sync::Mutex::new(()), typists: Mutex::new(BTreeMap::new()) }
    }

    /// The room, as far as there is one for this author.
    fn room(&self, name: &str, author: &str) -> Result<ConsoleRoom, IntakeError> {
        let room = self.rooms.get(name).filter(|r| r.only.as_deref().is_none_or(|only| only == author));
        room.ok_or_else(|| IntakeError::NoRoom(name.to_owned()))
    }

    async fn take(&self, heard: Heard) -> Result<Posted, IntakeError> {
        let room = self.room(&heard.room, &heard.author)?;
        check::who(&heard, &room)?;
        let posted = match &heard.what {
            HeardKind::Message { text, reply_to } => self.message(&heard, room.stream, text, reply_to.as_deref()).await,
            HeardKind::Edit { of, text } => self.edit(&heard, room.stream, of, text).await,
            HeardKind::Delete { of } => self.delete(&heard, room.stream, of).await,
            HeardKind::Reaction { of, emoji, on } => self.react(&heard, room.stream, of, emoji, *on).await,
        }?;
        self.ringer.ring(room.stream);
        Ok(posted)
    }

    async fn message(&self, heard: &Heard, stream: i64, text: &str, reply_to: Option<&str>) -> Result<Posted, IntakeError> {
        let text = check::text(text)?;
        if let Some(of) = reply_to {
            self.find(stream, of, &heard.author, None).await?;
        }
        let id = ids::message_id(&ids::once(&heard.author, &heard.client_id));
        let mut item = self.item(heard, stream, ItemKind::Message, ids::message_key(&id), &id);
        text.clone_into(&mut item.text);
        item.reply_to = reply_to.map(str::to_owned);
        let posted = self.store(item).await?;
        self.typing_is_over(stream, &heard.author).await;
        Ok(posted)
    }

    async fn edit(&self, heard: &Heard, stream: i64, of: &str, text: &str) -> Result<Posted, IntakeError> {
        let text = check::text(text)?;
        let _one_at_a_time = self.changes.lock().await;
        let message = self.find(stream, of, &heard.author, None).await?;
        if message.author != heard.author {
            return Err(IntakeError::Refused("only the author of a message can change it".into()));
        }
        if message.deleted {
            return Err(IntakeError::Refused("the message was deleted, so it cannot be changed any more".into()));
        }
        let key = ids::edit_key(of, &ids::once(&heard.author, &heard.client_id));
        let mut item = self.item(heard, stream, ItemKind::Edit, key, of);
        text.clone_into(&mut item.text);
        self.store(item).await
    }

    async fn delete(&self, heard: &Heard, stream: i64, of: &str) -> Result<Posted, IntakeError> {
        let _one_at_a_time = self.changes.lock().await;
        let message = self.find(stream, of, &heard.author, None).await?;
        if message.author != heard.author && !heard.owner {
            return Err(IntakeError::Refused("only the author of a message or the owner can delete it".into()));
        }
        self.store(self.item(heard, stream, ItemKind::Delete, ids::delete_key(of), of)).await
    }

    async fn react(&self, heard: &Heard, stream: i64, of: &str, emoji: &str, on: bool) -> Result<Posted, IntakeError> {
        check::emoji(emoji)?;
        let _one_at_a_time = self.changes.lock().await;
        let message = self.find(stream, of, &heard.author, Some(emoji)).await?;
        if message.deleted {
            return Err(IntakeError::Refused("the message was deleted, so nothing can be put on it any more".into()));
        }
        if message.reacted == on {
            // Nothing changes, so nothing is stored; the answer is where it changed last, or the message itself.
            return Ok(Posted { seq: unsigned(message.reaction_seq.unwrap_or(message.seq)), platform_id: of.to_owned() });
        }
        let kind = if on { ItemKind::Reaction } else { ItemKind::Unreaction };
        let key = ids::reaction_key(of, &heard.author, emoji, &ids::once(&heard.author, &heard.client_id));
        let mut item = self.item(heard, stream, kind, key, of);
        emoji.clone_into(&mut item.text);
        self.store(item).await
    }

    fn item(&self, heard: &Heard, stream: i64, kind: ItemKind, event_key: String, platform_id: &str) -> NewItem {
        NewItem {
            stream,
            at_ms: (self.wall)(),
            author: heard.author.clone(),
            author_kind: if heard.owner { AuthorKind::Owner } else { AuthorKind::Human },
            name: heard.name.clone(),
            kind,
            event_key,
            platform_id: platform_id.to_owned(),
            reply_to: None,
            text: String::new(),
            mentions: json!([]),
            attachments: json!([]),
            outbox_n: None,
        }
    }

    async fn find(&self, stream: i64, of: &str, who: &str, emoji: Option<&str>) -> Result<MessageState, IntakeError> {
        let found = self.ear.message(stream, of, who, emoji.unwrap_or_default()).await.map_err(failed)?;
        found.ok_or_else(|| IntakeError::Refused("there is no such message in this room".into()))
    }

    async fn store(&self, item: NewItem) -> Result<Posted, IntakeError> {
        let platform_id = item.platform_id.clone();
        let stored = self.ear.ingest(std::slice::from_ref(&item)).await.map_err(failed)?;
        let Some(stored) = stored.first() else { return Err(IntakeError::Unavailable) };
        Ok(Posted { seq: unsigned(stored.seq), platform_id })
    }

    async fn show_typing(&self, room: &str, author: &str) -> Result<(), IntakeError> {
        let room = self.room(room, author)?;
        check::author(author, &room)?;
        let now = (self.wall)();
        {
            let mut typists = self.typists.lock().unwrap_or_else(PoisonError::into_inner);
            let key = (room.stream, author.to_owned());
            if typists.get(&key).is_some_and(|last| now - last < TYPING_EVERY_MS) {
                return Ok(());
            }
            if typists.len() >= TYPISTS {
                typists.clear();
            }
            typists.insert(key, now);
        }
        self.ear.presence(room.stream, author, now + TYPING_MS).await.map_err(failed)?;
        self.ringer.ring(room.stream);
        Ok(())
    }

    /// Whoever has spoken is not typing that line any more. Losing this is harmless.
    async fn typing_is_over(&self, stream: i64, author: &str) {
        let was = self.typists.lock().unwrap_or_else(PoisonError::into_inner).remove(&(stream, author.to_owned()));
        if was.is_some() {
            let _ = self.ear.presence(stream, author, (self.wall)()).await;
        }
    }
}

impl Intake for ConsoleIntake {
    fn post(&self, event: Heard) -> BoxFuture<'_, Result<Posted, IntakeError>> {
        self.take(event).boxed()
    }

    fn typing(&self, room: &str, author: &str) -> BoxFuture<'_, Result<(), IntakeError>> {
        let (room, author) = (room.to_owned(), author.to_owned());
        async move { self.show_typing(&room, &author).await }.boxed()
    }
}

fn failed(error: LedgerError) -> IntakeError {
    match error {
        LedgerError::Refused(why) => IntakeError::Refused(format!("the ledger refused it: {why}")),
        other => {
            tracing::warn!(error = %other, "an event of the console surface was not stored");
            IntakeError::Unavailable
        }
    }
}

/// Places in a stream count from 1.
fn unsigned(seq: i64) -> u64 {
    u64::try_from(seq).unwrap_or(0)
}
