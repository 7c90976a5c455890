//! A double of the model providers: Anthropic Messages and OpenAI Chat Completions on one loopback port, streaming, with a
//! script of answers. It records every request, keeps a prompt cache as the services do, and tells when a client hangs up.

mod anthropic;
mod cache;
mod openai;
mod script;

use std::{
    collections::VecDeque,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, Request as Incoming, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::post,
    serve::ListenerExt as _,
};
use futures::stream;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{oneshot, watch},
    task::JoinSet,
};

pub use script::Answer;
use script::{What, offered};

/// The services take 32 MB; no test needs more than this.
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;
/// Requests kept; the oldest go first.
const MAX_RECORDED: usize = 10_000;
/// Bytes of one piece of an answer: small and odd, so that lines and characters are cut anywhere.
const PIECE_BYTES: usize = 61;

/// The double. It ends when dropped.
pub struct ModelTwin {
    address: SocketAddr,
    shared: Arc<Shared>,
    // Dropping these ends the server.
    _stop: oneshot::Sender<()>,
    _server: JoinSet<()>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    /// `/v1/messages` or `/v1/chat/completions`.
    pub path: String,
    /// The key, from the header that this service reads.
    pub key: Option<String>,
    /// The body.
    pub body: Value,
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    requests: usize,
    hung_up: usize,
}

struct Shared {
    state: Mutex<Inner>,
    counts: watch::Sender<Counts>,
}

struct Inner {
    script: VecDeque<Answer>,
    otherwise: Answer,
    requests: VecDeque<Request>,
    cache: cache::Cache,
}

impl ModelTwin {
    /// Starts on a free loopback port. It answers with a pass until told otherwise.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        // An answer goes out in small pieces, as it does from the services.
        let listener = listener.tap_io(|socket| {
            let _ = socket.set_nodelay(true);
        });
        let inner = Inner {
            script: VecDeque::new(),
            otherwise: Answer::pass("nothing scripted"),
            requests: VecDeque::new(),
            cache: cache::Cache::default(),
        };
        let shared = Arc::new(Shared { state: Mutex::new(inner), counts: watch::Sender::default() });
        let router = Router::new()
            .route("/v1/messages", post(messages))
            .route("/v1/chat/completions", post(completions))
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .with_state(Arc::clone(&shared));
        let (stop, stopped) = oneshot::channel::<()>();
        let mut server = JoinSet::new();
        server.spawn(async move {
            let until = async move {
                let _ = stopped.await;
            };
            let _ = axum::serve(listener, router).with_graceful_shutdown(until).await;
        });
        Ok(Self { address, shared, _stop: stop, _server: server })
    }

    /// For `ANTHROPIC_BASE_URL`.
    pub fn anthropic_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// For `OPENAI_BASE_URL`.
    pub fn openai_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The next answer after those already scripted.
    pub fn then(&self, answer: Answer) {
        self.shared.lock().script.push_back(answer);
    }

    /// The answer when the script is at its end.
    pub fn otherwise(&self, answer: Answer) {
        self.shared.lock().otherwise = answer;
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.iter().cloned().collect()
    }

    /// Waits until this many requests have arrived.
    pub async fn heard(&self, requests: usize) {
        let mut counts = self.shared.counts.subscribe();
        let _ = counts.wait_for(|c| c.requests >= requests).await;
    }

    /// Waits until this many answers were given up by the client before their end.
    pub async fn hung_up(&self, answers: usize) {
        let mut counts = self.shared.counts.subscribe();
        let _ = counts.wait_for(|c| c.hung_up >= answers).await;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, request: Request) -> Answer {
        let mut inner = self.lock();
        inner.requests.push_back(request);
        if inner.requests.len() > MAX_RECORDED {
            inner.requests.pop_front();
        }
        let answer = inner.script.pop_front().unwrap_or_else(|| inner.otherwise.clone());
        self.counts.send_modify(|c| c.requests += 1);
        answer
    }
}

async fn messages(State(shared): State<Arc<Shared>>, request: Incoming) -> Response {
    let headers = request.headers().clone();
    let body = match body(request).await {
        Ok(body) => body,
        Err(refused) => return *refused,
    };
    let key = text(&headers, "x-api-key");
    let answer = shared.record(Request { path: "/v1/messages".into(), key: key.clone(), body: body.clone() });
    let error = |status, code: &str, message: &str| {
        (status, axum::Json(json!({"type": "error", "error": {"type": code, "message": message}}))).into_response()
    };
    if key.is_none() {
        return error(StatusCode::UNAUTHORIZED, "authentication_error", "x-api-key header is required");
    }
    if text(&headers, "anthropic-version").is_none() {
        return error(StatusCode::BAD_REQUEST, "invalid_request_error", "anthropic-version: header is required");
    }
    if let Some(why) = anthropic::refusal(&body) {
        return error(StatusCode::BAD_REQUEST, "invalid_request_error", why);
    }
    if let What::Status { status, code, message, retry_after } = &answer.what {
        return scripted(error(known(*status), code, message), retry_after.as_deref(), answer.first_after).await;
    }
    let counted = shared.lock().cache.read(&anthropic::blocks(&body));
    let events = anthropic::events(&answer.what, &offered(&anthropic::last_result(&body)), counted, model(&body));
    streamed(shared, &answer, &events.concat())
}

async fn completions(State(shared): State<Arc<Shared>>, request: Incoming) -> Response {
    let headers = request.headers().clone();
    let body = match body(request).await {
        Ok(body) => body,
        Err(refused) => return *refused,
    };
    let key = text(&headers, "authorization").and_then(|v| v.strip_prefix("Bearer ").map(str::to_owned));
    let answer = shared.record(Request { path: "/v1/chat/completions".into(), key, body: body.clone() });
    let error = |status, code: &str, message: &str| {
        (status, axum::Json(json!({"error": {"message": message, "type": code, "param": null, "code": null}}))).into_response()
    };
    if let Some(why) = openai::refusal(&body) {
        return error(StatusCode::BAD_REQUEST, "invalid_request_error", why);
    }
    if let What::Status { status, code, message, retry_after } = &answer.what {
        return scripted(error(known(*status), code, message), retry_after.as_deref(), answer.first_after).await;
    }
    let counted = shared.lock().cache.read(&openai::blocks(&body));
    let with_usage = body.pointer("/stream_options/include_usage") == Some(&json!(true));
    let events = openai::events(&answer.what, &offered(&openai::last_result(&body)), counted, model(&body), with_usage);
    streamed(shared, &answer, &events.concat())
}

async fn body(request: Incoming) -> Result<Value, Box<Response>> {
    let bytes = axum::body::to_bytes(request.into_body(), MAX_BODY_BYTES).await;
    let parsed = bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    parsed.ok_or_else(|| Box::new((StatusCode::BAD_REQUEST, "the body is not JSON").into_response()))
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|v| v.to_str().ok()).map(str::to_owned)
}

fn model(body: &Value) -> &str {
    body.get("model").and_then(Value::as_str).unwrap_or_default()
}

fn known(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

async fn scripted(mut response: Response, retry_after: Option<&str>, wait: Duration) -> Response {
    tokio::time::sleep(wait).await;
    if let Some(value) = retry_after.and_then(|v| v.parse().ok()) {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    response
}

/// Text in pieces of a few characters, as models write it.
fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(7).map(|piece| piece.iter().collect()).collect()
}

/// Counts an answer that the client gave up.
struct Listening {
    shared: Arc<Shared>,
    over: bool,
}

impl Drop for Listening {
    fn drop(&mut self) {
        if !self.over {
            self.shared.counts.send_modify(|c| c.hung_up += 1);
        }
    }
}

fn streamed(shared: Arc<Shared>, answer: &Answer, text: &str) -> Response {
    let sent = if answer.cut { text.len() / 2 } else { text.len() };
    let pieces: VecDeque<Bytes> =
        text.as_bytes().iter().copied().take(sent).collect::<Vec<u8>>().chunks(PIECE_BYTES).map(Bytes::copy_from_slice).collect();
    let (cut, never, wait) = (answer.cut, matches!(answer.what, What::Never), answer.first_after);
    let start = (pieces, Listening { shared, over: false }, Some(wait));
    let body = stream::unfold(start, move |(mut pieces, mut listening, wait)| async move {
        if let Some(wait) = wait {
            tokio::time::sleep(wait).await;
        }
        let piece = match pieces.pop_front() {
            Some(piece) => Ok(piece),
            None if never => std::future::pending().await,
            None if cut && !listening.over => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
            None => return None,
        };
        // The last piece may hold no more than a line end; a client that leaves before it has lost nothing.
        listening.over = piece.is_err() || (pieces.len() <= 1 && !never && !cut);
        Some((piece, (pieces, listening, None)))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(body)).into_response()
}
