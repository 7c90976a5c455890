//! A mute holds from its commit on, and what was begun before it is not said after it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use parlor::{
    gateway::{CrashPoint, SenderOptions},
    ledger::RowState,
    ports::Silence,
};

use super::support::{
    postgres::TestDb,
    room::{Rig, shadow},
    steps::{post, submit},
};

#[tokio::test]
async fn a_mute_while_a_draft_is_written_ends_it_and_one_decision_is_taken_at_the_unmute() {
    let mut rig = Rig::new().await;
    rig.say("ada", "wren, which clay for a big bowl?").await;
    rig.say("bob", "wren, which glaze on porcelain?").await;
    rig.advance(2_500).await;
    let before = rig.models.next().await;
    rig.mute(true).await;
    before.dropped().await;
    rig.say("ada", "wren, are you there?").await;
    rig.advance(120_000).await;
    assert!(rig.models.is_idle().await && rig.rows().await.is_empty(), "nothing is drafted or said while muted");
    rig.mute(false).await;
    let after = rig.models.next().await;
    assert_eq!(after.call.owed.len(), 2, "one decision on all that is open");
    after.reply("Ada, grogged stoneware. Bob, celadon.");
    rig.advance(30_000).await;
    assert_eq!(rig.until_posts(1).await.len(), 1);
    rig.advance(600_000).await;
    rig.settled().await;
    assert_eq!(rig.posts().await.len(), 1, "at most one post for what came before the unmute");
}

#[tokio::test]
async fn a_mute_while_a_row_waits_refuses_it_for_good() {
    let mut rig = Rig::new().await;
    rig.stop_sender();
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    rig.models.next().await.reply("Cone six.");
    rig.advance(10_000).await;
    rig.until("the row waits", async |r| r.rows().await.first().is_some_and(|row| row.state == RowState::Queued)).await;
    rig.mute(true).await;
    rig.start_sender();
    rig.until("the row is refused", async |r| r.rows().await[0].state == RowState::Refused).await;
    rig.until_decided("reopened", "muted").await;
    rig.advance(60_000).await;
    assert!(rig.models.is_idle().await && rig.posts().await.is_empty());
    rig.mute(false).await;
    let after = rig.models.next().await;
    assert!(rig.posts().await.is_empty(), "what waited is not posted at the unmute");
    after.reply("Six, still.");
    rig.advance(30_000).await;
    assert_eq!(rig.until_posts(1).await, ["Six, still."]);
}

#[tokio::test]
async fn a_mute_from_the_chat_hushes_the_room_as_one_from_its_resource_does() {
    let rig = Rig::new().await;
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    let draft = rig.models.next().await;
    rig.ledger.mouth().chat_mute(rig.stream, "owner", "class is on", None).await.unwrap();
    rig.ring();
    draft.dropped().await;
    rig.until_decided("hushed", "muted").await;
    rig.admin.lift_chat_mutes(rig.stream).await.unwrap();
    rig.ring();
    rig.models.next().await.reply("Cone six.");
    rig.advance(30_000).await;
    assert_eq!(rig.until_posts(1).await, ["Cone six."]);
}

#[tokio::test]
async fn a_room_without_a_readable_policy_is_silent() {
    let rig = Rig::new().await;
    let row = parlor::ledger::PolicyRow {
        muted: false,
        mode: parlor_core::Mode::Active,
        stopped: false,
        value: serde_json::json!({"members": "everybody"}),
    };
    rig.admin.set_policy(rig.stream, &row).await.unwrap();
    rig.ring();
    rig.until_decided("hushed", "muted").await;
    rig.say("ada", "wren, are you there?").await;
    rig.advance(60_000).await;
    rig.advance(600_000).await;
    assert!(rig.models.is_idle().await && rig.rows().await.is_empty());
}

#[tokio::test]
async fn of_a_long_post_nothing_leaves_any_more_once_a_mute_has_come_between_its_parts() {
    for by_chat in [false, true] {
        let mut rig = Rig::silent(TestDb::new().await, |_| {}).await;
        let session = rig.ledger.begin(rig.stream).await;
        let parts = (1..=4).map(|k| post(&format!("1.0.{k}"), &format!("part {k}"))).collect();
        session.step(&submit(1, parts)).await.unwrap();
        // The mouth is held after the second part.
        let posted = AtomicUsize::new(0);
        let hold = move |at| at == CrashPoint::Posted && posted.fetch_add(1, Ordering::SeqCst) == 1;
        rig.serve(&rig.sender(SenderOptions::default()).with_crash_hook(Arc::new(hold)));
        rig.until("two parts are out", async |r| r.posts().await.len() == 2).await;
        if by_chat {
            assert_eq!(rig.ledger.mouth().chat_mute(rig.stream, "owner", "", None).await.unwrap(), 2);
        } else {
            rig.policy.muted = true;
            rig.write_policy().await;
        }
        rig.start_sender();
        let reasons = async |r: &Rig| r.rows().await.into_iter().map(|row| (row.state, row.reason)).collect::<Vec<_>>();
        assert!(reasons(&rig).await[2..].iter().all(|row| *row == (RowState::Refused, Some("muted".into()))), "{by_chat}");
        rig.policy.muted = false;
        rig.write_policy().await;
        rig.admin.lift_chat_mutes(rig.stream).await.unwrap();
        // What is said after the unmute leaves; what was refused does not.
        session.step(&submit(2, vec![post("2.0", "after")])).await.unwrap();
        rig.ring();
        rig.until("what came after is out", async |r| r.posts().await.len() == 3).await;
        assert_eq!(rig.posts().await, ["part 1", "part 2", "after"]);
        assert_eq!(rig.db.number("select count(*) from parlor.outbox where fence > 0").await, 3);
    }
}

#[tokio::test]
async fn a_policy_that_makes_no_sense_silences_what_waits_too_and_says_so() {
    let wrong = [
        ("delete from parlor.policy", Silence::NoPolicy),
        ("update parlor.policy set value = '\"anything\"'", Silence::UnreadablePolicy),
        (r#"update parlor.policy set value = value || '{"gate": "Oracle"}'"#, Silence::UnreadablePolicy),
        (r#"update parlor.policy set value = value || '{"audience": "Friends"}'"#, Silence::UnreadablePolicy),
        (r#"update parlor.policy set value = value || '{"members": 5}'"#, Silence::UnreadablePolicy),
        (r#"update parlor.policy set value = value || '{"fail_mode": "Loud"}'"#, Silence::UnreadablePolicy),
        ("update parlor.policy set mode = 'Whisper'", Silence::UnreadablePolicy),
        ("update parlor.controller_lease set valid_until_ms = 0", Silence::NoController),
    ];
    for (sql, silence) in wrong {
        let mut rig = Rig::new().await;
        // A newer schema may know more words.
        rig.db.sql("alter table parlor.policy drop constraint policy_mode_check").await.unwrap();
        rig.stop_sender();
        rig.say("ada", "wren, which cone for stoneware?").await;
        rig.advance(2_500).await;
        rig.models.next().await.reply("Cone six.");
        rig.advance(10_000).await;
        rig.until("the row waits", async |r| r.rows().await.first().is_some_and(|row| row.state == RowState::Queued)).await;
        rig.db.sql(sql).await.unwrap();
        assert_eq!(rig.reader.hush(rig.stream).await.unwrap().why, Some(silence), "{sql}");
        for _ in 0..20 {
            assert_eq!(rig.ledger.mouth().speak(rig.stream, &[].into(), 0).await.unwrap(), None, "{sql}");
            assert_eq!(rig.ledger.mouth().claim(&[rig.stream], std::time::Duration::from_secs(1)).await.unwrap(), None, "{sql}");
        }
        assert!(rig.posts().await.is_empty(), "{sql}");
        // What waited was not lost by it.
        rig.admin.renew_lease("the test", i64::MAX).await.unwrap();
        rig.write_policy().await;
        rig.start_sender();
        rig.until("it is posted", async |r| r.posts().await == ["Cone six."]).await;
        assert_eq!(rig.reader.hush(rig.stream).await.unwrap(), parlor::ports::Hush::default());
    }
}

#[tokio::test]
async fn every_word_that_a_policy_may_hold_is_known_to_the_ledger() {
    let db = TestDb::new().await;
    for gate in parlor_core::GateKind::ALL {
        let policy = parlor_core::Policy { gate: *gate, ..parlor_core::Policy::new(Vec::new()) };
        known(&db, &policy).await;
    }
    for audience in
        [parlor_core::Audience::Public, parlor_core::Audience::Room, parlor_core::Audience::Direct, parlor_core::Audience::Operator]
    {
        known(&db, &parlor_core::Policy { audience, ..parlor_core::Policy::new(Vec::new()) }).await;
    }
}

async fn known(db: &TestDb, policy: &parlor_core::Policy) {
    let value = serde_json::to_string(policy).unwrap();
    let reads = format!("select parlor.policy_reads('Active', '{value}')::int::bigint");
    assert_eq!(db.number(&reads).await, 1, "{value}");
}

#[tokio::test]
async fn in_shadow_the_room_drafts_and_records_and_nothing_is_posted() {
    let rig = Rig::with(shadow).await;
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    rig.models.next().await.reply("Cone six.");
    rig.advance(10_000).await;
    rig.until_decided("settled", "shadow_settled").await;
    rig.settled().await;
    let rows = rig.rows().await;
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].state, rows[0].body.as_deref()), (RowState::Shadow, Some("Cone six.")));
    assert!(rig.posts().await.is_empty());
}
