//! One room in one process, as `parlor dev` would run it, but for the model (the test answers by hand) and the clock: time
//! stands still beside the real one until the test moves it, so that a wait of a minute costs none.

use std::{cell::Cell, collections::BTreeMap, sync::Arc, time::Duration};

use parlor::{
    actor::{self, Means, PersonaText, RoomConfig, RoomHandle, RoomState, RoomTexts},
    gateway::{ConsoleIntake, ConsoleRoom, ConsoleRooms, Sender, SenderOptions},
    ledger::{Admin, Bell, DecisionRow, HubOptions, Label, LedgerError, LedgerItem, OutboxRow, Page, PolicyRow, Reader},
    ports::{Heard, HeardKind, Intake, IntakeError, ModelRef, Posted},
};
use parlor_core::{AuthorKind, ItemKind, Member, Mode, Policy, View};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    models::{DEADLINE, HeldModels},
    postgres::{TestDb, TestLogins},
};

thread_local! {
    /// How far this test's time is ahead of the real one. A test and all tasks that it starts run on one thread.
    static AHEAD_MS: Cell<i64> = const { Cell::new(0) };
    static PANICS: Cell<bool> = const { Cell::new(false) };
}

/// Makes whoever looks at the clock next panic: with nobody else doing anything, the actor at its next look.
pub(crate) fn panic_at_the_next_look() {
    PANICS.set(true);
}

/// The clock of everything in a rig.
pub(crate) fn wall() -> i64 {
    assert!(!PANICS.replace(false), "the test wants a panic here");
    actor::wall_ms() + AHEAD_MS.get()
}

pub(crate) const ROOM: &str = "kiln";

/// See the module. It is for tests on one thread (`#[tokio::test]` as it is).
pub(crate) struct Rig {
    pub(crate) db: TestDb,
    pub(crate) stream: i64,
    pub(crate) policy: Policy,
    pub(crate) models: Arc<HeldModels>,
    pub(crate) intake: ConsoleIntake,
    pub(crate) admin: Admin,
    pub(crate) reader: Reader,
    pub(crate) means: Means,
    /// Every other login.
    pub(crate) ledger: TestLogins,
    pub(crate) rooms: ConsoleRooms,
    pub(crate) texts: watch::Sender<RoomTexts>,
    pub(crate) tracker: TaskTracker,
    pub(crate) stop: CancellationToken,
    bell: Bell,
    mouth_stop: CancellationToken,
    actor: Option<RoomHandle>,
}

impl Rig {
    /// A room with the persona Wren and every default wait, its actor and its gateway running.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// The same, with changes to the policy.
    pub(crate) async fn with(change: impl FnOnce(&mut Policy)) -> Self {
        let mut rig = Self::silent(TestDb::new().await, change).await;
        rig.start_actor();
        rig.start_sender();
        rig.until("the room listens", async |r| r.floor().await.is_some()).await;
        rig
    }

    /// A room in which nothing runs yet.
    pub(crate) async fn silent(db: TestDb, change: impl FnOnce(&mut Policy)) -> Self {
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let ledger = db.ledger();
        let options = HubOptions { poll: Duration::from_millis(500) };
        let hub = db.hub(options, &tracker, &stop);
        let ringer = db.ringer(&hub, &tracker, &stop);
        let admin = ledger.admin();
        let stream = admin.ensure_stream(ROOM, &Label::Room(ROOM.into())).await.unwrap().id;
        let rooms = ConsoleRooms::default();
        rooms.put(
            ROOM,
            ConsoleRoom { stream, personas: BTreeMap::from([("wren".into(), "Wren".into()), ("moss".into(), "Moss".into())]), only: None },
        );
        let models = Arc::new(HeldModels::new());
        let mut policy = Policy::new(vec![member("wren", "Wren")]);
        change(&mut policy);
        let means = Means { ledger: ledger.room(stream).await, hub: hub.clone(), ringer: ringer.clone(), models: models.clone(), wall };
        let rig = Self {
            stream,
            policy,
            models,
            intake: ConsoleIntake::new(ledger.ear(), ringer, rooms.clone(), wall),
            admin,
            reader: ledger.reader(),
            means,
            ledger,
            rooms,
            texts: watch::channel(texts()).0,
            tracker,
            stop,
            bell: hub.subscribe(stream),
            mouth_stop: CancellationToken::new(),
            actor: None,
            db,
        };
        rig.write_policy().await;
        rig
    }

    pub(crate) fn start_actor(&mut self) {
        let config = RoomConfig { name: ROOM.into(), stream: self.stream };
        self.actor = Some(actor::spawn(config, self.texts.subscribe(), self.means.clone(), &self.tracker, &self.stop));
    }

    /// A clean stop, which takes a snapshot.
    pub(crate) async fn stop_actor(&mut self) {
        self.actor.take().expect("an actor runs").stop().await;
    }

    /// What a kill of its process does to an actor: it stores nothing any more. (The next boot fences the one before, which runs
    /// into it at its next write; a real kill is tested with `parlor dev`.)
    pub(crate) async fn replace_actor(&mut self) {
        // Of two that start at once the later to begin would win, whichever it is.
        self.until("the old boot listens", async |r| r.actor_state() == RoomState::Running).await;
        let old = self.actor.take().expect("an actor runs");
        self.start_actor();
        let state = old.state();
        // The new boot's first step rings nobody, so the old one is made to look.
        self.until("the old boot is fenced", async move |r| {
            r.ring();
            *state.borrow() == RoomState::Fenced
        })
        .await;
    }

    pub(crate) fn actor_states(&self) -> watch::Receiver<RoomState> {
        self.actor.as_ref().expect("an actor runs").state()
    }

    pub(crate) fn actor_state(&self) -> RoomState {
        self.actor_states().borrow().clone()
    }

    pub(crate) fn sender(&self, options: SenderOptions) -> Sender {
        Sender::new(self.ledger.mouth(), self.means.ringer.clone(), self.rooms.clone(), wall, options)
    }

    pub(crate) fn start_sender(&mut self) {
        self.serve(&self.sender(SenderOptions::default()));
    }

    pub(crate) fn serve(&mut self, sender: &Sender) {
        self.mouth_stop = self.stop.child_token();
        sender.serve(ROOM, self.stream, &self.means.hub, &self.tracker, self.mouth_stop.clone());
    }

    /// Rows wait in the outbox from now on.
    pub(crate) fn stop_sender(&self) {
        self.mouth_stop.cancel();
    }

    /// Writes `policy` as the controller does.
    pub(crate) async fn write_policy(&self) {
        let value = serde_json::to_value(&self.policy).unwrap();
        let row = PolicyRow { muted: self.policy.muted, mode: self.policy.mode, stopped: self.policy.stopped, value };
        self.admin.set_policy(self.stream, &row).await.unwrap();
        self.ring();
    }

    pub(crate) async fn mute(&mut self, muted: bool) {
        self.policy.muted = muted;
        self.write_policy().await;
        self.until("the actor has read the mute", async |r| r.floor().await.is_some_and(|v| v.muted == muted)).await;
    }

    pub(crate) fn ring(&self) {
        self.means.ringer.ring(self.stream);
    }

    /// Lets time pass for everything in the rig, and the actor, if one runs, look at the room afterwards.
    pub(crate) async fn advance(&self, ms: i64) {
        AHEAD_MS.set(AHEAD_MS.get() + ms);
        self.looked().await;
    }

    /// Waits for a look at the room that begins after this call.
    async fn looked(&self) {
        let Some(looks) = self.actor.as_ref().map(RoomHandle::looks) else { return };
        let before = *looks.borrow();
        let ends = before + 2 + before % 2;
        self.ring();
        self.until("the actor has looked", async |r| {
            r.ring();
            *looks.borrow() >= ends
        })
        .await;
    }

    pub(crate) async fn hear(&self, who: &str, client_id: &str, what: HeardKind) -> Result<Posted, IntakeError> {
        let mut name = who.to_owned();
        name[..1].make_ascii_uppercase();
        let owner = who == "owner";
        let heard = Heard { room: ROOM.into(), author: who.into(), name, owner, client_id: client_id.into(), what };
        self.intake.post(heard).await
    }

    async fn done(&self, who: &str, what: HeardKind) -> Posted {
        let id = uuid::Uuid::new_v4().to_string();
        let mut posted = self.hear(who, &id, what.clone()).await;
        while let Err(IntakeError::Unavailable) = posted {
            // On a busy machine a call may run into its time-out; a client sends the same again.
            posted = self.hear(who, &id, what.clone()).await;
        }
        let posted = posted.unwrap();
        self.read_up_to(posted.seq).await;
        posted
    }

    /// Somebody says something, and the actor has read it.
    pub(crate) async fn say(&self, who: &str, text: &str) -> Posted {
        self.done(who, HeardKind::Message { text: text.into(), reply_to: None }).await
    }

    pub(crate) async fn reply(&self, who: &str, to: &Posted, text: &str) -> Posted {
        self.done(who, HeardKind::Message { text: text.into(), reply_to: Some(to.platform_id.clone()) }).await
    }

    pub(crate) async fn edit(&self, who: &str, of: &Posted, text: &str) -> Posted {
        self.done(who, HeardKind::Edit { of: of.platform_id.clone(), text: text.into() }).await
    }

    pub(crate) async fn delete(&self, who: &str, of: &Posted) -> Posted {
        self.done(who, HeardKind::Delete { of: of.platform_id.clone() }).await
    }

    /// Waits until the actor has read the room so far, if one runs.
    pub(crate) async fn read_up_to(&self, seq: u64) {
        if self.actor.is_some() {
            self.until("the actor has read it", async |r| r.floor().await.is_some_and(|v| v.cursor >= seq)).await;
        }
    }

    /// Waits for a condition, looked at whenever something happens in the room.
    pub(crate) async fn until(&self, what: &str, mut holds: impl AsyncFnMut(&Self) -> bool) {
        let mut bell = self.bell.clone();
        let waited = tokio::time::timeout(DEADLINE, async {
            while !holds(self).await {
                // Not everything rings: a step without a row does not.
                let _ = tokio::time::timeout(Duration::from_millis(20), bell.rung()).await;
            }
        });
        let in_time = waited.await.is_ok();
        assert!(in_time, "{what}: not within {DEADLINE:?}; {}", self.story().await);
    }

    /// What happened in the room, for a failed test.
    pub(crate) async fn story(&self) -> String {
        let mut lines = vec![format!("floor {:?}", self.floor().await)];
        lines.extend(self.items().await.iter().map(|i| format!("{} {:?} {}: {}", i.seq, i.kind, i.author, i.text)));
        lines.extend(self.decisions().await.iter().map(|d| format!("{} {} {} {:?} {:?}", d.n, d.what, d.why, d.obligations, d.lines)));
        lines.extend(self.rows().await.iter().map(|r| format!("row {} {} {:?} {:?}", r.dedupe, r.kind, r.state, r.reason)));
        lines.join("\n")
    }

    pub(crate) async fn floor(&self) -> Option<View> {
        patient(|| self.reader.floor(self.stream)).await.map(|f| serde_json::from_str(f.view.get()).unwrap())
    }

    pub(crate) async fn items(&self) -> Vec<LedgerItem> {
        patient(|| self.reader.items(self.stream, Page::Last, 500)).await
    }

    pub(crate) async fn decisions(&self) -> Vec<DecisionRow> {
        patient(|| self.reader.decisions(self.stream, Page::Last, 500)).await
    }

    pub(crate) async fn rows(&self) -> Vec<OutboxRow> {
        patient(|| self.reader.rows(self.stream, Page::Last, 500)).await
    }

    /// Texts of our own posts, in order.
    pub(crate) async fn posts(&self) -> Vec<String> {
        let own = |i: &LedgerItem| i.author_kind == AuthorKind::Own && i.kind == ItemKind::Message;
        self.items().await.into_iter().filter(own).map(|i| i.text).collect()
    }

    /// Our own reactions: the emoji and the seq that it is on.
    pub(crate) async fn reactions(&self) -> Vec<(String, i64)> {
        let own = |i: &LedgerItem| i.author_kind == AuthorKind::Own && i.kind == ItemKind::Reaction;
        self.items().await.into_iter().filter(own).map(|i| (i.text, i.of_seq.unwrap_or(0))).collect()
    }

    /// How often something was decided, by the codes of what and why; an empty why is any.
    pub(crate) async fn decided(&self, what: &str, why: &str) -> usize {
        self.decisions().await.iter().filter(|d| d.what == what && (why.is_empty() || d.why == why)).count()
    }

    pub(crate) async fn until_decided(&self, what: &str, why: &str) {
        self.until(&format!("{what} ({why})"), async |r| r.decided(what, why).await > 0).await;
    }

    pub(crate) async fn until_posts(&self, n: usize) -> Vec<String> {
        self.until(&format!("{n} posts"), async |r| r.posts().await.len() >= n).await;
        self.settled().await;
        self.posts().await
    }

    /// Waits until nothing is under way: no draft, no row, nothing owed, and the actor has read everything.
    pub(crate) async fn settled(&self) {
        self.until("nothing is owed or under way", async |r| {
            let head = r.items().await.last().map_or(0, |i| i.seq);
            r.floor().await.is_some_and(|v| v.obligations.is_empty() && v.effect.is_none() && v.cursor >= u64::try_from(head).unwrap())
        })
        .await;
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Repeats a read that fails only because the database was away: each connection from before notices that once.
async fn patient<T, F: Future<Output = Result<T, LedgerError>>>(read: impl Fn() -> F) -> T {
    for _ in 0..20 {
        match read().await {
            Err(error) if error.is_transient() => {}
            done => return done.unwrap(),
        }
    }
    read().await.unwrap()
}

pub(crate) fn member(id: &str, name: &str) -> Member {
    Member { id: id.into(), name: name.into(), aliases: Vec::new() }
}

fn texts() -> RoomTexts {
    let persona = |name: &str| PersonaText {
        name: name.into(),
        identity: format!("{name} keeps the kiln."),
        voice: "Dry and short.".into(),
        model: ModelRef { provider: "held".into(), name: "by-hand".into(), ..ModelRef::default() },
        context_tokens: 24_000,
    };
    let personas = [("wren", "Wren"), ("moss", "Moss")];
    RoomTexts { rules: "No shop talk after ten.".into(), personas: personas.map(|(id, name)| (id.to_owned(), persona(name))).into() }
}

/// A room that only records.
pub(crate) fn shadow(policy: &mut Policy) {
    policy.mode = Mode::Shadow;
}
