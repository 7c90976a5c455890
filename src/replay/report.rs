//! The figures of a replay: as one JSON object, as a table, and the posts themselves as lines of ids.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, BufWriter, Write},
};

use parlor_core::ObligationKind;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    Args,
    drive::Drive,
    facts::Facts,
    intake::{RoomRun, Taken},
    interval::intervals,
    policies::{self, Drawn},
    score::{Counts, Fit, Played, Post, RATES, Rates, percentile},
    truth::Truth,
};

/// What came out of a replay.
#[derive(Clone, Debug)]
pub struct Report {
    /// Rooms that were run.
    pub rooms: usize,
    /// Their rows.
    pub lines: usize,
    /// Rows a second of the policy `parlor`, reading and decoding included.
    pub lines_per_second: f64,
    /// Rows that could not be used.
    pub bad_rows: u64,
    /// The first of them, in words.
    pub bad_examples: Vec<String>,
    /// Figures by policy, in the order of the table.
    pub policies: Vec<(&'static str, Map<String, Value>)>,
    rooms_left_out: u64,
    late_rows: u64,
    judged: Judged,
}

/// How much there was to judge.
#[derive(Clone, Copy, Debug, Serialize)]
struct Judged {
    turns: u64,
    replied_turns: u64,
    direct_questions: u64,
    room_questions: u64,
    orphans: u64,
}

/// The order of policies in a report.
const POLICIES: [&str; 6] = ["parlor", "request_queue", "mention_only", "random", "silent", "ceiling"];

impl Report {
    pub(super) fn of(args: &Args, taken: &Taken<Drive>) -> Self {
        let truths: Vec<Truth> = taken.rooms.iter().map(|r| Truth::of(&r.facts)).collect();
        let any_truth = taken.rooms.iter().any(|r| r.facts.rows().iter().any(|f| f.annotated));
        let parlor: Vec<Played> = taken.rooms.iter().map(played).collect();
        let posts = parlor.iter().map(|p| p.posts.len()).sum();
        let mut drawn = Drawn::new(args.seed, taken.rooms.iter().map(|r| r.facts.heard().count()).sum(), posts);
        let mut counts: [Vec<Counts>; 6] = Default::default();
        for ((room, truth), parlor) in taken.rooms.iter().zip(&truths).zip(parlor) {
            let facts = &room.facts;
            let each = [
                parlor,
                policies::request_queue(facts, args.draft_ms),
                policies::mention_only(facts, args.draft_ms),
                drawn.room(facts, args.draft_ms),
                Played::default(),
                policies::ceiling(truth),
            ];
            for (all, played) in counts.iter_mut().zip(each) {
                all.push(Counts::of(facts, truth, &played, any_truth));
            }
        }
        let judged = counts.first().map_or_else(Counts::default, |all| sum(all));
        let lines = taken.rooms.iter().map(|r| r.facts.len()).sum();
        Self {
            rooms: taken.rooms.len(),
            lines,
            lines_per_second: lines as f64 / taken.spent.as_secs_f64().max(f64::MIN_POSITIVE),
            bad_rows: taken.bad_rows,
            bad_examples: taken.bad_examples.clone(),
            policies: POLICIES.into_iter().zip(&counts).map(|(name, all)| (name, figures(all, args.seed))).collect(),
            rooms_left_out: taken.rooms_left_out,
            late_rows: taken.late_rows,
            judged: Judged {
                turns: judged.said_wanted + judged.said_unwanted + judged.silent_wanted + judged.silent_unwanted,
                replied_turns: judged.said_wanted + judged.silent_wanted,
                direct_questions: judged.direct,
                room_questions: judged.room_questions,
                orphans: judged.orphans,
            },
        }
    }

    /// A figure of a policy; none where there is nothing to judge.
    pub fn figure(&self, policy: &str, name: &str) -> Option<f64> {
        self.policies.iter().find(|(p, _)| *p == policy)?.1.get(name)?.as_f64()
    }

    /// The report as one object.
    pub fn json(&self) -> Value {
        let policies: Map<String, Value> = self.policies.iter().map(|(name, f)| ((*name).to_owned(), Value::Object(f.clone()))).collect();
        json!({
            "rooms": self.rooms,
            "rooms_left_out": self.rooms_left_out,
            "lines": self.lines,
            "lines_per_second": self.lines_per_second.round(),
            "bad_rows": self.bad_rows,
            "late_rows": self.late_rows,
            "judged": self.judged,
            "policies": policies,
        })
    }

    /// The report for people.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let j = self.judged;
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{} rooms, {} lines, {:.0} lines/s; {} turns judged, {} direct questions, {} room questions ({} that nobody else answered)",
            self.rooms, self.lines, self.lines_per_second, j.turns, j.direct_questions, j.room_questions, j.orphans
        );
        if self.bad_rows + self.late_rows + self.rooms_left_out > 0 {
            let _ = writeln!(
                out,
                "{} rows could not be used, {} rows went back in time, {} rooms without a persona were left out",
                self.bad_rows, self.late_rows, self.rooms_left_out
            );
        }
        if j.turns == 0 {
            let _ = writeln!(out, "The archive does not say what replies to what, so only the cost is known.");
        }
        let _ = write!(out, "\n{:<34}", "");
        for (name, _) in &self.policies {
            let _ = write!(out, "{name:>22}");
        }
        out.push('\n');
        for row in ROWS {
            let _ = write!(out, "{:<34}", row.title);
            for (_, figures) in &self.policies {
                let _ = write!(out, "{:>22}", row.cell(figures));
            }
            out.push('\n');
        }
        out
    }
}

/// A row of the table.
struct TableRow {
    title: &'static str,
    name: &'static str,
    unit: Unit,
}

enum Unit {
    /// A fraction, shown in percent with its interval if it has one.
    Percent,
    Seconds,
    Plain,
}

const fn table_row(title: &'static str, name: &'static str, unit: Unit) -> TableRow {
    TableRow { title, name, unit }
}

const ROWS: &[TableRow] = &[
    table_row("duplicate, %", "duplicate_rate", Unit::Percent),
    table_row("already answered, %", "already_answered_rate", Unit::Percent),
    table_row("pre-empt, %", "preempt_rate", Unit::Percent),
    table_row("missed direct, %", "missed_direct_rate", Unit::Percent),
    table_row("missed orphan, %", "missed_orphan_rate", Unit::Percent),
    table_row("cut-off, %", "cut_off_rate", Unit::Percent),
    table_row("butt-in, %", "butt_in_rate", Unit::Percent),
    table_row("balanced accuracy, %", "balanced_accuracy", Unit::Percent),
    table_row("macro F1, %", "macro_f1", Unit::Percent),
    table_row("MIR (wanted, not said), %", "mir", Unit::Percent),
    table_row("FIR (said, not wanted), %", "fir", Unit::Percent),
    table_row("latency p50, s", "latency_p50_ms", Unit::Seconds),
    table_row("latency p95, s", "latency_p95_ms", Unit::Seconds),
    table_row("posts per 100 lines", "sends", Unit::Plain),
    table_row("reactions per 100 lines", "reactions", Unit::Plain),
    table_row("drafts per 100 lines", "drafts", Unit::Plain),
    table_row("gate calls per 100 lines", "gate_calls", Unit::Plain),
];

impl TableRow {
    fn cell(&self, figures: &Map<String, Value>) -> String {
        let get = |name: &str| figures.get(name).and_then(Value::as_f64);
        let Some(value) = get(self.name) else { return "-".into() };
        match self.unit {
            Unit::Plain => format!("{value:.1}"),
            Unit::Seconds => format!("{:.1}", value / 1_000.0),
            Unit::Percent => match (get(&format!("{}_low", self.name)), get(&format!("{}_high", self.name))) {
                (Some(low), Some(high)) => format!("{:.1} ({:.1}-{:.1})", 100.0 * value, 100.0 * low, 100.0 * high),
                _ => format!("{:.1}", 100.0 * value),
            },
        }
    }
}

fn sum(rooms: &[Counts]) -> Counts {
    let mut sum = Counts::default();
    for room in rooms {
        sum.add(room);
        sum.direct_ms.extend(&room.direct_ms);
        sum.room_ms.extend(&room.room_ms);
    }
    sum
}

fn figures(rooms: &[Counts], seed: u64) -> Map<String, Value> {
    let mut all = sum(rooms);
    let mut out = Map::new();
    for ((name, rate), interval) in RATES.into_iter().zip(Rates::of(&all).0).zip(intervals(rooms, seed)) {
        out.insert(name.into(), rate.into());
        out.insert(format!("{name}_low"), interval.map(|i| i.0).into());
        out.insert(format!("{name}_high"), interval.map(|i| i.1).into());
    }
    let fit = Fit::of(&all);
    let fits = [("balanced_accuracy", fit.balanced_accuracy), ("macro_f1", fit.macro_f1), ("mir", fit.mir), ("fir", fit.fir)];
    out.extend(fits.map(|(name, value)| (name.to_owned(), value.into())));
    let mut both: Vec<i64> = all.direct_ms.iter().chain(&all.room_ms).copied().collect();
    for (name, values) in [("", &mut both), ("direct_", &mut all.direct_ms), ("room_", &mut all.room_ms)] {
        out.insert(format!("latency_{name}p50_ms"), percentile(values, 0.50).into());
        out.insert(format!("latency_{name}p95_ms"), percentile(values, 0.95).into());
    }
    let costs = [("gate_calls", all.gate_calls), ("drafts", all.drafts), ("sends", all.posts), ("reactions", all.reactions)];
    let per_100 = |n: u64| (all.lines > 0).then(|| 100.0 * n as f64 / all.lines as f64);
    out.extend(costs.map(|(name, n)| (name.to_owned(), per_100(n).into())));
    out
}

fn rows_of(facts: &Facts, ids: &[String]) -> Vec<u32> {
    ids.iter().filter_map(|id| facts.row_named(id)).collect()
}

fn played(room: &RoomRun<Drive>) -> Played {
    let (facts, log) = (&room.facts, &room.listener.log);
    let all = |lists: &[Vec<String>]| lists.iter().map(|ids| rows_of(facts, ids)).collect();
    Played {
        posts: log.posts.iter().map(|p| Post { ts: p.ts, rows: rows_of(facts, &p.settles) }).collect(),
        reactions: all(&log.reactions),
        gate_calls: all(&log.gate_calls),
        drafts: all(&log.drafts),
    }
}

/// A post in the file of sends.
#[derive(Serialize)]
struct Send<'a> {
    room: &'a str,
    ts: i64,
    settles: &'a [String],
    kind: ObligationKind,
    prompted: bool,
}

pub(super) fn write_sends(file: File, taken: &Taken<Drive>) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    for room in &taken.rooms {
        for post in &room.listener.log.posts {
            let send = Send { room: &room.name, ts: post.ts, settles: &post.settles, kind: post.kind, prompted: post.prompted };
            serde_json::to_writer(&mut file, &send)?;
            file.write_all(b"\n")?;
        }
    }
    file.flush()
}
