//! The sender ends at each of its numbered points: the row is posted once, and what came after it still follows.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parlor::{
    gateway::{CrashPoint, SenderOptions},
    ledger::RowState,
    ports::ModelAct,
};
use parlor_core::DraftAct;

use super::support::room::Rig;

/// A lease that a test can wait for; the database counts it in real time.
const SHORT: SenderOptions = SenderOptions { lease: Duration::from_millis(300), poll: Duration::from_millis(100) };

async fn crash_and_go_on(point: CrashPoint, act: DraftAct) -> Rig {
    let mut rig = Rig::new().await;
    rig.stop_sender();
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    let draft = rig.models.next().await;
    let settles = draft.offered();
    draft.act(ModelAct { act, settles });
    rig.advance(10_000).await;
    rig.until("the row waits", async |r| r.rows().await.len() == 1).await;

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
async fn an_end_before_the_claim_posts_once() {
    one_post(CrashPoint::BeforeClaim).await;
}

#[tokio::test]
async fn an_end_after_the_claim_posts_once() {
    one_post(CrashPoint::Claimed).await;
}

#[tokio::test]
async fn an_end_after_the_post_posts_once() {
    one_post(CrashPoint::Posted).await;
}

#[tokio::test]
async fn an_end_after_the_settle_posts_once() {
    one_post(CrashPoint::Settled).await;
}

#[tokio::test]
async fn an_end_at_any_point_reacts_once() {
    for point in CrashPoint::ALL {
        one_reaction(point).await;
    }
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
