//! Simulation: rooms with scripted people, models, platforms and operators, in which processes end in the middle of anything,
//! played from a seed on virtual time. After everything that happens the rules of docs/simulation.md are checked; a script that
//! breaks one is made small and kept as an archive.
//!
//! What this module must not do: know the inside of a machine, or decide anything that a room decides. It plays the real machine
//! (in memory) or the real actor around it (on Postgres), and looks at them from outside.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

mod archive;
mod broken;
mod check;
pub mod fuzz;
mod memory;
mod play;
mod postgres;
mod script;
mod shrink;
mod words;
mod world;

pub use broken::Broken;
pub use check::{Rule, Violation};
pub use play::Counts;

use memory::Memory;
use play::{Ended, play};
use postgres::Postgres;
use script::Script;
use world::World;

use secrecy::SecretString;

use crate::{
    dev::postgres::{PrivateOptions, PrivateServer},
    ledger::Passwords,
    replay::Random,
};

/// Moves of one script. Long enough for queues to fill and waits to be learned, short enough to be made small in seconds.
const MOVES: usize = 500;
/// Where failing scripts go.
const FOLDER: &str = "target/simulation";

/// What to simulate.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Seed of everything
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Steps at least: inputs that machines take
    #[arg(long, default_value_t = 1_000_000)]
    pub steps: u64,
    /// Play this script of the run only, by its number
    #[arg(long, value_name = "NUMBER")]
    pub only: Option<u64>,
    /// Play the script of an archive that was written here
    #[arg(long, value_name = "ARCHIVE")]
    pub script: Option<PathBuf>,
    /// Folder for the archive of a failing script
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub archive_dir: PathBuf,
    /// Break one thing on purpose: a run that does not find it has failed
    #[arg(long = "break", value_name = "WHAT")]
    pub broken: Option<Broken>,
    /// Play on a private Postgres, through the real ledger and actor: some hundred steps a second
    #[arg(long, conflicts_with = "broken")]
    pub postgres: bool,
    /// Fuzz this instead, for some seconds
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["broken", "postgres", "script", "only"])]
    pub fuzz: Option<fuzz::Target>,
    /// How long to fuzz, s
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
}

impl Args {
    /// A run with every default.
    pub fn of(seed: u64, steps: u64) -> Self {
        Self {
            seed,
            steps,
            only: None,
            script: None,
            archive_dir: FOLDER.into(),
            broken: None,
            postgres: false,
            fuzz: None,
            seconds: 60,
            json: false,
        }
    }
}

/// A run found no answer, or a bad one.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// A rule was broken.
    #[error(
        "{violation}; seed {seed}, script {script}. It was made small: `parlor sim --script {}` plays it again, `parlor replay` loads \
         it", .archive.display()
    )]
    Violated {
        /// What was seen.
        violation: Violation,
        /// Seed of the run.
        seed: u64,
        /// Number of the script.
        script: u64,
        /// Where the small script is.
        archive: PathBuf,
    },
    /// A fuzzed run failed.
    #[error("{why}; seed {seed}, after {runs} runs. The bytes are in {}", .bytes.display())]
    Fuzzed {
        /// What was seen.
        why: String,
        /// Seed of the run.
        seed: u64,
        /// Sound runs before it.
        runs: u64,
        /// Where the bytes are.
        bytes: PathBuf,
    },
    /// Nothing was found in a world that was broken on purpose.
    #[error("{0:?} was not found in {1} steps; a checker is blind, or the run is too short for it")]
    Unseen(Broken, u64),
    /// The world went away.
    #[error("the simulation cannot go on: {0}")]
    Lost(String),
    /// A file cannot be read or written.
    #[error("cannot use {path}: {source}; an archive of `parlor sim` and a folder that can be written are wanted")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The report cannot be printed.
    #[error("cannot print the report: {0}")]
    Print(#[from] io::Error),
}

/// What happened in a run.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Report {
    /// Seed of the run.
    pub seed: u64,
    /// Scripts that were played.
    pub scripts: u64,
    /// How often what happened.
    pub counts: Counts,
    /// How long it took, ms.
    pub wall_ms: u64,
}

/// Simulates and prints.
pub fn run(args: &Args) -> Result<(), SimError> {
    if let Some(target) = args.fuzz {
        let fuzzed = fuzz::fuzz(target, args.seed, args.seconds, &args.archive_dir)?;
        let text = if args.json { serde_json::json!(fuzzed).to_string() + "\n" } else { fuzzed.table() };
        return Ok(io::stdout().write_all(text.as_bytes())?);
    }
    let report = match (simulate(args), args.broken) {
        (Err(SimError::Violated { violation, seed, script, archive }), Some(broken)) => {
            let found = format!("{broken:?} was found: {violation}; seed {seed}, script {script}, made small in {}\n", archive.display());
            io::stdout().write_all(found.as_bytes())?;
            return Ok(());
        }
        (Ok(report), Some(broken)) => return Err(SimError::Unseen(broken, report.counts.steps)),
        (done, _) => done?,
    };
    let text = if args.json { serde_json::json!(report).to_string() + "\n" } else { report.table() };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Simulates in memory, or on a private server that is gone afterwards.
pub fn simulate(args: &Args) -> Result<Report, SimError> {
    if args.postgres {
        return on_private_server(args);
    }
    let broken = args.broken;
    simulate_in(args, || Ok(Memory { broken }))
}

/// Simulates on a database that was migrated with [`Passwords::of`] its URL, that nobody else uses, and whose clock the simulation
/// takes over. It must not be called by
/// a task of an async runtime, since it has one of its own.
pub fn simulate_on(args: &Args, database: &SecretString) -> Result<Report, SimError> {
    let world = Postgres::take(database)?;
    simulate_in(args, || Ok(world.clone()))
}

fn on_private_server(args: &Args) -> Result<Report, SimError> {
    let folder = std::env::temp_dir().join(format!("parlor-sim-{}", uuid::Uuid::new_v4().simple()));
    let lost = |e: &dyn std::fmt::Display| SimError::Lost(e.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let options = PrivateOptions { fast: true, max_connections: 0 };
    let report = runtime.block_on(PrivateServer::start(&folder, options)).map_err(|e| lost(&e)).and_then(|server| {
        let passwords = Passwords::of(&server.url()).map_err(|e| lost(&e))?;
        runtime.block_on(crate::ledger::migrate(&server.url(), Some(&passwords))).map_err(|e| lost(&e))?;
        let report = simulate_on(args, &server.url());
        runtime.block_on(server.stop()).map_err(|e| lost(&e))?;
        report
    });
    // A folder that stays is some megabytes in a place that is swept.
    let _ = std::fs::remove_dir_all(&folder);
    report
}

/// Plays scripts, each in a new world, until there were enough steps.
fn simulate_in<W: World>(args: &Args, mut world: impl FnMut() -> Result<W, SimError>) -> Result<Report, SimError> {
    let began = Instant::now();
    let mut report = Report { seed: args.seed, scripts: 0, counts: Counts::default(), wall_ms: 0 };
    let only = args.script.as_ref().map(|_| 0).or(args.only);
    let mut number = only.unwrap_or(0);
    while report.counts.steps < args.steps {
        let script = match &args.script {
            Some(path) => archive::read(path).map_err(file(path))?,
            None => Script::draw(seed_of(args.seed, number), MOVES),
        };
        match play(&mut world()?, &script, &mut report.counts) {
            Ok(()) => {}
            Err(Ended::Lost(why)) => return Err(SimError::Lost(why)),
            Err(Ended::Violated(violation)) => return Err(failed(args, number, &script, violation, &mut world)),
        }
        report.scripts += 1;
        number += 1;
        if only.is_some() {
            break;
        }
    }
    report.wall_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(report)
}

fn seed_of(seed: u64, number: u64) -> u64 {
    Random::new(seed, &format!("script {number}")).bits()
}

/// Makes the script small, keeps it, and tells.
fn failed<W: World>(
    args: &Args,
    number: u64,
    script: &Script,
    violation: Violation,
    world: &mut impl FnMut() -> Result<W, SimError>,
) -> SimError {
    let mut seen = violation;
    let small = shrink::shrink(script, |tried| {
        let Ok(mut world) = world() else { return false };
        match play(&mut world, tried, &mut Counts::default()) {
            Err(Ended::Violated(v)) if v.rule == seen.rule => {
                seen = v;
                true
            }
            _ => false,
        }
    });
    match archive::write(&args.archive_dir, &small, &seen) {
        Ok(archive) => SimError::Violated { violation: seen, seed: args.seed, script: number, archive },
        Err(source) => SimError::File { path: args.archive_dir.clone(), source },
    }
}

fn file(path: &Path) -> impl FnOnce(io::Error) -> SimError {
    move |source| SimError::File { path: path.to_owned(), source }
}

impl Report {
    /// Steps a second.
    pub fn steps_per_second(&self) -> f64 {
        self.counts.steps as f64 / Duration::from_millis(self.wall_ms.max(1)).as_secs_f64()
    }

    fn table(&self) -> String {
        let head = format!(
            "seed {}: {} steps in {} scripts, no rule was broken ({:.0} steps/s)\n",
            self.seed,
            self.counts.steps,
            self.scripts,
            self.steps_per_second()
        );
        self.counts.list().into_iter().skip(1).fold(head, |text, (name, n)| text + &format!("  {name:<12} {n}\n"))
    }
}

#[cfg(test)]
mod tests;
