//! `parlor replay --policy` and `--sweep`: the rooms of an archive under another policy than the default.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Parser;
use parlor::replay::{
    Args, ReplayError,
    generate::{self, Plan},
    replay,
};
use serde_json::{Value, json};
use tempfile::TempDir;

const PLAN: Plan = Plan { seed: 12, rooms: 2, lines: 120 };

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: Args,
}

/// The arguments as the command reads them.
fn args(words: &[&str]) -> Result<Args, String> {
    Cli::try_parse_from(std::iter::once("replay").chain(words.iter().copied())).map(|cli| cli.args).map_err(|e| e.to_string())
}

fn archive(dir: &TempDir) -> PathBuf {
    let path = dir.path().join("rooms.jsonl");
    fs::write(&path, generate::archive(PLAN)).unwrap();
    path
}

fn figures(args: &Args) -> Value {
    let mut json = replay(args).unwrap().json();
    json.as_object_mut().unwrap().remove("lines_per_second");
    json
}

fn room(more: &str) -> String {
    format!(
        "apiVersion: parlor.dev/v1alpha1\nkind: Room\nmetadata: {{name: kiln}}\nspec:\n  surface: {{console: {{}}}}\n  audience: Room\n  \
         members: [{{persona: finch}}]\n{more}"
    )
}

fn with_policy(archive: &Path, policy: &Path) -> Args {
    Args { policy: Some(policy.to_owned()), ..Args::of(vec![archive.to_owned()]) }
}

#[test]
fn a_room_document_gives_the_policy_and_the_archive_the_persona() {
    let dir = TempDir::new().unwrap();
    let archive = archive(&dir);
    let policy = dir.path().join("room.yaml");
    let default = figures(&Args::of(vec![archive.clone()]));
    // Whether anything is posted belongs to the room, and when belongs to the floor: Shadow, mute and stop change nothing of it.
    for more in ["  mode: Active\n", "  mode: Active\n  mute: {reason: holidays}\n  replicas: 0\n"] {
        fs::write(&policy, room(more)).unwrap();
        assert_eq!(figures(&with_policy(&archive, &policy)), default, "{more}");
    }
    fs::write(
        &policy,
        room("  mode: Active\n  floor: {turnDone: 1s, turnOpen: 1s, roomWaitStart: 2s, roomWaitMin: 1s, roomWaitMax: 3s}\n"),
    )
    .unwrap();
    let hasty = figures(&with_policy(&archive, &policy));
    let p50 = |f: &Value| f["policies"]["parlor"]["latency_p50_ms"].as_i64().unwrap();
    assert!(p50(&hasty) < p50(&default), "{} {}", p50(&hasty), p50(&default));
    assert_eq!(hasty["policies"]["ceiling"], default["policies"]["ceiling"]);

    // In Shadow the machine speaks as ever, and nobody in the room sees it: a follow-up to it can only come from links.
    fs::write(&policy, room("")).unwrap();
    let shadow = figures(&with_policy(&archive, &policy));
    assert!(shadow["policies"]["parlor"]["sends"].as_f64().unwrap() > 1.0, "{shadow}");
    assert!(shadow["policies"]["parlor"]["missed_direct_rate"].as_f64().unwrap() < 0.3, "{shadow}");
}

#[test]
fn a_document_that_does_not_fit_is_refused_with_its_place() {
    let dir = TempDir::new().unwrap();
    let archive = archive(&dir);
    let policy = dir.path().join("room.yaml");
    let told = |text: &str| {
        fs::write(&policy, text).unwrap();
        match replay(&with_policy(&archive, &policy)) {
            Err(e @ ReplayError::Policy(_)) => e.to_string(),
            other => panic!("{text}: {other:?}"),
        }
    };
    let wrong = told(&room("  floor: {turnDone: soon, trunOpen: 1s}\n"));
    assert!(wrong.contains("room.yaml:8:21: spec.floor.turnDone: ") && wrong.contains("spec.floor.trunOpen"), "{wrong}");
    assert!(told("a: [").contains("room.yaml:1"), "no YAML");
    assert!(told(&format!("{}---\n{}", room(""), room("").replace("kiln", "oven"))).contains("several Room documents"));
    assert!(told(&room("").replace("kind: Room", "kind: Persona")).contains("room.yaml"));
    // A persona beside it that does not fit is told too; one in a room that is not meant is none of our business.
    let persona = "apiVersion: parlor.dev/v1alpha1\nkind: Persona\nmetadata: {name: finch}\nspec: {displayName: Finch}\n";
    fs::write(dir.path().join("finch.yaml"), persona).unwrap();
    let wrong = told(&room(""));
    assert!(wrong.contains("finch.yaml:4") && wrong.contains("identity"), "{wrong}");
    fs::write(dir.path().join("finch.yaml"), persona.replace("finch", "robin")).unwrap();
    assert!(replay(&with_policy(&archive, &policy)).is_ok());
    fs::remove_file(&policy).unwrap();
    assert!(matches!(replay(&with_policy(&archive, &policy)), Err(ReplayError::Policy(p)) if p.to_string().contains("cannot be read")));
}

#[test]
fn a_sweep_runs_once_for_each_value() {
    let dir = TempDir::new().unwrap();
    let archive = archive(&dir);
    let archive = archive.to_str().unwrap();
    let swept = figures(&args(&[archive, "--sweep", "turn_done=500,12000,60000"]).unwrap());
    assert_eq!((&swept["sweep"]["name"], &swept["sweep"]["default"]), (&json!("turn_done_ms"), &json!(12_000)));
    let rows = swept["sweep"]["values"].as_array().unwrap();
    assert_eq!(rows.iter().map(|r| r["value"].as_i64().unwrap()).collect::<Vec<_>>(), [500, 12_000, 60_000]);
    assert_eq!(rows[1]["parlor"], swept["policies"]["parlor"], "the default value changes nothing");
    let p50 = |row: &Value| row["parlor"]["latency_direct_p50_ms"].as_i64().unwrap();
    assert!(p50(&rows[0]) < p50(&rows[1]) && p50(&rows[1]) < p50(&rows[2]), "{rows:?}");

    let table = replay(&args(&[archive, "--sweep", "turn_done=500,12000"]).unwrap()).unwrap().table();
    assert!(table.contains("turn_done_ms (without a sweep 12000)") && table.lines().any(|l| l.trim_start().starts_with("500 ")), "{table}");
    // A bar: without it more questions to the room are answered, and one that is never reached leaves all to people.
    let swept = figures(&args(&[archive, "--sweep", "wanted=0,600,1001"]).unwrap());
    assert_eq!((&swept["sweep"]["name"], &swept["sweep"]["default"]), (&json!("wanted_permille"), &json!(600)));
    let [low, same, high] = [0, 1, 2].map(|n| &swept["sweep"]["values"][n]["parlor"]);
    assert_eq!(same, &swept["policies"]["parlor"]);
    let missed = |figures: &Value| figures["missed_orphan_rate"].as_f64().unwrap();
    assert!(missed(low) < missed(same) && missed(same) < missed(high), "{low} {same} {high}");
    assert!(missed(high) > 0.999, "{high}");
    let unknown = args(&[archive, "--sweep", "patience=1"]).unwrap_err();
    assert!(
        unknown.contains("no timing and no bar of the policy")
            && unknown.contains("wanted_permille")
            && unknown.contains("room_wait_max_ms"),
        "{unknown}"
    );
}
