//! An owner hushes a room of a real `parlor dev`: at once, through restarts and changes of its documents, until the owner lifts it.

use std::process::Output;

use serde_json::Value;

use crate::support::dev::{ROOM, Studio, WREN};

/// A room that has answered once, so that its actor has read everything.
fn studio() -> Studio {
    let mut studio = Studio::new(&[("kiln.yaml", ROOM), ("wren.yaml", WREN)]);
    studio.start();
    studio.say("kiln", "hi wren");
    studio.until("a reply", |s| (s.posts("kiln").len() == 1).then_some(()));
    studio
}

/// What makes the room silent, as `why` says it.
fn mutes(studio: &Studio) -> Vec<Value> {
    studio.json(&["why", "kiln"]).into_iter().filter(|l| l["type"] == "mute").collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn fails(output: &Output) -> String {
    assert!(!output.status.success(), "it succeeded: {}", text(&output.stdout));
    text(&output.stderr)
}

fn hushes(studio: &Studio) -> usize {
    studio.decisions("kiln").iter().filter(|d| *d == "hushed muted").count()
}

#[test]
fn a_mute_of_the_owner_outlives_restarts_and_changes_of_the_documents_until_it_is_lifted() {
    let mut studio = studio();
    let muted = studio.json(&["mute", "kiln", "--reason", "glaze <test>"]);
    assert_eq!((&muted[0]["type"], &muted[0]["refused"]), (&"muted".into(), &0.into()), "{muted:?}");
    assert_eq!((&muted[2]["by"], &muted[2]["reason"], &muted[2]["until"]), (&"owner".into(), &"glaze <test>".into(), &Value::Null));
    studio.until("the mute is read", |s| (hushes(s) == 1).then_some(()));
    studio.say("kiln", "wren, when can I open the big kiln?");
    studio.silent("kiln", 1);

    // Who, since when and why is told wherever the floor is.
    let told = text(&studio.run(&["why", "kiln"]).stdout);
    assert!(told.starts_with("Muted: glaze <test> (by owner since 2"), "{told}");
    assert!(studio.page("/").contains(">muted<"));
    assert!(studio.page("/rooms/kiln").contains("<b dir=\"auto\">Muted: glaze &lt;test&gt; (by owner since 2"));

    // An edit of the document that has nothing to do with it lifts nothing, nor does a kill.
    studio.write("kiln.yaml", &ROOM.replace("mode: Active", "mode: Active\n  budget: { unpromptedPerHour: 1 }"));
    studio.until("the edit is taken up", |s| s.said().contains("room kiln: taken up").then_some(()));
    studio.silent("kiln", 1);
    studio.kill();
    studio.start();
    assert_eq!(mutes(&studio).len(), 1);
    studio.say("kiln", "wren, are you back?");
    studio.silent("kiln", 1);

    // What was asked meanwhile is answered once.
    let lifted = studio.json(&["unmute", "kiln"]);
    assert_eq!((lifted.len(), &lifted[0]["lifted"], &lifted[0]["stays"]), (1, &1.into(), &Value::Null));
    studio.until("a reply after the mute", |s| (s.posts("kiln").len() == 2).then_some(()));
    studio.silent("kiln", 2);
    assert!(mutes(&studio).is_empty());
    assert_eq!(text(&studio.run(&["unmute", "kiln"]).stdout), "nobody had muted kiln\n");

    // One with a time ends by itself.
    let until = studio.json(&["mute", "kiln", "--for", "3s"])[2]["until"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    studio.say("kiln", "wren, is it cold yet?");
    studio.until("a reply after the end of the mute", |s| (s.posts("kiln").len() == 3).then_some(()));
    assert!(jiff::Timestamp::now() >= until, "it spoke before the mute was over");
    assert!(studio.stop());
}

#[test]
fn an_unmute_lifts_what_people_muted_and_names_the_file_that_still_does() {
    let mut studio = studio();
    studio.write("kiln.yaml", &format!("{ROOM}  mute: {{ reason: kiln opening }}\n"));
    studio.until("the mute", |s| (hushes(s) == 1).then_some(()));
    studio.json(&["mute", "kiln", "--for", "1h"]);
    let both: Vec<(Value, Value)> = mutes(&studio).into_iter().map(|m| (m["by"].clone(), m["of_document"].clone())).collect();
    assert_eq!(both, [("kiln.yaml".into(), true.into()), ("owner".into(), false.into())]);
    let refused = studio.run(&["unmute", "kiln"]);
    assert_eq!(text(&refused.stdout).lines().next(), Some("mutes of kiln lifted: 1"));
    let refused = fails(&refused);
    assert_eq!(refused, "parlor: room kiln stays muted: kiln.yaml declares a mute (kiln opening); take spec.mute out of it\n");
    studio.say("kiln", "wren, hello?");
    studio.silent("kiln", 1);

    // A document that cannot be read hushes as well, and no word of the owner opens that.
    studio.write("kiln.yaml", &ROOM.replace("floor:", "flor:"));
    studio.until("the problem", |s| s.page("/").contains("Muted until its documents can be read").then_some(()));
    let refused = fails(&studio.run(&["unmute", "kiln"]));
    assert!(refused.contains("room kiln stays muted: its documents cannot be read: kiln.yaml:9:3: spec.flor"), "{refused}");
    studio.silent("kiln", 1);
    studio.write("kiln.yaml", ROOM);
    studio.until("a reply", |s| (s.posts("kiln").len() == 2).then_some(()));
    assert!(studio.stop());
}

#[test]
fn what_cannot_be_muted_is_said() {
    let mut studio = studio();
    assert!(fails(&studio.run(&["mute", "kiln", "--for", "673h"])).contains("longer than 672h"));
    assert!(fails(&studio.run(&["mute", "kiln", "--for", "soon"])).contains("is not a duration"));
    assert!(fails(&studio.run(&["mute", "kiln", "--reason", "two\nlines"])).contains("one line of at most 500 characters"));
    assert!(fails(&studio.run(&["mute", "shed"])).contains("no such room"));
    assert!(mutes(&studio).is_empty());
    assert!(studio.stop());
    assert!(fails(&studio.run(&["mute", "kiln"])).contains("no `parlor dev` runs on the state folder"));
}
