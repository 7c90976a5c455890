//! `parlor replay` over archives of the project's own making: what is read, what is refused, and that a run repeats itself.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use parlor::replay::{
    Args, ReplayError, Report,
    generate::{self, Plan},
    replay,
};
use serde_json::{Value, json};
use tempfile::TempDir;

const PLAN: Plan = Plan { seed: 11, rooms: 4, lines: 150 };

fn args(archives: &[&Path]) -> Args {
    Args { strict: true, seed: 5, json: true, ..Args::of(archives.iter().map(|p| p.to_path_buf()).collect()) }
}

fn file(dir: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

/// The report without the speed, which no two runs share.
fn figures(report: &Report) -> Value {
    let mut json = report.json();
    json.as_object_mut().unwrap().remove("lines_per_second");
    json
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_parlor")).arg("replay").args(arguments).output().unwrap()
}

fn line(id: &str, ts: i64, author: &str, text: &str) -> Value {
    json!({"room": "r", "id": id, "ts": ts, "author_id": author, "author_name": author, "content": text, "reply_to": null, "mentions": []})
}

fn jsonl(rows: &[Value]) -> String {
    let mut text = rows.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

#[test]
fn generated_rooms_are_judged_and_a_run_repeats_itself() {
    let dir = TempDir::new().unwrap();
    let text = generate::archive(PLAN);
    assert_eq!(text, generate::archive(PLAN), "seed {}", PLAN.seed);
    assert_ne!(text, generate::archive(Plan { seed: PLAN.seed + 1, ..PLAN }));
    let path = file(&dir, "rooms.jsonl", &text);
    let report = replay(&args(&[&path])).unwrap();
    assert_eq!(figures(&report), figures(&replay(&args(&[&path])).unwrap()));
    assert_eq!((report.rooms, report.bad_rows), (PLAN.rooms, 0));
    assert_eq!(report.lines, text.lines().count() - PLAN.rooms);
    let rate = |policy: &str, name: &str| report.figure(policy, name).unwrap_or_else(|| panic!("{policy} has no {name}"));
    for policy in ["parlor", "request_queue", "random", "ceiling"] {
        for name in ["duplicate_rate", "already_answered_rate", "missed_direct_rate", "missed_orphan_rate", "cut_off_rate", "butt_in_rate"]
        {
            let (value, low, high) = (rate(policy, name), rate(policy, &format!("{name}_low")), rate(policy, &format!("{name}_high")));
            assert!(0.0 <= low && low <= value && value <= high && high <= 1.0, "{policy} {name}: {low} {value} {high}");
        }
        for name in [
            "balanced_accuracy",
            "macro_f1",
            "mir",
            "fir",
            "latency_p50_ms",
            "latency_p95_ms",
            "gate_calls",
            "drafts",
            "sends",
            "reactions",
        ] {
            rate(policy, name);
        }
    }
    // What each policy is bound to do, whatever the rooms say.
    assert!(rate("request_queue", "missed_direct_rate") < 1e-9 && rate("request_queue", "butt_in_rate") > 0.2);
    assert!(rate("silent", "missed_direct_rate") > 1.0 - 1e-9 && rate("silent", "sends") < 1e-9);
    assert!(
        rate("ceiling", "missed_direct_rate") < 1e-9 && rate("ceiling", "cut_off_rate") < 1e-9 && rate("ceiling", "duplicate_rate") < 1e-9
    );
    assert!(rate("mention_only", "missed_orphan_rate") > 1.0 - 1e-9);
    // And the machine: it answers most direct questions, and interrupts far less than a queue.
    assert!(rate("parlor", "missed_direct_rate") < 0.3, "{}", rate("parlor", "missed_direct_rate"));
    assert!(rate("parlor", "butt_in_rate") < rate("request_queue", "butt_in_rate") / 2.0);
    assert!(rate("parlor", "balanced_accuracy") > rate("random", "balanced_accuracy") + 0.1);
}

#[test]
fn packed_split_and_mixed_archives_give_the_same_figures() {
    let dir = TempDir::new().unwrap();
    let whole = generate::archive(PLAN);
    let want = figures(&replay(&args(&[&file(&dir, "whole.jsonl", &whole)])).unwrap());

    let packed = dir.path().join("packed.jsonl.gz");
    let mut gz = flate2::write::GzEncoder::new(fs::File::create(&packed).unwrap(), flate2::Compression::default());
    gz.write_all(whole.as_bytes()).unwrap();
    gz.finish().unwrap();
    assert_eq!(figures(&replay(&args(&[&packed])).unwrap()), want, "gzip");

    let rooms: Vec<Vec<Value>> = (0..PLAN.rooms).map(|n| generate::room(PLAN, n)).collect();
    let (one, two) = (jsonl(&rooms[..2].concat()), jsonl(&rooms[2..].concat()));
    let parts = [file(&dir, "one.jsonl", &one), file(&dir, "two.jsonl", &two)];
    assert_eq!(figures(&replay(&args(&[&parts[0], &parts[1]])).unwrap()), want, "several files");

    let longest = rooms.iter().map(Vec::len).max().unwrap();
    let mixed: Vec<Value> = (0..longest).flat_map(|k| rooms.iter().filter_map(move |r| r.get(k).cloned())).collect();
    assert_eq!(figures(&replay(&args(&[&file(&dir, "mixed.jsonl", &jsonl(&mixed))])).unwrap()), want, "mixed rooms");

    // The persona may as well stand in rooms.json, with windows line ends and a byte order mark in the archive.
    let beside = TempDir::new().unwrap();
    let rows: Vec<Value> = rooms.iter().flat_map(|r| r[1..].to_vec()).collect();
    let path = file(&beside, "rows.jsonl", &format!("\u{feff}{}", jsonl(&rows).replace('\n', "\r\n")));
    let list: Vec<Value> = (0..PLAN.rooms)
        .map(|n| json!({"room": format!("room-{n}"), "persona": generate::PERSONA.0, "persona_name": generate::PERSONA.1, "persona_replies": 10}))
        .collect();
    file(&beside, "rooms.json", &Value::from(list.clone()).to_string());
    assert_eq!(figures(&replay(&args(&[&path])).unwrap()), want, "rooms.json");

    // A persona who replied fewer than ten times is not replayed.
    let mut fewer = list;
    fewer[0]["persona_replies"] = 9.into();
    file(&beside, "rooms.json", &Value::from(fewer).to_string());
    let report = replay(&args(&[&path])).unwrap();
    assert_eq!((report.rooms, figures(&report)["rooms_left_out"].as_u64()), (PLAN.rooms - 1, Some(1)));
}

#[test]
fn the_file_of_sends_is_what_the_figures_are_about() {
    let dir = TempDir::new().unwrap();
    let path = file(&dir, "rooms.jsonl", &generate::archive(PLAN));
    let sends = dir.path().join("sends.jsonl");
    let report = replay(&Args { sends: Some(sends.clone()), ..args(&[&path]) }).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let times: std::collections::HashMap<(String, String), i64> = text
        .lines()
        .filter_map(|l| {
            let row: Value = serde_json::from_str(l).unwrap();
            Some(((row["room"].as_str()?.to_owned(), row["id"].as_str()?.to_owned()), row["ts"].as_i64()?))
        })
        .collect();
    let posts: Vec<Value> = fs::read_to_string(&sends).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(posts.len() > 50, "{}", posts.len());
    for post in &posts {
        assert!(["direct", "follow_up", "room_question"].contains(&post["kind"].as_str().unwrap()), "{post}");
        assert_eq!(post["prompted"], true);
        let settles = post["settles"].as_array().unwrap();
        assert!(!settles.is_empty());
        for id in settles {
            let asked = times[&(post["room"].as_str().unwrap().to_owned(), id.as_str().unwrap().to_owned())];
            // A draft takes 6 s and begins after 2.5 s of quiet, so no post can come sooner.
            assert!(post["ts"].as_i64().unwrap() >= asked + 8_500, "{post}");
        }
    }
    let per_100 = report.figure("parlor", "sends").unwrap();
    let heard = times.len() as f64;
    assert!(per_100 <= 100.0 * posts.len() as f64 / heard * 1.6 && per_100 > 0.0, "{per_100} of {} posts", posts.len());
}

#[test]
fn links_are_seen_in_the_share_that_was_asked_for() {
    let dir = TempDir::new().unwrap();
    // A follow-up that names nobody: only its link tells whom it is for. The same line in many rooms, so that shares show.
    let mut rows = Vec::new();
    for n in 0..60 {
        let room = format!("r{n}");
        let say = |id: &str, s: i64, author: &str, text: &str, reply_to: Value| {
            json!({"room": room, "id": format!("{room}:{id}"), "ts": s * 1_000, "author_id": author, "author_name": author, "content": text,
                   "reply_to": reply_to, "mentions": []})
        };
        rows.push(json!({"room": room, "persona_id": "w", "persona_name": "Wren"}));
        rows.push(say("1", 0, "w", "good morning all", json!([])));
        rows.push(say("2", 1_000, "a", "the handle came off", json!([format!("{room}:1")])));
        rows.push(say("3", 2_000, "b", "good night", json!([])));
    }
    let path = file(&dir, "rooms.jsonl", &jsonl(&rows));
    let spoken = |share: f64| {
        let report = replay(&Args { visible_links: share, ..args(&[&path]) }).unwrap();
        1.0 - report.figure("parlor", "mir").unwrap_or(1.0)
    };
    let answered = |share: f64| {
        let sends = dir.path().join("sends.jsonl");
        replay(&Args { visible_links: share, sends: Some(sends.clone()), ..args(&[&path]) }).unwrap();
        fs::read_to_string(sends).unwrap().lines().count()
    };
    assert_eq!((answered(0.0), answered(1.0)), (0, 60));
    assert!((8..=28).contains(&answered(0.3)), "{}", answered(0.3));
    assert!(spoken(0.0) <= spoken(1.0));

    // A line may say itself that it replies to a line that the file leaves out.
    let mut left_out = vec![json!({"room": "r", "persona_id": "w", "persona_name": "Wren"}), line("1", 0, "a", "the handle came off")];
    left_out[1]["reply_to_me"] = true.into();
    let sends = dir.path().join("sends.jsonl");
    replay(&Args { sends: Some(sends.clone()), ..args(&[&file(&dir, "left.jsonl", &jsonl(&left_out))]) }).unwrap();
    assert_eq!(fs::read_to_string(sends).unwrap().lines().count(), 1);
}

#[test]
fn names_in_the_text_count_where_rows_do_not_list_them() {
    let dir = TempDir::new().unwrap();
    let rooms = generate::room(PLAN, 0);
    let with = replay(&args(&[&file(&dir, "with.jsonl", &jsonl(&rooms))])).unwrap();
    let mut bare = rooms;
    for row in &mut bare {
        row.as_object_mut().unwrap().remove("mentions");
    }
    let without = replay(&args(&[&file(&dir, "bare.jsonl", &jsonl(&bare))])).unwrap();
    let direct = |r: &Report| figures(r)["judged"]["direct_questions"].as_u64().unwrap();
    assert!(direct(&with) > 5 && direct(&with) == direct(&without), "{} {}", direct(&with), direct(&without));
    assert!(without.figure("mention_only", "sends").unwrap() > 0.0);
    assert!(without.figure("parlor", "missed_direct_rate").unwrap() < 0.5);
}

#[test]
fn an_archive_without_truth_gives_cost_and_nulls() {
    let dir = TempDir::new().unwrap();
    let mut rows = generate::room(PLAN, 0);
    for row in &mut rows {
        row.as_object_mut().unwrap().remove("reply_to");
    }
    let report = replay(&args(&[&file(&dir, "rows.jsonl", &jsonl(&rows))])).unwrap();
    let parlor = &figures(&report)["policies"]["parlor"];
    for name in
        ["duplicate_rate", "missed_direct_rate", "butt_in_rate_low", "balanced_accuracy", "macro_f1", "mir", "fir", "latency_p50_ms"]
    {
        assert_eq!(parlor[name], Value::Null, "{name}");
    }
    assert!(parlor["sends"].as_f64().unwrap() > 1.0 && parlor["drafts"].as_f64() >= parlor["sends"].as_f64(), "{parlor}");
}

#[test]
fn rows_that_cannot_be_used_are_counted_shown_and_passed_over() {
    let dir = TempDir::new().unwrap();
    let good = generate::archive(Plan { rooms: 1, ..PLAN });
    let sound = good.lines().count();
    let mut rows: Vec<String> = good.lines().map(str::to_owned).collect();
    rows.extend([
        "{\"room\":\"room-0\",\"id\":\"x".to_owned(),
        "[1,2]".to_owned(),
        String::new(),
        json!({"room": "room-0", "id": "y", "author_id": "a", "author_name": "a", "content": "secret plan"}).to_string(),
        json!({"room": "room-0", "id": "y", "ts": "secret plan"}).to_string(),
        rows[1].clone(),
        json!({"room": "room-0", "persona_id": "u1"}).to_string(),
    ]);
    rows.extend((0..20).map(|k| format!("nonsense {k}")));
    let text = rows.join("\n") + "\n";
    let path = file(&dir, "rows.jsonl", &text);
    let mut bytes = text.into_bytes();
    bytes.extend(b"\"\xff\xfe\"\n");
    fs::write(&path, bytes).unwrap();
    let report = replay(&Args { strict: false, ..args(&[&path]) }).unwrap();
    assert_eq!((report.bad_rows, report.bad_examples.len(), report.lines), (27, 10, sound - 1));
    let shown = report.bad_examples.join("\n");
    assert!(!shown.contains("secret"), "{shown}");
    for (line, reason) in
        [(1, "EOF while parsing"), (2, "wrong value"), (4, "missing field `ts`"), (6, "used before"), (7, "header comes after")]
    {
        let place = format!("{}:{}: ", path.display(), sound + line);
        let told = report.bad_examples.iter().find_map(|e| e.strip_prefix(&place)).unwrap_or_else(|| panic!("no {place} in {shown}"));
        assert!(told.contains(reason), "{told}");
    }
    let strict = replay(&args(&[&path])).unwrap_err();
    assert!(matches!(&strict, ReplayError::BadRow(at) if at.contains(&format!(":{}:", sound + 1))), "{strict}");
}

#[test]
fn odd_rows_are_bounded_and_never_stop_a_run() {
    let dir = TempDir::new().unwrap();
    let header = json!({"room": "r", "persona_id": "w", "persona_name": "Wren"});
    let long = "wren \u{5e9}".repeat(20_000);
    let rows = [
        header.clone(),
        line("1", 5_000, "a", &long),
        line("2", 4_000, "b", "\u{1f525}\u{1f525}\u{1f525}"),
        line("3", 4_500, "c", "\u{200f}\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{5e2}\u{5d5}\u{5dc}\u{5dd}?"),
        line("4", 253_402_300_799_999, "a", ""),
        json!({"room": "r", "id": 5, "ts": 6_000, "author_id": 7, "author_name": "", "content": "", "reply_to": "1", "bot": true}),
        json!({"room": "r", "id": 6, "ts": 6_000, "author_id": 8, "author_name": "x", "content": "gone", "reply_to": [6, "6", 99], "deleted": true}),
    ];
    let report = replay(&args(&[&file(&dir, "odd.jsonl", &jsonl(&rows))])).unwrap();
    assert_eq!((report.lines, report.bad_rows, figures(&report)["late_rows"].as_u64()), (6, 0, Some(4)));

    // One room of many lines by one author, each a question by name.
    let lines = (0..100_000).map(|n| line(&n.to_string(), n * 1_000, "a", "wren: and now?"));
    let many = jsonl(&std::iter::once(header.clone()).chain(lines).collect::<Vec<_>>());
    let report = replay(&args(&[&file(&dir, "many.jsonl", &many)])).unwrap();
    assert_eq!((report.lines, report.bad_rows), (100_000, 0));

    let over = format!("{header}\n{}\n{}\n", "x".repeat(3 << 20), line("1", 0, "a", "wren: hello?"));
    let report = replay(&Args { strict: false, ..args(&[&file(&dir, "over.jsonl", &over)]) }).unwrap();
    assert_eq!((report.lines, report.bad_rows), (1, 1));
    assert!(report.bad_examples[0].contains(":2: the line is longer than 1 MiB"), "{}", report.bad_examples[0]);
}

#[test]
fn a_persona_may_be_chosen_by_name_and_may_be_new() {
    let dir = TempDir::new().unwrap();
    let path = file(&dir, "rooms.jsonl", &generate::archive(PLAN));
    let of = |name: &str| figures(&replay(&Args { persona: Some(name.into()), ..args(&[&path]) }).unwrap());
    let wren = figures(&replay(&args(&[&path])).unwrap());
    assert_eq!(of("Wren"), wren);
    assert_eq!(of("p-wren"), wren);
    assert_ne!(of("Ada")["judged"], wren["judged"]);
    assert_eq!(of("Somebody New")["judged"]["direct_questions"], 0);
    let bare = TempDir::new().unwrap();
    let nobody = replay(&args(&[&file(&bare, "rows.jsonl", &jsonl(&[line("1", 0, "a", "hello")]))])).unwrap_err();
    assert!(nobody.to_string().contains("--persona NAME"), "{nobody}");
}

#[test]
fn the_command_prints_one_object_or_a_table_and_fails_with_words() {
    let dir = TempDir::new().unwrap();
    let path = file(&dir, "rooms.jsonl", &generate::archive(Plan { rooms: 1, ..PLAN }));
    let path = path.to_str().unwrap();
    let out = run(&[path, "--json"]);
    let json: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert!(out.status.success() && json["lines_per_second"].as_f64().unwrap() > 0.0, "{json}");
    assert_eq!(json["policies"].as_object().unwrap().len(), 6);
    let table = run(&[path]);
    let text = String::from_utf8(table.stdout).unwrap();
    assert!(text.contains("missed direct, %") && text.contains("request_queue"), "{text}");
    let name = dir.path().file_name().unwrap().to_str().unwrap();
    let empty = file(&dir, "empty.jsonl", "");
    let other = file(&dir, "other.jsonl", "hello\n[1]\n");
    for (arguments, words) in [
        (vec!["/no/such/file"], "cannot read /no/such/file"),
        (vec![empty.to_str().unwrap()], "0 rows cannot be used, and there is no other"),
        (vec![other.to_str().unwrap(), "--persona", "X"], "other.jsonl:2: "),
        (vec![path, "--visible-links", "2"], "a share is from 0 to 1"),
        (vec![path, "--sends", "/no/such/folder/x"], "cannot write the posts to /no/such/folder/x"),
        (vec!["/no/such/file", "--sends", "/no/such/folder/x"], "cannot write the posts to /no/such/folder/x"),
        (vec![path, "--sends", &format!("{}/../{}/rooms.jsonl", dir.path().display(), name)], "would be overwritten"),
    ] {
        let out = run(&arguments);
        let told = String::from_utf8(out.stderr).unwrap();
        assert!(!out.status.success() && told.contains(words), "{arguments:?}: {told}");
    }
    assert!(run(&[path]).status.success(), "the archive is as it was");
    let cut = dir.path().join("cut.jsonl.gz");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(generate::archive(PLAN).as_bytes()).unwrap();
    let bytes = gz.finish().unwrap();
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let out = run(&[cut.to_str().unwrap()]);
    assert!(!out.status.success() && String::from_utf8(out.stderr).unwrap().contains("if it is gzip, that it is complete"));
}
