//! A mute holds from its commit on, and what was begun before it is not said after it.

use parlor::ledger::RowState;

use super::support::room::{Rig, shadow};

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
