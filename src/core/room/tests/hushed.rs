//! Mute, stop, Shadow, gaps and backlogs.

use super::stage::{Stage, Talk, member, plain};
use crate::*;

fn policy(change: impl Fn(&mut Policy)) -> Input {
    let mut p = plain(vec![member("wren", "Wren")]);
    p.revision = 2;
    change(&mut p);
    Input::Policy(Box::new(p))
}

fn asked() -> Stage {
    let mut s = Stage::new();
    s.says("zoe", "morning");
    s.run_for(600_000);
    s.says("ada", "wren, how hot does cone 6 have to be?");
    s
}

#[test]
fn a_mute_while_a_draft_is_written_posts_nothing_and_one_decision_follows_the_unmute() {
    for wait in [2_700, 5_000] {
        let mut s = asked();
        s.run_for(wait);
        assert_eq!(s.asked.len(), 1);
        s.input(policy(|p| p.muted = true));
        s.says("bob", "wren, and who has the tongs?");
        s.run_for(3_600_000);
        assert!(s.rows.is_empty());
        assert_eq!(s.asked.len(), 1, "no model is called");
        s.input(policy(|_| ()));
        s.input(Input::Tick);
        assert_eq!(s.asked.len(), 2);
        assert_eq!(s.asked[1].1.owed.len(), 2, "one decision on all of it");
        assert!(s.asked[1].1.start.is_none(), "what was written before the mute is gone");
        s.run_for(60_000);
        assert_eq!(s.posts().len(), 1);
        s.check();
    }
}

#[test]
fn a_mute_while_a_row_waits_reopens_it_and_the_row_is_never_posted() {
    let mut s = asked();
    s.post = false;
    s.run_for(13_000);
    let row = s.waiting_rows[0].dedupe.clone();
    s.input(policy(|p| p.muted = true));
    s.outcome(&row, Outcome::Refused { reason: "muted".into() });
    s.run_for(1_000_000);
    assert!(s.waiting_rows.is_empty());
    assert_eq!(s.room.open(), 1);
    s.input(policy(|_| ()));
    s.input(Input::Tick);
    s.run_for(60_000);
    assert_eq!(s.waiting_rows.len(), 1);
    assert_ne!(s.waiting_rows[0].dedupe, row);
}

#[test]
fn a_backlog_takes_one_decision_and_at_most_one_post() {
    for talk in [Talk::Reply, Talk::FirstOnly] {
        let mut s = Stage::new();
        s.says("zoe", "morning");
        s.run_for(600_000);
        s.talk = talk;
        let start = s.now;
        let mut lines = Vec::new();
        for (i, (who, text)) in [
            ("ada", "wren, how hot does cone 6 have to be?"),
            ("bob", "wren, who has the tongs?"),
            ("cid", "does anyone know when the kiln is free?"),
            ("dan", "cid: at noon"),
            ("eve", "does anyone have wax?"),
        ]
        .iter()
        .enumerate()
        {
            s.now = start + 300_000 * i as i64;
            let item = s.item(who, ItemKind::Message, &format!("late{i}"), text);
            lines.push(item);
        }
        s.now = start + 3_600_000;
        s.input(Input::Resumed);
        for item in lines {
            s.input(Input::Item(item));
        }
        s.input(Input::Tick);
        assert_eq!(s.asked.len(), 1, "one decision");
        assert_eq!(s.asked[0].1.owed.len(), 2, "the room's questions are answered or too old");
        s.run_for(3_600_000);
        assert_eq!(s.posts().len(), 1);
        assert_eq!(s.room.open(), 0);
        s.check();
    }
}

#[test]
fn a_gap_ages_nothing_and_the_draft_under_way_goes_on() {
    let mut s = asked();
    s.draft_ms = 20_000;
    s.run_for(3_000);
    assert_eq!(s.asked.len(), 1);
    s.now += 3_600_000;
    s.input(Input::Resumed);
    s.input(Input::Tick);
    assert_eq!(s.room.pending().len(), 1, "neither timed out nor declined");
    assert_eq!(s.room.tally().declined, 0);
    s.run_for(60_000);
    assert_eq!(s.posts().len(), 1);
    assert_eq!(s.asked.len(), 1);
}

#[test]
fn in_shadow_every_row_is_shadow() {
    let mut p = plain(vec![member("wren", "Wren")]);
    p.mode = Mode::Shadow;
    let mut s = Stage::with(p);
    s.says("ada", "wren, how hot does cone 6 have to be?");
    s.run_for(60_000);
    assert_eq!(s.rows.len(), 1);
    assert!(s.rows[0].row.shadow);
    assert_eq!(s.recorded(What::Settled, Why::ShadowSettled), 1);
}

#[test]
fn a_change_of_mode_or_members_drops_the_draft() {
    let mut s = asked();
    s.run_for(3_000);
    s.input(policy(|p| p.mode = Mode::Shadow));
    assert_eq!(s.recorded(What::Cancelled, Why::ModeChanged), 1);
    s.run_for(60_000);
    assert!(s.rows[0].row.shadow);

    let mut s = asked();
    s.run_for(3_000);
    s.input(policy(|p| p.members = vec![member("lark", "Lark")]));
    s.run_for(60_000);
    assert!(s.rows.is_empty());
    assert_eq!(s.room.open(), 0);
    s.check();
}

#[test]
fn a_direct_question_that_cannot_be_answered_in_time_is_declined_and_a_muted_one_does_not_age() {
    let mut s = asked();
    s.input(policy(|p| p.muted = true));
    s.run_for(7_200_000);
    assert_eq!(s.room.open(), 1);
    s.input(policy(|_| ()));
    s.talk = Talk::Never;
    s.run_for(1_000_000);
    assert_eq!(s.room.tally().declined, 1);
}
