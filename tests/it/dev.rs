//! `parlor dev` as its user sees it: the real binary on a folder, its files changed while it runs, killed and started again.

use std::{net::TcpListener, time::Duration};

use crate::support::dev::{ROOM, Studio, WREN, parlor};

fn studio() -> Studio {
    Studio::new(&[("kiln.yaml", ROOM), ("wren.yaml", WREN)])
}

fn fails(mut command: std::process::Command) -> String {
    let output = command.output().unwrap();
    assert!(!output.status.success(), "it succeeded");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_studio_from_its_first_start_to_its_last_change() {
    let mut studio = studio();
    studio.start();

    // A line becomes a reply, and the terminal tells why.
    let asked = studio.say("kiln", "hi wren");
    let (seq, _) = studio.until("a reply", |s| s.posts("kiln").pop());
    assert_eq!((asked, seq), (1, 2));
    studio.until("the end", |s| s.decisions("kiln").contains(&"settled row_posted".to_owned()).then_some(()));
    let why = studio.json(&["why", "kiln", "1"]);
    assert_eq!(why[0]["text"], "hi wren");
    assert!(why.iter().any(|d| d["why"] == "name_opens" && d["lines"] == serde_json::json!([1])), "{why:?}");
    assert!(why.iter().any(|d| d["type"] == "row" && d["state"] == "done" && d["echo"] == 2), "{why:?}");
    let tail = String::from_utf8(studio.run(&["tail", "kiln", "-n", "2"]).stdout).unwrap();
    assert!(tail.contains("ruth: hi wren") && tail.contains("Wren (persona): "), "{tail}");

    // The page is served.
    assert!(studio.page("/").contains("kiln"));

    // Muted by its file: it listens and says nothing; afterwards it answers once.
    studio.write("kiln.yaml", &format!("{ROOM}  mute: {{ reason: glaze test }}\n"));
    studio.until("the mute", |s| s.decisions("kiln").contains(&"hushed muted".to_owned()).then_some(()));
    studio.say("kiln", "wren, when can I open the big kiln?");
    studio.silent("kiln", 1);
    assert!(studio.page("/").contains("Muted: glaze test"));
    studio.write("kiln.yaml", ROOM);
    studio.until("a reply after the mute", |s| (s.posts("kiln").len() == 2).then_some(()));
    studio.silent("kiln", 2);

    // A mute that ends by itself.
    let soon = jiff::Timestamp::now().checked_add(Duration::from_secs(4)).unwrap();
    studio.write("kiln.yaml", &format!("{ROOM}  mute: {{ reason: a moment, until: '{soon}' }}\n"));
    studio.until("the second mute", |s| (s.decisions("kiln").iter().filter(|d| *d == "hushed muted").count() == 2).then_some(()));
    studio.say("kiln", "wren, is it cold yet?");
    studio.until("a reply after the end of the mute", |s| (s.posts("kiln").len() == 3).then_some(()));
    assert!(jiff::Timestamp::now() >= soon, "it spoke before the mute was over");

    // A second room while it runs; then the first cannot be read: it falls silent, and the second goes on.
    studio.write("yard.yaml", &ROOM.replace("kiln", "yard"));
    studio.until("the second room", |s| s.run(&["say", "yard", "good morning wren"]).status.success().then_some(()));
    studio.write("kiln.yaml", &ROOM.replace("floor:", "flor:"));
    studio.until("the problem", |s| s.said().contains("kiln.yaml:9:3: spec.flor: unknown field").then_some(()));
    studio.until("the third mute", |s| (s.decisions("kiln").iter().filter(|d| *d == "hushed muted").count() == 3).then_some(()));
    studio.say("kiln", "wren, hello?");
    studio.silent("kiln", 3);
    assert!(studio.page("/").contains("Muted until its documents can be read: kiln.yaml:9:3: spec.flor: unknown field"));
    studio.until("a reply in the second room", |s| (s.posts("yard").len() == 1).then_some(()));
    studio.write("kiln.yaml", ROOM);
    studio.until("a reply when it can be read again", |s| (s.posts("kiln").len() == 4).then_some(()));

    // A persona's new name is taken up.
    studio.write("wren.yaml", &WREN.replace("Wren", "Robin"));
    studio.until("the new name", |s| (s.said().matches("room yard: taken up").count() == 2).then_some(()));
    studio.say("yard", "robin, are you there?");
    studio.until("a reply under the new name", |s| s.json(&["tail", "yard"]).iter().any(|l| l["name"] == "Robin").then_some(()));

    // A room whose file is gone takes nothing in; its log stays.
    studio.remove("yard.yaml");
    studio.until("the removal", |s| s.said().contains("room yard: stopped").then_some(()));
    studio.until("its end", |s| (!s.run(&["say", "yard", "anybody?"]).status.success()).then_some(()));
    assert!(!studio.posts("yard").is_empty());

    assert!(studio.stop(), "{}", studio.said());
    let gone = String::from_utf8(studio.run(&["tail", "kiln"]).stderr).unwrap();
    assert!(gone.contains("no `parlor dev` runs on the state folder"), "{gone}");

    // Started again, the room goes on; the figure of the issue is printed, and measured by the benches.
    let took = studio.start();
    println!("start to page with a state folder: {} ms", took.as_millis());
    assert_eq!(studio.posts("kiln").len(), 4);
    assert!(studio.page("/rooms/kiln").contains("hi wren"));
    assert!(studio.stop());
}

#[test]
fn killed_in_the_middle_it_answers_each_question_once() {
    let slow = ROOM.replace("alone: 100ms", "alone: 1s").replace("turnOpen: 100ms", "turnOpen: 1s");
    let mut studio = Studio::new(&[("kiln.yaml", &slow), ("wren.yaml", WREN)]);
    studio.start();
    for round in 1..=3_usize {
        studio.say("kiln", &format!("wren, what about shelf {round}?"));
        // Killed while the draft is under way or waits for the end of the turn.
        studio.until("a draft", |s| (s.decisions("kiln").iter().filter(|d| d.starts_with("drafting ")).count() >= round).then_some(()));
        studio.kill();
        studio.start();
        studio.until("the reply", |s| (s.posts("kiln").len() >= round).then_some(()));
        studio.silent("kiln", round);
    }
    // A second process on the same folder, and a port that is taken.
    let taken = fails(studio.command("127.0.0.1:0"));
    assert!(taken.contains("another `parlor dev` runs on the state folder"), "{taken}");
    assert!(studio.stop());
}

#[test]
fn what_is_wrong_at_the_start_is_said_and_nothing_starts() {
    let studio = studio();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let said = fails(studio.command(&address));
    assert!(said.contains(&format!("{address} is in use by another program; stop it, or choose another port")), "{said}");
    let said = fails(studio.command("0.0.0.0:0"));
    assert!(said.contains("can be reached from other machines"), "{said}");

    studio.write("kiln.yaml", &ROOM.replace("persona: wren", "persona: wern"));
    studio.write("other.yaml", "apiVersion: parlor.dev/v1alpha1\nkind: Room\nspec: {\n");
    let said = fails(studio.command("127.0.0.1:0"));
    assert!(said.contains("nothing was started, because the studio has problems:\n"), "{said}");
    assert!(said.contains("kiln.yaml:7:15: spec.members[0].persona: there is no Persona \"wern\", expected wren\n"), "{said}");
    assert!(said.contains("other.yaml:3:7: not readable as YAML: "), "{said}");
    assert!(!studio.state().exists(), "a state folder was made for nothing");

    let mut nowhere = parlor();
    nowhere.args(["dev", "/nowhere/at/all"]);
    let said = fails(nowhere);
    assert!(said.contains("/nowhere/at/all: the folder cannot be read"), "{said}");

    studio.write("kiln.yaml", ROOM);
    studio.remove("other.yaml");
    let mut unreachable = studio.command("127.0.0.1:0");
    unreachable.env("PARLOR_DATABASE_URL", "postgres://parlor:hunter2@127.0.0.1:1/parlor");
    let said = fails(unreachable);
    assert!(said.contains("the ledger: the database cannot be used now") && !said.contains("hunter2"), "{said}");
}
