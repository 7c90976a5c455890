//! What the console looks like, in a real headless Chromium: nothing is cut off or hard to read, on wide and narrow screens,
//! light and dark. The pictures that it takes are for people to look at; they stay in the build folder.

use parlor::console::RoomReader;
use parlor_core::{AuthorKind, Millis, ObligationKind, ObligationState, Phase, WaitingFor, What, Why};
use serde_json::{Value, json};

use crate::support::{browser::Browser, rooms::Rooms, site::Site};

/// Fills the room with what rooms are full of.
fn lively(rooms: &Rooms) {
    let start = rooms.now() - 86_400_000;
    let people = [("a", "Ada"), ("b", "Ben"), ("z", "Zoë van der Berg-Özdemir"), ("m", "مريم"), ("k", "久保田")];
    for n in 0..88_i64 {
        let (id, name) = people[usize::try_from(n * 7 % 5).unwrap()];
        let text = [
            "Cone 6 at 4 this morning, it held.",
            "Nice.",
            "The celadon pooled at the foot again, as if it had been dipped twice. I would thin it by a tenth and try on a test tile first.",
            "who fired shelf three?",
        ][usize::try_from(n % 4).unwrap()];
        rooms.say_at(start + n * 95_000, AuthorKind::Human, id, name, text, (n % 9 == 8).then(|| u64::try_from(n).unwrap()));
    }
    let now = rooms.now();
    let say = |ago: Millis, kind, id: &str, name: &str, text: &str, to| rooms.say_at(now - ago * 1000, kind, id, name, text, to);
    let human = AuthorKind::Human;
    say(900, human, "m", "مريم", "مرحبا، هل جرّب أحد الطلاء الأزرق على الخزف؟ wren قالت إنه يسيل.", None);
    say(860, AuthorKind::Own, "moss", "Moss", "It runs above cone 5. Keep it off the foot, and put a biscuit under it.", Some(89));
    say(840, human, "k", "久保田", "釉薬は薄い方がいいですね。三回目でやっと上手くいきました。", None);
    say(
        700,
        human,
        "b",
        "Ben",
        "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft_and_a_path/that/never/ends/0123456789012345678901234567890123456789012345678901234567890123456789",
        None,
    );
    say(
        400,
        human,
        "a",
        "Ada",
        "the controller does this:\n```rust\nfn ramp(from: u32, to: u32, per_hour: u32) -> Duration {\n    Duration::from_secs(u64::from(to.abs_diff(from)) * 3600 / u64::from(per_hour)) // never zero, or it divides by it\n}\n```\nand `per_hour` is 0 sometimes",
        None,
    );
    say(390, human, "a", "Ada", "so it stops.", None);
    say(380, human, "a", "Ada", "Wren, what would you do?", None);
    say(
        365,
        AuthorKind::Own,
        "wren",
        "Wren",
        "Refuse a ramp of 0 where the schedule is read, with the line in the message. Then `ramp` cannot be called with it.",
        Some(95),
    );
    say(300, AuthorKind::Owner, "owner", "Owner", "I'll do that tonight. Thanks all.", None);
    say(200, human, "z", "Zoë van der Berg-Özdemir", "I can test it on the small kiln", None);
    say(30, human, "a", "Ada", "wren is 70 a good ramp for the first hour?", None);
    rooms.change(parlor_core::ItemKind::Edit, "a", "Ada", 99, "wren is 17 a good ramp for the first hour?");
    rooms.change(parlor_core::ItemKind::Delete, "b", "Ben", 92, "");
    say(
        690,
        human,
        "b",
        "Ben",
        "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft_and_a_path/that/never/ends/0123456789012345678901234567890123456789",
        None,
    );
    for (id, name, emoji) in [("b", "Ben", "👍"), ("z", "Zoë", "👍"), ("moss", "Moss", "🎉"), ("k", "久保田", "❤️")] {
        rooms.change(parlor_core::ItemKind::Reaction, id, name, 96, emoji);
    }
    for (what, why, persona, lines) in [
        (What::Silent, Why::InMidTalk, None, &[88][..]),
        (What::Opened, Why::NameOpens, Some("wren"), &[95]),
        (What::Drafting, Why::AskerQuiet, Some("wren"), &[93, 94, 95]),
        (What::Submitted, Why::NothingChanged, Some("wren"), &[93, 94, 95]),
        (What::Settled, Why::RowPosted, Some("wren"), &[95]),
        (What::Declined, Why::TooManyFailures, Some("moss"), &[91]),
        (What::Passed, Why::DrafterPassed, Some("moss"), &[98]),
        (What::Notice, Why::OverBudget, None, &[]),
        (What::Opened, Why::NameOpens, Some("wren"), &[99]),
        (What::Updated, Why::AskerEdited, Some("wren"), &[99]),
    ] {
        rooms.decide(what, why, persona, lines);
    }
    let mut view = rooms.floor_at(Phase::Validating, WaitingFor::TurnEnd, 6_400, "a");
    let mut room_question = view.obligations[0].clone();
    room_question.id.input = 9;
    room_question.kind = ObligationKind::RoomQuestion;
    room_question.asker = "z".into();
    room_question.ripe_at = view.now + 83_000;
    room_question.lines[0].seq = 88;
    view.obligations[0].lines[0].seq = 99;
    view.obligations[0].state = ObligationState::Drafting;
    view.obligations[0].drafts = 2;
    view.obligations.push(room_question);
    rooms.set_view(Some(view));
    rooms.set_typing(&["z", "wren"]);
}

/// The least contrast of any text on the page to what is behind it, and what has it.
const CONTRAST: &str = r#"
const rgb = (text) => { const c = document.createElement("canvas").getContext("2d"); c.fillStyle = text; c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data]; };
const light = ([r, g, b]) => { const f = (v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }; return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] > 200) return c; } return [255, 255, 255]; };
let least = [99, ""];
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  const box = e.getBoundingClientRect();
  if (!own || !box.width || e.closest(".sr, .skip") || getComputedStyle(e).visibility === "hidden" || e.matches("summary[aria-label]")) continue;
  const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))];
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < least[0]) least = [ratio, `${e.tagName}.${e.className} ${e.textContent.slice(0, 30)}`];
}
return least;
"#;

#[tokio::test]
async fn light_and_dark_wide_and_narrow_it_can_be_read() {
    let (site, browser) = (Site::open().await, Browser::start(&[]).await);
    lively(&site.rooms);
    browser.enter(&site.url("/rooms/kiln"), "Zoë 2").await;
    browser.until_text("#typing", "are typing").await;
    for (name, scheme, width, height) in [
        ("light", "light", 1280, 860),
        ("dark", "dark", 1280, 860),
        ("phone-light", "light", 360, 740),
        ("phone-dark", "dark", 360, 740),
        ("huge", "light", 2200, 1200),
    ] {
        let screen = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
        browser.inspect("Emulation.setDeviceMetricsOverride", screen).await;
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.inspect("Emulation.setEmulatedMedia", media).await;
        browser.tab.refresh().await.unwrap();
        browser.until_text("#floor-now", "Draft ready").await;
        let fits = format!(
            "return document.documentElement.scrollWidth <= {width} && [...document.querySelectorAll('.bar > *')].every((e, i, all) => !i || e.getBoundingClientRect().width === 0 || e.getBoundingClientRect().left >= all[i - 1].getBoundingClientRect().right - 1)"
        );
        browser.until_true("nothing is wider than the screen or over its neighbour", &fits).await;
        browser.until_true("the newest line is in sight", "const b = document.querySelector('#log').lastElementChild.getBoundingClientRect(); return b.bottom <= innerHeight && b.top > 0").await;
        browser
            .until_true(
                "the message box is in sight",
                "return document.querySelector('textarea').getBoundingClientRect().bottom <= innerHeight",
            )
            .await;
        let least = browser.js(CONTRAST).await;
        assert!(least[0].as_f64().unwrap() >= 4.5, "{name}: {least}");
        browser.picture(name).await;
        browser.js("document.querySelector('#l96 summary').click(); document.querySelector('#d6 summary').click(); document.querySelector('#d8 summary').click()").await;
        browser.js("document.querySelector('#l96 .menu').scrollIntoView({block: 'center'}); document.querySelector('#l95 [data-reply]').click(); document.querySelector('#l96 details').open = true").await;
        browser.until_true("the menu is not cut off", "const b = document.querySelector('#l96 .sheet').getBoundingClientRect(), s = document.querySelector('.scroll').getBoundingClientRect(); return b.left >= 0 && b.right <= s.right && b.bottom <= s.bottom && b.top >= s.top").await;
        browser.picture(&format!("{name}-menu")).await;
        browser.js("sessionStorage.clear(); document.querySelector('#target-off').click()").await;
    }
    browser.tab.goto(&site.url("/rooms/kiln?as=new")).await.unwrap();
    browser.find("#text[name=name]").await;
    browser.picture("entry").await;
    browser.tab.goto(&site.url("/")).await.unwrap();
    browser.picture("rooms").await;
    browser.tab.goto(&site.url("/rooms/kiln?as=1")).await.unwrap();
    let tab_stops = browser.js("return document.querySelectorAll('[tabindex]:not([tabindex=\"0\"]):not([tabindex=\"-1\"])').length").await;
    assert_eq!(tab_stops, json!(0), "the order of focus is the order of reading");
    let nameless = browser.js("return [...document.querySelectorAll('input:not([type=hidden]), textarea')].filter((e) => !e.labels.length && !e.ariaLabel).length").await;
    assert_eq!(nameless, Value::from(0), "every field has a label");
    assert_eq!(browser.log().await, Vec::<String>::new());
    browser.close().await;
}
