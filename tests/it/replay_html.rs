//! `parlor replay --report`: pages that hold what the figures say and nothing they must not, in a real browser too.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use parlor::replay::{
    Args, ReplayError,
    generate::{self, Plan},
    replay,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::browser::Browser;

const PLAN: Plan = Plan { seed: 21, rooms: 3, lines: 150 };
const HOSTILE: &str = "<script>alert(1)</script>\"'&\u{202e}";

fn archive(dir: &TempDir, text: &str) -> PathBuf {
    let path = dir.path().join("rooms.jsonl");
    fs::write(&path, text).unwrap();
    path
}

fn args(archive: &Path, report: &Path) -> Args {
    Args { report: Some(report.to_owned()), ..Args::of(vec![archive.to_owned()]) }
}

fn pages(folder: &Path) -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .map(|p| (p.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&p).unwrap()))
        .collect();
    pages.sort();
    pages
}

/// Elements of HTML that are never closed.
const VOID: [&str; 4] = ["meta", "link", "input", "br"];

/// The names of the elements of a page, each with its attributes; every one that is opened is closed, in order.
fn elements(page: &str) -> Vec<(String, String)> {
    let (mut open, mut all) = (Vec::new(), Vec::new());
    let mut rest = page.strip_prefix("<!DOCTYPE html>").expect("a document");
    while let Some((text, after)) = rest.split_once('<') {
        assert!(!text.contains('>') || open.last().is_some_and(|o| o == "style"), "a stray > in {text:?}");
        let (tag, behind) = after.split_once('>').expect("a tag ends");
        rest = behind;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closed in order");
            continue;
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric()) && attributes.matches('"').count() % 2 == 0, "<{tag}>");
        all.push((name.to_owned(), attributes.to_owned()));
        if !VOID.contains(&name) {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} stay open");
    all
}

#[test]
fn the_pages_are_whole_need_nothing_else_and_hold_the_figures() {
    let dir = TempDir::new().unwrap();
    let archive = archive(&dir, &generate::archive(PLAN));
    let folder = dir.path().join("out/report");
    let report = replay(&args(&archive, &folder)).unwrap();
    let pages = pages(&folder);
    assert_eq!(
        pages.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(),
        ["index.html", "room-001.html", "room-002.html", "room-003.html"]
    );
    for (name, page) in &pages {
        let elements = elements(page);
        let policy = &elements.iter().find(|(n, a)| n == "meta" && a.contains("Content-Security-Policy")).unwrap().1;
        assert!(policy.contains("default-src 'none'; style-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
        assert!(!page.contains("://") && !page.contains("url("), "{name} names another place");
        for (element, attributes) in &elements {
            assert!(!["script", "iframe", "img", "object", "form"].contains(&element.as_str()), "{name}: {element}");
            assert!(!attributes.contains(" style=") && !attributes.contains(" on") && !attributes.contains("src="), "{name}: {attributes}");
            if let Some(href) = attributes.split("href=\"").nth(1).and_then(|h| h.split('"').next()) {
                let file = href.split('#').next().unwrap();
                assert!(file.is_empty() || file == "data:," || folder.join(file).is_file(), "{name}: {href}");
            }
        }
    }
    // Each figure of each policy, in the order of the table.
    let index = &pages[0].1;
    let body = index.split("<table class=\"metrics policies\">").nth(1).unwrap().split("</table>").next().unwrap();
    let json = report.json();
    let (percent, seconds, plain) = (100.0, 0.001, 1.0);
    for (title, name, unit) in [
        ("duplicate, %", "duplicate_rate", percent),
        ("already answered, %", "already_answered_rate", percent),
        ("pre-empt, %", "preempt_rate", percent),
        ("missed direct, %", "missed_direct_rate", percent),
        ("missed orphan, %", "missed_orphan_rate", percent),
        ("cut-off, %", "cut_off_rate", percent),
        ("butt-in, %", "butt_in_rate", percent),
        ("balanced accuracy, %", "balanced_accuracy", percent),
        ("macro F1, %", "macro_f1", percent),
        ("latency p50, s", "latency_p50_ms", seconds),
        ("latency p95, s", "latency_p95_ms", seconds),
        ("posts per 100 lines", "sends", plain),
        ("drafts per 100 lines", "drafts", plain),
    ] {
        let row = body.split(&format!("{title}<small>")).nth(1).unwrap().split("</tr>").next().unwrap();
        let shown: Vec<&str> = row.split("<span class=\"number\">").skip(1).map(|c| c.split('<').next().unwrap()).collect();
        let figure = |p: &str| json["policies"][p][name].as_f64().map_or("-".into(), |v| format!("{:.1}", v * unit));
        let want = ["parlor", "request_queue", "mention_only", "random", "silent", "ceiling"].map(figure);
        assert_eq!(shown, want, "{title}");
    }
    // The histograms are over the answers that the rates count.
    let missed = json["policies"]["parlor"]["missed_direct_rate"].as_f64().unwrap();
    let direct = json["judged"]["direct_questions"].as_f64().unwrap();
    assert!(index.contains(&format!("<b>parlor</b><span class=\"soft\"> {:.0} answered", direct * (1.0 - missed))), "{direct} {missed}");
    let low = format!(
        "{:.1}-{:.1}",
        100.0 * json["policies"]["parlor"]["duplicate_rate_low"].as_f64().unwrap(),
        100.0 * json["policies"]["parlor"]["duplicate_rate_high"].as_f64().unwrap()
    );
    assert!(body.contains(&low), "{low}");
    assert!(index.contains(&format!("{} rooms, {} lines", report.rooms, report.lines)));
    // What people wrote is in no page; ids and names are.
    let rows: Vec<Value> = fs::read_to_string(&archive).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let texts: BTreeSet<&str> = rows.iter().filter_map(|r| r["content"].as_str()).filter(|t| t.len() > 16).collect();
    assert!(texts.len() > 50);
    for (name, page) in &pages {
        assert!(texts.iter().all(|t| !page.contains(t)), "{name} holds a text");
    }
    // What the models thought stands beside what was decided.
    let silent = pages[1].1.split("<code>gate_silent</code>").nth(1).unwrap();
    assert!(silent.starts_with("<span class=\"item soft\">Likely: for the persona 0."), "{}", &silent[..80]);
    assert!(silent.split("</span>").next().unwrap().contains("together 0.") && silent.contains("(bar 0.40)"));
    assert!(pages[1].1.contains("Ada") && pages[1].1.contains("<svg class=\"timeline\"") && pages[1].1.contains("asker_quiet"));
}

#[test]
fn texts_are_there_where_they_were_asked_for_and_nothing_hostile_is_an_element() {
    let dir = TempDir::new().unwrap();
    let row = |id: &str, s: i64, author: &str, text: &str| {
        json!({"room": HOSTILE, "id": format!("{id}{HOSTILE}"), "ts": s * 1_000, "author_id": author, "author_name": author, "content": text,
               "reply_to": []})
    };
    let rows = [
        json!({"room": HOSTILE, "persona_id": "w", "persona_name": format!("Wren {HOSTILE}")}),
        row("1", 0, HOSTILE, &format!("Wren script alert 1 script, {HOSTILE}?")),
        row("2", 900, HOSTILE, "end"),
    ];
    let archive = archive(&dir, &rows.map(|r| r.to_string()).join("\n"));
    let folder = dir.path().join("report");
    for texts in [false, true] {
        replay(&Args { report_text: texts, persona: texts.then(|| HOSTILE.repeat(2)), ..args(&archive, &folder) }).unwrap();
        for (name, page) in pages(&folder) {
            assert!(elements(&page).iter().all(|(n, _)| n != "script"), "{name}");
            assert!(page.contains("&lt;script&gt;") || name == "index.html" && texts, "{name}");
            let held = name != "index.html" && texts;
            assert_eq!(page.contains("Wren script alert"), held, "{name}");
        }
    }
}

#[test]
fn a_long_room_is_cut_and_counted_and_only_an_earlier_report_is_written_over() {
    let dir = TempDir::new().unwrap();
    let mut rows = vec![json!({"room": "r", "persona_id": "w", "persona_name": "Wren"})];
    rows.extend((0..3_000).map(|n| json!({"room": "r", "id": n, "ts": n * 60_000, "author_id": "a", "author_name": "a", "content": "wren: and now?", "reply_to": []})));
    let archive = archive(&dir, &rows.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"));
    let folder = dir.path().join("report");
    replay(&args(&archive, &folder)).unwrap();
    let page = fs::read_to_string(folder.join("room-001.html")).unwrap();
    assert!(page.contains("The first 500 decisions are shown (500 at most)") && page.len() < 1 << 20, "{}", page.len());
    assert_eq!(page.matches("<tr class=").count(), 500);

    fs::write(folder.join("room-007.html"), "of an earlier report").unwrap();
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    replay(&args(&archive, &folder)).unwrap();
    assert!(!folder.join("room-007.html").exists() && folder.join("notes.txt").exists());
    fs::remove_file(folder.join("index.html")).unwrap();
    assert!(matches!(replay(&args(&archive, &folder)), Err(ReplayError::ReportTaken(_))));
    let told = replay(&args(&archive, &archive)).unwrap_err().to_string();
    assert!(told.contains("cannot write the report"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_shows_it_without_a_complaint() {
    let dir = TempDir::new().unwrap();
    let archive = archive(&dir, &generate::archive(PLAN));
    let folder = dir.path().join("report");
    replay(&args(&archive, &folder)).unwrap();
    let browser = Browser::start(&[]).await;
    let page = |name: &str| format!("file://{}", folder.join(name).display());
    for scheme in ["light", "dark"] {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.inspect("Emulation.setEmulatedMedia", features).await;
        for name in ["index.html", "room-001.html"] {
            browser.tab.goto(&page(name)).await.unwrap();
            browser.picture(&format!("replay-{}-{scheme}", name.trim_end_matches(".html"))).await;
        }
    }
    // A box hides its decisions, by the keyboard alone.
    let hidden = "return [...document.querySelectorAll('tr.silent')].every((r) => getComputedStyle(r).display === 'none')";
    assert_eq!(browser.js(hidden).await, Value::Bool(false));
    browser.js("document.querySelector('#show-silent').focus(); return true").await;
    browser.find("#show-silent").await.send_keys(" ").await.unwrap();
    browser.until_true("silence is hidden", hidden).await;
    // On a telephone nothing is wider than the page but what scrolls by itself.
    browser
        .inspect("Emulation.setDeviceMetricsOverride", json!({"width": 360, "height": 720, "deviceScaleFactor": 1, "mobile": true}))
        .await;
    for name in ["index.html", "room-001.html"] {
        browser.tab.goto(&page(name)).await.unwrap();
        browser.picture(&format!("replay-{}-narrow", name.trim_end_matches(".html"))).await;
        let fits = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth";
        assert_eq!(browser.js(fits).await, Value::Bool(true), "{name}");
    }
    // On paper all of it is as wide as the sheet, and nothing scrolls.
    browser
        .inspect("Emulation.setDeviceMetricsOverride", json!({"width": 718, "height": 1000, "deviceScaleFactor": 1, "mobile": false}))
        .await;
    browser.inspect("Emulation.setEmulatedMedia", json!({"media": "print"})).await;
    for name in ["index.html", "room-001.html"] {
        browser.tab.goto(&page(name)).await.unwrap();
        browser.picture(&format!("replay-{}-print", name.trim_end_matches(".html"))).await;
        let cut = "return [...document.querySelectorAll('.wide')].filter((w) => w.scrollWidth > w.clientWidth + 1 || w.getBoundingClientRect().right > 718).length";
        assert_eq!(browser.js(cut).await, Value::from(0), "{name}");
        let pdf = browser.inspect("Page.printToPDF", json!({"printBackground": false})).await;
        assert!(pdf["data"].as_str().unwrap().len() > 20_000, "{name}");
    }
    assert_eq!(browser.log().await, Vec::<String>::new());
    browser.close().await;
}
