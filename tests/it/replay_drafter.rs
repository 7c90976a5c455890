//! `parlor replay --drafter model` with the real command and a double of the provider: what is asked, what it costs, and where it
//! ends.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use parlor::replay::generate::{self, Plan};
use parlor_twin::models::{Answer, ModelTwin};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

const KEY: &str = "sk-secret-0123456789";

async fn run(twin: &ModelTwin, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_parlor"));
    command.arg("replay").args(arguments).args(["--drafter", "model"]).kill_on_drop(true);
    command.env("ANTHROPIC_BASE_URL", twin.anthropic_url()).env("ANTHROPIC_API_KEY", KEY).env("OPENAI_BASE_URL", twin.openai_url());
    command.env_remove("PARLOR_MODEL_PRICES").env_remove("PARLOR_LOG");
    command.output().await.unwrap()
}

async fn report(twin: &ModelTwin, arguments: &[&str]) -> Value {
    let out = run(twin, &[arguments, &["--json"]].concat()).await;
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

fn write(dir: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// One question an hour, each by name.
fn questions(dir: &TempDir, n: i64) -> PathBuf {
    let mut rows = vec![json!({"room": "kiln", "persona_id": "w", "persona_name": "Wren"})];
    rows.extend((0..n).map(|k| {
        json!({"room": "kiln", "id": format!("q{k}"), "ts": k * 3_600_000, "author_id": "u-ada", "author_name": "Ada",
               "content": format!("Wren, how hot was firing {k}?"), "reply_to": [], "mentions": [{"author_id": "w", "pos": "open"}]})
    }));
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    write(dir, "rooms.jsonl", &(lines.join("\n") + "\n"))
}

#[tokio::test]
async fn a_model_is_shown_the_room_and_its_words_are_in_it() {
    let dir = TempDir::new().unwrap();
    let archive = questions(&dir, 3);
    let twin = ModelTwin::start().await.unwrap();
    // The same words again are no post; a reaction and a pass are none either.
    for answer in [Answer::reply("1240 degrees, as ever"), Answer::reply("1240 degrees, as ever!"), Answer::react("\u{1f525}")] {
        twin.then(answer);
    }
    let sends = dir.path().join("sends.jsonl");
    let report = report(&twin, &[text(&archive), "--model", "anthropic/claude-haiku-4-5", "--sends", text(&sends)]).await;
    let drafter = &report["drafter"];
    assert_eq!((&drafter["asked"], &drafter["replies"], &drafter["reactions"]), (&json!(3), &json!(2), &json!(1)), "{drafter}");
    assert!(drafter["tokens"].as_u64().unwrap() > 0 && drafter["cost_usd"].as_f64().unwrap() > 0.0, "{drafter}");
    assert_eq!(drafter["stopped"], Value::Null);
    let posts: Vec<Value> = fs::read_to_string(sends).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(posts.len(), 1, "{posts:?}");
    // Quiet, then 6 s for the draft, whatever the provider took.
    assert!((8_500..40_000).contains(&posts[0]["ts"].as_i64().unwrap()), "{posts:?}");

    let requests = twin.requests();
    assert_eq!((requests.len(), requests[0].key.as_deref()), (3, Some(KEY)));
    let second = requests[1].body.to_string();
    assert!(second.contains("how hot was firing 0?") && second.contains("how hot was firing 1?") && second.contains("Ada"), "{second}");
    assert!(second.contains("1240 degrees, as ever"), "its own post is in the room: {second}");
    assert!(!second.contains("firing 2"), "nothing of what comes later");
    assert!(second.contains("You are Wren"), "{second}");
}

#[tokio::test]
async fn the_documents_give_persona_and_model() {
    let dir = TempDir::new().unwrap();
    let archive = questions(&dir, 1);
    let room = "apiVersion: parlor.dev/v1alpha1\nkind: Room\nmetadata: {name: kiln}\nspec:\n  surface: {console: {}}\n  audience: Public\n  \
                members: [{persona: finch}]\n  mode: Active\n";
    let persona = "apiVersion: parlor.dev/v1alpha1\nkind: Persona\nmetadata: {name: finch}\nspec:\n  displayName: Finch\n  \
                   identity: You fire kilns.\n  models:\n    draft: {provider: openai, name: gpt-4o-mini}\n";
    let (room, _) = (write(&dir, "room.yaml", room), write(&dir, "finch.yaml", persona));
    let twin = ModelTwin::start().await.unwrap();
    twin.otherwise(Answer::pass("nothing to add"));
    let report = report(&twin, &[text(&archive), "--policy", text(&room)]).await;
    assert_eq!(report["drafter"]["passes"], 1, "{}", report["drafter"]);
    let request = twin.requests().remove(0);
    assert_eq!((request.path.as_str(), request.body["model"].as_str()), ("/v1/chat/completions", Some("gpt-4o-mini")));
    let body = request.body.to_string();
    assert!(body.contains("You fire kilns.") && body.contains("Anybody may read what is said here"), "{body}");
    assert!(body.contains("You are Wren") && !body.contains("Finch"), "{body}");
}

#[tokio::test]
async fn a_cap_ends_the_drafting_and_not_the_run() {
    let dir = TempDir::new().unwrap();
    let archive = questions(&dir, 12);
    let twin = ModelTwin::start().await.unwrap();
    twin.otherwise(Answer::pass("nothing to add"));
    let archive = text(&archive);
    let model = ["--model", "anthropic/claude-haiku-4-5"];
    let capped = report(&twin, &[&[archive, "--max-drafts", "4"], &model[..]].concat()).await;
    let drafter = &capped["drafter"];
    assert_eq!((&drafter["asked"], &drafter["empty"]), (&json!(4), &json!(8)), "{drafter}");
    assert_eq!(drafter["stopped"], json!({"by": "--max-drafts", "room": "kiln", "ts": 4 * 3_600_000 + 8_500}));
    assert_eq!((twin.requests().len(), capped["lines"].as_u64()), (4, Some(12)));

    // A call may cost a few cents at worst; what it did cost is far less.
    let capped = report(&twin, &[&[archive, "--max-cost", "0.03"], &model[..]].concat()).await;
    let drafter = &capped["drafter"];
    assert_eq!(drafter["stopped"]["by"], "--max-cost", "{drafter}");
    assert!(drafter["cost_usd"].as_f64().unwrap() <= 0.03, "{drafter}");
    let table = String::from_utf8(run(&twin, &[&[archive, "--max-cost", "0"], &model[..]].concat()).await.stdout).unwrap();
    assert!(table.contains("The model wrote 0 drafts for $0.0000") && table.contains("--max-cost was reached in room \"kiln\""), "{table}");
}

#[tokio::test]
async fn failures_are_counted_told_and_not_fatal() {
    let dir = TempDir::new().unwrap();
    let archive = write(&dir, "rooms.jsonl", &generate::archive(Plan { seed: 3, rooms: 1, lines: 60 }));
    let twin = ModelTwin::start().await.unwrap();
    for answer in
        [Answer::status(503, "overloaded_error").saying("secret words"), Answer::text("no act"), Answer::text("no act"), Answer::declined()]
    {
        twin.then(answer);
    }
    twin.otherwise(Answer::reply("yes"));
    let out = run(&twin, &[text(&archive), "--model", "anthropic/claude-haiku-4-5", "--json"]).await;
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    let failed = &report["drafter"]["failed"];
    assert_eq!(failed, &json!({"no_act": 1, "provider": 1, "refused": 1}), "{report}");
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(told.contains("503") && !told.contains("secret words") && !told.contains(KEY), "{told}");
}

#[tokio::test]
async fn what_is_missing_is_said_before_anything_is_read() {
    let dir = TempDir::new().unwrap();
    let archive = questions(&dir, 1);
    let twin = ModelTwin::start().await.unwrap();
    let archive = text(&archive);
    for (arguments, words) in [
        (vec![archive], "no model is named; give --model PROVIDER/NAME"),
        (vec![archive, "--model", "acme/x"], "there is no provider \"acme\""),
        (vec![archive, "--model", "openai"], "names a provider and no model"),
        (vec![archive, "--model", "stub", "--sweep", "lull=1"], "would pay for every value"),
        (vec![archive, "--model", "stub", "--max-cost=-1"], "below a million"),
    ] {
        let out = run(&twin, &arguments).await;
        let told = String::from_utf8(out.stderr).unwrap();
        assert!(!out.status.success() && told.contains(words), "{arguments:?}: {told}");
    }
    let mut bare = Command::new(env!("CARGO_BIN_EXE_parlor"));
    bare.args(["replay", archive, "--drafter", "model", "--model", "anthropic/x"])
        .env_remove("ANTHROPIC_API_KEY")
        .env_remove("ANTHROPIC_BASE_URL");
    let told = String::from_utf8(bare.output().await.unwrap().stderr).unwrap();
    assert!(told.contains("ANTHROPIC_API_KEY is not set"), "{told}");
    // The stub of the broker costs nothing and needs no provider.
    let free = report(&twin, &[archive, "--model", "stub"]).await;
    assert_eq!((&free["drafter"]["asked"], &free["drafter"]["cost_usd"]), (&json!(1), &json!(0.0)), "{}", free["drafter"]);
    assert!(twin.requests().is_empty());
}
