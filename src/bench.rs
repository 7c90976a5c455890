//! Every figure of the project by name, with its unit and what it is measured against in the same run.
//!
//! A bench measures the real thing: it holds no copy of what it measures and no shortcut through it.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::{ledger::LedgerError, replay::ReplayError};

mod archives;
mod core;
mod memory;
mod replay;
mod service;
mod table;

type Bench = fn(&Args) -> Result<Vec<Figure>, BenchError>;

/// What can be measured, in the order of the table. Memory comes first: the others leave freed memory behind that would hide it.
const BENCHES: &[(&str, Bench)] =
    &[("core_memory", memory::figures), ("core_inputs", core::figures), ("replay", replay::figures), ("service", service::figures)];

/// What to measure.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Benches to run, all if none is named: core_memory, core_inputs, replay, service
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
    /// Measure on the archives of this folder (*.jsonl, *.jsonl.gz) instead of generated rooms
    #[arg(long, value_name = "DIR")]
    pub archives: Option<PathBuf>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// None where the run gave nothing to measure.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: &'static str,
    /// What it is compared with.
    pub baseline_name: &'static str,
    /// The same measure of that, in the same run.
    pub baseline_value: Option<f64>,
    /// Value by baseline.
    pub ratio: Option<f64>,
    /// What it has to be.
    pub target: Option<Target>,
}

/// What a figure has to be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// At least this.
    AtLeast(f64),
    /// Below this.
    Below(f64),
}

impl Target {
    fn met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::Below(bound) => value < bound,
        }
    }
}

impl Figure {
    fn new(
        name: impl Into<String>,
        value: Option<f64>,
        unit: &'static str,
        baseline: (&'static str, Option<f64>),
        target: Option<Target>,
    ) -> Self {
        let ratio = value.zip(baseline.1).filter(|(_, b)| *b > 0.0).map(|(v, b)| v / b);
        Self { name: name.into(), value, unit, baseline_name: baseline.0, baseline_value: baseline.1, ratio, target }
    }
}

/// A figure was not measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// No bench of that name.
    #[error("there is no bench {0:?}; there are: {1}")]
    NoBench(String, String),
    /// A replay failed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The folder holds no archive.
    #[error("{0} holds no *.jsonl or *.jsonl.gz; give --archives a folder of archives, or leave it out to measure on generated rooms")]
    NoArchives(PathBuf),
    /// A file cannot be read or written.
    #[error("cannot use {path}: {source}; check the folder and its rights")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// This system does not tell how much memory a process holds.
    #[error("cannot tell the memory of this process: {0} has no line `Rss`; core_memory runs on Linux")]
    NoRss(PathBuf),
    /// `parlor dev` did not come up.
    #[error("parlor dev did not start: {0}")]
    NoStart(String),
    /// Something did not happen in time.
    #[error("{0} within its time; is this machine busy? run it again, and see what `parlor dev` says on a studio of your own")]
    Late(&'static str),
    /// The console did not answer.
    #[error("the console of parlor dev did not answer: {0}; run it again, and see what `parlor dev` says on a studio of your own")]
    Console(#[from] reqwest::Error),
    /// The ledger cannot be read.
    #[error("the ledger of parlor dev cannot be read: {0}")]
    Ledger(#[from] LedgerError),
    /// The system refused something that the run needs.
    #[error("the system refused what a bench needs (a process, a port, or the output): {0}")]
    System(#[from] io::Error),
}

impl BenchError {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }
}

/// Measures and prints.
pub fn run(args: &Args) -> Result<(), BenchError> {
    let figures = measure(args)?;
    let text = if args.json { format!("{}\n", serde_json::json!({ "figures": figures })) } else { table::of(&figures) };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Measures what is named, or everything.
pub fn measure(args: &Args) -> Result<Vec<Figure>, BenchError> {
    for name in &args.names {
        if !BENCHES.iter().any(|(known, _)| known == name) {
            let all = BENCHES.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
            return Err(BenchError::NoBench(name.clone(), all));
        }
    }
    let mut figures = Vec::new();
    for (name, bench) in BENCHES {
        if args.names.is_empty() || args.names.iter().any(|n| n == name) {
            figures.extend(bench(args)?);
        }
    }
    Ok(figures)
}

/// The middle of several measurements: one that another process disturbed does not count.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
