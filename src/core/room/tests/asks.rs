//! What opens an obligation, how a burst grows, and when it is answered.

use super::stage::{Stage, Talk, member, plain};
use crate::*;

/// Another person in the room, so that it is no room of one; long ago.
fn lively() -> Stage {
    let mut s = Stage::new();
    s.says("zoe", "morning");
    s.run_for(600_000);
    s.records.clear();
    s
}

#[test]
fn a_greeting_in_a_room_of_one_is_answered_within_five_seconds() {
    let mut s = Stage::new();
    s.says("ada", "hi wren");
    s.run_for(5_000);
    assert_eq!(s.posts().len(), 1);
    assert_eq!(s.posts()[0].at, 4_000);
}

#[test]
fn five_lines_in_two_seconds_get_one_reply_that_covers_them() {
    for mention_at in [0, 2, 4] {
        let mut s = lively();
        for i in 0..5 {
            let name = if i == mention_at { "wren " } else { "" };
            s.says("ada", &format!("{name}line {i} about the kiln"));
            s.run_for(400);
        }
        s.run_for(120_000);
        assert_eq!(s.posts().len(), 1, "mention in line {mention_at}");
        assert_eq!(s.posts()[0].row.settles_lines.len(), 5);
    }
}

#[test]
fn a_question_in_two_halves_gets_one_reply_that_saw_both() {
    let mut s = lively();
    s.says("ada", "wren, how hot does");
    s.run_for(1_500);
    s.says("ada", "cone 6 have to be?");
    s.run_for(120_000);
    assert_eq!(s.posts().len(), 1);
    assert_eq!(s.asked.last().unwrap().1.owed[0].lines.len(), 2);
}

#[test]
fn a_line_without_a_mention_then_one_with_it_are_both_read() {
    let mut s = lively();
    s.says("ada", "my glaze runs off the pot");
    s.run_for(15_000);
    s.says("ada", "wren, any idea why?");
    s.run_for(120_000);
    assert_eq!(s.posts().len(), 1);
    assert_eq!(s.posts()[0].row.settles_lines.len(), 2);
}

#[test]
fn two_askers_are_both_settled() {
    for talk in [Talk::Reply, Talk::FirstOnly] {
        let mut s = lively();
        s.talk = talk.clone();
        s.says("ada", "wren, how hot does cone 6 have to be?");
        s.run_for(4_000);
        s.says("bob", "wren, who has the long tongs today?");
        s.run_for(300_000);
        let settled: usize = s.posts().iter().map(|p| p.row.settles.len()).sum();
        assert_eq!(settled, 2, "{talk:?}");
        assert_eq!(s.room.open(), 0);
        s.check();
    }
}

#[test]
fn a_line_that_is_never_finished_waits_for_the_long_quiet() {
    let mut s = lively();
    s.says("ada", "wren so i was thinking");
    s.run_for(29_000);
    assert!(s.posts().is_empty());
    assert_eq!(s.asked.len(), 1, "it is drafted at once all the same");
    s.run_for(2_000);
    assert_eq!(s.posts().len(), 1);
}

#[test]
fn typing_counts_as_not_quiet_and_shortens_the_rest() {
    let mut s = lively();
    s.says("ada", "hello all of you here.");
    s.run_for(60_000);
    s.input(Input::Typing { author: "ada".into() });
    s.says("ada", "wren, what is the cone for stoneware?");
    s.run_for(1_000);
    s.input(Input::Typing { author: "ada".into() });
    s.run_for(7_500);
    assert!(s.asked.is_empty(), "still typing");
    s.run_for(1_600);
    assert_eq!(s.posts().len(), 1, "8 s after the typing, the turn is over by the short quiet");
}

#[test]
fn a_newcomer_who_was_seen_typing_is_answered_soon_among_others_too() {
    let mut s = lively();
    s.input(Input::Typing { author: "ada".into() });
    s.says("ada", "hi wren");
    s.run_for(4_100);
    assert_eq!(s.posts().len(), 1);
}

#[test]
fn the_everyone_mention_opens_a_room_question_that_people_have_time_for() {
    let mut s = lively();
    s.says("ada", "@everyone who took the long tongs?");
    s.run_for(95_000);
    assert!(s.asked.is_empty());
    assert_eq!(s.recorded(What::Opened, Why::AsksRoom), 1);
    s.run_for(20_000);
    assert_eq!(s.posts().len(), 1);

    let mut s = lively();
    s.says("ada", "@everyone who took the long tongs?");
    s.run_for(40_000);
    s.says("bob", "they hang behind the door");
    s.run_for(300_000);
    assert!(s.asked.is_empty());
    assert_eq!(s.room.tally().answered, 1);
}

#[test]
fn what_is_for_others_or_asks_nothing_stays_unanswered() {
    let mut s = lively();
    s.says("bob", "good morning");
    s.run_for(200_000);
    for (who, line) in [("ada", "bob: how hot is it today?"), ("bob", "it rains a lot here"), ("cid", "nice weather")] {
        s.says(who, line);
        s.run_for(60_000);
    }
    s.run_for(300_000);
    assert!(s.asked.is_empty(), "{:?}", s.asked);
    assert!(s.recorded(What::Silent, Why::ForOthers) >= 1);
    assert!(s.recorded(What::Silent, Why::NotAsking) >= 2);
}

#[test]
fn a_follow_up_needs_no_name() {
    let mut s = lively();
    s.says("ada", "wren, how hot does cone 6 have to be?");
    s.run_for(20_000);
    assert_eq!(s.posts().len(), 1);
    s.says("ada", "and how long do i hold it there?");
    s.run_for(30_000);
    assert_eq!(s.recorded(What::Opened, Why::Continues), 1);
    assert_eq!(s.posts().len(), 2);
    s.says("ada", "thanks, that works!");
    s.run_for(60_000);
    assert_eq!(s.posts().len(), 2, "a bare thanks opens nothing");
}

/// Found by the simulation: what a bot left standing was judged as a person's.
#[test]
fn a_bot_that_deletes_a_line_asks_nothing_with_the_rest() {
    let mut s = Stage::new();
    s.says("newsbot", "does anyone know when the kiln is free?");
    let second = s.says("newsbot", "thanks all");
    s.deletes("newsbot", &second);
    s.run_for(3_600_000);
    assert_eq!((s.room.tally().opened, s.asked.len()), (0, 0));
    s.check();
}

#[test]
fn a_bot_is_heard_only_by_the_platforms_own_mention() {
    let mut s = lively();
    s.says("newsbot", "wren, how hot does cone 6 have to be?");
    s.run_for(60_000);
    assert!(s.asked.is_empty());
    s.says("newsbot", "@wren how hot does cone 6 have to be?");
    s.run_for(60_000);
    assert_eq!(s.asked.len(), 1);
}

#[test]
fn in_a_dm_every_line_is_addressed() {
    let mut p = plain(vec![member("wren", "Wren")]);
    p.audience = Audience::Direct;
    let mut s = Stage::with(p);
    s.says("ada", "how hot does cone 6 have to be");
    s.run_for(5_000);
    assert_eq!(s.posts().len(), 1);
}

#[test]
fn a_reply_to_an_own_post_is_direct_and_a_reply_to_another_is_not() {
    let mut s = lively();
    s.says("ada", "wren, how hot does cone 6 have to be?");
    s.run_for(20_000);
    let own = s.posts()[0].row.dedupe.clone();
    assert!(!own.is_empty());
    s.run_for(400_000);
    s.replies("bob", "own:1", "is that in celsius?");
    s.run_for(20_000);
    assert_eq!(s.recorded(What::Opened, Why::ReplyToOwn), 1);
    let ada = s.says("ada", "celsius i hope for all of us.");
    s.run_for(400_000);
    s.replies("bob", &ada, "is that in celsius?");
    s.run_for(400_000);
    assert_eq!(s.posts().len(), 2);
}

#[test]
fn an_edit_that_adds_a_name_opens_and_one_that_changes_a_question_restarts_it() {
    let mut s = lively();
    let id = s.says("ada", "how hot does cone 6 have to be?");
    s.run_for(1_000);
    s.edits("ada", &id, "wren, how hot does cone 6 have to be?");
    s.run_for(3_000);
    assert_eq!(s.asked.len(), 1);
    s.edits("ada", &id, "wren, how hot does cone 04 have to be?");
    s.run_for(60_000);
    assert_eq!(s.asked.len(), 2);
    assert_eq!(s.posts().len(), 1);
}

#[test]
fn deleting_or_taking_back_ends_it_without_a_post() {
    let acts: [fn(&mut Stage, &str); 3] =
        [|s, id| s.deletes("ada", id), |s, _| drop(s.says("ada", "never mind")), |s, _| drop(s.says("ada", "wren, nvm"))];
    for (i, act) in acts.iter().enumerate() {
        for wait in [1_000, 2_700, 5_000] {
            let mut s = lively();
            let id = s.says("ada", "wren, how hot does cone 6 have to be?");
            s.run_for(wait);
            act(&mut s, &id);
            s.run_for(120_000);
            assert!(s.rows.is_empty(), "act {i} after {wait} ms: {:?}", s.rows);
            assert_eq!(s.room.tally().withdrawn, 1);
            s.check();
        }
    }
}

#[test]
fn taking_back_with_more_after_it_is_a_change() {
    let mut s = lively();
    s.says("ada", "wren, how hot does cone 6 have to be?");
    s.run_for(1_000);
    s.says("ada", "never mind the cone, how hot is red heat?");
    s.run_for(60_000);
    assert_eq!(s.posts().len(), 1);
    assert_eq!(s.posts()[0].row.settles_lines.len(), 2);
}

#[test]
fn deleting_one_line_of_several_keeps_the_rest() {
    let mut s = lively();
    s.says("ada", "wren, how hot does cone 6 have to be?");
    let second = s.says("ada", "in fahrenheit please.");
    s.run_for(1_000);
    s.deletes("ada", &second);
    s.run_for(60_000);
    assert_eq!(s.posts()[0].row.settles_lines.len(), 1);
}

#[test]
fn deleting_one_line_of_what_was_answered_asks_nothing_again() {
    let mut s = lively();
    s.says("ada", "wren, how hot does cone 6 have to be?");
    let second = s.says("ada", "in fahrenheit please.");
    s.run_for(60_000);
    assert_eq!(s.posts().len(), 1);
    s.deletes("ada", &second);
    s.run_for(120_000);
    assert_eq!((s.posts().len(), s.room.open()), (1, 0));
    s.check();
}

#[test]
fn a_line_after_the_row_went_out_asks_it_back_or_is_a_new_turn() {
    for claimed in [false, true] {
        let mut s = lively();
        s.post = false;
        s.says("ada", "wren, how hot does cone 6 have to be?");
        s.run_for(13_000);
        let row = s.waiting_rows[0].clone();
        s.says("ada", "and how long do i hold it?");
        assert_eq!(s.withdrawn, std::slice::from_ref(&row.dedupe));
        s.post = true;
        if claimed {
            s.posts_row(row);
        } else {
            s.outcome(&row.dedupe, Outcome::Withdrawn);
        }
        s.run_for(120_000);
        let lines: Vec<usize> = s.posts().iter().map(|p| p.row.settles_lines.len()).collect();
        assert_eq!(lines, if claimed { vec![1, 1] } else { vec![2] });
        s.check();
    }
}

#[test]
fn a_question_that_keeps_changing_is_drafted_patiently_and_then_declined() {
    let mut s = lively();
    s.draft_ms = 5_000;
    s.says("ada", "wren, how hot does cone 1 have to be?");
    for i in 2..20 {
        s.run_for(if i < 4 { 5_000 } else { 12_000 });
        if s.room.open() > 0 {
            s.says("ada", &format!("or rather cone {i}, please tell?"));
        }
    }
    assert_eq!(s.recorded(What::Declined, Why::TooManyDrafts), 1);
    assert_eq!(s.reactions().len(), 1);
    assert!(s.asked.len() <= 6);
    s.check();
}

#[test]
fn several_personas_have_one_mouth_and_the_rooms_question_is_offered_in_turn() {
    let mut s = Stage::with(plain(vec![member("wren", "Wren"), member("lark", "Lark")]));
    s.says("zoe", "morning");
    s.run_for(600_000);
    s.says("ada", "lark, who keeps the tongs today?");
    s.run_for(20_000);
    assert_eq!(s.posts()[0].row.persona, "lark");
    s.talk = Talk::Pass;
    s.run_for(400_000);
    s.says("zoe", "does anyone know when the kiln is free?");
    s.run_for(400_000);
    let offered: Vec<&str> = s.asked.iter().skip(1).map(|(_, d)| d.persona.as_str()).collect();
    assert_eq!(offered, ["wren", "lark"]);
    assert_eq!(s.room.tally().passed, 1);
    s.check();
}

#[test]
fn a_members_mention_of_another_opens_and_the_loop_ends() {
    let mut s = Stage::with(plain(vec![member("wren", "Wren"), member("lark", "Lark")]));
    s.talk = Talk::Say("@lark @wren what do you think of {n} then?".into());
    s.says("ada", "wren, say something to lark please.");
    s.run_for(1_200_000);
    assert_eq!(s.posts().len(), 4, "agentTurns: {:?}", s.posts());
    assert_eq!(s.recorded(What::Notice, Why::AgentTurns), 1);
}
