//! Grants in `parlor dev`, on the sample studio: what the owner told at the desk, the rooms beside it know only while a file says so,
//! whatever happened in between.

use serde_json::Value;

use crate::support::dev::{Studio, samples};

const GRANT: &str = include_str!("../../deploy/grants/celadon.yaml");

/// What is told in one room and must not be known in another.
const SECRET: &str = "the celadon recipe has three parts of bone ash";

/// The sample grant for this line of the desk.
fn grant(mode: &str, seq: i64) -> String {
    GRANT.replace("mode: Read", &format!("mode: {mode}")).replace("seqs: [1]", &format!("seqs: [{seq}]"))
}

/// The sample studio, and the secret told at the desk.
fn studio() -> (Studio, i64) {
    let mut studio = samples();
    studio.start();
    let told = studio.json(&["say", "desk", SECRET, "--as", "owner"])[0]["seq"].as_i64().unwrap();
    (studio, told)
}

/// Asks in a room and gives the answer.
fn ask_in(studio: &Studio, room: &str, text: &str) -> String {
    let before = studio.posts(room).len();
    studio.say(room, text);
    studio.until("an answer", |s| s.posts(room).get(before).map(|(_, text)| text.clone()))
}

/// Asks in the kiln and gives the answer.
fn ask(studio: &Studio, text: &str) -> String {
    ask_in(studio, "kiln", text)
}

fn show(studio: &Studio) -> Value {
    studio.json(&["grant", "show", "celadon"]).pop().unwrap()
}

#[test]
fn what_the_desk_was_told_a_room_knows_only_while_a_grant_says_so() {
    let (mut studio, told) = studio();
    assert_eq!(told, 1, "the sample grant names the first line");
    studio.until("an answer at the desk", |s| {
        s.posts("desk").first().map(|(_, text)| assert!(text.contains("three parts of bone"), "{text}"))
    });
    assert!(studio.decisions("desk").contains(&"opened direct_room".to_owned()), "{:?}", studio.decisions("desk"));
    let other = studio.run(&["say", "desk", "let me in"]);
    assert!(String::from_utf8_lossy(&other.stderr).contains("There is no such room here."), "a room of one person, for another");
    assert!(!ask(&studio, "wren, what is in the celadon?").contains("bone ash"), "the wall leaks");

    studio.write("grant.yaml", &grant("Read", told));
    studio.until("the grant", |s| s.said().contains("grant celadon: 1 messages for room kiln").then_some(()));
    assert!(ask(&studio, "wren, and what is in the celadon now?").contains("bone ash"));
    let shown = show(&studio);
    assert_eq!((&shown["live"], &shown["items"][0]["text"], &shown["uses"][0]["kind"]), (&true.into(), &SECRET.into(), &"read".into()));
    assert_eq!(shown["from"], "dm:owner");
    assert!(!ask_in(&studio, "window", "wren, what is in the celadon?").contains("bone ash"), "it was granted to the kiln alone");

    // Killed and started again it still holds, and the same file makes no second grant.
    studio.kill();
    studio.start();
    assert!(ask(&studio, "wren, what was in the celadon again?").contains("bone ash"));
    assert_eq!(studio.json(&["grant", "show"]).len(), 1);

    studio.remove("grant.yaml");
    studio.until("the revocation", |s| s.said().contains("grant celadon: revoked").then_some(()));
    assert!(!ask(&studio, "wren, do you remember the celadon?").contains("bone ash"), "it still knows");
    let end = show(&studio)["revocation"].clone();
    assert_eq!(end["why"], "revoked");
    assert!(end["incarnation_replaced_ms"].as_i64().unwrap() >= end["rows_invisible_ms"].as_i64().unwrap(), "{end}");
    assert!(studio.stop());
}

#[test]
fn a_grant_that_is_gone_when_the_process_starts_was_never_loaded_by_it() {
    let (mut studio, told) = studio();
    studio.write("grant.yaml", &grant("Read", told));
    studio.until("the grant", |s| s.said().contains("grant celadon: 1 messages for room kiln").then_some(()));
    studio.kill();
    studio.remove("grant.yaml");
    studio.start();
    assert!(!ask(&studio, "wren, what is in the celadon?").contains("bone ash"));
    let shown = show(&studio);
    let last_use = shown["uses"].as_array().unwrap().iter().filter_map(|u| u["at_ms"].as_i64()).max();
    assert!(last_use <= shown["revocation"]["rows_invisible_ms"].as_i64(), "{shown}");
    assert!(studio.stop());
}

#[test]
fn a_release_copies_the_lines_for_all_to_see_and_its_end_takes_them_away() {
    let (mut studio, told) = studio();
    studio.write("grant.yaml", &grant("Release", told));
    let copies = |s: &Studio| -> Vec<Value> { s.json(&["tail", "kiln"]).into_iter().filter(|l| l["kind"] == "system").collect() };
    studio.until("the copy", |s| copies(s).iter().any(|l| l["text"] == SECRET).then_some(()));
    assert!(ask(&studio, "wren, what is in the celadon?").contains("bone ash"));
    assert_eq!(copies(&studio).len(), 1, "it is copied once");
    studio.remove("grant.yaml");
    studio.until("the revocation", |s| s.said().contains("grant celadon: revoked").then_some(()));
    assert!(copies(&studio).iter().all(|l| l["text"] == ""));
    assert!(!ask(&studio, "wren, do you remember the celadon?").contains("bone ash"), "it still knows");
    assert!(studio.stop());
}

#[test]
fn a_grant_that_cannot_be_made_is_told_with_the_reason_and_one_that_cannot_be_read_is_taken_back() {
    let (mut studio, told) = studio();
    studio.write("grant.yaml", &grant("Read", 999));
    studio.until("the reason", |s| s.said().contains("grant celadon: not made: the ledger refused it").then_some(()));
    studio.write("grant.yaml", &grant("Read", told));
    studio.until("the grant", |s| s.said().contains("grant celadon: 1 messages for room kiln").then_some(()));
    studio.write("grant.yaml", &grant("Read", told).replace("mode:", "mood:"));
    studio.until("the problem", |s| s.said().contains("grant.yaml:15:3: spec.mood: unknown field").then_some(()));
    studio.until("the revocation", |s| s.said().contains("grant celadon: revoked").then_some(()));
    // The same again is a new grant.
    studio.write("grant.yaml", &grant("Read", told));
    studio.until("the second grant", |s| (s.json(&["grant", "show"]).len() == 2).then_some(()));
    let unknown = studio.run(&["grant", "show", "celadonn"]);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("there is no grant \"celadonn\"; there is: celadon"));
    assert!(studio.stop());
}
