//! `parlor bench` names its figures, sets each beside a baseline, and runs over a folder of archives or over rooms of its own.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use parlor::replay::generate::{self, Plan};
use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_parlor")).arg("bench").args(arguments).output().unwrap()
}

fn figures(arguments: &[&str]) -> Vec<Value> {
    let out = run(&[arguments, &["--json"]].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice::<Value>(&out.stdout).unwrap()["figures"].as_array().unwrap().clone()
}

fn archives(folder: &Path) {
    for (name, seed) in [("train", 3), ("dev", 4)] {
        fs::write(folder.join(format!("{name}.jsonl")), generate::archive(Plan { seed, rooms: 2, lines: 120 })).unwrap();
    }
}

#[test]
fn figures_over_a_folder_of_archives() {
    let dir = tempfile::tempdir().unwrap();
    archives(dir.path());
    let folder = dir.path().to_str().unwrap();
    let all = figures(&["core_inputs", "replay", "--archives", folder]);
    let find = |name: &str| all.iter().find(|f| f["name"] == name).unwrap_or_else(|| panic!("no {name} in {all:?}"));
    let speeds = ["core_inputs", "core_items", "core_inputs_embedded", "core_items_embedded"];
    for name in speeds.into_iter().chain(["replay.dev.lines_per_second", "replay.train.lines_per_second"]) {
        let (value, baseline) = (find(name)["value"].as_f64().unwrap(), find(name)["baseline_value"].as_f64().unwrap());
        // Nothing is faster than the same lines only taken over, or only unpacked.
        assert!(value > 0.0 && baseline > value, "{name}: {value} beside {baseline}");
        let ratio = find(name)["ratio"].as_f64().unwrap();
        assert!((ratio - value / baseline).abs() < 1e-9);
    }
    let gate = find("gate_evaluation");
    // A tick in which models are asked takes longer than one in which nothing is done.
    assert!(gate["ratio"].as_f64().unwrap() > 1.0 && gate["baseline_name"] == "idle_tick", "{gate}");
    assert_eq!((&gate["target"]["below"], &find("core_inputs")["target"]["at_least"]), (&2.0.into(), &1_000_000.0.into()));
    assert_eq!(find("replay.train.lines_per_second")["target"]["at_least"], 300_000.0);
    for (name, beside) in [("missed_direct_rate", "mention_only"), ("butt_in_rate", "request_queue"), ("balanced_accuracy", "ceiling")] {
        let figure = find(&format!("replay.train.{name}"));
        let value = figure["value"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&value) && figure["baseline_name"] == beside, "{figure}");
    }
    let table = String::from_utf8(run(&["replay", "--archives", folder]).stdout).unwrap();
    assert!(table.contains("replay.dev.duplicate_rate") && table.contains("at least 300000"), "{table}");
}

#[test]
fn what_cannot_be_measured_is_said() {
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().to_str().unwrap();
    for (arguments, words) in [
        (vec!["cores"], "there is no bench \"cores\"; there are: core_memory, core_inputs, replay, service"),
        (vec!["replay", "--archives", empty], "holds no *.jsonl or *.jsonl.gz"),
        (vec!["replay", "--archives", "/no/such/folder"], "cannot use /no/such/folder"),
    ] {
        let out = run(&arguments);
        let told = String::from_utf8(out.stderr).unwrap();
        assert!(!out.status.success() && told.contains(words), "{arguments:?}: {told}");
    }
}
