//! The rooms that run in this process: started, changed, hushed and stopped as their documents say.
//!
//! A change is written to the policy row first, and only then told to anybody: a mute holds from the commit on, whatever the
//! room's actor is doing. What cannot be written now, because the database is away, is kept and tried again.

use std::{collections::BTreeMap, sync::Arc};

use parlor_core::{Audience, Millis};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    reader::LedgerRooms,
    table::{Entry, Table},
};
use crate::{
    actor::{self, Means, PersonaText, RoomHandle, RoomTexts, wall_ms},
    api::{Change, RoomConfig},
    broker::RoomBooks,
    gateway::{ConsoleRoom, ConsoleRooms, Sender},
    ledger::{Admin, Caps, Hub, Label, Ledger, LedgerError, Logins, PolicyRow, Ringer, RoomLogin},
    ports::Models,
};

/// What rooms are made of.
pub(crate) struct Parts {
    pub(crate) logins: Logins,
    pub(crate) table: Table,
    pub(crate) books: Arc<RoomBooks>,
    pub(crate) surface: ConsoleRooms,
    pub(crate) sender: Sender,
    pub(crate) reader: Arc<LedgerRooms>,
    pub(crate) hub: Hub,
    pub(crate) ringer: Ringer,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) tracker: TaskTracker,
    pub(crate) stop: CancellationToken,
}

/// The rooms of the process.
pub(crate) struct Rooms {
    admin: Admin,
    parts: Parts,
    running: BTreeMap<String, Running>,
    /// Changes that are still to be written; the latest of each room.
    wanted: BTreeMap<String, Change>,
}

struct Running {
    stream: i64,
    config: Arc<RoomConfig>,
    texts: watch::Sender<RoomTexts>,
    /// None while nothing may act for the room.
    mind: Option<Mind>,
    stop: CancellationToken,
}

/// An incarnation: its actor and its login.
struct Mind {
    actor: RoomHandle,
    role: String,
    ledger: Ledger,
}

impl Mind {
    async fn rest(self) {
        self.actor.stop().await;
        self.ledger.close().await;
    }
}

impl Rooms {
    pub(crate) fn new(parts: Parts) -> Self {
        Self { admin: parts.logins.admin(), parts, running: BTreeMap::new(), wanted: BTreeMap::new() }
    }

    /// Notes what has to be done; [`Rooms::settle`] does it.
    pub(crate) fn want(&mut self, change: Change) {
        let room = match &change {
            Change::Set(config) => config.name.clone(),
            Change::Broken { room, .. } | Change::Removed { room } => room.clone(),
        };
        self.wanted.insert(room, change);
    }

    /// Does what is wanted. What a database that is away keeps from being done stays wanted; any other failure of a room is
    /// given back, and that room stays as it is.
    pub(crate) async fn settle(&mut self) -> Vec<(String, LedgerError)> {
        let mut failed = Vec::new();
        let rooms: Vec<String> = self.wanted.keys().cloned().collect();
        for room in rooms {
            let Some(change) = self.wanted.get(&room).cloned() else { continue };
            match self.apply(&change).await {
                Ok(()) => {
                    self.wanted.remove(&room);
                }
                Err(error) => {
                    if !error.is_transient() {
                        self.wanted.remove(&room);
                    }
                    failed.push((room, error));
                }
            }
        }
        failed
    }

    /// Whether something is still to be written.
    pub(crate) fn is_behind(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// When a policy next changes by itself: the end of a mute.
    pub(crate) fn next_change(&self) -> Option<Millis> {
        let now = wall_ms();
        self.running.values().filter_map(|r| r.config.next_change(now)).min()
    }

    /// Writes the policies of rooms whose mute is over.
    pub(crate) fn look_at_mutes(&mut self) {
        for running in self.running.values() {
            let name = &running.config.name;
            let over = running.config.mute.as_ref().is_some_and(|m| m.until.is_some_and(|u| u <= wall_ms()));
            let broken = self.parts.table.get(name).is_some_and(|e| e.broken.is_some());
            if over && !broken && !self.wanted.contains_key(name) {
                self.wanted.insert(name.clone(), Change::Set(Box::new((*running.config).clone())));
            }
        }
    }

    async fn apply(&mut self, change: &Change) -> Result<(), LedgerError> {
        match change {
            Change::Set(config) => self.set(config).await,
            Change::Broken { room, reason } => self.hush(room, reason).await,
            Change::Removed { room } => self.remove(room).await,
        }
    }

    async fn set(&mut self, config: &RoomConfig) -> Result<(), LedgerError> {
        let parts = &self.parts;
        let config = Arc::new(config.clone());
        let stream = self.admin.ensure_stream(&config.name, &label(&config)).await?.id;
        let now = wall_ms();
        self.admin.set_policy(stream, &row(&config, now, None)).await?;
        parts.ringer.ring(stream);
        parts.books.set(&config.name, stream, Caps { tokens: config.tokens_per_day, cost_micro: config.cost_micros_per_day });
        let personas = config.personas.iter().map(|p| (p.id.clone(), p.name.clone())).collect();
        parts.surface.put(&config.name, ConsoleRoom { stream, personas, only: config.only.clone() });
        parts.table.put(&config.name, Entry { stream, config: Arc::clone(&config), broken: None });
        if let Some(running) = self.running.get_mut(&config.name) {
            running.texts.send_replace(texts(&config));
            running.config = config;
        } else {
            let running = self.start(stream, config).await?;
            self.running.insert(running.config.name.clone(), running);
            return Ok(());
        }
        Ok(())
    }

    async fn start(&self, stream: i64, config: Arc<RoomConfig>) -> Result<Running, LedgerError> {
        let Parts { hub, tracker, sender, reader, stop, .. } = &self.parts;
        let login = self.admin.mint(stream, &[]).await?;
        let stop = stop.child_token();
        reader.listen(&config.name, stream, hub, tracker, stop.clone());
        sender.serve(&config.name, stream, hub, tracker, stop.clone());
        let (texts, told) = watch::channel(texts(&config));
        let mind = self.awake(&config.name, stream, login, told, &stop);
        Ok(Running { stream, config, texts, mind: Some(mind), stop })
    }

    /// The actor of an incarnation.
    fn awake(&self, room: &str, stream: i64, login: RoomLogin, told: watch::Receiver<RoomTexts>, stop: &CancellationToken) -> Mind {
        let Parts { logins, hub, ringer, models, tracker, .. } = &self.parts;
        let ledger = logins.room(&login);
        let means = Means { ledger: ledger.clone(), hub: hub.clone(), ringer: ringer.clone(), models: Arc::clone(models), wall: wall_ms };
        let room = actor::RoomConfig { name: room.to_owned(), stream };
        Mind { actor: actor::spawn(room, told, means, tracker, stop), role: login.role, ledger }
    }

    /// Another incarnation takes the place of the one that runs. With its login's first breath the one before has none.
    pub(super) async fn replace(&mut self, stream: i64) -> Result<(), LedgerError> {
        let Some(name) = self.running.values().find(|r| r.stream == stream).map(|r| r.config.name.clone()) else { return Ok(()) };
        let login = self.admin.mint(stream, &[]).await?;
        self.halt(&name).await;
        let Some((told, stop)) = self.running.get(&name).map(|r| (r.texts.subscribe(), r.stop.clone())) else { return Ok(()) };
        let mind = self.awake(&name, stream, login, told, &stop);
        if let Some(running) = self.running.get_mut(&name) {
            running.mind = Some(mind);
        }
        Ok(())
    }

    /// Ends the actor of a room until it is woken or replaced.
    pub(super) async fn halt(&mut self, room: &str) {
        if let Some(mind) = self.running.get_mut(room).and_then(|r| r.mind.take()) {
            mind.rest().await;
        }
    }

    /// Gives every halted room another incarnation.
    pub(super) async fn wake(&mut self) -> Result<(), LedgerError> {
        let halted: Vec<i64> = self.running.values().filter(|r| r.mind.is_none()).map(|r| r.stream).collect();
        for stream in halted {
            self.replace(stream).await?;
        }
        Ok(())
    }

    /// Says that something happened in a stream.
    pub(super) fn ring(&self, stream: i64) {
        self.parts.ringer.ring(stream);
    }

    /// A room whose documents cannot be read: its last policy, muted.
    async fn hush(&mut self, room: &str, reason: &str) -> Result<(), LedgerError> {
        let Some(running) = self.running.get(room) else { return Ok(()) };
        let parts = &self.parts;
        self.admin.set_policy(running.stream, &row(&running.config, wall_ms(), Some(reason))).await?;
        parts.ringer.ring(running.stream);
        parts.table.put(room, Entry { stream: running.stream, config: Arc::clone(&running.config), broken: Some(reason.to_owned()) });
        parts.reader.look(room);
        Ok(())
    }

    async fn remove(&mut self, room: &str) -> Result<(), LedgerError> {
        let Some(running) = self.running.get(room) else { return Ok(()) };
        let policy = PolicyRow { stopped: true, ..row(&running.config, wall_ms(), None) };
        self.admin.set_policy(running.stream, &policy).await?;
        self.parts.surface.remove(room);
        self.parts.table.remove(room);
        self.parts.books.forget(room);
        if let Some(running) = self.running.remove(room) {
            let role = running.mind.as_ref().map(|m| m.role.clone());
            if let Some(mind) = running.mind {
                mind.rest().await;
            }
            running.stop.cancel();
            if let Some(role) = role {
                self.admin.retire(&role).await?;
            }
        }
        Ok(())
    }

    /// Ends every actor, all at once; each takes a snapshot.
    pub(crate) async fn stop(&mut self) {
        let minds = std::mem::take(&mut self.running).into_values().filter_map(|running| running.mind);
        futures::future::join_all(minds.map(Mind::rest)).await;
    }
}

fn label(config: &RoomConfig) -> Label {
    match config.audience() {
        Audience::Public => Label::Public,
        Audience::Operator => Label::Operator,
        Audience::Room => Label::Room(config.name.clone()),
        // Without a person, which no document gets away with, it would be refused.
        Audience::Direct => Label::Direct(config.only.clone().unwrap_or_default()),
    }
}

fn row(config: &RoomConfig, now: Millis, broken: Option<&str>) -> PolicyRow {
    // The database numbers revisions itself.
    let policy = config.policy(0, now);
    // A policy that cannot be written as JSON would be read as none, and none is silence.
    let mut value = serde_json::to_value(&policy).unwrap_or_default();
    // For those who ask why; the machine only needs to know that it is muted.
    let why = match (broken, config.muted(now)) {
        (Some(problem), _) => Some(json!({ "by": "parlor dev", "reason": format!("its documents cannot be read: {problem}") })),
        (None, Some(mute)) => Some(json!({ "by": mute.file, "reason": mute.reason, "until_ms": mute.until })),
        (None, None) => None,
    };
    if let (Some(why), Some(fields)) = (why, value.as_object_mut()) {
        fields.insert("mute".to_owned(), why);
    }
    PolicyRow { muted: policy.muted || broken.is_some(), mode: policy.mode, stopped: policy.stopped, value }
}

/// What the models of a room are told.
pub(super) fn texts(config: &RoomConfig) -> RoomTexts {
    let lines = |title: &str, lines: &[String]| match lines {
        [] => String::new(),
        lines => format!("{title}\n{}\n", lines.iter().map(|l| format!("- {l}")).collect::<Vec<_>>().join("\n")),
    };
    let personas = config.personas.iter().map(|p| {
        let voice = lines("You sound like this:", &p.examples) + &lines("You never sound like this:", &p.anti_examples);
        let text = PersonaText {
            name: p.name.clone(),
            identity: p.identity.clone(),
            voice,
            model: p.draft.clone(),
            context_tokens: config.context_tokens,
        };
        (p.id.clone(), text)
    });
    RoomTexts {
        rules: match config.audience() {
            Audience::Public => "Anybody may read what is said here.".to_owned(),
            Audience::Direct => "One person and you: nobody else reads what is said here.".to_owned(),
            Audience::Room | Audience::Operator => String::new(),
        },
        personas: personas.collect(),
    }
}
