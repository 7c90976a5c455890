//! What becomes of rows, submissions, full queues and snapshots.

use super::stage::{Stage, member, plain};
use crate::*;

fn sent() -> (Stage, Row) {
    let mut s = Stage::new();
    s.post = false;
    s.says("ada", "wren, how hot does cone 6 have to be?");
    s.run_for(10_000);
    let row = s.waiting_rows[0].clone();
    (s, row)
}

#[test]
fn each_outcome_has_its_end() {
    let refused = || Outcome::Refused { reason: "gone".into() };
    let (mut s, row) = sent();
    s.outcome(&row.dedupe, Outcome::Settled { platform_id: Some("p1".into()) });
    assert_eq!(s.room.tally().settled, 1);

    let (mut s, row) = sent();
    s.outcome(&row.dedupe, Outcome::Expired);
    assert_eq!(s.room.tally().expired, 1);

    let (mut s, row) = sent();
    s.outcome(&row.dedupe, refused());
    s.run_for(20_000);
    assert_eq!(s.waiting_rows.len(), 1, "a refused row opens the obligation again");
    for _ in 0..2 {
        let row = s.waiting_rows.iter().find(|r| matches!(r.kind, RowKind::Post { .. })).unwrap().dedupe.clone();
        s.outcome(&row, refused());
        s.run_for(20_000);
    }
    assert_eq!(s.room.tally().declined, 1, "but not for ever");

    let (mut s, row) = sent();
    s.outcome(&row.dedupe, Outcome::Parked { reason: "no_answer".into() });
    s.run_for(3_600_000);
    assert!(s.waiting_rows.is_empty(), "a held obligation is neither drafted nor expired");
    assert_eq!(s.room.view(s.now).obligations[0].state, ObligationState::Held);
    assert_eq!(s.recorded(What::Notice, Why::RowParked), 1);
    let mut item = s.item("wren", ItemKind::Message, "p1", "text");
    item.author.kind = AuthorKind::Own;
    s.input(Input::Echo(Echo { row: row.dedupe, item }));
    assert_eq!(s.room.tally().settled, 1, "the echo settles it");
    s.check();
}

#[test]
fn what_two_askers_add_after_their_row_went_out_is_owed_to_each() {
    let mut s = Stage::new();
    s.post = false;
    s.says("ada", "wren, how hot does cone 6 have to be?");
    s.says("bob", "wren, which glaze goes on porcelain?");
    s.run_for(15_000);
    let row = s.waiting_rows[0].clone();
    assert_eq!(row.settles.len(), 2);
    let ada = s.says("ada", "wren, and cone 04?");
    let bob = s.says("bob", "wren, and on stoneware?");
    s.outcome(&row.dedupe, Outcome::Settled { platform_id: Some("p1".into()) });
    let owed = s.room.view(s.now).obligations;
    let lines: Vec<Vec<&str>> = owed.iter().map(|o| o.lines.iter().map(|l| l.platform_id.as_str()).collect()).collect();
    assert_eq!(lines, [[ada.as_str()], [bob.as_str()]]);
    s.check();
}

#[test]
fn the_echo_may_come_before_the_answer_and_both_settle_once() {
    let (mut s, row) = sent();
    let mut item = s.item("wren", ItemKind::Message, "p1", "text");
    item.author.kind = AuthorKind::Own;
    s.input(Input::Echo(Echo { row: row.dedupe.clone(), item }));
    s.outcome(&row.dedupe, Outcome::Settled { platform_id: Some("p1".into()) });
    assert_eq!(s.room.tally().settled, 1);
    assert_eq!(s.recorded(What::Ignored, Why::UnknownEffect), 0);
}

#[test]
fn a_submission_is_posted_as_it_is_once() {
    let mut s = Stage::new();
    let submission = Submission {
        key: "reminder-1".into(),
        persona: "wren".into(),
        text: "The kiln is cool.".into(),
        prompted: true,
        expires_at: 900_000,
    };
    for _ in 0..2 {
        s.input(Input::Submission(submission.clone()));
        s.input(Input::Tick);
        s.run_for(60_000);
    }
    assert_eq!(s.posts().len(), 1);
    assert_eq!(s.posts()[0].row.dedupe, "reminder-1");
    assert_eq!(s.asked.len(), 0);
    let unprompted = Submission { key: "ad".into(), prompted: false, ..submission.clone() };
    s.input(Input::Submission(unprompted));
    s.run_for(2_000_000);
    assert_eq!(s.posts().len(), 1, "no budget for what nobody asked for");
    let stranger = Submission { key: "x".into(), persona: "nobody".into(), ..submission };
    s.input(Input::Submission(stranger));
    s.run_for(60_000);
    assert_eq!(s.posts().len(), 1);
    s.check();
}

#[test]
fn a_full_queue_keeps_direct_questions_and_loses_none_silently() {
    let mut s = Stage::with({
        let mut p = plain(vec![member("wren", "Wren")]);
        p.timings.draft_quiet_ms = 600_000_000;
        p.timings.direct_max_age_ms = 600_000_000;
        p
    });
    for i in 0..70 {
        s.says(&format!("p{i}"), "wren, how hot does cone 6 have to be?");
    }
    assert_eq!(s.room.open(), 64);
    assert_eq!(s.room.tally().declined, 6);
    assert_eq!(s.recorded(What::Notice, Why::QueueFull), 6);
    s.says("p0", "bob: wait");
    s.run_for(30_000);
    let late = s.says("p0", "wren, and cone 04?");
    assert_eq!(s.room.open(), 64, "the same author's own takes it in");
    assert_eq!(s.room.tally().declined, 6);
    s.deletes("p0", &late);
    let owed = s.room.view(s.now).obligations;
    assert!(owed.iter().flat_map(|o| &o.lines).all(|l| l.platform_id != late), "a deleted line is owed nothing");
    s.check();
}

#[test]
fn a_restored_room_is_the_same_bit_for_bit() {
    let mut s = Stage::new();
    s.says("zoe", "morning");
    s.run_for(600_000);
    s.says("ada", "wren, how hot does cone 6 have to be?");
    s.run_for(2_700);
    let half = s.log.len();
    let stored = serde_json::to_string(&s.room).unwrap();
    assert_eq!(s.room.pending().len(), 1, "the draft under way is run again");
    s.says("ada", "or cone 7?");
    s.run_for(60_000);
    let since = s.log[half..].to_vec();
    let restored = Room::restore(serde_json::from_str(&stored).unwrap(), since);
    assert_eq!(serde_json::to_string(&restored).unwrap(), serde_json::to_string(&s.room).unwrap());
    let fresh = Room::restore(Room::new(plain(vec![member("wren", "Wren")])), s.log.clone());
    assert_eq!(serde_json::to_string(&fresh).unwrap(), serde_json::to_string(&s.room).unwrap());
}

#[test]
fn the_stored_form_is_a_decision() {
    let mut s = Stage::new();
    s.says("ada", "wren, how hot?");
    s.run_for(3_000);
    insta::assert_json_snapshot!("room", s.room);
    insta::assert_json_snapshot!("view", s.room.view(s.now));
}

#[test]
fn duplicates_and_times_that_go_back_change_nothing() {
    let mut s = Stage::new();
    let item = s.item("ada", ItemKind::Message, "m1", "wren, how hot does cone 6 have to be?");
    s.now = 100_000;
    s.input(Input::Item(item.clone()));
    s.input(Input::Item(item));
    s.now = 50_000;
    s.input(Input::Tick);
    s.run_for(120_000);
    assert_eq!(s.posts().len(), 1);
    assert_eq!(s.room.tally().opened, 1);
}
