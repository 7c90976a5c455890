//! The counts of a generated archive, held against those of an independent scorer that was written in another language before this
//! one, from the formulas alone.
//!
//! `reference.json` has its figures by policy and room. They were got by giving it the archive of `PLAN` (the rows that
//! `generate::room` makes) and, for `drawn`, the posts of `drawn` as lines `{"room","ts","settles"}`; `silent`, `request_queue` and
//! `mention_only` it has of its own. Latencies are in ms; of each list the sum and the number are kept.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;
use crate::replay::{
    generate::{self, Plan},
    policies,
    random::Random,
};

const PLAN: Plan = Plan { seed: 20_261, rooms: 6, lines: 400 };
const DRAFT_MS: i64 = 6_000;

/// Every count of one policy in one room.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    sends: u64,
    duplicate: u64,
    cut_off: u64,
    undirected: u64,
    late: u64,
    room_sends: u64,
    preempt: u64,
    butt_in: u64,
    direct: u64,
    direct_missed: u64,
    room_questions: u64,
    orphans: u64,
    orphans_missed: u64,
    said_wanted: u64,
    said_unwanted: u64,
    silent_wanted: u64,
    silent_unwanted: u64,
    lines: u64,
    direct_waits: u64,
    direct_ms: i64,
    room_waits: u64,
    room_ms: i64,
}

impl Figures {
    fn of(c: &Counts) -> Self {
        Self {
            sends: c.sends,
            duplicate: c.duplicate,
            cut_off: c.cut_off,
            undirected: c.undirected,
            late: c.late,
            room_sends: c.room_sends,
            preempt: c.preempt,
            butt_in: c.butt_in,
            direct: c.direct,
            direct_missed: c.direct_missed,
            room_questions: c.room_questions,
            orphans: c.orphans,
            orphans_missed: c.orphans_missed,
            said_wanted: c.said_wanted,
            said_unwanted: c.said_unwanted,
            silent_wanted: c.silent_wanted,
            silent_unwanted: c.silent_unwanted,
            lines: c.lines,
            direct_waits: c.direct_ms.len() as u64,
            direct_ms: c.direct_ms.iter().sum(),
            room_waits: c.room_ms.len() as u64,
            room_ms: c.room_ms.iter().sum(),
        }
    }
}

/// The rows of a room as the scorer has them.
fn facts_of(rows: &[serde_json::Value]) -> Facts {
    let mut facts = Facts::new(generate::PERSONA.0);
    for (at, row) in rows.iter().skip(1).enumerate() {
        let line = row.to_string();
        let Ok(Line::Row(row)) = row::read(&line) else { panic!("no row: {line}") };
        assert!(facts.add(&row, row.ts).is_ok());
        facts.note_asks(at, question::asks(&row.content));
    }
    facts
}

/// Posts at random, to one to three lines that were said before, some of them again, some in the middle of a turn, some late.
fn drawn(facts: &Facts, room: usize) -> Vec<Post> {
    let mut random = Random::new(PLAN.seed, &format!("drawn {room}"));
    let heard: Vec<(u32, i64)> = facts.heard().map(|(row, f)| (row, f.ts)).collect();
    let mut posts = Vec::new();
    for (n, (row, ts)) in heard.iter().enumerate() {
        if !random.chance(0.4) {
            continue;
        }
        let mut rows = vec![*row];
        for _ in 0..random.below(3) {
            let back = n.saturating_sub(random.below(6));
            rows.extend(heard.get(back).map(|(row, _)| *row).filter(|row| !rows.contains(row)));
        }
        let wait = *random.pick(&[1, 3_000, 12_000, 60_000, 130_000, 299_000, 400_000]).unwrap();
        posts.push(Post { ts: ts + wait, rows });
    }
    posts
}

#[test]
fn every_count_is_that_of_an_independent_scorer() {
    let want: BTreeMap<String, Vec<Figures>> = serde_json::from_str(include_str!("reference.json")).unwrap();
    assert_eq!(want.keys().map(String::as_str).collect::<Vec<_>>(), ["drawn", "mention_only", "request_queue", "silent"]);
    for number in 0..PLAN.rooms {
        let facts = facts_of(&generate::room(PLAN, number));
        let truth = Truth::of(&facts);
        for (policy, rooms) in &want {
            let played = match policy.as_str() {
                "drawn" => Played { posts: drawn(&facts, number), ..Played::default() },
                "mention_only" => policies::mention_only(&facts, DRAFT_MS),
                "request_queue" => policies::request_queue(&facts, DRAFT_MS),
                _ => Played::default(),
            };
            let got = Figures::of(&Counts::of(&facts, &truth, &played, true));
            assert_eq!(got, rooms[number], "{policy} in room {number}");
        }
    }
    // The archive has every case, or the counts would agree on nothing.
    let drawn: &Vec<Figures> = &want["drawn"];
    let all = |count: fn(&Figures) -> u64| drawn.iter().map(count).sum::<u64>();
    let counts: [fn(&Figures) -> u64; 10] = [
        |f| f.duplicate,
        |f| f.cut_off,
        |f| f.late,
        |f| f.preempt,
        |f| f.butt_in,
        |f| f.direct_missed,
        |f| f.orphans_missed,
        |f| f.said_wanted,
        |f| f.direct_waits,
        |f| f.room_waits,
    ];
    assert!(counts.iter().all(|count| all(*count) >= 10), "{drawn:?}");
}
