//! The sender ends at each of its numbered points: the row is posted once, and what came after it still follows.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parlor::{
    gateway::{ConsoleRoom, CrashPoint, SenderOptions},
    ledger::RowState,
    ports::ModelAct,
};
use parlor_core::DraftAct;
use secrecy::ExposeSecret;
use sqlx::{Connection, PgConnection};

use super::support::{room::Rig, steps::line};

/// Looks often, for what rings no bell.
const SHORT: SenderOptions = SenderOptions { poll: Duration::from_millis(100) };

/// A room with one row in its outbox and nobody who posts it.
async fn one_row(act: DraftAct) -> Rig {
    let rig = Rig::new().await;
    rig.stop_sender();
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    let draft = rig.models.next().await;
    let settles = draft.offered();
    draft.act(ModelAct { act, settles });
    rig.advance(10_000).await;
    rig.until("the row waits", async |r| r.rows().await.len() == 1).await;
    rig
}

async fn crash_and_go_on(point: CrashPoint, act: DraftAct) -> Rig {
    let mut rig = one_row(act).await;

    let crashed = Arc::new(AtomicBool::new(false));
    let hook = {
        let crashed = Arc::clone(&crashed);
        Arc::new(move |at| at == point && !crashed.swap(true, Ordering::SeqCst))
    };
    rig.serve(&rig.sender(SHORT).with_crash_hook(hook));
    rig.until("the sender has ended", async |_| crashed.load(Ordering::SeqCst)).await;
    rig.serve(&rig.sender(SHORT));
    rig.until("the row is done", async |r| matches!(r.rows().await[0].state, RowState::Done | RowState::Sent)).await;
    rig.settled().await;
    rig
}

async fn one_post(point: CrashPoint) {
    let rig = crash_and_go_on(point, DraftAct::Reply { text: "Cone six.".into() }).await;
    rig.advance(60_000).await;
    rig.say("ada", "wren, and how long?").await;
    rig.advance(2_500).await;
    rig.models.next().await.reply("Twenty minutes.");
    rig.advance(10_000).await;
    assert_eq!(rig.until_posts(2).await, ["Cone six.", "Twenty minutes."], "{point:?}");
    assert_eq!(rig.rows().await.len(), 2);
}

async fn one_reaction(point: CrashPoint) {
    let rig = crash_and_go_on(point, DraftAct::React { emoji: "🔥".into() }).await;
    assert_eq!(rig.reactions().await, [("🔥".to_owned(), 1)], "{point:?}");
}

#[tokio::test]
async fn an_end_before_the_post_posts_once() {
    one_post(CrashPoint::BeforePost).await;
}

#[tokio::test]
async fn an_end_after_the_post_posts_once() {
    one_post(CrashPoint::Posted).await;
}

#[tokio::test]
async fn an_end_at_any_point_reacts_once() {
    for point in CrashPoint::ALL {
        one_reaction(point).await;
    }
}

/// Backends that work on a post and wait for a lock.
async fn posts_held_up(rig: &Rig) -> i64 {
    let held = "from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%api.speak%'";
    rig.db.number(&format!("select count(*) {held}")).await
}

#[tokio::test]
async fn a_server_process_that_dies_in_the_middle_of_a_post_leaves_the_row_as_it_was() {
    let mut rig = one_row(DraftAct::Reply { text: "Cone six.".into() }).await;
    let mut conn = PgConnection::connect(rig.db.url.expose_secret()).await.unwrap();
    let mut other = conn.begin().await.unwrap();
    sqlx::query("select from parlor.outbox for update").execute(&mut *other).await.unwrap();
    rig.start_sender();
    // It has locked policy and head by then, and waits for the row.
    rig.until("the post is under way", async |r| posts_held_up(r).await == 1).await;
    let ended = "select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and query like '%api.speak%' \
                 and datname = current_database()";
    rig.db.sql(ended).await.unwrap();
    rig.until("it is tried again", async |r| posts_held_up(r).await == 1).await;
    assert_eq!((rig.posts().await.len(), rig.rows().await[0].state), (0, RowState::Queued));
    other.rollback().await.unwrap();
    assert_eq!(rig.until_posts(1).await, ["Cone six."]);
    assert_eq!(rig.db.number("select fence from parlor.outbox").await, 1, "of the claim that died nothing is left");
}

#[tokio::test]
async fn a_mute_between_the_act_and_the_post_posts_nothing() {
    let mut rig = one_row(DraftAct::Reply { text: "Cone six.".into() }).await;
    let mut conn = PgConnection::connect(rig.ledger.gateway.url().expose_secret()).await.unwrap();
    let mut mute = conn.begin().await.unwrap();
    sqlx::query("select api.chat_mute($1, 'owner', '', null)").bind(rig.stream).execute(&mut *mute).await.unwrap();
    rig.start_sender();
    rig.until("the post is under way", async |r| posts_held_up(r).await == 1).await;
    mute.commit().await.unwrap();
    rig.until("the row is refused", async |r| r.rows().await[0].state == RowState::Refused).await;
    rig.advance(60_000).await;
    assert!(rig.posts().await.is_empty());
    assert_eq!(rig.rows().await[0].reason.as_deref(), Some("muted"));
}

#[tokio::test]
async fn a_row_that_a_lost_gateway_had_claimed_is_posted_once_when_its_lease_is_over() {
    for was_posted in [false, true] {
        let mut rig = one_row(DraftAct::Reply { text: "Cone six.".into() }).await;
        let row = rig.ledger.mouth().claim(&[rig.stream], Duration::from_millis(1)).await.unwrap().unwrap();
        if was_posted {
            // As an item that nobody has linked with its row.
            let item = parlor::ledger::NewItem {
                author: "wren".into(),
                author_kind: parlor_core::AuthorKind::Own,
                outbox_n: None,
                ..line(rig.stream, &row.nonce, "wren", "Cone six.")
            };
            rig.ledger.ear().ingest(&[item]).await.unwrap();
        }
        rig.serve(&rig.sender(SHORT));
        rig.until("the row is done", async |r| r.rows().await[0].state == RowState::Done).await;
        assert_eq!(rig.until_posts(1).await, ["Cone six."], "posted before: {was_posted}");
    }
}

#[tokio::test]
async fn a_row_that_cannot_be_stored_is_refused() {
    let mut rig = one_row(DraftAct::Reply { text: "Cone six.".into() }).await;
    let name = "W".repeat(1_100);
    rig.rooms.put("kiln", ConsoleRoom { stream: rig.stream, personas: [("wren".to_owned(), name)].into(), only: None });
    rig.start_sender();
    rig.until("the row is refused", async |r| r.rows().await[0].state == RowState::Refused).await;
    assert_eq!(rig.rows().await[0].reason.as_deref(), Some("not_storable"));
    assert!(rig.posts().await.is_empty());
}

#[tokio::test]
async fn two_senders_of_one_room_keep_the_order_and_post_once() {
    let mut rig = Rig::new().await;
    rig.stop_sender();
    let jobs = 12;
    for i in 0..jobs {
        let job = parlor::ledger::NewJob {
            dedupe: format!("job-{i:02}"),
            due_ms: i64::from(i) + 1,
            expires_ms: i64::MAX,
            persona: "wren".into(),
            text: format!("kiln log entry number {i:02}, cone {}", i * 7 + 3),
        };
        rig.admin.announce(rig.stream, &job).await.unwrap();
    }
    rig.serve(&rig.sender(SHORT));
    rig.serve(&rig.sender(SHORT));
    for posted in 1..=jobs {
        rig.until("the next post", async |r| r.posts().await.len() == usize::try_from(posted).unwrap()).await;
        rig.advance(3_000).await;
    }
    rig.settled().await;
    let said: Vec<String> = (0..jobs).map(|i| format!("kiln log entry number {i:02}, cone {}", i * 7 + 3)).collect();
    assert_eq!(rig.posts().await, said);
}

#[tokio::test]
async fn a_post_whose_target_was_deleted_meanwhile_is_refused() {
    let mut rig = Rig::new().await;
    rig.stop_sender();
    let line = rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    rig.models.next().await.reply("Cone six.");
    rig.advance(10_000).await;
    rig.until("the row waits", async |r| r.rows().await.len() == 1).await;
    rig.stop_actor().await;
    rig.delete("ada", &line).await;
    rig.start_sender();
    rig.until("the row is refused", async |r| r.rows().await[0].state == RowState::Refused).await;
    assert_eq!(rig.rows().await[0].reason.as_deref(), Some("target_gone"));
    assert!(rig.posts().await.is_empty());
    rig.start_actor();
    rig.advance(600_000).await;
    rig.settled().await;
    assert!(rig.posts().await.is_empty() && rig.models.is_idle().await);
}
