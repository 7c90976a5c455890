//! Fuzzing: bytes that nobody meant, for the archive rows of `parlor replay` and for the inputs of a machine. Nothing may panic,
//! hang, or grow without bound.
//!
//! It is seeded, and guided by what a run reaches: bytes that reached something new (a decision, a reason, a shape of the
//! report) are kept and changed further.

mod inputs;
mod mutate;
mod rows;

use std::{
    collections::BTreeSet,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

pub use inputs::fuzz_inputs;
pub use rows::fuzz_rows;

use super::SimError;
use crate::replay::Random;

/// Bytes of one run at most; more would only be slower.
const MAX_BYTES: usize = 16_384;
/// What a run may take: a thousand times what one usually does, on a machine that does other things too.
const MAX_RUN: Duration = Duration::from_secs(20);
/// Kept bytes at most; the oldest make room.
const MAX_CORPUS: usize = 4_096;

/// What is fuzzed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Bytes of an archive, through the whole of a replay.
    Rows,
    /// Inputs of a machine.
    Inputs,
}

/// What one run reached, as short names.
pub type Reached = BTreeSet<String>;

/// What a fuzzing came to.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Fuzzed {
    /// What was fuzzed.
    pub target: Target,
    /// Seed of the run.
    pub seed: u64,
    /// How often.
    pub runs: u64,
    /// How long, s.
    pub seconds: u64,
    /// Bytes that were kept because they reached something new.
    pub corpus: usize,
    /// What was reached.
    pub reached: Reached,
}

/// The run under way, for who watches its time.
type Running = Arc<Mutex<Option<(Instant, Vec<u8>)>>>;

/// Fuzzes for some time. The bytes of a run that fails are kept in `folder`.
pub fn fuzz(target: Target, seed: u64, seconds: u64, folder: &Path) -> Result<Fuzzed, SimError> {
    let began = Instant::now();
    let mut dice = Random::new(seed, "fuzz");
    let mut corpus = match target {
        Target::Rows => rows::first(seed),
        Target::Inputs => inputs::first(&mut dice),
    };
    let (mut shapes, mut reached, mut runs) = (BTreeSet::new(), Reached::new(), 0);
    let running = Running::default();
    watch(Arc::clone(&running), folder.to_owned());
    let mut next = corpus.clone();
    while began.elapsed() < Duration::from_secs(seconds) {
        let bytes = next.pop().unwrap_or_else(|| mutate::changed(&corpus, &mut dice, MAX_BYTES));
        *running.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), bytes.clone()));
        let run = || match target {
            Target::Rows => fuzz_rows(&bytes),
            Target::Inputs => fuzz_inputs(&bytes),
        };
        // A panic has been printed with its place; the bytes say the rest.
        let failed = match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(now)) => {
                let fresh = now.iter().filter(|what| !reached.contains(*what)).count();
                if fresh > 0 || shapes.insert(shape(&now)) && dice.chance(0.1) {
                    keep(&mut corpus, bytes);
                }
                reached.extend(now);
                runs += 1;
                continue;
            }
            Ok(Err(why)) => why,
            Err(_) => "it panicked".to_owned(),
        };
        let kept = store(folder, target, &bytes)?;
        return Err(SimError::Fuzzed { why: failed, seed, runs, bytes: kept });
    }
    *running.lock().unwrap_or_else(PoisonError::into_inner) = None;
    Ok(Fuzzed { target, seed, runs, seconds, corpus: corpus.len(), reached })
}

fn keep(corpus: &mut Vec<Vec<u8>>, bytes: Vec<u8>) {
    if corpus.len() == MAX_CORPUS {
        corpus.remove(0);
    }
    corpus.push(bytes);
}

/// Which things were reached together.
fn shape(reached: &Reached) -> u64 {
    let mut hasher = DefaultHasher::new();
    reached.hash(&mut hasher);
    hasher.finish()
}

fn store(folder: &Path, target: Target, bytes: &[u8]) -> Result<PathBuf, SimError> {
    let path = folder.join(format!("fuzz-{target:?}-{:016x}.bin", shape(&BTreeSet::from([format!("{bytes:?}")]))).to_lowercase());
    fs::create_dir_all(folder).and_then(|()| fs::write(&path, bytes)).map_err(super::file(&path))?;
    Ok(path)
}

/// A run that hangs cannot be ended from inside: its bytes are kept and the process ends.
fn watch(running: Running, folder: PathBuf) {
    let weak = Arc::downgrade(&running);
    drop(running);
    std::thread::spawn(move || {
        while let Some(running) = weak.upgrade() {
            let hangs = match &*running.lock().unwrap_or_else(PoisonError::into_inner) {
                Some((since, bytes)) if since.elapsed() > MAX_RUN => Some(bytes.clone()),
                _ => None,
            };
            if let Some(bytes) = hangs {
                let _ = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join("fuzz-hang.bin"), bytes));
                eprintln!("parlor: a run takes longer than {} s; its bytes are in {}/fuzz-hang.bin", MAX_RUN.as_secs(), folder.display());
                std::process::exit(1);
            }
            drop(running);
            std::thread::sleep(Duration::from_millis(500));
        }
    });
}

impl Fuzzed {
    pub(super) fn table(&self) -> String {
        let head = format!(
            "seed {}: {} runs over {:?} in {} s, nothing failed ({} kept, {} things reached)\n",
            self.seed,
            self.runs,
            self.target,
            self.seconds,
            self.corpus,
            self.reached.len()
        );
        let reached: Vec<&str> = self.reached.iter().map(String::as_str).collect();
        format!("{head}  {}\n", reached.join(" "))
    }
}
