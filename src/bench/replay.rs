//! Whole archives: lines a second, and how the machine does beside the simpler policies.

use std::{path::Path, time::Instant};

use super::{Args, BenchError, Figure, Target, archives::Archives, median};
use crate::replay::{self, Report};

/// Runs of each measurement.
const RUNS: usize = 7;
/// Lines a second on one core, on the archive `train` (docs/replay.md).
const TARGET_LINES: f64 = 300_000.0;

/// Figures of the report, and the policy that each is set beside.
const QUALITY: &[(&str, &str, &str)] = &[
    ("duplicate_rate", "share", "request_queue"),
    ("already_answered_rate", "share", "request_queue"),
    ("preempt_rate", "share", "request_queue"),
    ("missed_direct_rate", "share", "mention_only"),
    ("missed_orphan_rate", "share", "mention_only"),
    ("cut_off_rate", "share", "request_queue"),
    ("butt_in_rate", "share", "request_queue"),
    ("balanced_accuracy", "share", "ceiling"),
    ("macro_f1", "share", "ceiling"),
    ("latency_p50_ms", "ms", "ceiling"),
    ("latency_p95_ms", "ms", "ceiling"),
    ("drafts", "per 100 lines", "request_queue"),
    ("sends", "per 100 lines", "request_queue"),
];

pub(super) fn figures(args: &Args) -> Result<Vec<Figure>, BenchError> {
    let archives = Archives::open(args)?;
    let mut figures = Vec::new();
    for (set, path) in &archives.sets {
        let mut speeds = Vec::new();
        let mut last = None;
        for _ in 0..RUNS {
            let report = replay::replay(&replay::Args::of(vec![path.clone()]))?;
            speeds.push(report.lines_per_second);
            last = Some(report);
        }
        let bare = (0..RUNS).map(|_| bare_speed(path)).collect::<Result<Vec<_>, _>>()?;
        let target = (set != "dev").then_some(Target::AtLeast(TARGET_LINES));
        figures.push(Figure::new(
            format!("replay.{set}.lines_per_second"),
            median(speeds),
            "lines/s",
            ("unpack_only", median(bare)),
            target,
        ));
        figures.extend(last.iter().flat_map(|report| quality(set, report)));
    }
    Ok(figures)
}

fn quality(set: &str, report: &Report) -> Vec<Figure> {
    let of = |(name, unit, beside): &(&'static str, &'static str, &'static str)| {
        Figure::new(format!("replay.{set}.{name}"), report.figure("parlor", name), unit, (beside, report.figure(beside, name)), None)
    };
    QUALITY.iter().map(of).collect()
}

/// Lines a second when an archive is only read and unpacked.
fn bare_speed(path: &Path) -> Result<f64, BenchError> {
    let started = Instant::now();
    let lines = replay::unpack(path).map_err(BenchError::file(path))?;
    Ok(lines as f64 / started.elapsed().as_secs_f64())
}
