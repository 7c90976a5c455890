//! A model on this machine that answers every call after a fixed time, and tells when it was asked and when it answered.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use axum::{Json, Router, extract::State, http::header, response::IntoResponse, routing::post};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::BenchError;

/// Calls that were made and not looked at yet; the bench asks one question at a time.
const MAX_CALLS: usize = 16;
/// A call that has not come by then does not come.
const PATIENCE: Duration = Duration::from_secs(20);

/// A call of the model.
pub(super) struct Call {
    pub arrived: Instant,
    pub answered: Instant,
}

/// The model; it ends when this is dropped.
pub(super) struct Model {
    address: SocketAddr,
    calls: mpsc::Receiver<Call>,
    _stop: DropGuard,
}

#[derive(Clone)]
struct Shared {
    hold: Duration,
    calls: mpsc::Sender<Call>,
}

impl Model {
    pub(super) async fn start(hold: Duration) -> Result<Self, BenchError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (sender, calls) = mpsc::channel(MAX_CALLS);
        let app = Router::new().route("/v1/chat/completions", post(answer)).with_state(Shared { hold, calls: sender });
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        let tracker = tokio_util::task::TaskTracker::new();
        tracker.spawn(async move { axum::serve(listener, app).with_graceful_shutdown(stopped).await });
        Ok(Self { address, calls, _stop: stop.drop_guard() })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The next call.
    pub(super) async fn next(&mut self) -> Result<Call, BenchError> {
        timeout(PATIENCE, self.calls.recv()).await.ok().flatten().ok_or(BenchError::Late("the model was not asked"))
    }
}

async fn answer(State(shared): State<Shared>, Json(body): Json<Value>) -> impl IntoResponse {
    let arrived = Instant::now();
    let settles = offered(&body);
    // Each answer has its own words, or the room would take it for one that was given already.
    let text: Vec<String> = settles.iter().flat_map(|id| (0..4).map(move |k| format!("{id}x{k}"))).collect();
    let arguments = json!({ "text": text.join(" "), "settles": settles }).to_string();
    let call = json!({"index": 0, "id": "call_0", "type": "function", "function": {"name": "reply", "arguments": arguments}});
    let event = |delta: &Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!("data: {}\n\n", json!({"id": "bench", "object": "chat.completion.chunk", "choices": [choice]}))
    };
    let events = [event(&json!({ "tool_calls": [call] }), None), event(&json!({}), Some("tool_calls")), "data: [DONE]\n\n".into()];
    tokio::time::sleep(shared.hold).await;
    // A bench that has ended needs no figures.
    let _ = shared.calls.try_send(Call { arrived, answered: Instant::now() });
    ([(header::CONTENT_TYPE, "text/event-stream")], events.concat())
}

/// The ids that the last read of the room offers.
fn offered(body: &Value) -> Vec<String> {
    let messages = body.get("messages").and_then(Value::as_array).into_iter().flatten().rev();
    let read = messages.filter(|m| m.get("role") == Some(&json!("tool"))).find_map(|m| m.get("content")?.as_str());
    let owed = |line: &str| serde_json::from_str::<Value>(line).ok()?.get("owed").cloned();
    let owed = read.unwrap_or_default().lines().rev().find_map(owed).unwrap_or_default();
    owed.as_array().into_iter().flatten().filter_map(|o| o.get("id")?.as_str().map(str::to_owned)).collect()
}
