//! The trained models at the gate and at the check, as a room sees them. What they know is judged on archives; these are the cases
//! that nobody would forgive.

use super::stage::{Stage, member};
use crate::*;

/// A lively room that is judged by the trained models.
fn judged() -> Stage {
    let mut s = Stage::with(Policy::new(vec![member("wren", "Wren")]));
    assert_eq!(s.room.policy().gate, GateKind::Embedded);
    s.draft_ms = 6_000;
    for (who, text) in [("zoe", "morning"), ("bob", "the kiln is cold"), ("cid", "i brought the clay")] {
        s.says(who, text);
        s.run_for(200_000);
    }
    s.run_for(1_200_000);
    assert!(s.posts().is_empty() && s.asked.is_empty());
    s.records.clear();
    s
}

fn gate_calls(s: &mut Stage) -> usize {
    s.room.take_observed().iter().filter(|o| o.judge == Judge::Me).count()
}

#[test]
fn two_hundred_lines_that_address_nobody_cost_twenty_looks_and_no_draft() {
    let mut s = judged();
    s.room.start_observing();
    for burst in 0..20 {
        for line in 0..10 {
            s.says(["bob", "cid", "dan", "eve"][burst % 4], &format!("it was number {line} of the shelf {burst} that fell down"));
            s.run_for(1_500);
        }
        s.run_for(45_000);
    }
    s.run_for(1_200_000);
    let calls = gate_calls(&mut s);
    assert!((1..=20).contains(&calls), "{calls}");
    assert!(s.asked.is_empty());
    s.check();
}

#[test]
fn a_question_to_the_room_is_left_to_people_and_answered_if_nobody_does() {
    let mut s = judged();
    s.says("ada", "does anyone know how hot cone 6 has to be?");
    s.run_for(95_000);
    assert!(s.posts().is_empty(), "people have the room's wait");
    s.run_for(60_000);
    assert_eq!(s.posts().len(), 1);
    s.check();
}

/// Found by the simulation: the reaction went to a line that was no longer there.
#[test]
fn no_reaction_goes_to_an_answer_that_was_deleted() {
    let mut s = judged();
    s.says("ada", "does anyone know how hot cone 6 has to be?");
    while s.asked.is_empty() {
        s.run_for(1_000);
    }
    let answer = s.says("bob", "ada: about 1222 degrees celsius");
    s.run_for(1_000);
    s.deletes("bob", &answer);
    s.run_for(1_200_000);
    assert!(s.reactions().is_empty(), "{:?}", s.reactions());
    s.check();
}

#[test]
fn a_thanks_to_whom_answered_settles_the_question() {
    let mut s = judged();
    s.says("ada", "does anyone know how hot cone 6 has to be?");
    s.run_for(20_000);
    let answer = s.says("bob", "ada: about 1222 degrees celsius");
    s.run_for(15_000);
    s.replies("ada", &answer, "bob: thanks a lot!");
    s.run_for(1_200_000);
    assert!(s.posts().is_empty() && s.asked.is_empty(), "no model was paid: {:?}", s.asked);
    assert_eq!(s.room.tally().answered, 1);
    s.check();
}

#[test]
fn a_thanks_to_the_persona_is_no_question() {
    let mut s = judged();
    s.says("ada", "wren, how hot does cone 6 have to be?");
    s.run_for(60_000);
    assert_eq!(s.posts().len(), 1);
    for thanks in ["thanks wren!", "thank you, wren", "thanks!"] {
        s.says("ada", thanks);
        s.run_for(400_000);
    }
    assert_eq!((s.posts().len(), s.reactions().len()), (1, 0));
    assert!(s.records.iter().any(|(_, d)| d.why == Why::OnlyThanks));
    s.check();
}

#[test]
fn two_people_who_name_each_other_are_left_alone() {
    let mut s = judged();
    for i in 0..12 {
        let (from, to) = if i % 2 == 0 { ("ada", "bob") } else { ("bob", "ada") };
        s.says(from, &format!("{to}: do you think shelf {i} is dry by noon?"));
        s.run_for(9_000);
    }
    s.run_for(1_200_000);
    assert!(s.posts().is_empty() && s.asked.is_empty());
    s.check();
}

#[test]
fn what_is_said_about_the_persona_is_not_said_to_it() {
    let mut s = judged();
    for line in ["bob: wren told me that cone 6 is 1222", "i like how wren talks about glazes", "the answer of wren was a good one"] {
        s.says("ada", line);
        s.run_for(400_000);
    }
    assert!(s.posts().is_empty() && s.reactions().is_empty(), "{:?}", s.records);
    assert!(s.records.iter().any(|(_, d)| d.why == Why::AboutPersona));
    s.says("ada", "is it true what they say, wren?");
    s.run_for(60_000);
    assert_eq!(s.posts().len(), 1, "a question with the name inside is a question");
    s.check();
}

/// The process was down for an hour: one decision on all of it.
#[test]
fn after_an_hours_gap_what_people_answered_is_closed_and_at_most_one_post_is_made() {
    let mut s = judged();
    s.input(Input::Resumed);
    s.now += 3_600_000;
    let from = s.now - 3_500_000;
    let lines = [
        ("ada", "does anyone know how hot cone 6 has to be?"),
        ("bob", "ada: about 1222 degrees celsius"),
        ("ada", "bob: thanks a lot!"),
        ("dan", "wren, when is the kiln free?"),
        ("eve", "wren, who has the long tongs?"),
    ];
    for (i, (who, text)) in (0..).zip(lines) {
        let mut item = s.item(who, ItemKind::Message, &format!("{who}{i}"), text);
        item.at = from + i * 60_000;
        s.input(Input::Item(item));
    }
    s.run_for(1_200_000);
    assert!(s.posts().len() <= 1, "{:?}", s.posts());
    assert_eq!(s.room.open(), 0);
    let posts = s.posts();
    assert!(posts.iter().flat_map(|p| &p.row.settles_lines).all(|id| !id.starts_with("ada")), "what bob answered is closed");
    s.check();
}

#[test]
fn a_record_tells_how_likely_it_was() {
    let mut s = judged();
    s.says("bob", "the rain goes on and on today");
    s.run_for(60_000);
    let silent = s.records.iter().find(|(_, d)| d.why == Why::GateSilent).map(|(_, d)| d.odds);
    let odds = silent.flatten().unwrap();
    let together = odds.me_permille + odds.room_permille;
    let measured = odds.measured.unwrap();
    assert_eq!((measured.likelihood, measured.bar_permille), (Likelihood::ForUs, Bars::default().room_permille));
    assert!(together < 400 && measured.permille.abs_diff(together) <= 1, "{odds:?}");
}

#[test]
fn a_record_tells_what_was_held_against_which_bar() {
    let mut s = judged();
    s.says("ada", "does anyone know how hot cone 6 has to be?");
    s.run_for(60_000);
    s.says("bob", "ada: about 1222 degrees celsius");
    s.run_for(1_200_000);
    let of = |why| s.records.iter().find(|(_, d)| d.why == why).and_then(|(_, d)| d.odds?.measured).unwrap();
    let (asks, answered) = (of(Why::AsksRoom), of(Why::PersonAnswered));
    assert_eq!((asks.likelihood, asks.bar_permille), (Likelihood::ForUs, 400));
    assert_eq!((answered.likelihood, answered.bar_permille), (Likelihood::Answered, 140));
    assert!(asks.permille >= 400 && answered.permille >= 140, "{asks:?} {answered:?}");
    let odds = Odds { me_permille: 52, room_permille: 618, measured: Some(answered) };
    let told = format!("for the persona 0.05, for the room 0.62, answered {:.2} (bar 0.14)", f64::from(answered.permille) / 1e3);
    assert_eq!(odds.to_string(), told);
    let follows = Measured { likelihood: Likelihood::ForPersona, permille: 812, bar_permille: 150 };
    let odds = Odds { me_permille: 812, room_permille: 40, measured: Some(follows) };
    assert_eq!(odds.to_string(), "for the persona 0.81 (bar 0.15), for the room 0.04");
    let statement = Measured { likelihood: Likelihood::Statement, permille: 1_000, bar_permille: 600 };
    let odds = Odds { me_permille: 0, room_permille: 0, measured: Some(statement) };
    assert_eq!(odds.to_string(), "wants an answer 1.00 (bar 0.60)");
}

#[test]
fn a_room_of_slow_people_teaches_a_longer_wait_and_a_fast_one_a_shorter_and_a_restart_keeps_it() {
    let wait_after = |answer_ms: Millis| {
        let mut s = judged();
        for i in 0..8 {
            let asker = format!("asker{i}");
            s.says(&asker, &format!("does anyone know where tool {i} is?"));
            s.run_for(answer_ms);
            s.says("bob", &format!("{asker}: it is on the upper shelf"));
            s.run_for(900_000);
        }
        let stored = serde_json::to_string(&s.room).unwrap();
        let again: Room = serde_json::from_str(&stored).unwrap();
        assert_eq!(again.view(s.now).room_wait_ms, s.room.view(s.now).room_wait_ms);
        s.room.view(s.now).room_wait_ms
    };
    let start = Timings::default().room_wait_start_ms;
    let (slow, fast) = (wait_after(240_000), wait_after(30_000));
    assert!(fast < start && start < slow, "{fast} {start} {slow}");
}

#[test]
fn models_that_judge_again_begin_with_an_empty_past_and_what_is_open_is_judged() {
    let mut s = judged();
    let gate = |s: &mut Stage, gate| {
        let policy = Policy { gate, revision: s.room.policy().revision + 1, ..s.room.policy().clone() };
        s.input(Input::Policy(Box::new(policy)));
    };
    let number = |s: &mut Stage, name: &str| {
        let place = Judge::Me.numbers().iter().position(|(n, _)| *n == name).unwrap();
        let asked = s.room.take_observed();
        asked.iter().rev().find(|o| o.judge == Judge::Me).map(|o| o.numbers[place])
    };
    let ln_1p = |n: f64| n.ln_1p();
    for who in ["bob", "cid", "bob"] {
        s.says(who, "the shelf fell down");
        s.run_for(40_000);
    }
    s.room.start_observing();
    s.says("ada", "does anyone know how hot cone 6 has to be?");
    s.run_for(40_000);
    assert_eq!(number(&mut s, "pace"), Some(ln_1p(3.0)));
    gate(&mut s, GateKind::Rules);
    s.says("bob", "the other shelf fell down too");
    s.run_for(40_000);
    assert_eq!(number(&mut s, "pace"), None, "no model is asked");
    // It begins under the rules, and its turn is over only under the models.
    s.says("cid", "i put it up again");
    gate(&mut s, GateKind::Embedded);
    s.run_for(40_000);
    assert_eq!(number(&mut s, "pace"), Some(0.0));
    s.says("bob", "it fell down again");
    s.run_for(40_000);
    s.says("dan", "it will fall down once more");
    s.run_for(40_000);
    assert_eq!(number(&mut s, "pace"), Some(ln_1p(1.0)));
    s.check();
}
