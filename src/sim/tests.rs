//! Each checker can fail: a world with one thing wrong is found out, and the script that shows it is small.

use clap::ValueEnum;

use super::*;

#[test]
fn each_thing_that_is_wrong_is_found_and_made_small() {
    let folder = tempfile::tempdir().unwrap();
    let mut found = std::collections::BTreeSet::new();
    let mut unseen = Vec::new();
    for broken in Broken::value_variants() {
        let args = Args { broken: Some(*broken), archive_dir: folder.path().into(), ..Args::of(5, 100_000) };
        let Err(SimError::Violated { violation, archive, .. }) = simulate(&args) else {
            unseen.push(broken);
            continue;
        };
        let small = archive::read(&archive).unwrap();
        println!("{broken:?}: {violation}, {} moves", small.moves.len());
        assert!(small.moves.len() <= 24, "{broken:?}: {} moves are left: {:?}", small.moves.len(), small.moves);
        let again = Args { script: Some(archive), ..args };
        assert!(matches!(simulate(&again), Err(SimError::Violated { .. })), "{broken:?}: the archive does not show it again");
        found.insert(violation.rule);
    }
    assert!(unseen.is_empty(), "{unseen:?}");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), Rule::ALL, "each rule is broken by some world");
}

#[test]
fn a_sound_world_breaks_no_rule() {
    let seed = 20_261_201;
    println!("seed {seed}");
    let report = simulate(&Args::of(seed, 5_000)).unwrap();
    assert!(report.counts.steps >= 5_000);
    assert!(report.counts.drafts > 0 && report.counts.posts > 0, "{:?}", report.counts);
}

#[test]
fn a_seed_gives_the_same_run_again() {
    let counts = || simulate(&Args::of(3, 4_000)).unwrap().counts;
    assert_eq!(counts(), counts());
}

/// Scripts that once broke a rule; each is named after what was wrong.
#[test]
fn what_was_mended_stays_mended() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sim/kept");
    for script in std::fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().path()) {
        let args = Args { script: Some(script.clone()), archive_dir: tempfile::tempdir().unwrap().path().into(), ..Args::of(1, 1) };
        assert!(simulate(&args).is_ok(), "{}", script.display());
    }
}
