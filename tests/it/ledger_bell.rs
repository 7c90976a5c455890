//! The bell: heard in a moment when all is well, made up for by the hub's own look when it is not.

use std::time::{Duration, Instant};

use futures::FutureExt;
use parlor::ledger::{Bell, Hub, HubOptions, NewJob, Ringer};
use secrecy::ExposeSecret;
use sqlx::{Connection, PgConnection};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::support::{
    postgres::TestDb,
    steps::{LATE, line, open_room},
};

/// Far longer than anything here takes.
const DEADLINE: Duration = Duration::from_secs(20);
const NEVER: Duration = Duration::from_hours(1);

struct Bells {
    db: TestDb,
    room: i64,
    tracker: TaskTracker,
    stop: CancellationToken,
    hub: Hub,
}

impl Bells {
    async fn start(poll: Duration) -> (Self, Bell) {
        let db = TestDb::new().await;
        let room = open_room(&db.ledger().admin(), "kiln").await;
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let hub = db.hub(HubOptions { poll }, &tracker, &stop);
        let mut bell = hub.subscribe(room);
        // It says once that it listens now.
        heard(&mut bell).await;
        (Self { db, room, tracker, stop, hub }, bell)
    }

    async fn end(self) {
        self.stop.cancel();
        self.tracker.close();
        tokio::time::timeout(DEADLINE, self.tracker.wait()).await.expect("the tasks of the bell do not end");
    }

    /// The ringer of another process, whose rings come through the database.
    fn ringer_elsewhere(&self) -> Ringer {
        let options = HubOptions { poll: NEVER };
        let hub = self.db.hub(options, &self.tracker, &self.stop);
        self.db.ringer(&hub, &self.tracker, &self.stop)
    }

    async fn bell_database(&self) -> PgConnection {
        let url = self.db.url.expose_secret().replace(&format!("/{}?", self.db.name), &format!("/{}_bell?", self.db.name));
        PgConnection::connect(&url).await.unwrap()
    }
}

async fn heard(bell: &mut Bell) {
    tokio::time::timeout(DEADLINE, bell.rung()).await.expect("the bell was not heard");
}

async fn silent(bell: &mut Bell) -> bool {
    tokio::time::timeout(Duration::from_millis(150), bell.rung()).await.is_err()
}

#[tokio::test]
async fn a_ring_is_heard_by_its_stream_alone_and_carries_nothing() {
    let (bells, mut bell) = Bells::start(NEVER).await;
    let ringer = bells.ringer_elsewhere();
    let other = open_room(&bells.db.ledger().admin(), "other").await;
    let mut others = bells.hub.subscribe(other);
    heard(&mut others).await;
    let mut fastest = NEVER;
    for _ in 0..20 {
        let rung = Instant::now();
        ringer.ring(bells.room);
        heard(&mut bell).await;
        fastest = fastest.min(rung.elapsed());
    }
    assert!(fastest < Duration::from_millis(20), "the fastest of 20 rings took {fastest:?}");
    assert!(silent(&mut others).await);
    // Not heard: the ledger's own database, and channels that are none.
    bells.db.sql(&format!("select pg_notify('s{}', '')", bells.room)).await.unwrap();
    let mut conn = bells.bell_database().await;
    sqlx::query("select pg_notify('sx', 'y'), pg_notify('other', '')").execute(&mut conn).await.unwrap();
    assert!(silent(&mut bell).await);
    // A forged one with a body is a ring like any.
    sqlx::query("select pg_notify('s' || $1, 'body')").bind(bells.room).execute(&mut conn).await.unwrap();
    heard(&mut bell).await;
    bells.end().await;
}

#[tokio::test]
async fn a_ring_is_heard_at_once_in_its_own_process_once_and_by_every_other() {
    let (bells, mut bell) = Bells::start(NEVER).await;
    let options = HubOptions { poll: NEVER };
    let elsewhere = bells.db.hub(options, &bells.tracker, &bells.stop);
    let mut others = elsewhere.subscribe(bells.room);
    heard(&mut others).await;
    let ringer = bells.db.ringer(&bells.hub, &bells.tracker, &bells.stop);
    for _ in 0..3 {
        ringer.ring(bells.room);
        assert!(bell.rung().now_or_never().is_some(), "a ring of the own process is there when the call ends");
        heard(&mut others).await;
        assert!(silent(&mut bell).await, "its notification is no second ring");
    }
    // Without a bell database nobody else is reached, and the own process is as before.
    bells.db.sql(&format!("alter database {}_bell allow_connections false", bells.db.name)).await.unwrap();
    bells.db.sql("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() || '_bell'").await.unwrap();
    ringer.ring(bells.room);
    assert!(bell.rung().now_or_never().is_some());
    bells.end().await;
}

#[tokio::test]
async fn what_nobody_rang_for_is_found_by_looking() {
    let (bells, mut bell) = Bells::start(Duration::from_millis(30)).await;
    let ledger = bells.db.ledger();
    // The first look rings for what it finds.
    heard(&mut bell).await;
    assert!(silent(&mut bell).await, "it rings though nothing happened");
    ledger.ear().ingest(&[line(bells.room, "a", "ada", "hi")]).await.unwrap();
    heard(&mut bell).await;
    ledger.mouth().chat_mute(bells.room, "owner", "", None).await.unwrap();
    heard(&mut bell).await;
    let job = NewJob { dedupe: "tea".into(), due_ms: LATE - 1, expires_ms: LATE, persona: "wren".into(), text: "tea?".into() };
    ledger.admin().announce(bells.room, &job).await.unwrap();
    assert!(silent(&mut bell).await, "it rings for a job that is not due");
    bells.db.sql("update parlor.job set due_ms = 1").await.unwrap();
    heard(&mut bell).await;
    assert!(silent(&mut bell).await);
    bells.end().await;
}

#[tokio::test]
async fn a_hub_that_lost_its_connection_listens_again_by_itself() {
    let (bells, mut bell) = Bells::start(NEVER).await;
    let mut conn = bells.bell_database().await;
    let ended: bool = sqlx::query_scalar(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'parlor-hub' and datname = current_database()",
    )
    .fetch_one(&mut conn)
    .await
    .unwrap();
    assert!(ended);
    // That it listens again is a ring too, since something may have been missed.
    heard(&mut bell).await;
    bells.ringer_elsewhere().ring(bells.room);
    heard(&mut bell).await;
    bells.end().await;
}
