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
    diary::Diary,
    drafter::Summary,
    drive::Drive,
    facts::Facts,
    import::Resolution,
    intake::Taken,
    interval::intervals,
    policies::{self, Drawn},
    score::{Counts, Fit, Played, Post, RATES, Rates, percentile},
    sweep::Swept,
    table::{ROWS, cell},
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
    /// What is counted of the machine in each room.
    pub(super) by_room: Vec<Counts>,
    /// Waits by policy.
    pub(super) waits: Vec<Waits>,
    /// What the model wrote, where one did.
    pub(super) drafts: Option<Summary>,
    /// What another value of a constant does.
    pub(super) swept: Option<Swept>,
    known: Known,
    resolution: Option<Resolution>,
    rooms_left_out: u64,
    late_rows: u64,
    judged: Judged,
}

/// From the end of a turn to the first post, ms, sorted.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    pub direct: Vec<i64>,
    pub room: Vec<i64>,
}

impl Waits {
    fn of(rooms: &[Counts]) -> Self {
        let mut all = sum(rooms);
        all.direct_ms.sort_unstable();
        all.room_ms.sort_unstable();
        Self { direct: all.direct_ms, room: all.room_ms }
    }
}

/// A machine that was in a room, now or once.
pub(super) trait Ran {
    /// What it did.
    fn played(&self, facts: &Facts) -> Played;
    /// What it heard and decided, where a page is wanted.
    fn diary(&self) -> Option<&Diary>;
}

impl Ran for Drive {
    fn played(&self, facts: &Facts) -> Played {
        let all = |lists: &[Vec<String>]| lists.iter().map(|ids| rows_of(facts, ids)).collect();
        Played {
            posts: self.log.posts.iter().map(|p| Post { ts: p.ts, rows: rows_of(facts, &p.settles) }).collect(),
            reactions: all(&self.log.reactions),
            gate_calls: all(&self.log.gate_calls),
            drafts: all(&self.log.drafts),
        }
    }

    fn diary(&self) -> Option<&Diary> {
        Self::diary(self)
    }
}

/// What the archive says of what replies to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Known {
    /// People noted it, line by line.
    Lines,
    /// Told by links, by names at the start of a line, and by who spoke on (docs/shadow.md).
    LinksAndNames,
    /// The same, and nobody shows whom they answer.
    Names,
    /// Only of lines that have a link of their platform; the others may reply to anything.
    Links,
    Nothing,
}

/// Figures that say nothing where only links are known: an answer, a further line or a question without a link is not seen.
const NOT_BY_LINKS: [&str; 11] = [
    "already_answered_rate",
    "preempt_rate",
    "missed_orphan_rate",
    "cut_off_rate",
    "balanced_accuracy",
    "macro_f1",
    "fir",
    "latency_p50_ms",
    "latency_p95_ms",
    "latency_room_p50_ms",
    "latency_room_p95_ms",
];

/// What the ledger does not tell of a room: a model at the gate leaves no row.
const NOT_IN_SHADOW: [&str; 1] = ["gate_calls"];

/// Figures that say nothing where no answer of anybody can be seen.
const NOT_WITHOUT_ANSWERS: [&str; 8] = [
    "gate_calls",
    "already_answered_rate",
    "preempt_rate",
    "missed_orphan_rate",
    "latency_p50_ms",
    "latency_p95_ms",
    "latency_room_p50_ms",
    "latency_room_p95_ms",
];

impl Known {
    /// Whether every line of a person is judged.
    fn by_line(self) -> bool {
        match self {
            Self::Lines | Self::LinksAndNames | Self::Names => true,
            Self::Links | Self::Nothing => false,
        }
    }

    /// The figures that cannot be known then.
    fn unknown(self) -> &'static [&'static str] {
        match self {
            Self::Lines | Self::Nothing => &[],
            Self::Links => &NOT_BY_LINKS,
            Self::LinksAndNames => &NOT_IN_SHADOW,
            Self::Names => &NOT_WITHOUT_ANSWERS,
        }
    }
}

/// How much there was to judge.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Judged {
    pub turns: u64,
    pub replied_turns: u64,
    pub direct_questions: u64,
    pub room_questions: u64,
    pub orphans: u64,
}

/// The order of policies in a report.
const POLICIES: [&str; 6] = ["parlor", "request_queue", "mention_only", "random", "silent", "ceiling"];

impl Report {
    pub(super) fn of(args: &Args, taken: &Taken<Drive>) -> Self {
        let any_truth = taken.rooms.iter().any(|r| r.facts.rows().iter().any(|f| f.annotated));
        let known = match (any_truth, taken.links_only) {
            (false, _) => Known::Nothing,
            (true, true) => Known::Links,
            (true, false) => Known::Lines,
        };
        Self::knowing(args, taken, known)
    }

    /// The report where it is known how truth was come by.
    pub(super) fn knowing<R: Ran>(args: &Args, taken: &Taken<R>, known: Known) -> Self {
        let truths: Vec<Truth> = taken.rooms.iter().map(|r| Truth::of(&r.facts)).collect();
        let parlor: Vec<Played> = taken.rooms.iter().map(|r| r.listener.played(&r.facts)).collect();
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
                all.push(Counts::of(facts, truth, &played, known.by_line()));
            }
        }
        let waits = counts.iter().map(|all| Waits::of(all)).collect();
        let judged = counts.first().map_or_else(Counts::default, |all| sum(all));
        let lines = taken.rooms.iter().map(|r| r.facts.len()).sum();
        Self {
            rooms: taken.rooms.len(),
            lines,
            lines_per_second: if taken.spent.is_zero() { 0.0 } else { lines as f64 / taken.spent.as_secs_f64() },
            bad_rows: taken.bad_rows,
            bad_examples: taken.bad_examples.clone(),
            policies: POLICIES.into_iter().zip(&counts).map(|(name, all)| (name, figures(all, known, args.seed))).collect(),
            waits,
            by_room: std::mem::take(&mut counts[0]),
            swept: None,
            drafts: None,
            known,
            resolution: taken.resolution,
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
        let mut json = json!({
            "rooms": self.rooms,
            "rooms_left_out": self.rooms_left_out,
            "lines": self.lines,
            "lines_per_second": self.lines_per_second.round(),
            "bad_rows": self.bad_rows,
            "late_rows": self.late_rows,
            "truth": self.known,
            "ts_res": self.resolution,
            "judged": self.judged,
            "policies": policies,
        });
        let more = [("drafter", self.drafts.as_ref().map(Summary::json)), ("sweep", self.swept.as_ref().map(Swept::json))];
        if let Some(json) = json.as_object_mut() {
            json.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        }
        json
    }

    /// How much there was to judge.
    pub(super) fn judged(&self) -> Judged {
        self.judged
    }

    /// The figures of the machine.
    pub(super) fn parlor(self) -> Map<String, Value> {
        self.policies.into_iter().next().map(|(_, figures)| figures).unwrap_or_default()
    }

    /// What has to be said beside the figures.
    pub(super) fn notes(&self) -> Vec<&'static str> {
        let truth = match self.known {
            Known::Lines if self.judged.turns == 0 => Some("No turn is followed by five minutes of the room, so only the cost is known."),
            Known::Lines => None,
            Known::LinksAndNames => Some(
                "Whom a line answers is told by its link or by the name that opens it: an answer that shows neither is not seen, and the rates of posts that come too late, or where none is wanted, are lower than they should be.",
            ),
            Known::Names => Some("Nobody shows by a link or a name whom they answer, so what depends on people's answers is not known."),
            Known::Links => Some(
                "What replies to what is known only of lines with a link: the rates are about those, and what cannot be told from them is left out.",
            ),
            Known::Nothing => Some("The archive does not say what replies to what, so only the cost is known."),
        };
        let minutes = (self.resolution == Some(Resolution::Minute))
            .then_some("Times are known to the minute: lines of one minute are spread over it, and waits below a minute are guesses.");
        truth.into_iter().chain(minutes).collect()
    }

    /// The report for people.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let j = self.judged;
        // A room that was lived through has none.
        let speed = if self.lines_per_second > 0.0 { format!(", {:.0} lines/s", self.lines_per_second) } else { String::new() };
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{} rooms, {} lines{speed}; {} turns judged, {} direct questions, {} room questions ({} that nobody else answered)",
            self.rooms, self.lines, j.turns, j.direct_questions, j.room_questions, j.orphans
        );
        if self.bad_rows + self.late_rows + self.rooms_left_out > 0 {
            let _ = writeln!(
                out,
                "{} rows could not be used, {} rows went back in time, {} rooms without a persona were left out",
                self.bad_rows, self.late_rows, self.rooms_left_out
            );
        }
        let drafts = self.drafts.iter().flat_map(Summary::lines);
        for note in self.notes().into_iter().map(str::to_owned).chain(drafts) {
            let _ = writeln!(out, "{note}");
        }
        let _ = write!(out, "\n{:<34}", "");
        for (name, _) in &self.policies {
            let _ = write!(out, "{name:>22}");
        }
        out.push('\n');
        for row in ROWS {
            let _ = write!(out, "{:<34}", row.title);
            for (_, figures) in &self.policies {
                let _ = write!(out, "{:>22}", cell(row, figures));
            }
            out.push('\n');
        }
        out.push_str(&self.swept.as_ref().map(Swept::table).unwrap_or_default());
        out
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

fn figures(rooms: &[Counts], known: Known, seed: u64) -> Map<String, Value> {
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
    let ends = |name: &str| [name.to_owned(), format!("{name}_low"), format!("{name}_high")];
    for name in known.unknown().iter().flat_map(|name| ends(name)) {
        out.entry(name).and_modify(|value| *value = Value::Null);
    }
    out
}

fn rows_of(facts: &Facts, ids: &[String]) -> Vec<u32> {
    ids.iter().filter_map(|id| facts.row_named(id)).collect()
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
