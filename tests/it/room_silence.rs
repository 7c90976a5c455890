//! Nothing leaks: what is no act is never posted, and what cannot be answered is declined where the owner sees it.

use parlor_core::{Failure, ObligationState};

use super::support::{models::Held, room::Rig};

async fn asked(rig: &Rig) -> Held {
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    rig.models.next().await
}

/// Ends three drafts in a way that is no act; each time the question stays owed, and the third time it is declined.
async fn nothing_leaks(end: impl AsyncFn(&Rig, Held), why: &str) {
    let rig = Rig::new().await;
    let mut draft = asked(&rig).await;
    for (failures, wait) in [(1, 10_000), (2, 30_000)] {
        end(&rig, draft).await;
        rig.until("the failure is recorded", async |r| r.decided("retrying", why).await == failures).await;
        rig.until("the question is owed still", async |r| {
            r.floor().await.is_some_and(|v| v.obligations.len() == 1 && v.obligations[0].state == ObligationState::Open)
        })
        .await;
        rig.advance(wait - 1_000).await;
        assert!(rig.models.is_idle().await, "the next try waits");
        rig.advance(1_000).await;
        draft = rig.models.next().await;
    }
    end(&rig, draft).await;
    rig.until_decided("declined", "too_many_failures").await;
    rig.until("the decline is put on the question", async |r| r.reactions().await == [("🤷".to_owned(), 1)]).await;
    rig.settled().await;
    rig.advance(600_000).await;
    rig.settled().await;
    assert!(rig.posts().await.is_empty(), "nothing was said");
    let notices = rig.reader.notices(rig.stream, parlor::ledger::Page::Last, 10).await.unwrap();
    assert!(!notices.is_empty(), "the owner is shown that a question was declined: {}", rig.story().await);
}

#[tokio::test]
async fn a_draft_that_ends_with_plain_text_is_not_posted() {
    nothing_leaks(async |_, d| d.fail(Failure::NoAct), "no_act").await;
}

#[tokio::test]
async fn a_silence_token_is_not_posted() {
    nothing_leaks(async |_, d| d.reply("NO_REPLY"), "no_act").await;
}

#[tokio::test]
async fn a_providers_error_is_not_posted() {
    nothing_leaks(async |_, d| d.fail(Failure::Provider), "provider_error").await;
}

#[tokio::test]
async fn a_draft_that_never_ends_is_given_up() {
    nothing_leaks(
        async |rig, draft| {
            rig.advance(90_000).await;
            draft.dropped().await;
        },
        "timeout",
    )
    .await;
}

#[tokio::test]
async fn without_the_gate_model_that_the_policy_wants_many_unnamed_bursts_open_nothing() {
    let rig = Rig::with(|p| p.gate = parlor_core::GateKind::Model).await;
    // More at once than completions find room in the mailbox.
    let people = 80;
    for i in 0..people {
        let text = "does anybody know the cone for stoneware?".into();
        rig.hear(&format!("p{i}"), "1", parlor::ports::HeardKind::Message { text, reply_to: None }).await.unwrap();
    }
    rig.read_up_to(people).await;
    rig.advance(30_000).await;
    rig.until("each is judged once", async |r| r.decided("silent", "gate_silent").await == usize::try_from(people).unwrap()).await;
    rig.settled().await;
    assert!(rig.rows().await.is_empty() && rig.models.is_idle().await);
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    rig.models.next().await.pass("enough");
    rig.settled().await;
}

#[tokio::test]
async fn an_act_that_comes_after_a_time_out_is_ignored() {
    let rig = Rig::new().await;
    let late = asked(&rig).await;
    rig.advance(90_000).await;
    late.dropped().await;
    rig.advance(10_000).await;
    rig.models.next().await.reply("Cone six.");
    rig.advance(10_000).await;
    assert_eq!(rig.until_posts(1).await, ["Cone six."]);
}
