//! Several people, one persona.

use parlor::ports::ModelAct;
use parlor_core::DraftAct;

use super::support::room::Rig;

#[tokio::test]
async fn two_people_who_ask_different_things_within_five_seconds_are_both_settled_by_one_post() {
    let rig = Rig::new().await;
    rig.say("ada", "wren, which clay for a big bowl?").await;
    rig.advance(2_000).await;
    rig.say("bob", "wren, which glaze on porcelain?").await;
    rig.advance(2_500).await;
    let first = rig.models.next().await;
    let draft = if first.call.owed.len() == 2 {
        first
    } else {
        first.pass("the other asked too");
        rig.models.next().await
    };
    let askers: Vec<&str> = draft.call.owed.iter().map(|o| o.asker.as_str()).collect();
    assert_eq!(askers, ["Ada", "Bob"]);
    draft.reply("Ada, grogged stoneware. Bob, celadon.");
    rig.advance(10_000).await;
    assert_eq!(rig.until_posts(1).await.len(), 1);
    assert_eq!(rig.decided("settled", "row_posted").await, 2);
}

#[tokio::test]
async fn what_a_draft_does_not_settle_gets_a_post_of_its_own() {
    let rig = Rig::new().await;
    rig.say("ada", "wren, which clay for a big bowl?").await;
    rig.say("bob", "wren, which glaze on porcelain?").await;
    rig.advance(2_500).await;
    let draft = rig.models.next().await;
    assert_eq!(draft.call.owed.len(), 2);
    let settles = draft.offered()[..1].to_vec();
    draft.act(ModelAct { act: DraftAct::Reply { text: "Ada, grogged stoneware.".into() }, settles });
    rig.advance(10_000).await;
    rig.until("the first post", async |r| r.posts().await.len() == 1).await;
    rig.advance(3_000).await;
    let second = rig.models.next().await;
    assert_eq!(second.call.owed.len(), 1);
    assert_eq!(second.call.owed[0].asker, "Bob");
    assert!(second.room_text().contains("Ada, grogged stoneware."), "its own first post is in the second prompt");
    second.reply("Bob, celadon.");
    rig.advance(10_000).await;
    assert_eq!(rig.until_posts(2).await, ["Ada, grogged stoneware.", "Bob, celadon."]);
}

#[tokio::test]
async fn everyone_is_no_direct_question_and_is_left_to_people() {
    let rig = Rig::new().await;
    let asked = rig.say("ada", "@everyone who took the long tongs?").await;
    rig.advance(30_000).await;
    rig.until_decided("opened", "asks_room").await;
    assert_eq!(rig.decided("opened", "typed_mention").await + rig.decided("opened", "name_opens").await, 0);
    rig.advance(60_000).await;
    rig.reply("bob", &asked, "they hang behind the door").await;
    rig.until_decided("answered", "person_answered").await;
    rig.advance(600_000).await;
    rig.settled().await;
    assert!(rig.models.is_idle().await && rig.rows().await.is_empty(), "somebody answered, so nothing is said or drafted");
}

#[tokio::test]
async fn a_room_question_that_nobody_answers_is_answered_after_the_rooms_wait() {
    let rig = Rig::new().await;
    rig.say("ada", "@everyone who took the long tongs?").await;
    rig.advance(30_000).await;
    rig.until_decided("opened", "asks_room").await;
    rig.advance(60_000).await;
    assert!(rig.models.is_idle().await, "people have their time first");
    rig.advance(45_000).await;
    let draft = rig.models.next().await;
    assert_eq!(draft.call.owed[0].kind, "room_question");
    draft.reply("Nobody said; I saw them by the door.");
    rig.advance(30_000).await;
    assert_eq!(rig.until_posts(1).await.len(), 1);
}
