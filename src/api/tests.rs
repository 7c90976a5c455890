//! Bad documents with the exact words a person reads, good ones with what they turn into, and what a change means.

use std::{fs, path::Path};

use parlor_core::{Audience, GateKind, Mode, Policy, Timings};

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
  floor: { draftQuiet: 2s, lull: 1m30s, cooldown: 500ms, agentTurns: 6, declineEmoji: \"\\U0001F648\", rounds: Obligations }
  gate: { kind: Rules }
  budget: { unpromptedPerHour: 3, tokensPerDay: 5000, costPerDay: '1.25' }
";
    let (_dir, studio) = studio(&[("room.yaml", &format!("{ROOM}{more}")), ("wren.yml", WREN)]);
    assert_eq!(studio.problems.to_string(), "");
    let room = studio.rooms["kiln"].room.clone().unwrap();
    assert_eq!((room.audience(), room.tokens_per_day, room.cost_micros_per_day), (Audience::Room, Some(5000), Some(1_250_000)));
    let got = room.policy(7, 0);
    let mut want = Policy::new(got.members.clone());
    want.revision = 7;
    want.stopped = true;
    want.audience = Audience::Room;
    want.owners = vec!["owner".to_owned()];
    want.timings = Timings { draft_quiet_ms: 2_000, lull_ms: 90_000, cooldown_ms: 500, ..Timings::default() };
    want.gate = GateKind::Rules;
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
    let (_dir, studio) =
        studio(&[("room.yaml", &format!("{ROOM}  mute: {{ reason: glaze test, until: '1970-01-01T00:00:10Z' }}\n")), ("wren.yaml", WREN)]);
    let room = studio.rooms["kiln"].room.clone().unwrap();
    assert!(room.policy(1, 9_999).muted);
    assert_eq!((room.muted(9_999).map(|m| m.reason.as_str()), room.next_change(9_999)), (Some("glaze test"), Some(10_000)));
    assert!(!room.policy(1, 10_000).muted);
    assert_eq!(room.next_change(10_000), None);
}

/// Each entry: what is added to a good document, and all that is then printed.
fn table(with: fn(&str) -> String, entries: &[(&str, &[&str])]) {
    for (more, want) in entries {
        assert_eq!(with(more), want.join("\n"), "for {more:?}");
    }
}

#[test]
fn unknown_fields_and_wrong_types_of_a_room() {
    table(
        room_with,
        &[
            (
                "  flor: { lull: 10s }\n",
                &[
                    "room.yaml:8:3: spec.flor: unknown field, expected one of surface, audience, members, mode, mute, replicas, floor, gate, budget, context; did you mean floor?",
                ],
            ),
            ("  gate: { knd: Rules }\n", &["room.yaml:8:11: spec.gate.knd: unknown field, expected kind"]),
            ("  mute: { reason: x, by: me }\n", &["room.yaml:8:22: spec.mute.by: unknown field, expected one of reason, until"]),
            (
                "  floor: { lull: 10 }\n",
                &["room.yaml:8:18: spec.floor.lull: is the number 10, expected a duration such as 2500ms, 2.5s, 10m or 1h30m"],
            ),
            (
                "  floor: { lull: 10 s }\n",
                &["room.yaml:8:18: spec.floor.lull: \"10 s\" is not a duration such as 2500ms, 2.5s, 10m or 1h30m"],
            ),
            (
                "  floor: { lull: 25h, cooldown: 1.0001s }\n",
                &[
                    "room.yaml:8:18: spec.floor.lull: \"25h\" is longer than 24h",
                    "room.yaml:8:33: spec.floor.cooldown: \"1.0001s\" is finer than a millisecond",
                ],
            ),
            (
                "  mode: active\n",
                &["room.yaml:8:9: spec.mode: \"active\" is not known, expected one of Shadow, Active; did you mean Active?"],
            ),
            ("  mode: [Active]\n", &["room.yaml:8:9: spec.mode: is no text, expected one of Shadow, Active"]),
            ("  floor: soon\n", &["room.yaml:8:10: spec.floor: is text, expected a mapping"]),
            ("  mute: {}\n", &["room.yaml:8:9: spec.mute.reason: is required"]),
            (
                "  mute: { reason: x, until: tomorrow }\n",
                &["room.yaml:8:29: spec.mute.until: \"tomorrow\" is not a time with its zone, such as 2026-01-31T18:00:00Z"],
            ),
            (
                "  mode: Active\n  mode: Shadow\n",
                &["room.yaml:9:3: not readable as YAML: duplicate mapping key `mode` is not allowed here"],
            ),
            ("  budget: {\n", &["room.yaml:8:11: not readable as YAML: unclosed bracket '{'"]),
            ("\tmode: Active\n", &["room.yaml:8:2: not readable as YAML: tabs disallowed within this context (block indentation)"]),
        ],
    );
}

#[test]
fn bounds_of_a_room() {
    table(
        room_with,
        &[
            (
                "  floor: { roomWaitMin: 5m }\n",
                &["room.yaml:8:12: spec.floor.roomWaitMin: roomWaitMin is 5m and roomWaitMax is 130s, expected min to be at most max"],
            ),
            (
                "  floor: { agentTurns: 0, declineEmoji: '', answeredEmoji: a b }\n",
                &[
                    "room.yaml:8:12: spec.floor.agentTurns: is 0, expected 1 to 64",
                    "room.yaml:8:27: spec.floor.declineEmoji: has 0 characters, expected 1 to 64",
                    "room.yaml:8:45: spec.floor.answeredEmoji: holds a blank, expected one emoji",
                ],
            ),
            ("  floor: { draftTimeout: 0s }\n", &["room.yaml:8:12: spec.floor.draftTimeout: is 0s, expected at least 1s"]),
            ("  mute: { reason: '' }\n", &["room.yaml:8:11: spec.mute.reason: has 0 characters, expected 1 to 500"]),
            ("  replicas: 2\n", &["room.yaml:8:3: spec.replicas: is 2, expected 0 (stopped) or 1"]),
            (
                "  budget: { unpromptedPerHour: 99, tokensPerDay: -1, costPerDay: 2.50 }\n",
                &[
                    "room.yaml:8:13: spec.budget.unpromptedPerHour: is 99, expected 0 to 60",
                    "room.yaml:8:36: spec.budget.tokensPerDay: is -1, expected 0 to 1000000000000",
                    "room.yaml:8:66: spec.budget.costPerDay: is the number 2.5, expected an amount of US dollars as text, such as \"2.50\", below one million",
                ],
            ),
        ],
    );
}

#[test]
fn known_fields_without_effect_are_refused_by_name() {
    table(
        room_with,
        &[
            (
                "  floor: { rounds: EveryMember, parallel: true }\n",
                &[
                    "room.yaml:8:12: spec.floor.rounds: EveryMember has no effect yet: a round that asks every member is not built yet; use Obligations",
                    "room.yaml:8:33: spec.floor.parallel: has no effect yet, take it out: members are asked one after the other",
                ],
            ),
            (
                "  gate: { kind: Model, threshold: 0.5 }\n",
                &[
                    "room.yaml:8:11: spec.gate.kind: Model has no effect yet: lines that name nobody are judged inside the machine so far; use Embedded or Rules",
                    "room.yaml:8:24: spec.gate.threshold: has no effect yet, take it out: it belongs to gates with a model, which are not built yet",
                ],
            ),
            (
                "  budget: { postsPerMinute: 5 }\n",
                &[
                    "room.yaml:8:13: spec.budget.postsPerMinute: has no effect yet, take it out: posts are limited by spec.floor.cooldown and agentTurns only",
                ],
            ),
            ("status: {}\n", &["room.yaml:8:1: status: take it out: it is written by Parlor, never read from a file"]),
        ],
    );
    let every = "  owners: [a]\n  projection: {}\n  tools: {}\n  context: { history: 1 }\n  hibernateAfter: 1h\n  retention: {}\n  deletionPolicy: Retain\n  failMode: Silent\n  runtime: {}\n  reconciliationPaused: true\n";
    let said = room_with(every);
    assert_eq!(said.lines().count(), every.lines().count(), "{said}");
    assert!(said.lines().all(|l| l.contains(": has no effect yet, take it out: ")), "{said}");
    let said = persona_with("  avatar: x\n  tools: []\n  skills: []\n  models: { gate: {}, review: {} }\n  runtime: External\n");
    let paths: Vec<&str> = said.lines().filter_map(|l| l.split(": ").nth(1)).collect();
    assert_eq!(paths, ["spec.avatar", "spec.tools", "spec.skills", "spec.models.gate", "spec.models.review", "spec.runtime"], "{said}");
}

#[test]
fn surfaces_and_audiences() {
    let other = |surface: &str, audience: &str| {
        let room = ROOM.replace("{ console: {} }", surface).replace("audience: Room", audience);
        said(&[("room.yaml", &room), ("wren.yaml", WREN)])
    };
    for (surface, audience, want) in [
        (
            "{ discord: { guildId: '1' } }",
            "audience: Room",
            "room.yaml:5:14: spec.surface.discord: has no effect yet, take it out: only the built-in web page is connected, use console: {}",
        ),
        ("{}", "audience: Room", "room.yaml:5:3: spec.surface: names no place, expected console: {}"),
        ("{ console: { port: 1 } }", "audience: Room", "room.yaml:5:25: spec.surface.console.port: unknown field, expected dm"),
        (
            "{ console: {} }",
            "audience: Direct",
            "room.yaml:5:14: spec.surface.console: does not say whose room it is, expected dm: { userId: owner } beside audience: Direct",
        ),
        (
            "{ console: { dm: { userId: owner } } }",
            "audience: Room",
            "room.yaml:5:25: spec.surface.console.dm: makes it the room of one person, but spec.audience is Room, expected Direct",
        ),
        (
            "{ console: { dm: { userId: Ada } } }",
            "audience: Direct",
            "room.yaml:5:31: spec.surface.console.dm.userId: \"Ada\" is no id of the web page (a name is none), expected owner, or the 32 hexadecimal digits that parlor tail --json shows as the author of a visitor's line",
        ),
        ("{ console: { dm: { userId: 0123456789abcdef0123456789abcdef } } }", "audience: Direct", ""),
        ("{ console: {} }", "mode: Shadow", "room.yaml:5:3: spec.audience: is required"),
    ] {
        assert_eq!(other(surface, audience), want, "for {surface} and {audience}");
    }
}

#[test]
fn bad_personas_and_what_is_said() {
    let other = |from: &str, to: &str| said(&[("room.yaml", ROOM), ("wren.yaml", &WREN.replace(from, to))]);
    assert_eq!(
        other("Wren", "Clyde the Second"),
        "wren.yaml:5:3: spec.displayName: holds the word \"clyde\", which no persona's name may hold"
    );
    assert_eq!(other("Wren", "Wr\u{435}n"), "wren.yaml:5:3: spec.displayName: mixes letters of two scripts, 'W' and '\u{435}'");
    assert_eq!(other("You fire the kilns.", "''"), "wren.yaml:6:3: spec.identity: is empty; say in a few sentences who the persona is");
    let long = "\u{e4}".repeat(4097);
    assert_eq!(other("You fire the kilns.", &long), "wren.yaml:6:3: spec.identity: has 8194 bytes, expected at most 8192: it is never cut");
    assert_eq!(
        other("name: wren", "name: Wren_1").lines().next().unwrap_or_default(),
        "room.yaml:7:15: spec.members[0].persona: there is no Persona \"wren\", expected Wren_1"
    );
    table(
        persona_with,
        &[
            ("  aliases: [5]\n", &["wren.yaml:7:13: spec.aliases[0]: is the number 5, expected text, in quotes"]),
            ("  aliases: [a, b, c, d, e, f, g, h, i]\n", &["wren.yaml:7:3: spec.aliases: has 9 entries, expected at most 8"]),
            (
                "  models: { draft: { provider: openai } }\n",
                &["wren.yaml:7:20: spec.models.draft.name: is required: the provider's name of the model"],
            ),
            (
                "  models: { draft: { provider: opnai, name: x } }\n",
                &[
                    "wren.yaml:7:32: spec.models.draft.provider: \"opnai\" is not known, expected one of stub, anthropic, openai; did you mean openai?",
                ],
            ),
            ("  voice: { examples: [''] }\n", &["wren.yaml:7:23: spec.voice.examples[0]: has 0 characters, expected 1 to 1000"]),
        ],
    );
}

#[test]
fn rules_between_documents() {
    let lark = WREN.replace("wren", "lark").replace("Wren", "WREN");
    let both = ROOM.replace("[{ persona: wren }]", "[{ persona: wren }, { persona: lark }]");
    assert_eq!(
        said(&[("room.yaml", &both), ("personas.yaml", &format!("{WREN}---\n{lark}"))]),
        "room.yaml:7:34: spec.members[1].persona: NameConflict: \"WREN\" is a name of \"wren\" and of \"lark\"; rename one"
    );
    assert_eq!(
        said(&[("rooms/kiln.yaml", &both), ("wren.yaml", WREN)]),
        "rooms/kiln.yaml:7:34: spec.members[1].persona: there is no Persona \"lark\", expected wren"
    );
    assert_eq!(
        said(&[("a.yaml", ROOM), ("b.yaml", ROOM), ("wren.yaml", WREN)]),
        "b.yaml:3:13: metadata.name: there is a Room \"kiln\" in a.yaml:3 already; rename or remove one"
    );
    assert_eq!(said(&[("room.yaml", &ROOM.replace("audience: Room", "audience: Public")), ("wren.yaml", WREN)]), "");
    assert_eq!(
        said(&[("room.yaml", &ROOM.replace("audience: Room", "audience: Public")), ("wren.yaml", &format!("{WREN}  maxAudience: Room\n"))]),
        "room.yaml:7:15: spec.members[0].persona: \"wren\" may be in rooms of audience Room at most (spec.maxAudience of the Persona), this room is Public"
    );
    let placed = |text: &str, namespace: &str| text.replace("metadata: { ", &format!("metadata: {{ namespace: {namespace}, "));
    assert_eq!(
        said(&[("room.yaml", &placed(ROOM, "studio")), ("wren.yaml", &placed(WREN, "other"))]),
        "wren.yaml:3:13: metadata.namespace: is \"other\", but room.yaml is in \"studio\"; a folder is one namespace"
    );
    assert_eq!(
        said(&[("room.yaml", &ROOM.replace("persona: wren }", "persona: wren }, { persona: wren }")), ("wren.yaml", WREN)]),
        "room.yaml:7:34: spec.members[1].persona: \"wren\" is listed twice"
    );
}

#[test]
fn other_documents_and_files() {
    let kind = |from: &str, to: &str| said(&[("room.yaml", &ROOM.replacen(from, to, 1)), ("wren.yaml", WREN)]);
    assert_eq!(
        kind("kind: Room", "kind: room"),
        "room.yaml:2:1: kind: \"room\" is not known, expected one of Room, Persona, PrivacyGrant; did you mean Room?"
    );
    assert_eq!(kind("v1alpha1", "v1"), "room.yaml:1:1: apiVersion: is \"parlor.dev/v1\", expected parlor.dev/v1alpha1");
    assert_eq!(said(&[("README.md", "x")]), ".: holds no Room document (*.yaml, *.yml); deploy/samples of the checkout shows one");
    assert_eq!(said(&[("list.yaml", "- a\n")]), "list.yaml:1:1: apiVersion: is required: parlor.dev/v1alpha1");
    let large = "#".repeat(1024 * 1024 + 1);
    assert_eq!(said(&[("large.yaml", &large)]), "large.yaml: is larger than 1048576 bytes");
    let many: String = (10..70).fold(String::new(), |all, i| all + &format!("  f{i}: 1\n"));
    let said = room_with(&many);
    assert_eq!((said.lines().count(), said.lines().last()), (51, Some("and 10 more")));
    assert_eq!(
        Studio::load(Path::new("/nowhere/at/all")).problems.to_string(),
        "/nowhere/at/all: the folder cannot be read: No such file or directory (os error 2)"
    );
}

#[test]
fn a_problem_breaks_only_the_rooms_that_it_is_in() {
    let lark = WREN.replace("wren", "lark").replace("Wren", "Lark");
    let yard = ROOM.replace("kiln", "yard").replace("persona: wren", "persona: lark");
    let (_dir, studio) =
        studio(&[("kiln.yaml", ROOM), ("yard.yaml", &yard), ("lark.yaml", &format!("{lark}  age: 3\n")), ("wren.yaml", WREN)]);
    assert!(studio.rooms["kiln"].room.is_ok());
    let reason = studio.rooms["yard"].room.clone().unwrap_err();
    assert!(reason.starts_with("lark.yaml:7:3: spec.age: unknown field"), "{reason}");
}

mod following {
    use super::*;

    fn write(dir: &tempfile::TempDir, name: &str, text: &str) {
        fs::write(dir.path().join(name), text).unwrap();
    }

    fn started(files: &[(&str, &str)]) -> (tempfile::TempDir, Follower) {
        let (dir, studio) = studio(files);
        let mut follower = Follower::default();
        assert!(matches!(follower.take_up(&studio).as_slice(), [Change::Set(_)]));
        assert_eq!(follower.take_up(&Studio::load(dir.path())), []);
        (dir, follower)
    }

    #[test]
    fn a_change_is_taken_up_and_a_removal_stops() {
        let (dir, mut follower) = started(&[("room.yaml", ROOM), ("wren.yaml", WREN)]);
        write(&dir, "wren.yaml", &WREN.replace("fire", "mind"));
        assert!(
            matches!(follower.take_up(&Studio::load(dir.path())).as_slice(), [Change::Set(c)] if c.personas[0].identity.contains("mind"))
        );
        fs::remove_file(dir.path().join("room.yaml")).unwrap();
        assert_eq!(follower.take_up(&Studio::load(dir.path())), [Change::Removed { room: "kiln".to_owned() }]);
    }

    #[test]
    fn a_room_that_cannot_be_read_is_broken_not_gone() {
        let (dir, mut follower) = started(&[("room.yaml", ROOM), ("wren.yaml", WREN)]);
        let mut seen = Vec::new();
        for text in [ROOM.replace("Room\n  m", "Rom\n  m"), "{".to_owned(), ROOM.replace("kind: Room", "kind: Roam")] {
            write(&dir, "room.yaml", &text);
            match follower.take_up(&Studio::load(dir.path())).as_slice() {
                [Change::Broken { room, reason }] => seen.push((room.clone(), reason.clone())),
                other => panic!("{other:?}"),
            }
            // Said once, not at each look.
            assert_eq!(follower.take_up(&Studio::load(dir.path())), []);
            write(&dir, "room.yaml", ROOM);
            assert!(matches!(follower.take_up(&Studio::load(dir.path())).as_slice(), [Change::Set(_)]));
        }
        assert!(seen[0].1.starts_with("room.yaml:6:13: spec.audience: \"Rom\" is not known"), "{seen:?}");
        assert!(seen[1].1.ends_with("room.yaml cannot be read") && seen[2].1.ends_with("room.yaml cannot be read"), "{seen:?}");
        fs::remove_dir_all(dir.path()).unwrap();
        assert!(matches!(follower.take_up(&Studio::load(dir.path())).as_slice(), [Change::Broken { .. }]));
    }

    #[test]
    fn an_audience_never_changes() {
        let (dir, mut follower) = started(&[("room.yaml", ROOM), ("wren.yaml", WREN)]);
        let of = |person: &str| {
            ROOM.replace("console: {}", &format!("console: {{ dm: {{ userId: {person} }} }}"))
                .replace("kiln", "desk")
                .replace("audience: Room", "audience: Direct")
        };
        write(&dir, "desk.yaml", &of("owner"));
        let changes = follower.take_up(&Studio::load(dir.path()));
        assert!(matches!(&changes[..], [Change::Set(desk)] if desk.only.as_deref() == Some("owner")), "{changes:?}");
        write(&dir, "desk.yaml", &of(&"ab".repeat(16)));
        let changes = follower.take_up(&Studio::load(dir.path()));
        assert!(matches!(&changes[..], [Change::Broken { reason, .. }] if reason.contains("spec.surface: is immutable")), "{changes:?}");
        write(&dir, "room.yaml", &ROOM.replace("audience: Room", "audience: Public"));
        match follower.take_up(&Studio::load(dir.path())).as_slice() {
            [Change::Broken { reason, .. }] => assert!(reason.contains("spec.audience: is immutable, it was Room"), "{reason}"),
            other => panic!("{other:?}"),
        }
        write(&dir, "room.yaml", ROOM);
        assert!(matches!(follower.take_up(&Studio::load(dir.path())).as_slice(), [Change::Set(_)]));
    }

    #[tokio::test]
    async fn the_watcher_notices_changed_new_and_removed_files() {
        let (dir, _) = studio(&[("room.yaml", ROOM), ("wren.yaml", WREN)]);
        let (mut watcher, first) = Watcher::open(dir.path());
        assert_eq!(first.problems.to_string(), "");
        write(&dir, "wren.yaml", &WREN.replace("kilns", "ovens"));
        let next = watcher.next().await;
        assert!(next.rooms["kiln"].room.clone().unwrap().personas[0].identity.contains("ovens"));
        write(&dir, "yard.yaml", &ROOM.replace("kiln", "yard"));
        assert_eq!(watcher.next().await.rooms.len(), 2);
        fs::remove_file(dir.path().join("yard.yaml")).unwrap();
        let began = std::time::Instant::now();
        assert_eq!(watcher.next().await.rooms.len(), 1);
        assert!(began.elapsed() < std::time::Duration::from_millis(1_500), "{:?}", began.elapsed());
    }
}
