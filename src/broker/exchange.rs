//! One request to a provider and its streamed answer, over one shared HTTP client, within deadlines. Dropping the future
//! closes the connection, which ends the call at the provider.

use std::{
    collections::BTreeMap,
    error::Error as _,
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

use futures::StreamExt as _;
use reqwest::{Client, Response, StatusCode, header::HeaderMap};
use serde_json::Value;
use tokio::time::Instant;

use super::{
    config::{Deadlines, Endpoint},
    dialect::{Answer, Dialect, code},
    failure::CallError,
    sse::Events,
};

/// A provider that asks for a longer pause is tried again after this one; its limits may be lifted any time.
const LONGEST_REST: Duration = Duration::from_hours(1);
/// Bytes read of an error answer, to find its code.
const MAX_ERROR_BYTES: usize = 16 * 1024;

/// The way out to the providers.
pub(crate) struct Exchange {
    deadlines: Deadlines,
    /// Made when a provider can be called at all: a process that only uses the stub needs no TLS roots.
    client: OnceLock<Result<Client, String>>,
    /// Until when a provider asked not to be called.
    resting: Mutex<BTreeMap<Dialect, Instant>>,
}

impl Exchange {
    pub(crate) fn new(deadlines: Deadlines) -> Self {
        Self { deadlines, client: OnceLock::new(), resting: Mutex::default() }
    }

    /// Sets the HTTP client up now, so that the first call does not wait for it. What goes wrong is told by that call.
    pub(crate) fn warm(&self) {
        let _ = self.client();
    }

    /// Fails at once while the provider rests.
    pub(crate) fn is_awake(&self, dialect: Dialect) -> Result<(), CallError> {
        let resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        match resting.get(&dialect) {
            Some(until) if *until > Instant::now() => Err(CallError::Resting),
            _ => Ok(()),
        }
    }

    /// Sends `body` and reads the answer to its end. What has arrived is in `answer` even when it ends in an error.
    pub(crate) async fn send(&self, dialect: Dialect, endpoint: &Endpoint, body: Vec<u8>, answer: &mut Answer) -> Result<(), CallError> {
        match tokio::time::timeout(self.deadlines.whole, self.talk(dialect, endpoint, body, answer)).await {
            Ok(done) => done,
            Err(_) => Err(CallError::TooSlow),
        }
    }

    async fn talk(&self, dialect: Dialect, endpoint: &Endpoint, body: Vec<u8>, answer: &mut Answer) -> Result<(), CallError> {
        let mut url = endpoint.base_url.clone();
        url.set_path(&format!("{}/{}", endpoint.base_url.path().trim_end_matches('/'), dialect.path()));
        let request = self.client()?.post(url).header("content-type", "application/json").body(body);
        let response = dialect.headers(request, endpoint.key.as_ref()).send().await.map_err(told)?;
        if response.status() != StatusCode::OK {
            return Err(self.turned_down(dialect, response).await);
        }
        let mut events = Events::default();
        let mut stream = response.bytes_stream();
        while let Some(piece) = stream.next().await {
            let piece = piece.map_err(told)?;
            for data in events.feed(&piece).map_err(|_| CallError::Broken("longer than any answer may be".into()))? {
                dialect.fold(answer, &data)?;
            }
            if answer.over {
                return Ok(());
            }
        }
        // Some servers close without the last word; the reason for the stop is enough.
        if answer.stop.is_some() { Ok(()) } else { Err(CallError::Broken("the connection closed in the middle".into())) }
    }

    fn client(&self) -> Result<&Client, CallError> {
        let made = self.client.get_or_init(|| {
            let limits = self.deadlines;
            let builder = Client::builder().connect_timeout(limits.connect).read_timeout(limits.idle).timeout(limits.whole);
            // A provider's API does not redirect; following one would carry the prompt to somewhere else.
            let builder = builder.redirect(reqwest::redirect::Policy::none()).user_agent(concat!("parlor/", env!("CARGO_PKG_VERSION")));
            builder.build().map_err(|e| chain(&e))
        });
        made.as_ref().map_err(|why| CallError::NoClient(why.clone()))
    }

    async fn turned_down(&self, dialect: Dialect, response: Response) -> CallError {
        let status = response.status().as_u16();
        if let Some(rest) = retry_after(response.headers()) {
            let until = Instant::now() + rest.min(LONGEST_REST);
            self.resting.lock().unwrap_or_else(PoisonError::into_inner).insert(dialect, until);
        }
        let mut head = Vec::new();
        let mut stream = response.bytes_stream();
        while let Some(Ok(piece)) = stream.next().await {
            head.extend_from_slice(&piece);
            if head.len() > MAX_ERROR_BYTES {
                break;
            }
        }
        let body: Value = serde_json::from_slice(&head).unwrap_or_default();
        CallError::Status { status, code: code(body.get("error").unwrap_or(&Value::Null)) }
    }
}

/// How long the provider wants to be left alone: seconds, or a date beside the answer's own date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).map(str::trim);
    let wanted = text("retry-after")?;
    if let Ok(seconds) = wanted.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |text: &str| jiff::fmt::rfc2822::parse(text).ok().map(|d| d.timestamp());
    let until = date(wanted)?.duration_since(date(text("date")?)?);
    until.try_into().ok()
}

/// An error of the HTTP client in our words. Its URL is dropped: a base URL may carry a password.
fn told(error: reqwest::Error) -> CallError {
    let error = error.without_url();
    if error.is_connect() {
        CallError::Unreachable(chain(&error))
    } else if error.is_timeout() {
        CallError::TooSlow
    } else {
        CallError::Broken(chain(&error))
    }
}

fn chain(error: &reqwest::Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        told.push_str(": ");
        told.push_str(&inner.to_string());
        cause = inner.source();
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(n, v)| (n.parse().expect("name"), v.parse().expect("value"))).collect()
    }

    #[test]
    fn a_pause_is_read_as_seconds_or_as_a_date() {
        assert_eq!(retry_after(&headers(&[("retry-after", "7")])), Some(Duration::from_secs(7)));
        let date = [("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT"), ("date", "Wed, 21 Oct 2026 07:28:00 GMT")];
        assert_eq!(retry_after(&headers(&date)), Some(Duration::from_secs(30)));
        for wrong in ["-3", "soon", "NaN", ""] {
            assert_eq!(retry_after(&headers(&[("retry-after", wrong)])), None, "{wrong:?}");
        }
        assert_eq!(retry_after(&headers(&[])), None);
    }
}
