//! Bytes of an archive through the whole of a replay: unpacking, rows, the machine, the scorer, the report.

use std::{fs, path::PathBuf, sync::OnceLock};

use super::Reached;
use crate::replay::{
    self, Args, ReplayError,
    generate::{self, Plan},
};

/// Small sound archives to begin with.
pub(super) fn first(seed: u64) -> Vec<Vec<u8>> {
    (0..8).map(|n| generate::archive(Plan { seed: seed.wrapping_add(n), rooms: 2, lines: 12 }).into_bytes()).collect()
}

/// One run; an error is a replay that did not end as it should.
pub fn fuzz_rows(bytes: &[u8]) -> Result<Reached, String> {
    let path = file();
    fs::write(path, bytes).map_err(|e| format!("{} cannot be written: {e}", path.display()))?;
    let odd = bytes.first().is_some_and(|b| b % 2 == 1);
    let persona = odd.then(|| "Ada".to_owned());
    let args = Args { persona, visible_links: 1.0, ..Args::of(vec![path.clone()]) };
    let report = match replay::replay(&args) {
        Ok(report) => report,
        Err(stuck @ ReplayError::Stuck { .. }) => return Err(stuck.to_string()),
        Err(other) => return Ok(Reached::from([variant(&other)])),
    };
    // What a reader sees of it has to come about too.
    let mut reached: Reached = report.bad_examples.iter().map(|bad| format!("bad:{}", reason(bad))).collect();
    reached.extend(numbers(report.json().as_object().into_iter().flatten()));
    reached.extend(report.policies.iter().take(1).flat_map(|(_, figures)| numbers(figures.iter())));
    if report.table().is_empty() {
        return Err("the table is empty".into());
    }
    Ok(reached)
}

/// Figures by their order of magnitude.
fn numbers<'a>(figures: impl Iterator<Item = (&'a String, &'a serde_json::Value)>) -> Vec<String> {
    let numbers = figures.filter_map(|(k, v)| Some((k, v.as_f64()?))).filter(|(k, _)| *k != "lines_per_second");
    numbers.map(|(k, v)| format!("{k}:{}", v.abs().log2().max(-4.0) as i64)).collect()
}

/// Why a row was left out, without its place and whatever it quotes.
fn reason(bad: &str) -> String {
    let why = bad.rsplit(".bin:").next().unwrap_or_default();
    why.chars().filter(|c| c.is_ascii_alphabetic() || *c == ' ').take(40).collect::<String>().trim().replace(' ', "_")
}

fn variant(error: &ReplayError) -> String {
    let name = format!("{error:?}");
    format!("error:{}", name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default())
}

/// A file of this process's own.
fn file() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let shm = PathBuf::from("/dev/shm");
        let folder = if shm.is_dir() { shm } else { std::env::temp_dir() };
        folder.join(format!("parlor-fuzz-{}.bin", std::process::id()))
    })
}
