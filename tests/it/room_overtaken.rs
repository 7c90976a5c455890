//! What happens while a draft is written counts: nothing goes out that the room has overtaken.

use parlor_core::DraftAct;

use super::support::{models::Held, room::Rig};

/// Asks, and lets the draft begin.
async fn asked(rig: &Rig, text: &str) -> (parlor::ports::Posted, Held) {
    let line = rig.say("ada", text).await;
    rig.advance(2_500).await;
    (line, rig.models.next().await)
}

#[tokio::test]
async fn three_answers_while_the_draft_is_written_make_it_a_reaction() {
    let rig = Rig::new().await;
    rig.say("bob", "morning all").await;
    rig.advance(60_000).await;
    let (line, draft) = asked(&rig, "wren, what is the cone for stoneware?").await;
    let first = rig.reply("bob", &line, "cone six").await;
    rig.reply("cleo", &line, "six, yes").await;
    rig.reply("dan", &line, "six").await;
    draft.reply("Cone six.");
    rig.advance(30_000).await;
    let again = rig.models.next().await;
    assert_eq!(again.call.owed[0].answered_by, Some(first.seq), "the second draft is told that a person answered");
    let settles = again.offered();
    again.act(parlor::ports::ModelAct { act: DraftAct::React { emoji: "👍".into() }, settles });
    rig.until("a reaction", async |r| r.reactions().await.len() == 1).await;
    rig.settled().await;
    assert!(rig.posts().await.is_empty(), "the answer is not repeated");
}

#[tokio::test]
async fn three_answers_to_a_room_question_while_the_draft_is_written_leave_a_reaction_on_the_first() {
    let rig = Rig::new().await;
    let line = rig.say("ada", "does anybody know the cone for stoneware?").await;
    rig.advance(30_000).await;
    rig.until_decided("opened", "asks_room").await;
    rig.advance(180_000).await;
    let draft = rig.models.next().await;
    assert_eq!(draft.call.owed[0].kind, "room_question");
    let first = rig.reply("bob", &line, "cone six").await;
    rig.reply("cleo", &line, "six, yes").await;
    rig.reply("dan", &line, "six").await;
    draft.reply("Cone six.");
    rig.advance(30_000).await;
    rig.until("a reaction", async |r| r.reactions().await.len() == 1).await;
    rig.settled().await;
    assert_eq!(rig.reactions().await, [("👍".to_owned(), i64::try_from(first.seq).unwrap())]);
    assert!(rig.posts().await.is_empty());
}

#[tokio::test]
async fn an_edit_from_70_to_17_during_the_draft_gets_the_reply_to_17() {
    let rig = Rig::new().await;
    let (line, early) = asked(&rig, "wren, is 70 enough for bisque?").await;
    rig.edit("ada", &line, "wren, is 17 enough for bisque?").await;
    early.dropped().await;
    rig.advance(2_500).await;
    let draft = rig.models.next().await;
    let edit = draft.items().last().unwrap();
    assert_eq!((edit.kind.as_str(), edit.text.as_str(), edit.of), ("edit", "wren, is 17 enough for bisque?", Some(line.seq)));
    draft.reply("17 is far too cold.");
    rig.advance(30_000).await;
    assert_eq!(rig.until_posts(1).await, ["17 is far too cold."]);
}

#[tokio::test]
async fn an_edit_of_a_finished_draft_gives_its_text_to_the_next_one() {
    let rig = Rig::new().await;
    let (line, early) = asked(&rig, "wren, is 70 enough for bisque?").await;
    early.reply("70 is fine.");
    rig.until("the draft waits for the end of the turn", async |r| {
        r.floor().await.is_some_and(|v| v.phase == parlor_core::Phase::Validating)
    })
    .await;
    rig.edit("ada", &line, "wren, is 17 enough for bisque?").await;
    rig.advance(2_500).await;
    let draft = rig.models.next().await;
    assert_eq!(draft.call.start.as_deref(), Some("70 is fine."));
    draft.reply("17 is far too cold.");
    rig.advance(30_000).await;
    assert_eq!(rig.until_posts(1).await, ["17 is far too cold."]);
}

#[tokio::test]
async fn a_deleted_question_gets_no_reply_and_is_shown_to_no_model() {
    let rig = Rig::new().await;
    let (line, draft) = asked(&rig, "wren, where did I leave the ledger key?").await;
    rig.delete("ada", &line).await;
    draft.dropped().await;
    rig.settled().await;
    rig.advance(120_000).await;
    rig.until_decided("withdrawn", "asker_deleted").await;
    assert!(rig.rows().await.is_empty() && rig.models.is_idle().await);
    let (_, later) = asked(&rig, "wren, is it raining?").await;
    assert!(!later.room_text().contains("ledger key"), "deleted text is never shown again");
    later.pass("nothing to say");
    rig.settled().await;
}

#[tokio::test]
async fn never_mind_gets_no_reply() {
    let rig = Rig::new().await;
    let (_, draft) = asked(&rig, "wren, how do I mix engobe?").await;
    rig.say("ada", "never mind").await;
    draft.dropped().await;
    rig.settled().await;
    rig.advance(120_000).await;
    rig.until_decided("withdrawn", "never_mind").await;
    assert!(rig.rows().await.is_empty() && rig.models.is_idle().await);
}
