//! Simulated rooms: some thousands of steps in memory and on a real Postgres, and what comes of a script that breaks a rule.

use parlor::{
    replay,
    sim::{
        self, Args, Broken, SimError,
        fuzz::{Target, fuzz},
    },
};

use super::support::postgres::TestDb;

/// Another run: PARLOR_TEST_SEED=7 cargo test sim
fn seed() -> u64 {
    let seed = std::env::var("PARLOR_TEST_SEED").map_or(20_261_201, |seed| seed.parse().expect("a number"));
    println!("seed {seed}");
    seed
}

#[test]
fn thousands_of_steps_in_memory_break_no_rule() {
    let folder = tempfile::tempdir().unwrap();
    let args = Args { archive_dir: folder.path().into(), ..Args::of(seed(), 20_000) };
    let counts = sim::simulate(&args).unwrap().counts;
    assert!(counts.steps >= 20_000);
    for (name, n) in counts.list() {
        assert!(n > 0, "nothing of this happened, so nothing of it was checked: {name}");
    }
}

#[test]
fn thousands_of_steps_on_postgres_break_no_rule() {
    let folder = tempfile::tempdir().unwrap();
    let args = Args { archive_dir: folder.path().into(), ..Args::of(seed(), 2_000) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let db = runtime.block_on(TestDb::new());
    let counts = sim::simulate_on(&args, &db.url).unwrap().counts;
    assert!(counts.steps >= 2_000);
    assert!(counts.posts > 0 && counts.crashes > 0 && counts.restores > 0, "{counts:?}");
}

#[test]
fn a_script_that_breaks_a_rule_is_an_archive_that_replay_loads() {
    let folder = tempfile::tempdir().unwrap();
    let args = Args { broken: Some(Broken::HideMute), archive_dir: folder.path().into(), ..Args::of(2, 100_000) };
    let Err(SimError::Violated { violation, archive, .. }) = sim::simulate(&args) else { panic!("it was not found") };
    assert_eq!(violation.rule.code(), "muted");
    let report = replay::replay(&replay::Args::of(vec![archive.clone()])).unwrap();
    assert_eq!(report.bad_rows, 0, "{:?}", report.bad_examples);
    let again = Args { script: Some(archive), ..args };
    assert!(matches!(sim::simulate(&again), Err(SimError::Violated { .. })));
}

#[test]
fn bytes_that_nobody_meant_break_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for target in [Target::Inputs, Target::Rows] {
        let fuzzed = fuzz(target, seed(), 3, folder.path()).unwrap();
        assert!(fuzzed.runs > 10 && fuzzed.reached.len() > 20, "{fuzzed:?}");
    }
}
