//! Grants in `parlor dev`: a file that is there lets a room know, one that is gone takes it back, whatever happened in between.

use serde_json::Value;

use crate::support::dev::{ROOM, Studio, WREN};

/// What is told in one room and must not be known in another.
const SECRET: &str = "the celadon recipe has three parts of bone ash";

fn grant(mode: &str, seq: i64) -> String {
    format!(
        "apiVersion: parlor.dev/v1alpha1
kind: PrivacyGrant
metadata: {{ name: recipe }}
spec:
  from: {{ roomRef: {{ name: bench }} }}
  to: {{ roomRef: {{ name: kiln }} }}
  items: {{ seqs: [{seq}] }}
  mode: {mode}
  purpose: the kiln crew fires the celadon tonight
  duration: 1h
  grantedBy: owner
"
    )
}

/// Two rooms with the same persona, and the secret told in one of them.
fn studio() -> (Studio, i64) {
    let bench = ROOM.replace("kiln", "bench");
    let mut studio = Studio::new(&[("kiln.yaml", ROOM), ("bench.yaml", &bench), ("wren.yaml", WREN)]);
    studio.start();
    let told = studio.say("bench", SECRET);
    (studio, told)
}

/// Asks in the kiln and gives the answer.
fn ask(studio: &Studio, text: &str) -> String {
    let before = studio.posts("kiln").len();
    studio.say("kiln", text);
    studio.until("an answer", |s| s.posts("kiln").get(before).map(|(_, text)| text.clone()))
}

fn show(studio: &Studio) -> Value {
    studio.json(&["grant", "show", "recipe"]).pop().unwrap()
}

#[test]
fn what_one_room_was_told_another_knows_only_while_a_grant_says_so() {
    let (mut studio, told) = studio();
    assert!(!ask(&studio, "wren, what is in the celadon?").contains("bone ash"), "the wall leaks");

    studio.write("grant.yaml", &grant("Read", told));
    studio.until("the grant", |s| s.said().contains("grant recipe: 1 messages for room kiln").then_some(()));
    assert!(ask(&studio, "wren, and what is in the celadon now?").contains("bone ash"));
    let shown = show(&studio);
    assert_eq!((&shown["live"], &shown["items"][0]["text"], &shown["uses"][0]["kind"]), (&true.into(), &SECRET.into(), &"read".into()));

    // Killed and started again it still holds, and the same file makes no second grant.
    studio.kill();
    studio.start();
    assert!(ask(&studio, "wren, what was in the celadon again?").contains("bone ash"));
    assert_eq!(studio.json(&["grant", "show"]).len(), 1);

    studio.remove("grant.yaml");
    studio.until("the revocation", |s| s.said().contains("grant recipe: revoked").then_some(()));
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
    studio.until("the grant", |s| s.said().contains("grant recipe: 1 messages for room kiln").then_some(()));
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
    studio.until("the revocation", |s| s.said().contains("grant recipe: revoked").then_some(()));
    assert!(copies(&studio).iter().all(|l| l["text"] == ""));
    assert!(!ask(&studio, "wren, do you remember the celadon?").contains("bone ash"), "it still knows");
    assert!(studio.stop());
}

#[test]
fn a_grant_that_cannot_be_made_is_told_with_the_reason_and_one_that_cannot_be_read_is_taken_back() {
    let (mut studio, told) = studio();
    studio.write("grant.yaml", &grant("Read", 999));
    studio.until("the reason", |s| s.said().contains("grant recipe: not made: the ledger refused it").then_some(()));
    studio.write("grant.yaml", &grant("Read", told));
    studio.until("the grant", |s| s.said().contains("grant recipe: 1 messages for room kiln").then_some(()));
    studio.write("grant.yaml", &grant("Read", told).replace("mode:", "mood:"));
    studio.until("the problem", |s| s.said().contains("grant.yaml:8:3: spec.mood: unknown field").then_some(()));
    studio.until("the revocation", |s| s.said().contains("grant recipe: revoked").then_some(()));
    // The same again is a new grant.
    studio.write("grant.yaml", &grant("Read", told));
    studio.until("the second grant", |s| (s.json(&["grant", "show"]).len() == 2).then_some(()));
    let unknown = studio.run(&["grant", "show", "recipee"]);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("there is no grant \"recipee\"; there is: recipe"));
    assert!(studio.stop());
}
