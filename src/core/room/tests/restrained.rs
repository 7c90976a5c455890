//! Openings, budget, lulls, side talk.

use super::stage::{Stage, member, plain};
use crate::*;

/// A room whose gate leaves an Opening after every burst.
fn chatty(per_hour: u32) -> Stage {
    let mut p = plain(vec![member("wren", "Wren")]);
    p.gate = GateKind::Model;
    p.budget.unprompted_per_hour = per_hour;
    let mut s = Stage::with(p);
    s.gate = (0.1, 0.2);
    s
}

#[test]
fn an_hour_of_talk_gets_at_most_the_budget_and_only_in_lulls() {
    let mut s = chatty(2);
    let people = ["ada", "bob", "cid", "dan"];
    for minute in 0..60i64 {
        for (k, person) in people.iter().enumerate() {
            s.says(person, &format!("talk number {minute} of {k} goes on"));
            s.run_for(15_000);
            s.check();
        }
        if minute % 10 == 9 {
            s.run_for(240_000);
        }
    }
    let times: Vec<Millis> = s.posts().iter().map(|p| p.at).collect();
    assert!(!times.is_empty());
    for w in times.windows(3) {
        assert!(w[2] - w[0] >= 3_600_000, "at most two in any hour: {times:?}");
    }
    assert!(times.windows(2).all(|w| w[1] - w[0] >= 3_600_000), "ignored, the half hour doubles: {times:?}");
    for p in s.posts() {
        assert!(p.row.unprompted);
    }
    s.says("ada", "wren, how hot does cone 6 have to be?");
    let asked_at = s.now;
    s.run_for(20_000);
    assert!(s.posts().last().unwrap().at <= asked_at + 12_500, "a direct question is answered at once");
}

#[test]
fn a_reply_resets_the_interval() {
    let mut s = chatty(2);
    let mut at = Vec::new();
    for _ in 0..20 {
        s.says("ada", "the rain goes on and on");
        s.run_for(290_000);
        if s.posts().len() > at.len() {
            at.push(s.posts().last().unwrap().at);
            let own = format!("own:{}", s.rows.len());
            let mut item = s.item("bob", ItemKind::Reaction, &own, "\u{1f44d}");
            item.find_names = false;
            s.tell(item);
        }
    }
    assert!(at.len() >= 3, "{at:?}");
    assert!(at.windows(2).all(|w| w[1] - w[0] < 2_700_000), "{at:?}");
}

#[test]
fn no_budget_no_opening() {
    let mut s = chatty(0);
    s.says("ada", "the rain goes on and on");
    s.run_for(900_000);
    assert!(s.asked.is_empty());
    assert_eq!(s.gates, 1);
}

#[test]
fn one_remark_a_lull_and_a_line_during_the_draft_drops_it() {
    let mut s = chatty(10);
    s.draft_ms = 5_000;
    s.says("ada", "the rain goes on and on");
    s.run_for(182_000);
    assert_eq!(s.asked.len(), 1);
    s.says("bob", "it does indeed");
    s.run_for(10_000);
    assert!(s.posts().is_empty());
    assert_eq!(s.recorded(What::Dropped, Why::OthersSpoke), 1);
    s.check();
}

#[test]
fn side_talk_closes_openings() {
    let mut s = chatty(10);
    for i in 0..3 {
        s.says("ada", &format!("bob: my turn {i}"));
        s.run_for(2_000);
        s.says("bob", &format!("ada: and mine {i}"));
        s.run_for(2_000);
        s.says("bob", "the rain goes on");
        s.run_for(12_000);
    }
    s.run_for(900_000);
    assert!(s.posts().is_empty());
}

#[test]
fn two_hundred_lines_of_chatter_cost_twenty_gates_and_no_draft() {
    let mut s = chatty(2);
    s.gate = (0.05, 0.05);
    for burst in 0..20 {
        for line in 0..10 {
            s.says(&format!("p{}", burst % 4), &format!("chatter {burst} {line}"));
            s.run_for(1_500);
        }
        s.run_for(40_000);
    }
    s.run_for(600_000);
    assert!(s.gates <= 20, "{}", s.gates);
    assert!(s.asked.is_empty());
}
