//! What one person says in several lines is one thing that is owed.

use super::support::room::Rig;

async fn five_lines_get_one_reply(lines: [&str; 5]) {
    let rig = Rig::new().await;
    let mut said = Vec::new();
    for line in lines {
        said.push(rig.say("ada", line).await.seq);
        rig.advance(400).await;
    }
    assert!(rig.models.is_idle().await, "no draft begins while they go on");
    rig.advance(2_500).await;
    let draft = rig.models.next().await;
    assert_eq!(draft.call.owed.len(), 1);
    assert_eq!(draft.call.owed[0].lines, said);
    for line in lines {
        assert!(draft.room_text().contains(line), "the draft should have seen {line:?}");
    }
    draft.reply("Open it below 80.");
    rig.advance(10_000).await;
    assert_eq!(rig.until_posts(1).await, ["Open it below 80."]);
    rig.advance(600_000).await;
    rig.settled().await;
    assert_eq!(rig.decided("drafting", "").await, 1);
    assert!(rig.models.is_idle().await);
}

#[tokio::test]
async fn five_lines_in_two_seconds_get_one_reply_after_they_stopped() {
    five_lines_get_one_reply([
        "wren, are you there?",
        "wren, the kiln is at 120",
        "wren, and it rained all night",
        "wren, the shelves are wet",
        "wren, can I open it?",
    ])
    .await;
}

#[tokio::test]
async fn five_lines_of_which_only_the_first_names_the_persona_get_one_reply() {
    five_lines_get_one_reply([
        "wren, are you there?",
        "the kiln is at 120",
        "and it rained all night",
        "the shelves are wet",
        "can I open it?",
    ])
    .await;
}

#[tokio::test]
async fn a_question_in_two_halves_gets_one_reply_that_saw_both() {
    let rig = Rig::new().await;
    let first = rig.say("ada", "wren, how long do I soak").await;
    rig.advance(1_500).await;
    let second = rig.say("ada", "at cone six with wet shelves?").await;
    rig.advance(1_500).await;
    assert!(rig.models.is_idle().await, "the second half began the wait anew");
    rig.advance(1_000).await;
    let draft = rig.models.next().await;
    assert_eq!(draft.call.owed[0].lines, [first.seq, second.seq]);
    assert!(draft.room_text().contains("how long do I soak") && draft.room_text().contains("wet shelves"));
    draft.reply("Twenty minutes, and dry them first.");
    rig.advance(10_000).await;
    assert_eq!(rig.until_posts(1).await.len(), 1);
    assert_eq!(rig.decided("drafting", "").await, 1);
}

#[tokio::test]
async fn a_second_half_during_the_draft_starts_it_again_with_both() {
    let rig = Rig::new().await;
    rig.say("ada", "wren, how long do I soak").await;
    rig.advance(2_500).await;
    let early = rig.models.next().await;
    assert!(!early.room_text().contains("wet shelves"));
    rig.say("ada", "at cone six with wet shelves?").await;
    early.dropped().await;
    rig.advance(2_500).await;
    let draft = rig.models.next().await;
    assert!(draft.room_text().contains("wet shelves"));
    draft.reply("Twenty minutes, and dry them first.");
    rig.advance(10_000).await;
    assert_eq!(rig.until_posts(1).await, ["Twenty minutes, and dry them first."]);
}
