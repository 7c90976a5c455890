//! Inputs a second of the room machine, with lines that were built beforehand.

use std::{hash::BuildHasher, hint::black_box, time::Instant};

use hashbrown::DefaultHashBuilder;
use parlor_core::GateKind;

use super::{Args, BenchError, Figure, Target, archives::Archives, median};
use crate::replay::{self, Tape};

/// Runs of each measurement.
const RUNS: usize = 7;
/// Inputs a second on one core (docs/replay.md).
const TARGET_INPUTS: f64 = 1_000_000.0;

/// Microseconds of a tick in which a burst is gated (docs/replay.md).
const TARGET_GATE_US: f64 = 2.0;

/// Items and ticks and everything else that is stepped, a second, with the plain rules as the gate; beside it the items alone, the
/// same with the embedded gate, and one look of that gate.
pub(super) fn figures(args: &Args) -> Result<Vec<Figure>, BenchError> {
    let archives = Archives::open(args)?;
    let Some(path) = archives.for_core() else { return Ok(Vec::new()) };
    let tapes = Tape::read(&replay::Args::of(vec![path.to_owned()]))?;
    let of = |gate| tapes.iter().cloned().map(|t| t.gated_by(gate)).collect::<Vec<_>>();
    let (plain, embedded) = (of(GateKind::Rules), of(GateKind::Embedded));
    let (mut by_rules, mut by_models) = (Speeds::default(), Speeds::default());
    let (mut moved, mut gated, mut idle) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        by_rules.run(&plain)?;
        by_models.run(&embedded)?;
        moved.push(items(&tapes) as f64 / moves(tapes.clone()));
        for tape in embedded.iter().cloned() {
            let ticks = tape.time()?;
            gated.extend(ticks.gated.iter().map(|took| took.as_secs_f64() * 1e6));
            idle.extend(ticks.idle.iter().map(|took| took.as_secs_f64() * 1e6));
        }
    }
    let moved = ("hash_and_move", median(moved));
    let (target, gate) = (Target::AtLeast(TARGET_INPUTS), Target::Below(TARGET_GATE_US));
    Ok(vec![
        Figure::new("core_inputs", median(by_rules.stepped), "inputs/s", moved, Some(target)),
        Figure::new("core_items", median(by_rules.heard), "items/s", moved, None),
        Figure::new("core_inputs_embedded", median(by_models.stepped), "inputs/s", moved, None),
        Figure::new("core_items_embedded", median(by_models.heard), "items/s", moved, None),
        Figure::new("gate_evaluation", median(gated), "us", ("idle_tick", median(idle)), Some(gate)),
    ])
}

/// What machines with one gate did in each run.
#[derive(Default)]
struct Speeds {
    /// Inputs a second.
    stepped: Vec<f64>,
    /// Lines a second.
    heard: Vec<f64>,
}

impl Speeds {
    fn run(&mut self, tapes: &[Tape]) -> Result<(), BenchError> {
        let copies = tapes.to_vec();
        let started = Instant::now();
        let mut inputs = 0;
        for tape in copies {
            inputs += tape.play()?.inputs();
        }
        let spent = started.elapsed().as_secs_f64();
        self.stepped.push(inputs as f64 / spent);
        self.heard.push(items(tapes) as f64 / spent);
        Ok(())
    }
}

fn items(tapes: &[Tape]) -> usize {
    tapes.iter().map(|t| t.items.len()).sum()
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
