//! The console in a real headless Chromium: people talk in tabs, a persona replies, connections and databases come and go.

use std::sync::Arc;

use fantoccini::{Locator, key::Key};
use parlor_core::{AuthorKind, Phase, WaitingFor, What, Why};
use serde_json::json;

use crate::support::{browser::Browser, site::Site};

async fn lines(browser: &Browser) -> Vec<String> {
    let texts = browser.js("return [...document.querySelectorAll('#log .text')].map((e) => e.textContent)").await;
    texts.as_array().unwrap().iter().map(|t| t.as_str().unwrap().to_owned()).collect()
}

async fn assert_clean(browser: &Browser) {
    let log = browser.log().await;
    assert!(log.is_empty(), "the browser's log: {log:#?}");
}

#[tokio::test]
async fn two_tabs_talk_a_reply_arrives_and_a_reload_loses_nothing() {
    let (site, browser) = (Site::open().await, Browser::start(&[]).await);
    let rooms = Arc::clone(&site.rooms);
    browser.enter(&site.url("/rooms/kiln"), "Ada").await;
    browser.another_tab().await;
    browser.enter(&site.url("/rooms/kiln"), "Ben").await;
    browser.front(0).await;
    browser.write("hi wren").await;
    browser.until_text("#log .own .text", "hi wren").await;
    let ada = rooms.items()[0].author.id.clone();

    // The other tab slept while nobody looked at it; it has the line as soon as it is looked at.
    browser.front(1).await;
    browser.until_text("#log .line:not(.own) .text", "hi wren").await;
    rooms.set_view(Some(rooms.floor_at(Phase::Waiting, WaitingFor::AskerQuiet, 9_000, &ada)));
    browser.until_text("#floor-now", "Waiting for Ada to finish").await;
    browser.until_text("#owed", "asked by name").await;
    let read = "return parseFloat(document.querySelector('#floor-left').textContent)";
    let first = browser.js(read).await.as_f64().unwrap();
    browser
        .until_true(
            "the wait counts down",
            &format!("return parseFloat(document.querySelector('#floor-left').textContent) < {first} - 0.3"),
        )
        .await;
    rooms.set_typing(&["wren"]);
    browser.until_text("#typing", "Wren is typing").await;
    rooms.decide(What::Opened, Why::NameOpens, Some("wren"), &[1]);
    rooms.say(AuthorKind::Own, "wren", "Wren", "Hello Ada!", Some(1));
    rooms.set_view(None);
    rooms.set_typing(&[]);
    browser.until_text("#log .persona .text", "Hello Ada!").await;
    browser.until_text("#log .persona .quote", "hi wren").await;
    browser.until_text("#decisions", "The line opens with the persona's name.").await;
    browser.until_true("nobody types", "return document.querySelector('#typing').textContent === ''").await;
    browser.write("and me?").await;
    browser.until_text("#log .own .text", "and me?").await;

    browser.front(0).await;
    browser.until_text("#log .line:not(.own) .text", "and me?").await;
    let before = lines(&browser).await;
    assert_eq!(before, ["hi wren", "Hello Ada!", "and me?"]);
    browser.find("textarea#text").await.send_keys("half a thou").await.unwrap();
    browser.tab.refresh().await.unwrap();
    browser
        .until_true("the text that was not sent is still there", "return document.querySelector('textarea#text')?.value === 'half a thou'")
        .await;
    assert_eq!(lines(&browser).await, before);
    browser.until_text(".you", "You are Ada").await;
    for n in [0, 1] {
        browser.front(n).await;
        assert_clean(&browser).await;
    }
    browser.close().await;
}

#[tokio::test]
async fn typing_in_one_tab_is_seen_in_another() {
    let (site, browser) = (Site::open().await, Browser::start(&[]).await);
    browser.enter(&site.url("/rooms/kiln"), "Ada").await;
    browser.find("textarea#text").await.send_keys("hm").await.unwrap();
    let watcher = Browser::start(&[]).await;
    watcher.tab.goto(&site.url("/rooms/kiln")).await.unwrap();
    watcher.until_text("#typing", "Ada is typing").await;
    // It ends by itself when it is not renewed.
    site.rooms.turn_clock(20_000);
    site.rooms.decide(What::Silent, Why::NotAsking, None, &[]);
    watcher.until_true("nobody types", "return document.querySelector('#typing').textContent === ''").await;
    browser.close().await;
    watcher.close().await;
}

#[tokio::test]
async fn a_database_that_is_away_keeps_the_text_and_stores_it_once() {
    let (site, browser) = (Site::open().await, Browser::start(&[]).await);
    let rooms = Arc::clone(&site.rooms);
    browser.enter(&site.url("/rooms/kiln"), "Ada").await;
    rooms.lose_database(true);
    browser.until_text("#trouble", "The database is not reachable").await;
    browser.write("kept").await;
    browser.until_text("#said", "sent again by itself (try 3").await;
    assert_eq!(browser.js("return document.querySelector('textarea#text').value").await, json!("kept"));
    rooms.say(AuthorKind::Human, "b", "Ben", "meanwhile", None);
    rooms.lose_database(false);
    browser.until_text("#log .own .text", "kept").await;
    browser.until_true("the box is empty", "return document.querySelector('textarea#text').value === ''").await;
    browser.until_true("the trouble is over", "return document.querySelector('#trouble').textContent === ''").await;
    assert_eq!(lines(&browser).await, ["meanwhile", "kept"]);
    let tried = rooms.tried.lock().unwrap().clone();
    assert!(tried.len() >= 3 && tried.iter().all(|id| *id == tried[0]), "one client id for every try: {tried:?}");
    browser.close().await;
}

#[tokio::test]
async fn a_server_that_was_away_is_caught_up_with_and_nothing_comes_twice() {
    let (mut site, browser) = (Site::open().await, Browser::start(&[]).await);
    let rooms = Arc::clone(&site.rooms);
    browser.enter(&site.url("/rooms/kiln"), "Ada").await;
    browser.write("one").await;
    browser.until_text("#log .text", "one").await;
    site.restart(async || {
        browser.until_text("#trouble", "The connection to Parlor is lost").await;
        rooms.say(AuthorKind::Human, "b", "Ben", "two", None);
        rooms.change(parlor_core::ItemKind::Edit, "b", "Ben", 2, "two, better");
        rooms.decide(What::Silent, Why::NotAsking, None, &[2]);
    })
    .await;
    browser.until_text("#log .text", "two, better").await;
    browser.until_true("the trouble is over", "return document.querySelector('#trouble').textContent === ''").await;
    browser.write("three").await;
    browser.until_text("#log .own .text", "three").await;
    assert_eq!(lines(&browser).await, ["one", "two, better", "three"]);
    browser.until_true("one decision", "return document.querySelectorAll('#decisions > li').length === 1").await;
    browser.close().await;
}

#[tokio::test]
async fn lines_are_answered_changed_deleted_and_reacted_to_by_keyboard() {
    let (site, browser) = (Site::open().await, Browser::start(&[]).await);
    site.rooms.say(AuthorKind::Human, "b", "Ben", "who has the tongs?", None);
    browser.enter(&site.url("/rooms/kiln"), "Ada").await;
    let press = async |css: &str, key: Key| browser.find(css).await.send_keys(&key.to_string()).await.unwrap();
    // Reply: the menu opens by Enter, Escape leaves the reply.
    press("#l1 summary", Key::Enter).await;
    press("#l1 [data-reply]", Key::Enter).await;
    browser.until_text("#target", "Replying to Ben who has the tongs?").await;
    press("textarea#text", Key::Escape).await;
    browser.until_true("no reply any more", "return document.querySelector('#target').hidden").await;
    press("#l1 summary", Key::Enter).await;
    press("#l1 [data-reply]", Key::Enter).await;
    browser.write("seventy").await;
    browser.until_text("#l2 .quote", "who has the tongs?").await;
    // Edit.
    press("#l2 summary", Key::Enter).await;
    press("#l2 [data-edit]", Key::Enter).await;
    browser.until_true("the old text is in the box", "return document.querySelector('textarea#text').value === 'seventy'").await;
    browser.write(" now 17").await;
    browser.until_text("#l2 .text", "seventy now 17").await;
    browser.until_text("#l2 .who", "edited").await;
    // React, and take it off again.
    press("#l1 summary", Key::Enter).await;
    press("#l1 [name=react]", Key::Enter).await;
    browser.until_text("#l1 .chip[aria-pressed=true]", "👍 1").await;
    press("#l1 .chip", Key::Enter).await;
    browser.until_true("no reaction", "return !document.querySelector('#l1 .chip')").await;
    // Others' lines have no edit; a deleted line shows nothing of itself, in its quotes neither.
    browser.until_true("not mine", "return !document.querySelector('#l1 [data-edit], #l1 .danger')").await;
    site.rooms.change(parlor_core::ItemKind::Delete, "b", "Ben", 1, "");
    browser.until_text("#l1 .text", "This line was deleted.").await;
    browser.until_text("#l2 .quote", "(deleted)").await;
    press("#l2 summary", Key::Enter).await;
    press("#l2 .danger", Key::Enter).await;
    browser.until_text("#l2 .text", "This line was deleted.").await;
    // Shift and Enter make a new line.
    let field = browser.find("textarea#text").await;
    field.send_keys(&format!("a{}{}{}b", Key::Shift, Key::Enter, Key::Null)).await.unwrap();
    assert_eq!(browser.js("return document.querySelector('textarea#text').value").await, json!("a\nb"));
    assert_clean(&browser).await;
    browser.close().await;
}

#[tokio::test]
async fn hostile_text_is_only_text() {
    let (site, browser) = (Site::open().await, Browser::start(&[]).await);
    browser.enter(&site.url("/rooms/kiln"), "Ada").await;
    let evil = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"><style>*{display:none}</style>";
    browser.write(evil).await;
    browser.until_text("#log .text", "<img src=x").await;
    site.rooms.say(AuthorKind::Human, "m", "<img src=x onerror=alert(1)>", &format!("```\n{evil}\n``` `{evil}`"), Some(1));
    site.rooms.change(parlor_core::ItemKind::Reaction, "m", "\"><script>x</script>", 1, "<b>");
    browser.until_text("#log .who b", "<img src=x").await;
    browser.until_text("#log .chip", "<b>").await;
    browser.tab.refresh().await.unwrap();
    browser.until_text("#log .text", "<img src=x").await;
    assert_eq!(browser.js("return document.querySelectorAll('#log img, #log script, #log style, #log .chip b').length").await, json!(0));
    assert!(!browser.tab.title().await.unwrap().contains("owned"));
    assert_clean(&browser).await;
    browser.close().await;
}

#[tokio::test]
async fn the_owner_opens_the_link_and_presses_the_button() {
    let (site, browser) = (Site::open().await, Browser::start(&[]).await);
    browser.tab.goto(&site.url(&site.owner)).await.unwrap();
    browser.find("button.primary").await.click().await.unwrap();
    browser.until_text(".you", "You are Owner").await;
    browser.find(".cards a").await.click().await.unwrap();
    browser.write("mind the glaze").await;
    browser.until_text("#log .own .badge", "owner").await;
    assert_eq!(site.rooms.items()[0].author.kind, AuthorKind::Owner);
    // The owner may take anybody's line off the room, and edit none but their own.
    site.rooms.say(AuthorKind::Human, "b", "Ben", "buy my pots", None);
    browser.find("#l2 summary").await.send_keys(&Key::Enter.to_string()).await.unwrap();
    browser.until_true("no edit", "return !document.querySelector('#l2 [data-edit]')").await;
    browser.find("#l2 .danger").await.click().await.unwrap();
    browser.until_text("#l2 .text", "This line was deleted.").await;
    assert_clean(&browser).await;
    browser.close().await;
}

#[tokio::test]
async fn the_room_works_without_its_script() {
    let (site, browser) = (Site::open().await, Browser::start(&["--blink-settings=scriptEnabled=false"]).await);
    let shows = async |text: &str| browser.tab.source().await.unwrap().contains(text);
    browser.tab.goto(&site.url("/rooms/kiln")).await.unwrap();
    browser.tab.find(Locator::Css("#text")).await.unwrap().send_keys("Ada").await.unwrap();
    browser.tab.find(Locator::Css(".enter button")).await.unwrap().click().await.unwrap();
    browser.find("textarea#text").await.send_keys("no script here").await.unwrap();
    browser.tab.find(Locator::Css(".composer button")).await.unwrap().click().await.unwrap();
    browser.find("#l1").await;
    assert!(shows("no script here").await);
    let form = browser.tab.find(Locator::Css("#l1 [data-edit]")).await.unwrap().attr("href").await.unwrap().unwrap();
    browser.tab.goto(&site.url(&form)).await.unwrap();
    assert!(shows("Editing your line").await);
    browser.find("textarea#text").await.send_keys(", still").await.unwrap();
    browser.tab.find(Locator::Css(".composer button")).await.unwrap().click().await.unwrap();
    browser.find("#l1 .edited").await;
    assert_eq!(site.rooms.items().pop().unwrap().text, "no script here, still");
    browser.close().await;
}
