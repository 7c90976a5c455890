//! What was said before is in the prompt, whoever was awake when it was said.

use parlor::ledger::NewJob;

use super::support::room::Rig;

const FIRST: &str = "Cone six, about 1222 degrees.";

/// A first question and its reply.
async fn answered() -> Rig {
    let rig = Rig::new().await;
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    rig.models.next().await.reply(FIRST);
    rig.advance(10_000).await;
    rig.until_posts(1).await;
    rig
}

/// A second question that makes no sense without the first reply.
async fn second_question_sees_it(rig: &Rig, first: &str) {
    rig.advance(30_000).await;
    rig.say("ada", "wren, and how long do I hold it there?").await;
    rig.advance(2_500).await;
    let draft = rig.models.next().await;
    let own = draft.items().find(|i| i.text == first).expect("the earlier post is in the prompt");
    assert_eq!((own.author.as_str(), own.name.as_str(), own.kind.as_str()), ("wren", "Wren", "message"));
    draft.reply("Twenty minutes.");
    rig.advance(10_000).await;
    assert_eq!(rig.until_posts(2).await.last().unwrap(), "Twenty minutes.");
}

#[tokio::test]
async fn a_second_question_sees_the_first_reply() {
    second_question_sees_it(&answered().await, FIRST).await;
}

#[tokio::test]
async fn a_second_question_sees_the_first_reply_after_a_restart() {
    let mut rig = answered().await;
    rig.stop_actor().await;
    rig.start_actor();
    second_question_sees_it(&rig, FIRST).await;
}

#[tokio::test]
async fn a_second_question_sees_the_first_reply_after_the_actor_was_replaced_without_a_stop() {
    let mut rig = answered().await;
    rig.replace_actor().await;
    second_question_sees_it(&rig, FIRST).await;
}

#[tokio::test]
async fn a_second_question_sees_what_a_reminder_posted() {
    let rig = Rig::new().await;
    let reminder = "Ada, the kiln is due at nine.";
    let job = NewJob { dedupe: "remind-ada".into(), due_ms: 0, expires_ms: i64::MAX, persona: "wren".into(), text: reminder.into() };
    rig.admin.announce(rig.stream, &job).await.unwrap();
    rig.ring();
    assert_eq!(rig.until_posts(1).await, [reminder]);
    assert!(rig.models.is_idle().await, "a reminder is said as it was written, without a model");
    second_question_sees_it(&rig, reminder).await;
}

#[tokio::test]
async fn the_prompt_grows_only_at_its_end() {
    let rig = answered().await;
    rig.advance(30_000).await;
    rig.say("ada", "wren, is it raining?").await;
    rig.advance(2_500).await;
    let second = rig.models.next().await;
    let before = (second.call.system.clone(), second.call.reads.clone());
    second.reply("Not here.");
    rig.advance(10_000).await;
    rig.until_posts(2).await;
    rig.advance(30_000).await;
    rig.say("ada", "wren, and tomorrow?").await;
    rig.advance(2_500).await;
    let third = rig.models.next().await;
    assert_eq!(third.call.system, before.0);
    assert_eq!(third.call.reads[..before.1.len()], before.1, "the reads of the call before are repeated as they were");
    assert_eq!(third.call.reads.len(), before.1.len() + 1);
    third.pass("I do not know");
    rig.settled().await;
}

/// Two lines, of which only the second names the persona.
async fn both_are_read(rig: &Rig) {
    let draft = rig.models.next().await;
    let text = draft.room_text();
    let (plain, named) = (text.find("the shelf cracked again"), text.find("what would you do?"));
    assert!(plain.is_some() && plain < named, "both lines, in order: {text}");
    draft.reply("Flip it.");
    rig.advance(10_000).await;
    assert_eq!(rig.until_posts(1).await, ["Flip it."]);
}

#[tokio::test]
async fn a_line_without_a_mention_is_read_with_the_one_that_has_it() {
    let rig = Rig::new().await;
    rig.say("ada", "the shelf cracked again").await;
    rig.advance(40_000).await;
    rig.say("bob", "wren, what would you do?").await;
    rig.advance(2_500).await;
    both_are_read(&rig).await;
}

#[tokio::test]
async fn a_line_without_a_mention_is_read_with_the_one_that_has_it_after_a_restart_alike() {
    let mut rig = Rig::new().await;
    rig.stop_actor().await;
    rig.say("ada", "the shelf cracked again").await;
    rig.advance(40_000).await;
    rig.say("bob", "wren, what would you do?").await;
    rig.start_actor();
    rig.advance(2_500).await;
    both_are_read(&rig).await;
}

#[tokio::test]
async fn a_question_heard_by_a_boot_that_ended_is_answered_by_the_next() {
    let mut rig = Rig::new().await;
    rig.say("ada", "the shelf cracked again").await;
    rig.advance(40_000).await;
    rig.say("bob", "wren, what would you do?").await;
    rig.replace_actor().await;
    rig.advance(2_500).await;
    both_are_read(&rig).await;
}
