//! The console over HTTP, on the double of the rooms: who is heard, and what is refused.

use parlor::console::Keys;
use parlor_core::{AuthorKind, ItemKind};
use reqwest::{StatusCode, header};
use secrecy::ExposeSecret;

use crate::support::asked::{Asked, FORM, cookie_of, count, encoded, events};

#[tokio::test]
async fn a_foreign_name_for_this_machine_is_refused_before_anything_else() {
    let site = Asked::open().await;
    for path in ["/", "/rooms/kiln", "/assets/x.js", "/rooms/kiln/events?after=0.0"] {
        let response = site.get(path).header(header::HOST, "evil.example").send().await.unwrap();
        assert_eq!(response.status(), StatusCode::MISDIRECTED_REQUEST, "{path}");
        assert!(response.headers().contains_key(header::CONTENT_SECURITY_POLICY), "refusals carry the headers too");
    }
    assert_eq!(site.get("/").send().await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn what_another_sites_page_sends_changes_nothing() {
    let site = Asked::open().await;
    let cookie = site.enter("Ada", "").await;
    let form = [("as", "1"), ("client_id", "a"), ("text", "hello")];
    let cases: [&[(&str, &str)]; 5] = [
        &[],
        &[("origin", "http://evil.example")],
        &[("origin", "http://127.0.0.1:1")],
        &[("sec-fetch-site", "cross-site"), ("origin", "null")],
        &[("sec-fetch-site", "same-site"), ("origin", "http://localhost:1")],
    ];
    for path in ["/rooms/kiln/lines", "/rooms/kiln/acts", "/rooms/kiln/enter", "/rooms/kiln/typing", "/owner"] {
        for case in cases {
            let mut request =
                site.http.post(site.site.url(path)).header(header::COOKIE, &cookie).header(header::CONTENT_TYPE, FORM).body(encoded(&form));
            for (name, value) in case {
                request = request.header(*name, *value);
            }
            assert_eq!(request.send().await.unwrap().status(), StatusCode::FORBIDDEN, "{path} {case:?}");
        }
    }
    let drawn = site.get("/rooms/kiln/events?after=0.0").header("sec-fetch-site", "cross-site").header("sec-fetch-mode", "cors");
    assert_eq!(drawn.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    assert!(site.rooms.items().is_empty());
    assert_eq!(site.say(&cookie, "1", "a", "hello").send().await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn text_of_people_is_never_markup_on_the_page_or_in_the_stream() {
    let site = Asked::open().await;
    let cookie = site.enter("Ada", "").await;
    let evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'";
    site.say(&cookie, "1", "a", evil).send().await.unwrap().error_for_status().unwrap();
    site.rooms.change(ItemKind::Reaction, "x", "<u>Eve</u>", 1, "<b>");
    site.rooms.say(AuthorKind::Human, "y", "<i>Mal</i>", "</script><script>x", Some(1));
    let page = site.page(&cookie).await;
    let stream = site.get("/rooms/kiln/events?as=1&after=0.0").header(header::COOKIE, &cookie).send().await.unwrap();
    let sent = events(stream, |e| e.data.contains("l3")).await;
    for text in [page, sent.iter().map(|e| e.data.as_str()).collect()] {
        assert!(text.contains("&lt;script&gt;alert(1)"), "the text itself is there");
        for tag in ["<script>", "<img", "<u>", "<b>\"", "<i>Mal"] {
            assert!(!text.contains(tag), "{tag}");
        }
    }
}

#[tokio::test]
async fn every_answer_forbids_what_is_not_ours() {
    let site = Asked::open().await;
    let page = site.get("/rooms/kiln").send().await.unwrap();
    let header = |name: &str| page.headers().get(name).map(|v| v.to_str().unwrap().to_owned()).unwrap_or_default();
    assert!(header("content-security-policy").starts_with("default-src 'none'"));
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("referrer-policy"), "no-referrer");
    assert_eq!(header("cache-control"), "no-store");
    let html = page.text().await.unwrap();
    for inline in ["<style", " style=", "onclick", "javascript:", "http://", "https://"] {
        assert!(!html.contains(inline), "{inline}");
    }
    let assets: Vec<&str> = html.split(['"']).filter(|part| part.starts_with("/assets/")).collect();
    assert_eq!(assets.len(), 3, "{assets:?}");
    for path in assets {
        let asset = site.get(path).send().await.unwrap();
        assert_eq!(asset.status(), StatusCode::OK);
        assert!(asset.headers()[header::CACHE_CONTROL].to_str().unwrap().contains("immutable"));
        let text = asset.text().await.unwrap();
        assert!(!text.contains("https://") && !text.contains("url(") && !text.contains("innerHTML"), "{path}");
    }
}

#[tokio::test]
async fn names_are_unique_and_no_personas_and_a_browser_holds_several_people() {
    let site = Asked::open().await;
    let ada = site.enter("Ada", "").await;
    for (name, status) in [
        (" aDA ", StatusCode::CONFLICT),
        ("Wren", StatusCode::CONFLICT),
        ("owner", StatusCode::CONFLICT),
        ("", StatusCode::UNPROCESSABLE_ENTITY),
    ] {
        let response = site.post("/rooms/kiln/enter", &[("name", name)]).send().await.unwrap();
        assert_eq!(response.status(), status, "{name:?}");
        assert!(!response.headers().contains_key(header::SET_COOKIE));
    }
    let both = site.enter("Ben", &ada).await;
    site.say(&both, "1", "a", "I am Ada").send().await.unwrap().error_for_status().unwrap();
    site.say(&both, "2", "a", "I am Ben").send().await.unwrap().error_for_status().unwrap();
    assert_eq!(site.say(&both, "3", "a", "I am nobody").send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert_eq!(site.say(&both, "owner", "a", "I am the owner").send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let tampered = format!("{both}x");
    assert_eq!(site.say(&tampered, "1", "b", "hello").send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let said: Vec<_> = site.rooms.items().into_iter().map(|i| (i.author.name, i.text)).collect();
    assert_eq!(said, [("Ada".into(), "I am Ada".into()), ("Ben".to_owned(), "I am Ben".to_owned())]);
    let ids: std::collections::BTreeSet<_> = site.rooms.items().into_iter().map(|i| i.author.id).collect();
    assert_eq!(ids.len(), 2);
    let chooser = site.get("/rooms/kiln").header(header::COOKIE, &both).send().await.unwrap().text().await.unwrap();
    assert!(chooser.contains("Go on as") && chooser.contains("?as=2"));
}

#[tokio::test]
async fn the_owners_link_makes_one_owner_and_looking_at_it_does_not_use_it_up() {
    let site = Asked::open().await;
    for _ in 0..3 {
        let looked = site.get(&site.site.owner).send().await.unwrap();
        assert_eq!(looked.status(), StatusCode::OK);
        assert!(!looked.headers().contains_key(header::SET_COOKIE));
    }
    let token = site.site.owner.split_once('=').unwrap().1;
    let wrong = site.post("/owner", &[("token", "wrong")]).send().await.unwrap();
    assert_eq!(wrong.status(), StatusCode::FORBIDDEN);
    let right = site.post("/owner", &[("token", token)]).send().await.unwrap();
    assert_eq!(right.status(), StatusCode::SEE_OTHER);
    let cookie = cookie_of(&right);
    assert!(!cookie.contains(token));
    assert_eq!(site.post("/owner", &[("token", token)]).send().await.unwrap().status(), StatusCode::FORBIDDEN, "used");
    site.say(&cookie, "owner", "a", "hear me").send().await.unwrap().error_for_status().unwrap();
    let item = site.rooms.items().pop().unwrap();
    assert_eq!((item.author.id.as_str(), item.author.kind), ("owner", AuthorKind::Owner));
}

#[tokio::test]
async fn programs_speak_with_a_token_and_browsers_cannot() {
    let site = Asked::open().await;
    let token = |file| Keys::read_token(site.site.folder.path(), file).unwrap().expose_secret().to_owned();
    let (local, owner) = (token(Keys::LOCAL), token(Keys::OWNER));
    let send = |token: &str, speaker: &str, client_id: &str| {
        let line = serde_json::json!({"as": speaker, "text": "hello", "client_id": client_id});
        site.http.post(site.site.url("/api/rooms/kiln/lines")).bearer_auth(token).json(&line)
    };
    assert_eq!(send("", "Eve", "a").send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert_eq!(send("wrong", "Eve", "a").send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert_eq!(send(&local, "owner", "a").send().await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(send(&local, "Wren", "a").send().await.unwrap().status(), StatusCode::CONFLICT);
    let browser = send(&local, "Eve", "a").header(header::ORIGIN, site.site.url(""));
    assert_eq!(browser.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    assert!(site.rooms.items().is_empty());
    let first: serde_json::Value = send(&local, "Eve", "a").send().await.unwrap().json().await.unwrap();
    let again: serde_json::Value = send(&local, "eve", "a").send().await.unwrap().json().await.unwrap();
    assert_eq!(first, again, "one client id of one person is one line");
    assert_eq!(first["seq"], 1);
    assert_eq!(send(&owner, "owner", "b").send().await.unwrap().status(), StatusCode::OK);
    let held = site.post("/rooms/kiln/enter", &[("name", "Eve")]).send().await.unwrap();
    assert_eq!(held.status(), StatusCode::CONFLICT, "the name on the command line is taken for pages too");
}

/// Status and text of an answer, with the room's name taken out.
async fn answer(request: reqwest::RequestBuilder, room: &str) -> (StatusCode, String) {
    let response = request.send().await.unwrap();
    let location = response.headers().get(header::LOCATION).map(|l| l.to_str().unwrap().to_owned()).unwrap_or_default();
    let (status, kind) = (response.status(), response.headers().get(header::CONTENT_TYPE).cloned());
    // A stream that is open does not end.
    let text = if kind.is_some_and(|k| k == "text/event-stream") { "a stream".to_owned() } else { response.text().await.unwrap() };
    (status, format!("{location}{text}").replace(room, "ROOM"))
}

#[tokio::test]
async fn a_room_of_one_person_is_for_everybody_else_as_a_room_that_never_was() {
    let site = Asked::open().await;
    let (ada, ben) = (site.enter("Ada", "").await, site.enter("Ben", "").await);
    site.say(&ada, "1", "a", "for Wren alone").send().await.unwrap().error_for_status().unwrap();
    let mine = site.rooms.items()[0].clone();
    let held = site.get("/rooms/kiln/events?as=1&after=0.0").header(header::COOKIE, &ben).send().await.unwrap();
    site.rooms.keep_for(&mine.author.id);
    site.say(&ada, "1", "b", "and for nobody else").send().await.unwrap().error_for_status().unwrap();
    let later = events(held, |e| e.data.contains("This room was taken away")).await;
    assert_eq!(count(&later, "nobody else"), 0, "a stream that was open when the room was closed");

    let token = |file| Keys::read_token(site.site.folder.path(), file).unwrap().expose_secret().to_owned();
    let form = |room: &str, path: &str, fields: &[(&str, &str)]| site.post(&format!("/rooms/{room}{path}"), fields);
    let program = |room: &str, file, speaker: &str, client_id: &str| {
        let line = serde_json::json!({"as": speaker, "text": "hello", "client_id": client_id});
        site.http.post(site.site.url(&format!("/api/rooms/{room}/lines"))).bearer_auth(token(file)).json(&line)
    };
    // Each as asked of a room, by a browser with this cookie.
    let all = |room: &str, cookie: &str, mark: &str| {
        let get = |path: &str| site.get(&format!("/rooms/{room}{path}"));
        let say = [("as", mark), ("client_id", "x"), ("text", "hello")];
        let edit = [("as", mark), ("client_id", "x"), ("text", "hello"), ("edit_of", &mine.platform_id)];
        let act = |what| [("as", mark), ("client_id", "x"), ("of", mine.platform_id.as_str()), what];
        let asked = [
            get(""),
            get("?as=new"),
            get(&format!("?as={mark}")),
            get(&format!("?as={mark}&at=1")),
            get(&format!("/events?as={mark}&after=0.0")),
            get("/events?after=0.0"),
            form(room, "/enter", &[("name", "Eve")]),
            form(room, "/enter", &[("name", "Ada")]),
            form(room, "/enter", &[("name", "Wren")]),
            form(room, "/lines", &say),
            form(room, "/lines", &say).header(header::ACCEPT, "application/json"),
            form(room, "/lines", &edit),
            form(room, "/lines", &[("as", mark), ("client_id", "?"), ("text", "hello")]),
            form(room, "/acts", &act(("react", "👍"))),
            form(room, "/acts", &act(("delete", "1"))),
            form(room, "/typing", &[("as", mark)]),
        ];
        let asked: Vec<_> = asked.into_iter().map(|r| r.header(header::COOKIE, cookie)).collect();
        asked.into_iter().chain([
            program(room, Keys::LOCAL, "Eve", "x"),
            program(room, Keys::LOCAL, "Ada", "x"),
            program(room, Keys::LOCAL, "Wren", "x"),
            program(room, Keys::LOCAL, "owner", "x"),
            program(room, Keys::OWNER, "Eve", "?"),
        ])
    };
    for (who, cookie) in [("Ben", ben.as_str()), ("nobody", ""), ("a forger", &format!("{ada}x"))] {
        for (n, (here, nowhere)) in all("kiln", cookie, "1").zip(all("nowhere", cookie, "1")).enumerate() {
            let (here, nowhere) = (answer(here, "kiln").await, answer(nowhere, "nowhere").await);
            assert_eq!(here, nowhere, "{who}, request {n}");
            assert!(!here.1.contains("for Wren alone") && !here.0.is_success(), "{who}, request {n}: {here:?}");
        }
        let list = site.get("/").header(header::COOKIE, cookie).send().await.unwrap().text().await.unwrap();
        assert!(!list.contains("kiln") && list.contains("There is no room yet"), "{who} sees it listed");
    }
    // An owner is another person too.
    let owner = site.post("/owner", &[("token", site.site.owner.split_once('=').unwrap().1)]).send().await.unwrap();
    let owner = cookie_of(&owner);
    for (here, nowhere) in all("kiln", &owner, "owner").zip(all("nowhere", &owner, "owner")) {
        assert_eq!(answer(here, "kiln").await, answer(nowhere, "nowhere").await);
    }
    assert_eq!(site.rooms.items().len(), 2, "nothing of all this was stored");

    // For its person it is a room like any other, without a door for more people, and the list says whose it is.
    let page = site.page(&ada).await;
    assert!(page.contains("for Wren alone") && page.contains("only you") && !page.contains("as another person"));
    let both = format!("{ada}; {owner}");
    let arrived = site.get("/rooms/kiln").header(header::COOKIE, &both).send().await.unwrap();
    assert_eq!(arrived.headers()[header::LOCATION], "/rooms/kiln?as=1", "of the people of a browser the one whose room it is");
    let list = site.get("/").header(header::COOKIE, &both).send().await.unwrap().text().await.unwrap();
    assert!(list.contains("href=\"/rooms/kiln?as=1\""), "{list}");
    let of_owner = site.get("/?as=owner").header(header::COOKIE, &both).send().await.unwrap().text().await.unwrap();
    assert!(!of_owner.contains("kiln"), "a page that speaks for somebody lists what they may know");
}

#[tokio::test]
async fn the_owner_mutes_and_nobody_else() {
    let site = Asked::open().await;
    let token = |file| Keys::read_token(site.site.folder.path(), file).unwrap().expose_secret().to_owned();
    let (local, owner) = (token(Keys::LOCAL), token(Keys::OWNER));
    let ask = |token: &str, path: &str, body: &str| {
        let json = (header::CONTENT_TYPE, "application/json");
        site.http.post(site.site.url(path)).bearer_auth(token).header(json.0, json.1).body(body.to_owned())
    };
    let (mute, unmute) = ("/api/rooms/kiln/mute", "/api/rooms/kiln/unmute");
    let long = format!(r#"{{"reason":"{}"}}"#, "ä".repeat(501));
    for (request, status) in [
        (ask("wrong", mute, "{}"), StatusCode::UNAUTHORIZED),
        (ask(&local, mute, "{}"), StatusCode::FORBIDDEN),
        (ask(&local, unmute, "{}"), StatusCode::FORBIDDEN),
        (ask(&owner, mute, "{}").header(header::ORIGIN, site.site.url("")), StatusCode::FORBIDDEN),
        (ask(&owner, mute, "{}").header("sec-fetch-site", "cross-site"), StatusCode::FORBIDDEN),
        (ask(&owner, "/api/rooms/nowhere/mute", "{}"), StatusCode::NOT_FOUND),
        (ask(&owner, mute, r#"{"for_ms":0}"#), StatusCode::UNPROCESSABLE_ENTITY),
        (ask(&owner, mute, r#"{"for_ms":2419200001}"#), StatusCode::UNPROCESSABLE_ENTITY),
        (ask(&owner, mute, r#"{"reason":"a\nb"}"#), StatusCode::UNPROCESSABLE_ENTITY),
        (ask(&owner, mute, r#"{"until":5}"#), StatusCode::UNPROCESSABLE_ENTITY),
        (ask(&owner, mute, &long), StatusCode::UNPROCESSABLE_ENTITY),
    ] {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), status, "{}", answer.text().await.unwrap());
    }
    assert_eq!(site.rooms.muted(), None);
    let most = format!(r#"{{"for_ms":2419200000,"reason":"{}"}}"#, "ä".repeat(500));
    assert_eq!(ask(&owner, mute, &most).send().await.unwrap().status(), StatusCode::OK);
    assert!(site.rooms.muted().unwrap().ends_with("ä (owner)"));
    assert_eq!(ask(&owner, unmute, "{}").send().await.unwrap().status(), StatusCode::OK);
    site.rooms.lose_database(true);
    let away = ask(&owner, mute, "{}").send().await.unwrap();
    assert_eq!((away.status(), away.headers().contains_key(header::RETRY_AFTER)), (StatusCode::SERVICE_UNAVAILABLE, true));
    let mut limited = 0;
    for _ in 0..40 {
        limited += usize::from(ask(&owner, mute, "{}").send().await.unwrap().status() == StatusCode::TOO_MANY_REQUESTS);
    }
    assert!(limited > 5, "{limited}");
}

#[tokio::test]
async fn lines_are_changed_by_their_authors_only() {
    let site = Asked::open().await;
    let (ada, ben) = (site.enter("Ada", "").await, site.enter("Ben", "").await);
    site.say(&ada, "1", "a", "seventy").send().await.unwrap().error_for_status().unwrap();
    let edit = |cookie: &str, client_id: &str| {
        let form = [("as", "1"), ("client_id", client_id), ("text", "seventeen"), ("edit_of", "m1")];
        site.post("/rooms/kiln/lines", &form).header(header::COOKIE, cookie).header(header::ACCEPT, "application/json")
    };
    assert_eq!(edit(&ben, "b").send().await.unwrap().status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(edit(&ada, "b").send().await.unwrap().status(), StatusCode::OK);
    let act = |cookie: &str, name: &str, value: &str| {
        let form = [("as", "1"), ("client_id", value), ("of", "m1"), (name, value)];
        site.post("/rooms/kiln/acts", &form).header(header::COOKIE, cookie)
    };
    assert_eq!(act(&ben, "delete", "1").send().await.unwrap().status(), StatusCode::UNPROCESSABLE_ENTITY);
    let reacted = site.post("/rooms/kiln/acts", &[("as", "1"), ("client_id", "r"), ("of", "m1"), ("react", "👍")]);
    assert_eq!(reacted.header(header::COOKIE, &ben).send().await.unwrap().status(), StatusCode::SEE_OTHER);
    let page = site.page(&ada).await;
    assert!(page.contains("seventeen") && !page.contains(">seventy<") && page.contains("edited") && page.contains("title=\"Ben\""));
    assert_eq!(act(&ada, "delete", "1").send().await.unwrap().status(), StatusCode::SEE_OTHER);
    let page = site.page(&ada).await;
    assert!(page.contains("This line was deleted.") && !page.contains("seventeen"));
}

#[tokio::test]
async fn too_much_too_fast_and_too_many_are_bounded() {
    let site = Asked::open().await;
    let cookie = site.enter("Ada", "").await;
    let long = "ツ".repeat(4_000);
    assert_eq!(site.say(&cookie, "1", "long", &long).send().await.unwrap().status(), StatusCode::OK, "4,000 characters of any script");
    let longer = format!("{long}ツ");
    assert_eq!(site.say(&cookie, "1", "longer", &longer).send().await.unwrap().status(), StatusCode::UNPROCESSABLE_ENTITY);
    let huge = "x".repeat(60_000);
    assert_eq!(site.say(&cookie, "1", "huge", &huge).send().await.unwrap().status(), StatusCode::PAYLOAD_TOO_LARGE);
    let mut limited = 0;
    for n in 0..40 {
        let status = site.say(&cookie, "1", &format!("n{n}"), "hi").send().await.unwrap().status();
        limited += usize::from(status == StatusCode::TOO_MANY_REQUESTS);
    }
    assert!(limited > 5, "{limited}");
    let mut open = Vec::new();
    for _ in 0..6 {
        open.push(site.get("/rooms/kiln/events?as=1&after=0.0").header(header::COOKIE, &cookie).send().await.unwrap());
    }
    assert!(open.iter().all(|r| r.status() == StatusCode::OK));
    let more = site.get("/rooms/kiln/events?as=1&after=0.0").header(header::COOKIE, &cookie).send().await.unwrap();
    assert_eq!(more.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn typing_is_told_and_shown_to_others_only() {
    let site = Asked::open().await;
    let cookie = site.enter("Ada", "").await;
    let told = site.post("/rooms/kiln/typing", &[("as", "1")]).header(header::COOKIE, &cookie).send().await.unwrap();
    assert_eq!(told.status(), StatusCode::NO_CONTENT);
    assert_eq!(site.rooms.who_types().len(), 1);
    assert!(!site.page(&cookie).await.contains("is typing"), "not to oneself");
    let other = site.get("/rooms/kiln").send().await.unwrap().text().await.unwrap();
    assert!(other.contains("Ada is typing"));
    site.rooms.set_typing(&["wren"]);
    assert!(site.page(&cookie).await.contains("Wren is typing"));
}
