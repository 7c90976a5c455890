mod reference;

use serde_json::json;

use super::*;
use crate::replay::{
    question,
    row::{self, Line},
};

const ME: &str = "w";

/// id, second, author, text, what it replies to, whom it names at the start.
type Said = (&'static str, i64, &'static str, &'static str, Option<&'static [&'static str]>, Option<&'static str>);

fn facts(said: &[Said]) -> Facts {
    let mut facts = Facts::new(ME);
    for (at, (id, s, author, text, reply_to, names)) in said.iter().enumerate() {
        let line = json!({"room": "r", "id": id, "ts": s * 1_000, "author_id": author, "author_name": author, "content": text, "reply_to": reply_to})
            .to_string();
        let Ok(Line::Row(row)) = row::read(&line) else { panic!("no row: {line}") };
        assert!(facts.add(&row, row.ts).is_ok());
        facts.note_mentions(at, names.iter().map(|n| (*n, parlor_core::Place::Open)));
        facts.note_asks(at, question::asks(text));
    }
    facts
}

/// Posts as (second, ids of lines).
fn counts(said: &[Said], posts: &[(i64, &[&str])]) -> Counts {
    let facts = facts(said);
    let truth = Truth::of(&facts);
    let rows = |ids: &[&str]| ids.iter().filter_map(|id| facts.row_named(id)).collect();
    let posts = posts.iter().map(|(s, ids)| Post { ts: s * 1_000, rows: rows(ids) }).collect();
    Counts::of(&facts, &truth, &Played { posts, ..Played::default() }, true)
}

/// A question to the persona in two lines, one to the room that b answers, one that nobody answers, talk between b and c, and the
/// end of the room.
const ROOM: &[Said] = &[
    ("d1", 0, "a", "w: is it hot", Some(&[]), Some(ME)),
    ("d2", 10, "a", "the kiln I mean", Some(&["d1"]), None),
    ("mine", 40, ME, "it is", Some(&["d2"]), None),
    ("q", 100, "a", "does anyone have tongs?", Some(&[]), None),
    ("ans", 160, "b", "take mine", Some(&["q"]), None),
    ("o", 200, "c", "where is the clay?", Some(&[]), None),
    ("t1", 210, "b", "c: nice bowl", Some(&[]), Some("c")),
    ("t2", 220, "c", "b: thank you", Some(&["t1"]), Some("b")),
    ("end", 2_000, "a", "good night", Some(&[]), None),
];

#[test]
fn turns_and_what_they_are_for() {
    let c = counts(ROOM, &[]);
    assert_eq!((c.direct, c.room_questions, c.orphans), (1, 2, 1));
    assert_eq!((c.direct_missed, c.orphans_missed), (1, 1));
    // The persona replied to d1-d2 only; the answer, o, q, t1 and t2 are turns too; the last line has no room behind it.
    assert_eq!((c.said_wanted, c.silent_wanted, c.silent_unwanted), (0, 1, 5));
    assert_eq!(c.lines, 8);
}

/// What a set of posts is to count as.
struct Case {
    posts: &'static [(i64, &'static [&'static str])],
    /// sends, duplicate, cut-off, undirected, late, room sends, pre-empt, butt-in.
    posted: [u64; 8],
    /// direct missed, orphans missed.
    missed: [u64; 2],
    why: &'static str,
}

#[test]
fn each_metric_by_hand() {
    let cases = [
        Case { posts: &[(20, &["d1", "d2"])], posted: [1, 0, 0, 0, 0, 0, 0, 0], missed: [0, 1], why: "one answer to the whole turn" },
        Case {
            posts: &[(5, &["d1"])],
            posted: [1, 0, 1, 0, 0, 0, 0, 0],
            missed: [0, 1],
            why: "before the second line: cut off, not missed",
        },
        Case { posts: &[(5, &["d1"]), (20, &["d2"])], posted: [2, 1, 1, 0, 0, 0, 0, 0], missed: [0, 1], why: "the same turn twice" },
        Case {
            posts: &[(20, &["d1"]), (30, &["d2", "q"])],
            posted: [2, 0, 0, 0, 0, 0, 0, 0],
            missed: [0, 1],
            why: "one of two turns is new",
        },
        Case { posts: &[(311, &["d1"])], posted: [1, 0, 0, 0, 0, 0, 0, 0], missed: [1, 1], why: "after the horizon" },
        Case { posts: &[(310, &["d1"])], posted: [1, 0, 0, 0, 0, 0, 0, 0], missed: [0, 1], why: "at the horizon" },
        Case { posts: &[(150, &["q"])], posted: [1, 0, 0, 1, 0, 1, 1, 0], missed: [1, 1], why: "before b's answer" },
        Case { posts: &[(160, &["q"])], posted: [1, 0, 0, 1, 0, 1, 1, 0], missed: [1, 1], why: "with b's answer: it pre-empts" },
        Case { posts: &[(161, &["q"])], posted: [1, 0, 0, 1, 1, 1, 0, 0], missed: [1, 1], why: "after b's answer" },
        Case { posts: &[(290, &["o"])], posted: [1, 0, 0, 1, 0, 1, 0, 0], missed: [1, 0], why: "an orphan answered" },
        Case { posts: &[(230, &["t1"])], posted: [1, 0, 0, 1, 1, 0, 0, 1], missed: [1, 1], why: "talk of others, and c had replied" },
        Case { posts: &[(2_010, &["end"])], posted: [0; 8], missed: [1, 1], why: "outside the judged part" },
        Case { posts: &[(20, &["mine"])], posted: [0; 8], missed: [1, 1], why: "its own line is no turn to answer" },
    ];
    for Case { posts, posted, missed, why } in cases {
        let c = counts(ROOM, posts);
        let got = [c.sends, c.duplicate, c.cut_off, c.undirected, c.late, c.room_sends, c.preempt, c.butt_in];
        assert_eq!((got, [c.direct_missed, c.orphans_missed]), (posted, missed), "{why}");
    }
}

#[test]
fn latency_counts_from_the_end_of_the_turn() {
    let c = counts(ROOM, &[(5, &["d1"]), (290, &["o"])]);
    assert_eq!((c.direct_ms, c.room_ms), (vec![-5_000], vec![90_000]));
    assert_eq!(percentile(&mut [], 0.5), None);
    assert_eq!(percentile(&mut [30, 10, 20, 40], 0.5), Some(30));
    assert_eq!(percentile(&mut [30, 10, 20, 40], 0.95), Some(40));
}

#[test]
fn fit_is_over_turns() {
    // Said: d (wanted) and o (not); silent: q, the answer, t1, t2 (none wanted).
    let c = counts(ROOM, &[(20, &["d1"]), (290, &["o"])]);
    let fit = Fit::of(&c);
    assert_eq!((c.said_wanted, c.said_unwanted, c.silent_wanted, c.silent_unwanted), (1, 1, 0, 4));
    assert_eq!((fit.mir, fit.fir), (Some(0.0), Some(1.0 - 0.8)));
    assert_eq!(fit.balanced_accuracy, Some(0.9));
    // F1 of saying: precision 1/2, recall 1; of silence: precision 1, recall 4/5.
    let want = f64::midpoint(2.0 / 3.0, 8.0 / 9.0);
    assert!(fit.macro_f1.is_some_and(|f| (f - want).abs() < 1e-12));
    assert_eq!(Fit::of(&Counts::default()), Fit::default());
    assert_eq!(Rates::of(&Counts::default()), Rates::default());
}

#[test]
fn turns_are_cut_by_answers_and_by_time() {
    let room: &[Said] = &[
        ("a1", 0, "a", "one", Some(&[]), None),
        ("b1", 5, "b", "yes", Some(&["a1"]), None),
        ("a2", 10, "a", "two", Some(&["a1"]), None),
        ("a3", 190, "a", "three", Some(&["a2"]), None),
        ("a4", 371, "a", "four", Some(&["a3"]), None),
        ("gone", 372, "a", "five", Some(&["nowhere"]), None),
        ("bot", 373, "a", "six", None, None),
        ("end", 9_000, "c", "bye", Some(&[]), None),
    ];
    let facts = facts(room);
    let truth = Truth::of(&facts);
    let turn = |id: &str| facts.row_named(id).and_then(|r| truth.turn(r));
    assert_ne!(turn("a1"), turn("a2"), "b answered in between");
    assert_eq!(turn("a2"), turn("a3"), "180 s is one turn");
    assert_ne!(turn("a3"), turn("a4"), "181 s is not");
    assert!(turn("gone").is_some(), "a link out of the room still annotates");
    assert_eq!(turn("bot"), None, "a line that nobody annotated is no turn");
}
