//! Asks a console over HTTP as a browser or a program would, and reads its stream of events.

use std::sync::Arc;

use futures::StreamExt;
use reqwest::{Client, RequestBuilder, Response, StatusCode, header, redirect};
use tokio::time::timeout;

use super::{browser::DEADLINE, rooms::Rooms, site::Site};

/// What a form's body is.
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// A console, and a client that asks it as a browser or a program would.
pub(crate) struct Asked {
    pub(crate) site: Site,
    pub(crate) rooms: Arc<Rooms>,
    pub(crate) http: Client,
}

impl Asked {
    pub(crate) async fn open() -> Self {
        let site = Site::open().await;
        let http = Client::builder().redirect(redirect::Policy::none()).timeout(DEADLINE).build().unwrap();
        Self { rooms: site.rooms.clone(), site, http }
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(self.site.url(path))
    }

    /// A form of our own page.
    pub(crate) fn post(&self, path: &str, form: &[(&str, &str)]) -> RequestBuilder {
        self.http.post(self.site.url(path)).header("sec-fetch-site", "same-origin").header(header::CONTENT_TYPE, FORM).body(encoded(form))
    }

    /// Enters the room; gives the cookie.
    pub(crate) async fn enter(&self, name: &str, cookie: &str) -> String {
        let response = self.post("/rooms/kiln/enter", &[("name", name)]).header(header::COOKIE, cookie).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::SEE_OTHER, "{}", response.text().await.unwrap());
        cookie_of(&response)
    }

    pub(crate) fn say(&self, cookie: &str, mark: &str, client_id: &str, text: &str) -> RequestBuilder {
        let form = [("as", mark), ("client_id", client_id), ("text", text)];
        self.post("/rooms/kiln/lines", &form).header(header::COOKIE, cookie).header(header::ACCEPT, "application/json")
    }

    pub(crate) async fn page(&self, cookie: &str) -> String {
        let response = self.get("/rooms/kiln?as=1").header(header::COOKIE, cookie).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        response.text().await.unwrap()
    }
}

/// A form as browsers send it.
pub(crate) fn encoded(form: &[(&str, &str)]) -> String {
    let escaped = |text: &str| text.bytes().fold(String::new(), |all, byte| format!("{all}%{byte:02x}"));
    form.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect::<Vec<_>>().join("&")
}

pub(crate) fn cookie_of(response: &Response) -> String {
    let set = response.headers().get(header::SET_COOKIE).expect("a cookie is set").to_str().unwrap();
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
    set.split(';').next().unwrap().to_owned()
}

/// One server-sent event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) data: String,
}

/// Reads events until one satisfies, within the deadline; gives all that came.
pub(crate) async fn events(response: Response, mut enough: impl FnMut(&Event) -> bool) -> Vec<Event> {
    let mut body = response.bytes_stream();
    let (mut text, mut got) = (String::new(), Vec::new());
    let read = async {
        while let Some(part) = body.next().await {
            text.push_str(std::str::from_utf8(&part.unwrap()).unwrap());
            while let Some(end) = text.find("\n\n") {
                let block: String = text.drain(..end + 2).collect();
                let field = |name: &str| {
                    let lines = block.lines().filter_map(|l| l.strip_prefix(name)?.strip_prefix(": "));
                    lines.collect::<Vec<_>>().join("\n")
                };
                let event = Event { id: field("id"), data: field("data") };
                let done = enough(&event);
                got.push(event);
                if done {
                    return;
                }
            }
        }
    };
    timeout(DEADLINE, read).await.expect("the events came in time");
    got
}

pub(crate) fn count(events: &[Event], piece: &str) -> usize {
    events.iter().map(|e| e.data.matches(piece).count()).sum()
}
