//! The whole way that a newcomer goes: a real `parlor dev` on the sample studio with its own waits, and people in real tabs.

use std::{process::Command, time::Instant};

use serde_json::{Value, json};

use crate::support::{browser::Browser, dev::Studio};

const ROOM: &str = include_str!("../../deploy/samples/kiln.yaml");
const PERSONAS: &str = include_str!("../../deploy/samples/personas.yaml");

fn room(studio: &Studio) -> String {
    format!("http://{}/rooms/kiln", studio.address.unwrap())
}

/// Seq and text of every line that is shown.
async fn shown(browser: &Browser) -> Value {
    browser.js("return [...document.querySelectorAll('#log .line')].map((l) => [l.id, l.querySelector('.text').textContent])").await
}

#[tokio::test]
async fn a_newcomer_is_answered_sees_why_it_takes_that_long_and_loses_nothing() {
    let mut studio = Studio::new(&[("kiln.yaml", ROOM), ("personas.yaml", PERSONAS)]);
    studio.start();
    let browser = Browser::start(&[]).await;
    browser.enter(&room(&studio), "Ada").await;
    let began = Instant::now();
    browser.write("hi wren").await;
    browser.until_text("#log .own .text", "hi wren").await;
    // From the first second on: what the room waits for, why, and for how much longer.
    let told = "const left = parseFloat(document.querySelector('#floor-left').textContent);
        return /Waiting for Ada to finish|Ada is typing/.test(document.querySelector('#floor-now').textContent)
            && document.querySelector('#floor-why').textContent.length > 20 && left > 0";
    browser.until_true("the wait is shown", told).await;
    let told_after = began.elapsed();
    browser.until_text("#log .persona .text", "").await;
    let answered_after = began.elapsed();
    println!("the wait is shown after {} ms, the answer after {} ms", told_after.as_millis(), answered_after.as_millis());
    browser.until_text("#decisions", "opens with the persona's name").await;
    browser.until_text("#decisions .to", "line 1").await;

    // A second person in another tab; both see the same, and each is themselves.
    browser.another_tab().await;
    browser.enter(&room(&studio), "Ben").await;
    browser.write("lark, which blue runs least?").await;
    browser.until_true("both personas spoke", "return document.querySelectorAll('#log .persona').length >= 2").await;
    let seen = shown(&browser).await;
    browser.front(0).await;
    browser.until_true("the first tab has it all", "return document.querySelectorAll('#log .persona').length >= 2").await;
    assert_eq!(shown(&browser).await, seen);
    browser.tab.refresh().await.unwrap();
    browser.until_text("#log .text", "which blue").await;
    assert_eq!(shown(&browser).await, seen, "a reload loses nothing");
    for n in [0, 1] {
        browser.front(n).await;
        assert_eq!(browser.log().await, Vec::<String>::new());
    }

    browser.picture("dev").await;

    // Killed and started again, the room and its people are the same.
    studio.kill();
    studio.start();
    browser.tab.goto(&format!("{}?as=1", room(&studio))).await.unwrap();
    browser.until_text(".you", "You are Ada").await;
    assert_eq!(shown(&browser).await, seen);
    browser.write("still here").await;
    browser.until_text("#log .own .text", "still here").await;
    assert_eq!(browser.js("return document.querySelectorAll('#log .line.own').length").await, json!(2));
    browser.close().await;
    assert!(studio.stop(), "{}", studio.said());
}

/// Sends a signal to every Postgres process below this one.
fn signal_postgres(pid: u64, signal: &str) {
    let table = Command::new("ps").args(["-eo", "pid=,ppid=,comm="]).output().unwrap().stdout;
    let rows: Vec<(u64, u64, String)> = String::from_utf8(table)
        .unwrap()
        .lines()
        .map(|line| line.split_whitespace())
        .filter_map(|mut words| Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?, words.next()?.to_owned())))
        .collect();
    let mut family = vec![pid];
    let mut at = 0;
    while let Some(&parent) = family.get(at) {
        family.extend(rows.iter().filter(|(_, of, _)| *of == parent).map(|(child, ..)| *child));
        at += 1;
    }
    let servers: Vec<String> =
        rows.iter().filter(|(p, _, name)| family.contains(p) && name == "postgres").map(|r| r.0.to_string()).collect();
    assert!(servers.len() > 1, "no server below {pid}");
    // One of them may have ended by itself meanwhile.
    let _ = Command::new("kill").arg(signal).args(servers).status();
}

/// Postgres processes that do not move until this is dropped, so that a test that fails leaves none behind.
struct Frozen(u64);

impl Frozen {
    fn new(pid: u64) -> Self {
        signal_postgres(pid, "-STOP");
        Self(pid)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        signal_postgres(self.0, "-CONT");
    }
}

#[tokio::test]
async fn a_server_that_hangs_in_the_middle_of_a_talk_keeps_the_text_and_is_caught_up_with() {
    let mut studio = Studio::new(&[("kiln.yaml", ROOM), ("personas.yaml", PERSONAS)]);
    studio.start();
    let running: Value = serde_json::from_slice(&std::fs::read(studio.state().join("running.json")).unwrap()).unwrap();
    let pid = running["pid"].as_u64().unwrap();
    let browser = Browser::start(&[]).await;
    browser.enter(&room(&studio), "Ada").await;
    browser.write("hi wren").await;
    browser.until_true("a reply", "return document.querySelectorAll('#log .persona').length === 1").await;
    let frozen = Frozen::new(pid);
    browser.write("wren, does this line survive?").await;
    browser.until_text("#said", "sent again by itself").await;
    browser.until_text("#trouble", "The database is not reachable").await;
    assert_eq!(browser.js("return document.querySelector('textarea#text').value").await, json!("wren, does this line survive?"));
    drop(frozen);
    browser.until_true("the second reply", "return document.querySelectorAll('#log .persona').length === 2").await;
    browser
        .until_true(
            "all is well",
            "return document.querySelector('#trouble, #said').textContent + document.querySelector('textarea#text').value === ''",
        )
        .await;
    browser.tab.refresh().await.unwrap();
    browser
        .until_true(
            "two lines, two replies",
            "return document.querySelectorAll('#log .own').length === 2 && document.querySelectorAll('#log .persona').length === 2",
        )
        .await;
    browser.close().await;
    assert!(studio.stop(), "{}", studio.said());
}
