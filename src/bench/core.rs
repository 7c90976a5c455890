//! Inputs a second of the room machine, with lines that were built beforehand.

use std::{hash::BuildHasher, hint::black_box, time::Instant};

use hashbrown::DefaultHashBuilder;

use super::{Args, BenchError, Figure, Target, archives::Archives, median};
use crate::replay::{self, Tape};

/// Runs of each measurement.
const RUNS: usize = 7;
/// Inputs a second on one core (docs/replay.md).
const TARGET_INPUTS: f64 = 1_000_000.0;

/// Items and ticks and everything else that is stepped, a second; beside it the items alone.
pub(super) fn figures(args: &Args) -> Result<Vec<Figure>, BenchError> {
    let archives = Archives::open(args)?;
    let Some(path) = archives.for_core() else { return Ok(Vec::new()) };
    let tapes = Tape::read(&replay::Args::of(vec![path.to_owned()]))?;
    let items: usize = tapes.iter().map(|t| t.items.len()).sum();
    let (mut stepped, mut heard, mut moved) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let copies = tapes.clone();
        let started = Instant::now();
        let mut inputs = 0;
        for tape in copies {
            inputs += tape.play()?.inputs();
        }
        let spent = started.elapsed().as_secs_f64();
        stepped.push(inputs as f64 / spent);
        heard.push(items as f64 / spent);
        moved.push(items as f64 / moves(tapes.clone()));
    }
    let moved = median(moved);
    let target = Some(Target::AtLeast(TARGET_INPUTS));
    Ok(vec![
        Figure::new("core_inputs", median(stepped), "inputs/s", ("hash_and_move", moved), target),
        Figure::new("core_items", median(heard), "items/s", ("hash_and_move", moved), None),
    ])
}

/// Seconds for taking over the same items and reading every byte of their text once.
fn moves(tapes: Vec<Tape>) -> f64 {
    let hasher = DefaultHashBuilder::default();
    let started = Instant::now();
    for item in tapes.into_iter().flat_map(|t| t.items) {
        black_box(hasher.hash_one(&item.text));
        drop(black_box(item));
    }
    started.elapsed().as_secs_f64()
}
