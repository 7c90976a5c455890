//! The console's stream of changes over HTTP: it resumes, catches up, says what is wrong, and ends.

use futures::StreamExt;
use parlor_core::{AuthorKind, ItemKind, Phase, WaitingFor, What, Why};
use reqwest::{StatusCode, header};
use tokio::time::timeout;

use crate::support::{
    asked::{Asked, count, events},
    browser::DEADLINE,
};

#[tokio::test]
async fn a_stream_that_dropped_goes_on_after_the_last_event_with_nothing_lost_or_doubled() {
    let site = Asked::open().await;
    for n in 1..=3 {
        site.rooms.say(AuthorKind::Human, "a", "Ada", &format!("line {n}"), None);
    }
    site.rooms.decide(What::Silent, Why::GateSilent, None, &[1]);
    let stream = site.get("/rooms/kiln/events?after=1.0").send().await.unwrap();
    let first = events(stream, |e| e.id == "3.1").await;
    assert_eq!((count(&first, "id=\\\"l1\\\""), count(&first, "id=\\\"l2\\\""), count(&first, "id=\\\"l3\\\"")), (0, 1, 1));
    assert_eq!(count(&first, "id=\\\"d1\\\""), 1);
    assert_eq!(count(&first, "<dd>for the persona 0.05, for the room 0.12, together 0.17 (bar 0.40)</dd>"), 1);
    // The drop: two lines, an edit and a decision happen meanwhile.
    site.rooms.say(AuthorKind::Human, "a", "Ada", "line 4", None);
    site.rooms.change(ItemKind::Edit, "a", "Ada", 2, "line 2, better");
    site.rooms.say(AuthorKind::Own, "wren", "Wren", "line 6", Some(2));
    site.rooms.decide(What::Settled, Why::RowPosted, Some("wren"), &[2]);
    let stream = site.get("/rooms/kiln/events?after=1.0").header("last-event-id", "3.1").send().await.unwrap();
    let mut live = false;
    let second = events(stream, |e| {
        if e.id == "6.2" && !live {
            live = true;
            site.rooms.say(AuthorKind::Human, "b", "Ben", "line 7", None);
        }
        e.id == "7.2"
    })
    .await;
    for (piece, times) in [("l1", 0), ("l3", 0), ("l4", 1), ("l2", 1), ("l6", 1), ("l7", 1), ("d1", 0), ("d2", 1)] {
        assert_eq!(count(&second, &format!("id=\\\"{piece}\\\"")), times, "{piece}");
    }
    assert!(second.iter().any(|e| e.data.contains("line 2, better")));
}

#[tokio::test]
async fn a_long_absence_is_caught_up_in_parts() {
    let site = Asked::open().await;
    for n in 1..=450 {
        site.rooms.say(AuthorKind::Human, "a", "Ada", &format!("line {n}"), None);
    }
    let stream = site.get("/rooms/kiln/events?after=0.0").send().await.unwrap();
    let sent = events(stream, |e| e.id == "450.0").await;
    for n in [1, 200, 201, 450] {
        assert_eq!(count(&sent, &format!("id=\\\"l{n}\\\"")), 1, "{n}");
    }
    assert!(sent.len() >= 3, "{} events", sent.len());
}

#[tokio::test]
async fn without_its_database_nothing_is_lost_or_doubled() {
    let site = Asked::open().await;
    let cookie = site.enter("Ada", "").await;
    site.say(&cookie, "1", "first", "before").send().await.unwrap().error_for_status().unwrap();
    let stream = site.get("/rooms/kiln/events?as=1&after=1.0").header(header::COOKIE, &cookie).send().await.unwrap();
    site.rooms.lose_database(true);
    let refused = site.say(&cookie, "1", "second", "during <the> outage").send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key(header::RETRY_AFTER));
    let told: serde_json::Value = refused.json().await.unwrap();
    assert_eq!(told["again"], true);
    // Without the script the text comes back in its box under the same client id.
    let form = [("as", "1"), ("client_id", "second"), ("text", "during <the> outage")];
    let plain = site.post("/rooms/kiln/lines", &form).header(header::COOKIE, &cookie).send().await.unwrap();
    assert_eq!(plain.status(), StatusCode::SERVICE_UNAVAILABLE);
    let html = plain.text().await.unwrap();
    assert!(html.contains("during &lt;the&gt; outage") && html.contains("value=\"second\""));
    assert_eq!(
        site.get("/rooms/kiln?as=1").header(header::COOKIE, &cookie).send().await.unwrap().status(),
        StatusCode::SERVICE_UNAVAILABLE
    );
    let mut back = false;
    let sent = events(stream, |e| {
        if e.data.contains("The database is not reachable") && !back {
            back = true;
            site.rooms.lose_database(false);
            site.rooms.say(AuthorKind::Human, "b", "Ben", "after", None);
        }
        e.id.starts_with("2.")
    })
    .await;
    assert!(back, "the stream says that the database is away");
    assert_eq!(count(&sent, "id=\\\"l2\\\""), 1);
    for _ in 0..2 {
        site.say(&cookie, "1", "second", "during <the> outage").send().await.unwrap().error_for_status().unwrap();
    }
    let said: Vec<_> = site.rooms.items().into_iter().map(|i| i.text).collect();
    assert_eq!(said, ["before", "after", "during <the> outage"]);
}

#[tokio::test]
async fn a_mute_and_its_reason_and_the_end_of_a_room_are_told_at_once() {
    let site = Asked::open().await;
    let view = site.rooms.floor_at(Phase::Waiting, WaitingFor::AskerQuiet, 9_000, "a");
    site.rooms.set_view(Some(view));
    let stream = site.get("/rooms/kiln/events?after=0.0").send().await.unwrap();
    let mut step = 0;
    let sent = events(stream, |e| {
        let wanted =
            [&["Waiting for a to finish"][..], &["Muted; 1 open", "glaze test"], &["This room was taken away"], &["id=\\\"l1\\\""]];
        if wanted.get(step).is_some_and(|words| words.iter().all(|word| e.data.contains(word))) {
            step += 1;
            match step {
                1 => site.rooms.mute("Muted: glaze test"),
                2 => site.rooms.remove(true),
                3 => {
                    site.rooms.remove(false);
                    site.rooms.say(AuthorKind::Human, "a", "Ada", "back", None);
                }
                _ => {}
            }
        }
        step == 4
    })
    .await;
    assert!(sent.last().unwrap().data.contains("id=\\\"trouble\\\" role=\\\"alert\\\" data-keep></p>"), "the trouble is over");
}

#[tokio::test]
async fn a_stop_ends_the_streams_and_the_server() {
    let site = Asked::open().await;
    let stream = site.get("/rooms/kiln/events?after=0.0").send().await.unwrap();
    let mut body = stream.bytes_stream();
    assert!(body.next().await.is_some());
    site.site.stop.cancel();
    timeout(DEADLINE, async { while body.next().await.is_some_and(|part| part.is_ok()) {} }).await.expect("the stream ends");
    timeout(DEADLINE, site.site.tasks.wait()).await.expect("the server ends");
    assert!(site.get("/").send().await.is_err());
}
