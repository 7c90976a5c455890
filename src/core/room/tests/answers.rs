//! The draft against what happened meanwhile.

use super::stage::{Stage, Talk};
use crate::*;

fn drafting(question: &str, wait: Millis) -> Stage {
    let mut s = Stage::new();
    s.says("zoe", "morning");
    s.run_for(600_000);
    s.draft_ms = 8_000;
    s.says("ada", question);
    s.run_for(wait);
    assert_eq!(s.asked.len(), 1, "a draft is under way");
    s.records.clear();
    s
}

#[test]
fn three_answers_while_the_room_question_is_drafted_leave_a_reaction() {
    let mut s = drafting("does anyone know how hot cone 6 is?", 101_000);
    let first = s.says("bob", "about 1222 degrees");
    s.run_for(1_000);
    s.says("cid", "ada: 1222 celsius");
    s.run_for(1_000);
    s.says("dan", "what bob said");
    s.run_for(60_000);
    assert!(s.posts().is_empty());
    assert_eq!(s.reactions().len(), 1);
    assert_eq!(s.reactions()[0].row.address.as_ref().unwrap().platform_id, first);
    assert_eq!(s.room.tally().answered, 1);
    s.check();
}

/// Found by the simulation: the reaction went to a line that was no longer there.
#[test]
fn an_answer_that_was_deleted_while_the_draft_is_written_is_none() {
    let mut s = drafting("does anyone know how hot cone 6 is?", 101_000);
    let answer = s.says("bob", "about 1222 degrees");
    s.run_for(1_000);
    s.deletes("bob", &answer);
    s.run_for(60_000);
    assert!(s.reactions().is_empty(), "{:?}", s.reactions());
    assert_eq!(s.posts().len(), 1, "the question stands and is answered");
    s.check();
}

#[test]
fn a_direct_question_answered_meanwhile_is_drafted_once_more_and_sees_the_answer() {
    let mut s = drafting("wren, how hot does cone 6 have to be?", 3_000);
    let answer = s.says("bob", "about 1222 degrees");
    s.run_for(60_000);
    assert_eq!(s.asked.len(), 2);
    assert_eq!(s.asked[1].1.owed[0].answered_by.as_ref().unwrap().platform_id, answer);
    assert!(s.asked[1].1.start.is_some());
    assert_eq!(s.posts().len(), 1);
}

/// The stubborn model: its second draft has seen the answer and says it again all the same.
#[test]
fn a_draft_that_only_repeats_what_a_person_answered_becomes_a_reaction_on_it() {
    let answered = |wait: Millis| {
        let mut s = drafting("wren, how hot does cone 6 have to be?", 3_000);
        s.talk = Talk::Say("It is about 1222 degrees.".into());
        s.run_for(wait);
        s.says("bob", "hot enough");
        let repeated = s.says("cid", "it is about 1222 degrees");
        (s, repeated)
    };
    for wait in [0, 3_000] {
        let (mut s, repeated) = answered(wait);
        s.run_for(120_000);
        assert!(s.posts().is_empty(), "after {wait} ms: {:?}", s.posts());
        assert_eq!(s.reactions().len(), 1);
        assert_eq!(s.reactions()[0].row.address.as_ref().unwrap().platform_id, repeated);
        assert_eq!(s.room.tally().answered, 1);
        s.check();
    }
    let (mut s, repeated) = answered(0);
    s.deletes("cid", &repeated);
    s.run_for(120_000);
    assert_eq!(s.posts().len(), 1, "nobody says it any more");
}

#[test]
fn others_who_spoke_make_it_a_reply_and_nothing_else_does() {
    let mut s = drafting("wren, how hot does cone 6 have to be?", 3_000);
    s.says("bob", "zoe: is it raining?");
    s.run_for(60_000);
    assert!(s.posts()[0].row.address.as_ref().unwrap().reply);
    let mut s = drafting("wren, how hot does cone 6 have to be?", 3_000);
    s.run_for(60_000);
    assert!(!s.posts()[0].row.address.as_ref().unwrap().reply);
}

#[test]
fn an_edit_during_the_draft_starts_it_again_with_the_old_text() {
    let mut s = Stage::new();
    s.says("zoe", "morning");
    s.run_for(600_000);
    let id = s.says("ada", "wren, is 70 minutes of soaking enough?");
    s.run_for(5_000);
    assert_eq!(s.asked.len(), 1);
    s.edits("ada", &id, "wren, is 17 minutes of soaking enough?");
    s.run_for(60_000);
    assert_eq!(s.asked.len(), 2);
    assert!(s.asked[1].1.start.is_some());
    assert_eq!(s.posts().len(), 1);
    assert_eq!(s.recorded(What::Cancelled, Why::AskerEdited), 1);
}

#[test]
fn what_was_said_already_is_not_said_again() {
    let mut s = Stage::new();
    s.talk = Talk::Say("Cone 6 is about 1222 degrees in an hour of rising, give or take.".into());
    s.says("ada", "wren, how hot does cone 6 have to be?");
    s.run_for(60_000);
    s.says("bob", "wren, how hot does cone 6 get in the end?");
    s.run_for(60_000);
    assert_eq!(s.posts().len(), 1);
    assert_eq!(s.recorded(What::Dropped, Why::SaidAlready), 1);
    assert_eq!(s.room.tally().settled, 2);
    s.check();
}

#[test]
fn a_silence_token_is_no_act() {
    for text in ["NO_REPLY", "pass", "PASS", "well [silent] then"] {
        let mut s = Stage::new();
        s.talk = Talk::Say(text.into());
        s.says("ada", "wren, how hot does cone 6 have to be?");
        s.run_for(300_000);
        assert!(s.posts().is_empty(), "{text}");
        assert!(s.recorded(What::Retrying, Why::NoAct) >= 1);
    }
    let mut s = Stage::new();
    s.talk = Talk::Say("Pass me the tongs, then we look.".into());
    s.says("ada", "wren, how hot does cone 6 have to be?");
    s.run_for(60_000);
    assert_eq!(s.posts().len(), 1);
}

#[test]
fn failed_drafts_are_tried_again_and_then_declined_visibly() {
    for (talk, why) in [
        (Talk::Fail(Failure::Provider), Why::ProviderError),
        (Talk::Fail(Failure::NoAct), Why::NoAct),
        (Talk::Fail(Failure::Refused), Why::DraftRefused),
        (Talk::Never, Why::Timeout),
    ] {
        let mut s = Stage::new();
        s.talk = talk;
        s.says("ada", "wren, how hot does cone 6 have to be?");
        s.run_for(900_000);
        assert!(s.posts().is_empty());
        assert_eq!(s.recorded(What::Retrying, why), 3);
        assert_eq!(s.reactions().len(), 1);
        assert_eq!(s.recorded(What::Notice, Why::TooManyFailures), 1);
        assert_eq!(s.room.tally().declined, 1);
        s.check();
    }
}

#[test]
fn books_that_cannot_be_reached_use_up_no_try() {
    let mut s = Stage::new();
    s.talk = Talk::Fail(Failure::NoBooks);
    s.says("ada", "wren, how hot does cone 6 have to be?");
    s.run_for(1_200_000);
    assert_eq!((s.room.open(), s.rows.len()), (1, 0), "neither answered nor declined");
    s.talk = Talk::Reply;
    s.run_for(10_000);
    assert_eq!(s.posts().len(), 1);
}

#[test]
fn over_budget_waits_and_does_not_age() {
    let mut s = Stage::new();
    s.talk = Talk::Fail(Failure::OverBudget);
    s.says("ada", "wren, how hot does cone 6 have to be?");
    s.run_for(3_600_000);
    assert_eq!(s.room.open(), 1);
    s.talk = Talk::Reply;
    s.run_for(120_000);
    assert_eq!(s.posts().len(), 1);
}

#[test]
fn an_act_that_nobody_waits_for_is_recorded_and_ignored() {
    let mut s = Stage::new();
    let draft = EffectId { input: 77, index: 0 };
    s.input(Input::Act(Act { draft, settles: vec![], act: DraftAct::Reply { text: "hello".into() } }));
    s.input(Input::DraftFailed(DraftFailed { draft, kind: Failure::Provider }));
    s.input(Input::Verdict(Verdict { gate: draft, me: 1.0, room: 1.0 }));
    s.input(Input::Outbox(OutboxResult { row: "77.0".into(), outcome: Outcome::Withdrawn }));
    assert_eq!(s.recorded(What::Ignored, Why::UnknownEffect), 4);
    assert!(s.rows.is_empty());
}

#[test]
fn the_room_teaches_its_wait() {
    let mut s = Stage::new();
    for i in 0..12 {
        s.says("ada", &format!("does anyone know where tool {i} is?"));
        s.run_for(120_000 - 1);
        // Answered in time to be counted, late enough to lengthen the wait.
        s.says("bob", "ada: on the shelf");
        s.run_for(600_000);
    }
    assert_eq!(s.room.view(s.now).room_wait_ms, 119_999);
    let mut s = Stage::new();
    for i in 0..12 {
        s.says("ada", &format!("does anyone know where tool {i} is?"));
        s.run_for(20_000);
        s.says("bob", "ada: on the shelf");
        s.run_for(600_000);
    }
    assert_eq!(s.room.view(s.now).room_wait_ms, 90_000, "never below the least wait");
}
