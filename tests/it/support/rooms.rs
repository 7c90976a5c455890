//! A double of the rooms behind the console: reader and intake in memory, with the intake's promises (one client id is one
//! event, only the author changes a line) and a database that can be taken away.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
};

use futures::future::{BoxFuture, ready};
use parlor::{
    console::{Door, Logged, ReadError, RoomFacts, RoomReader, Typist},
    ports::{Heard, HeardKind, Hush, Intake, IntakeError, MuteError, Muted, Mutes, Posted, Unmuted},
};
use parlor_core::{
    Audience, Author, AuthorKind, Decision, Item, ItemKind, Likelihood, Line, Link, Measured, Member, Millis, ObligationId, ObligationKind,
    ObligationState, ObligationView, Odds, Phase, Policy, Seen, View, WaitingFor, What, Why,
};
use tokio::sync::watch;

/// The room that every double has.
pub(crate) const ROOM: &str = "kiln";

/// The double.
pub(crate) struct Rooms {
    state: Mutex<State>,
    gone: AtomicBool,
    /// Ahead of the real clock by this much, ms.
    ahead: AtomicI64,
    changes: watch::Sender<u64>,
    /// Posts that reached the intake, stored or not: client ids.
    pub(crate) tried: Mutex<Vec<String>>,
}

#[derive(Default)]
struct State {
    items: Vec<Item>,
    by_client: HashMap<(String, String), Posted>,
    decisions: Vec<Logged>,
    view: Option<View>,
    typing: Vec<Typist>,
    /// Why the room is muted.
    muted: Option<String>,
    removed: bool,
    /// The only one who may know of the room.
    only: Option<String>,
}

impl Rooms {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            gone: AtomicBool::new(false),
            ahead: AtomicI64::new(0),
            changes: watch::channel(0).0,
            tried: Mutex::default(),
        })
    }

    /// Takes the database away, or brings it back.
    pub(crate) fn lose_database(&self, gone: bool) {
        self.gone.store(gone, Ordering::SeqCst);
        self.ring();
    }

    pub(crate) fn turn_clock(&self, by_ms: Millis) {
        self.ahead.fetch_add(by_ms, Ordering::SeqCst);
    }

    pub(crate) fn mute(&self, why: &str) {
        let mut state = self.state.lock().unwrap();
        state.muted = Some(why.to_owned());
        if let Some(view) = &mut state.view {
            view.muted = true;
        }
        drop(state);
        self.ring();
    }

    /// Takes the room away, or brings it back.
    pub(crate) fn remove(&self, removed: bool) {
        self.state.lock().unwrap().removed = removed;
        self.ring();
    }

    /// Makes it the room of one person.
    pub(crate) fn keep_for(&self, id: &str) {
        self.state.lock().unwrap().only = Some(id.to_owned());
        self.ring();
    }

    pub(crate) fn set_view(&self, view: Option<View>) {
        self.state.lock().unwrap().view = view;
        self.ring();
    }

    /// A floor that waits for this much longer, with one thing owed to the asker of line 1.
    pub(crate) fn floor_at(&self, phase: Phase, waiting_for: WaitingFor, left_ms: Millis, asker: &str) -> View {
        let now = self.now();
        let owed = ObligationView {
            id: ObligationId { input: 4, index: 0 },
            kind: ObligationKind::Direct,
            state: ObligationState::Open,
            persona: Some("wren".into()),
            asker: asker.into(),
            lines: vec![Line { seq: 1, platform_id: "m1".into() }],
            ripe_at: now + left_ms,
            drafts: 0,
            answered: false,
        };
        View {
            now,
            phase,
            since: now,
            until: Some(now + left_ms),
            waiting_for,
            persona: Some("wren".into()),
            effect: None,
            obligations: vec![owed],
            muted: false,
            shadow: false,
            room_wait_ms: 100_000,
            cursor: 1,
        }
    }

    pub(crate) fn set_typing(&self, who: &[&str]) {
        let until = self.now() + 8_000;
        self.state.lock().unwrap().typing = who.iter().map(|who| Typist { who: (*who).to_owned(), until }).collect();
        self.ring();
    }

    pub(crate) fn who_types(&self) -> Vec<String> {
        self.state.lock().unwrap().typing.iter().map(|t| t.who.clone()).collect()
    }

    pub(crate) fn items(&self) -> Vec<Item> {
        self.state.lock().unwrap().items.clone()
    }

    pub(crate) fn decide(&self, what: What, why: Why, persona: Option<&str>, lines: &[u64]) -> u64 {
        let at = self.now();
        let mut state = self.state.lock().unwrap();
        let n = state.decisions.len() as u64 + 1;
        let seen = Seen { cursor: state.items.len() as u64, lines: lines.to_vec() };
        // What a model was asked about has odds.
        let measured = Measured { likelihood: Likelihood::ForUs, permille: 170, bar_permille: 400 };
        let odds = (why == Why::GateSilent).then_some(Odds { me_permille: 52, room_permille: 118, measured: Some(measured) });
        let decision = Decision { what, why, persona: persona.map(str::to_owned), obligations: vec![], effect: None, seen, odds };
        state.decisions.push(Logged { n, at, decision });
        drop(state);
        self.ring();
        n
    }

    /// Says something as somebody; gives its seq.
    pub(crate) fn say(&self, kind: AuthorKind, id: &str, name: &str, text: &str, reply_to: Option<u64>) -> u64 {
        self.say_at(self.now(), kind, id, name, text, reply_to)
    }

    pub(crate) fn say_at(&self, at: Millis, kind: AuthorKind, id: &str, name: &str, text: &str, reply_to: Option<u64>) -> u64 {
        let author = Author { id: id.into(), name: name.into(), kind };
        let links = reply_to.map(|seq| Link { id: format!("m{seq}"), author: None }).into_iter().collect();
        let seq = self.store(at, author, ItemKind::Message, None, text, links);
        self.ring();
        seq
    }

    /// Edits, deletes or reacts as somebody.
    pub(crate) fn change(&self, kind: ItemKind, id: &str, name: &str, of: u64, text: &str) {
        let author = Author { id: id.into(), name: name.into(), kind: AuthorKind::Human };
        self.store(self.now(), author, kind, Some(format!("m{of}")), text, vec![]);
        self.ring();
    }

    fn store(&self, at: Millis, author: Author, kind: ItemKind, of: Option<String>, text: &str, links: Vec<Link>) -> u64 {
        let mut state = self.state.lock().unwrap();
        let seq = state.items.len() as u64 + 1;
        let platform_id = of.unwrap_or_else(|| format!("m{seq}"));
        let text = text.to_owned();
        state.items.push(Item { seq, at, platform_id, author, text, mentions: vec![], find_names: true, links, kind });
        seq
    }

    fn ring(&self) {
        self.changes.send_modify(|n| *n += 1);
    }

    fn read<T: Default + Send + 'static>(&self, room: &str, of: impl FnOnce(&State) -> T) -> BoxFuture<'static, Result<T, ReadError>> {
        if self.gone.load(Ordering::SeqCst) {
            return Box::pin(ready(Err(ReadError::Unavailable)));
        }
        let state = self.state.lock().unwrap();
        let found = if room == ROOM && !state.removed { of(&state) } else { T::default() };
        drop(state);
        Box::pin(ready(Ok(found)))
    }

    fn facts(state: &State) -> RoomFacts {
        let muted = state.muted.as_ref();
        let member = |id: &str, name: &str| Member { id: id.into(), name: name.into(), aliases: vec![] };
        let mut policy = Policy::new(vec![member("wren", "Wren"), member("moss", "Moss")]);
        policy.muted = muted.is_some();
        if state.only.is_some() {
            policy.audience = Audience::Direct;
        }
        RoomFacts {
            name: ROOM.into(),
            topic: muted.cloned().unwrap_or_else(|| "A shared pottery studio: glazes, kiln logs, and who took the long tongs.".into()),
            policy,
        }
    }
}

impl RoomReader for Rooms {
    fn now(&self) -> Millis {
        jiff::Timestamp::now().as_millisecond() + self.ahead.load(Ordering::SeqCst)
    }

    fn door(&self, room: &str) -> Option<Door> {
        let state = self.state.lock().unwrap();
        (room == ROOM && !state.removed).then(|| state.only.clone().map_or(Door::Everybody, Door::Only))
    }

    fn rooms(&self) -> BoxFuture<'_, Result<Vec<RoomFacts>, ReadError>> {
        self.read(ROOM, |s| vec![Self::facts(s)])
    }

    fn room<'a>(&'a self, room: &'a str) -> BoxFuture<'a, Result<Option<RoomFacts>, ReadError>> {
        self.read(room, |s| Some(Self::facts(s)))
    }

    fn lines<'a>(&'a self, room: &'a str, before: Option<u64>, limit: u32) -> BoxFuture<'a, Result<Vec<Item>, ReadError>> {
        self.read(room, |s| {
            let is_line = |i: &&Item| matches!(i.kind, ItemKind::Message | ItemKind::System) && before.is_none_or(|b| i.seq < b);
            let mut last: Vec<Item> = s.items.iter().rev().filter(is_line).take(limit as usize).cloned().collect();
            last.reverse();
            last
        })
    }

    fn after<'a>(&'a self, room: &'a str, after: u64, limit: u32) -> BoxFuture<'a, Result<Vec<Item>, ReadError>> {
        self.read(room, |s| s.items.iter().filter(|i| i.seq > after).take(limit as usize).cloned().collect())
    }

    fn about<'a>(&'a self, room: &'a str, platform_ids: &'a [String]) -> BoxFuture<'a, Result<Vec<Item>, ReadError>> {
        self.read(room, |s| s.items.iter().filter(|i| platform_ids.contains(&i.platform_id)).cloned().collect())
    }

    fn decisions<'a>(&'a self, room: &'a str, before: Option<u64>, limit: u32) -> BoxFuture<'a, Result<Vec<Logged>, ReadError>> {
        self.read(room, |s| {
            let mut last: Vec<Logged> =
                s.decisions.iter().rev().filter(|d| before.is_none_or(|b| d.n < b)).take(limit as usize).cloned().collect();
            last.reverse();
            last
        })
    }

    fn decisions_after<'a>(&'a self, room: &'a str, after: u64, limit: u32) -> BoxFuture<'a, Result<Vec<Logged>, ReadError>> {
        self.read(room, |s| s.decisions.iter().filter(|d| d.n > after).take(limit as usize).cloned().collect())
    }

    fn floor<'a>(&'a self, room: &'a str) -> BoxFuture<'a, Result<Option<View>, ReadError>> {
        self.read(room, |s| s.view.clone())
    }

    fn typing<'a>(&'a self, room: &'a str) -> BoxFuture<'a, Result<Vec<Typist>, ReadError>> {
        self.read(room, |s| s.typing.clone())
    }

    fn names<'a>(&'a self, room: &'a str) -> BoxFuture<'a, Result<Vec<(String, String)>, ReadError>> {
        self.read(room, |s| {
            let names: HashMap<String, String> = s.items.iter().map(|i| (i.author.id.clone(), i.author.name.clone())).collect();
            names.into_iter().collect()
        })
    }

    fn changes(&self, _room: &str) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl Intake for Rooms {
    fn post(&self, event: Heard) -> BoxFuture<'_, Result<Posted, IntakeError>> {
        Box::pin(ready(self.take(event)))
    }

    fn typing(&self, _room: &str, author: &str) -> BoxFuture<'_, Result<(), IntakeError>> {
        self.set_typing(&[author]);
        Box::pin(ready(Ok(())))
    }
}

impl Mutes for Rooms {
    fn mute<'a>(&'a self, room: &'a str, by: &'a str, why: &'a str, _: Option<Millis>) -> BoxFuture<'a, Result<Muted, MuteError>> {
        let done = self.may_mute(room).map(|()| {
            Rooms::mute(self, &format!("{why} ({by})"));
            Muted { refused: 0, hush: Hush::default() }
        });
        Box::pin(ready(done))
    }

    fn unmute<'a>(&'a self, room: &'a str, _: &'a str) -> BoxFuture<'a, Result<Unmuted, MuteError>> {
        let done = self.may_mute(room).map(|()| {
            let lifted = self.state.lock().unwrap().muted.take().map_or(0, |_| 1);
            Unmuted { lifted, hush: Hush::default(), stays: None }
        });
        Box::pin(ready(done))
    }
}

impl Rooms {
    /// Why it is muted.
    pub(crate) fn muted(&self) -> Option<String> {
        self.state.lock().unwrap().muted.clone()
    }

    fn may_mute(&self, room: &str) -> Result<(), MuteError> {
        match room {
            _ if self.gone.load(Ordering::SeqCst) => Err(MuteError::Unavailable),
            ROOM => Ok(()),
            _ => Err(MuteError::NoRoom(room.to_owned())),
        }
    }

    fn take(&self, event: Heard) -> Result<Posted, IntakeError> {
        self.tried.lock().unwrap().push(event.client_id.clone());
        if self.gone.load(Ordering::SeqCst) {
            return Err(IntakeError::Unavailable);
        }
        if event.room != ROOM {
            return Err(IntakeError::NoRoom(event.room));
        }
        let key = (event.author.clone(), event.client_id.clone());
        if let Some(posted) = self.state.lock().unwrap().by_client.get(&key) {
            return Ok(posted.clone());
        }
        let author =
            Author { id: event.author.clone(), name: event.name, kind: if event.owner { AuthorKind::Owner } else { AuthorKind::Human } };
        let items = self.items();
        let find = |of: &str| items.iter().find(|i| i.kind == ItemKind::Message && i.platform_id == of);
        let own = |of: &str| match find(of) {
            Some(item) if item.author.id == event.author => Ok(()),
            _ => Err(IntakeError::Refused("That line is not yours, or does not exist.".into())),
        };
        let (kind, of, text, links) = match event.what {
            HeardKind::Message { text, reply_to } => {
                (ItemKind::Message, None, text, reply_to.map(|id| Link { id, author: None }).into_iter().collect())
            }
            HeardKind::Edit { of, text } => {
                own(&of)?;
                (ItemKind::Edit, Some(of), text, vec![])
            }
            HeardKind::Delete { of } => {
                if !event.owner {
                    own(&of)?;
                }
                (ItemKind::Delete, Some(of), String::new(), vec![])
            }
            HeardKind::Reaction { of, emoji, on } => (if on { ItemKind::Reaction } else { ItemKind::Unreaction }, Some(of), emoji, vec![]),
        };
        let seq = self.store(self.now(), author, kind, of.clone(), &text, links);
        let posted = Posted { seq, platform_id: of.unwrap_or_else(|| format!("m{seq}")) };
        self.state.lock().unwrap().by_client.insert(key, posted.clone());
        self.ring();
        Ok(posted)
    }
}
