//! `parlor shadow report`: a real room in Shadow on a real ledger, people who talk and answer, and what the report says of it.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use parlor_core::GateKind;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::support::{
    dev::parlor,
    room::{ROOM, Rig, shadow},
};

/// A room in Shadow with rules at the gate, so that each line's fate is known beforehand.
async fn room() -> Rig {
    Rig::with(|p| {
        shadow(p);
        p.gate = GateKind::Rules;
    })
    .await
}

/// The command, with the notice of a running process that has this ledger.
fn command(rig: &Rig, state: &Path, args: &[&str]) -> Command {
    let notice = json!({
        "pid": std::process::id(), "console": "http://127.0.0.1:9", "database": rig.db.url.expose_secret(),
        "say_token": state.join("say"), "owner_token": state.join("owner"),
    });
    fs::write(state.join("running.json"), notice.to_string()).unwrap();
    let mut command = parlor();
    command.args(["shadow", "report"]).args(args).arg("--state").arg(state);
    command
}

async fn run(rig: &Rig, state: &TempDir, args: &[&str]) -> Output {
    let mut command = command(rig, state.path(), args);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

async fn report(rig: &Rig, state: &TempDir, args: &[&str]) -> Value {
    let output = run(rig, state, &[&[ROOM, "--json"], args].concat()).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

async fn told(rig: &Rig, state: &TempDir, args: &[&str]) -> String {
    let output = run(rig, state, args).await;
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// Waits for the draft that is due, answers it, and lets the turn end.
async fn drafted(rig: &Rig, rows: usize, text: &str) {
    rig.models.next().await.reply(text);
    rig.until("the draft is there", async |r| r.floor().await.is_some_and(|v| v.effect.is_none()) || r.rows().await.len() == rows).await;
    rig.advance(12_000).await;
    rig.until("its row is there", async |r| r.rows().await.len() == rows).await;
}

/// Half an hour of a room. What the report has to say of it is reckoned by hand below.
async fn half_an_hour(rig: &Rig) {
    // A question to the persona, answered by it, and by Bo a minute later.
    let ada = rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    drafted(rig, 1, "Cone six.").await;
    rig.advance(60_000).await;
    rig.reply("bo", &ada, "six, and 1222 degrees").await;
    rig.advance(200_000).await;
    // A question to the room: the persona would have answered after 100 s, Dan did after some 140 s.
    let cid = rig.say("cid", "does anyone know where the tongs are?").await;
    rig.advance(100_000).await;
    drafted(rig, 2, "On the hook.").await;
    rig.advance(25_000).await;
    rig.reply("dan", &cid, "behind the door, on a hook").await;
    rig.advance(400_000).await;
    // One that nobody answers but the persona.
    rig.say("eve", "does anybody have a spare apron?").await;
    rig.advance(100_000).await;
    drafted(rig, 3, "In the cupboard.").await;
    rig.advance(400_000).await;
    // One that a name answers in time, so that the persona leaves it.
    rig.say("ivy", "does anyone know how long a bisque firing takes?").await;
    rig.advance(30_000).await;
    rig.say("jon", "ivy: ten hours, mostly").await;
    rig.advance(400_000).await;
    // A question to the persona that it passes.
    rig.say("fay", "wren, when is the next firing?").await;
    rig.advance(2_500).await;
    rig.models.next().await.pass("nobody knows");
    rig.settled().await;
    // Talk among people, in two lines that are one turn.
    rig.say("gus", "ada: lovely bowl").await;
    rig.say("gus", "ada: and what a glaze").await;
    rig.advance(400_000).await;
    // Too late to be judged.
    rig.say("zoe", "good night").await;
    rig.settled().await;
}

#[tokio::test]
async fn the_report_counts_what_it_would_have_said_beside_what_people_did_and_posts_nothing() {
    let (rig, state) = (room().await, TempDir::new().unwrap());
    half_an_hour(&rig).await;
    let events = rig.items().await.len();
    assert_eq!(events, 11, "{}", rig.story().await);
    let found = report(&rig, &state, &[]).await;
    assert_eq!(found["truth"], "links_and_names");
    // Ada, Bo, Cid, Dan, Eve, Ivy, Jon, Fay and Gus had a turn each; Zoe's is too late.
    let judged = json!({"turns": 9, "replied_turns": 0, "direct_questions": 2, "room_questions": 3, "orphans": 1});
    assert_eq!(found["judged"], judged, "{}", rig.story().await);
    let figures = &found["policies"]["parlor"];
    for (name, want) in [
        ("duplicate_rate", json!(0.0)),
        ("already_answered_rate", json!(0.0)),
        // Of the posts to Cid and to Eve that to Cid came before Dan's answer.
        ("preempt_rate", json!(0.5)),
        // Fay's question.
        ("missed_direct_rate", json!(0.5)),
        ("missed_orphan_rate", json!(0.0)),
        ("cut_off_rate", json!(0.0)),
        ("butt_in_rate", json!(0.0)),
        // Nobody takes its part, and no row tells of a model at the gate.
        ("balanced_accuracy", Value::Null),
        ("mir", Value::Null),
        ("fir", Value::Null),
        ("gate_calls", Value::Null),
        ("reactions", json!(0.0)),
    ] {
        assert_eq!(figures[name], want, "{name}: {figures}");
    }
    let per_100 = |n: f64| 100.0 * n / 11.0;
    for (name, want) in [("sends", per_100(3.0)), ("drafts", per_100(4.0))] {
        assert!((figures[name].as_f64().unwrap() - want).abs() < 1e-9, "{name}: {figures}");
    }
    let waits = ["latency_direct_p50_ms", "latency_room_p50_ms"].map(|name| figures[name].as_i64().unwrap());
    // Ada was alone, so her turn looked over after 4 s; the room had its 100 s.
    assert!((4_000..30_000).contains(&waits[0]) && (100_000..150_000).contains(&waits[1]), "{waits:?}");
    // A bot that answers everything: Ada, Cid, Eve, Ivy, Fay and the four others; Gus twice.
    assert_eq!(found["policies"]["request_queue"]["duplicate_rate"], json!(0.1));

    let said = found["shadow"]["said"].as_array().unwrap();
    let beside: Vec<(&str, &str, Option<&str>)> =
        said.iter().map(|s| (s["to"][0]["name"].as_str().unwrap(), s["text"].as_str().unwrap(), s["people"]["text"].as_str())).collect();
    assert_eq!(
        beside,
        [
            ("Ada", "Cone six.", Some("six, and 1222 degrees")),
            ("Cid", "On the hook.", Some("behind the door, on a hook")),
            ("Eve", "In the cupboard.", None)
        ]
    );

    // Dan's part: the persona should have answered Cid, and nobody else; and nobody but Dan answered Cid.
    let dan = report(&rig, &state, &["--as", "Dan"]).await;
    assert_eq!(dan["shadow"]["as"], "Dan");
    assert_eq!((&dan["judged"]["replied_turns"], &dan["judged"]["orphans"]), (&json!(1), &json!(2)));
    let figures = &dan["policies"]["parlor"];
    assert_eq!((&figures["preempt_rate"], &figures["mir"]), (&json!(0.0), &json!(0.0)));
    let close = |name: &str, want: f64| assert!((figures[name].as_f64().unwrap() - want).abs() < 1e-9, "{name}: {figures}");
    close("fir", 2.0 / 8.0);
    close("balanced_accuracy", f64::midpoint(1.0, 6.0 / 8.0));

    // For people: the same figures, and what was not said beside what was.
    let text = told(&rig, &state, &[ROOM]).await;
    for words in ["kiln as Wren, now Shadow: events 1 to 11", "9 turns judged", "nobody is seen to answer", "Wren: Cone six."] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(text.contains("to line 3 Cid: does anyone know where the tongs are?"), "{text}");

    // Nothing was posted, then or by the report.
    assert!(rig.posts().await.is_empty() && rig.reactions().await.is_empty(), "{}", rig.story().await);
    assert_eq!(rig.items().await.len(), events);
    assert_eq!(rig.db.number("select count(*) from parlor.outbox where state <> 'shadow'").await, 0);
    assert_eq!(rig.db.number("select count(*) from parlor.outbox").await, 3);
}

#[tokio::test]
async fn the_pages_hold_the_same_and_texts_only_where_they_were_asked_for() {
    let (rig, state) = (room().await, TempDir::new().unwrap());
    half_an_hour(&rig).await;
    let folder = state.path().join("pages");
    let to = folder.to_str().unwrap();
    report(&rig, &state, &["--report", to]).await;
    let page = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let (index, of_room) = (page("index.html"), page("room-001.html"));
    assert!(index.contains("What it would have said") && index.contains("Cid") && index.contains("nobody is seen to answer"), "{index}");
    assert!(of_room.contains("<svg class=\"timeline\"") && of_room.contains("room_wait_over") && of_room.contains("shadow_settled"));
    // The three that were answered by it end with a post, though their rows ended later.
    let pictures = of_room.split("id=\"scenes\"").nth(1).unwrap().split("<fieldset").nth(1).unwrap();
    let signs = |words: &str| pictures.matches(&format!("<title>{words}, ")).count();
    let silent = rig.decided("passed", "").await + rig.decided("answered", "").await;
    assert_eq!((signs("post"), signs("ended without a word of ours")), (3, silent), "{}", rig.story().await);
    for text in ["Cone six.", "tongs", "apron", "1222"] {
        assert!(!index.contains(text) && !of_room.contains(text), "{text} is shown");
    }
    report(&rig, &state, &["--report", to, "--report-text"]).await;
    let (index, of_room) = (page("index.html"), page("room-001.html"));
    assert!(index.contains("Cone six.") && index.contains("1222") && of_room.contains("spare apron"));
}

#[tokio::test]
async fn where_there_is_no_truth_there_is_no_figure_and_what_cannot_be_done_is_said() {
    let (rig, state) = (room().await, TempDir::new().unwrap());
    let nothing = told(&rig, &state, &[ROOM]).await;
    assert!(nothing.contains("nothing was said in kiln since"), "{nothing}");
    rig.say("ada", "wren, which cone for stoneware?").await;
    rig.advance(2_500).await;
    drafted(&rig, 1, "Cone six.").await;
    rig.advance(400_000).await;
    rig.say("bo", "it rains").await;
    let found = report(&rig, &state, &[]).await;
    assert_eq!((&found["truth"], &found["judged"]["turns"]), (&json!("names"), &json!(1)));
    let figures = &found["policies"]["parlor"];
    for name in ["already_answered_rate", "preempt_rate", "missed_orphan_rate", "latency_p50_ms", "balanced_accuracy", "preempt_rate_low"] {
        assert_eq!(figures[name], Value::Null, "{name}");
    }
    assert_eq!((&figures["missed_direct_rate"], &figures["butt_in_rate"]), (&json!(0.0), &json!(0.0)));
    for (args, words) in [
        (vec![ROOM, "--as", "Nobody"], "nobody of that name or id spoke"),
        (vec![ROOM, "--persona", "moss"], "the room has no persona \"moss\"; it has: wren"),
        (vec!["kilm"], "there is no room \"kilm\"; there is: kiln"),
    ] {
        let said = told(&rig, &state, &args).await;
        assert!(said.contains(words), "{said}");
    }
    // A row that was refused would not have been said.
    rig.db.sql("update parlor.outbox set state = 'refused', reason = 'muted'").await.unwrap();
    let found = report(&rig, &state, &[]).await;
    assert_eq!((&found["shadow"]["said"], &found["policies"]["parlor"]["missed_direct_rate"]), (&json!([]), &json!(1.0)));
}
