//! The two ways of talking to providers, and what they have in common.

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};

use super::{acts::ToolCall, anthropic, config::Endpoint, failure::CallError, openai, price::Usage, prompt::Prompt};
use crate::ports::ModelCall;

/// Tokens of an answer where the persona's params name none: a long post, its JSON, and some thinking.
const MAX_TOKENS: u64 = 4_096;
/// More than this for one chat post is a slip, and would be reserved before each call.
const MOST_TOKENS: u64 = 64_000;
/// Tool calls kept of one answer; one is right, and two are already wrong.
const MAX_CALLS: usize = 4;
/// Bytes kept of the arguments of tool calls: a post of 4,000 characters, every one of them escaped.
const MAX_ARGUMENT_BYTES: usize = 128 * 1024;

/// How a provider is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dialect {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenAi,
}

impl Dialect {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }

    pub(crate) fn key_name(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenAi => "OPENAI_API_KEY",
        }
    }

    /// The body of a request. `again` is said last, when an answer before held no act.
    pub(crate) fn body(self, call: &ModelCall, prompt: &Prompt, endpoint: &Endpoint, again: Option<&str>) -> Map<String, Value> {
        match self {
            Self::Anthropic => anthropic::body(call, prompt, again),
            Self::OpenAi => openai::body(call, prompt, endpoint, again),
        }
    }

    /// Path below the base URL.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Anthropic => "v1/messages",
            Self::OpenAi => "chat/completions",
        }
    }

    /// Headers, the key's value marked so that no log shows it.
    pub(crate) fn headers(self, request: reqwest::RequestBuilder, key: Option<&SecretString>) -> reqwest::RequestBuilder {
        let (request, name, prefix) = match self {
            Self::Anthropic => (request.header("anthropic-version", anthropic::VERSION), "x-api-key", ""),
            Self::OpenAi => (request, "authorization", "Bearer "),
        };
        let Some(key) = key else { return request };
        match reqwest::header::HeaderValue::try_from(format!("{prefix}{}", key.expose_secret())) {
            Ok(mut value) => {
                value.set_sensitive(true);
                request.header(name, value)
            }
            // A key with a line end in it is no key; the provider says 401.
            Err(_) => request,
        }
    }

    /// Takes one event of the answer.
    pub(crate) fn fold(self, answer: &mut Answer, data: &str) -> Result<(), CallError> {
        match self {
            Self::Anthropic => anthropic::fold(answer, data),
            Self::OpenAi => openai::fold(answer, data),
        }
    }
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// By itself, with or without a tool call.
    End,
    /// At its greatest length; a tool call in it may be cut.
    Length,
    /// The provider or the model declined.
    Declined,
}

/// What has arrived of an answer. Text outside of tool calls is not kept: it is never posted.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) calls: Vec<ToolCall>,
    /// The provider's own number or id of each call, in the same order.
    pub(crate) keys: Vec<(u64, String)>,
    pub(crate) stop: Option<Stop>,
    /// Nothing more will come.
    pub(crate) over: bool,
    /// What the whole call used, once the provider has said it.
    pub(crate) usage: Option<Usage>,
    /// What the provider said at the start, before the output was counted.
    pub(crate) seen_input: Option<Usage>,
    argument_bytes: usize,
}

impl Answer {
    /// A tool call begins.
    pub(crate) fn begin_call(&mut self, key: (u64, String), name: &str) -> Result<(), CallError> {
        if self.calls.len() >= MAX_CALLS {
            return Err(CallError::Broken(format!("more than {MAX_CALLS} tool calls")));
        }
        self.keys.push(key);
        self.calls.push(ToolCall { name: name.chars().take(64).collect(), arguments: String::new() });
        Ok(())
    }

    /// A piece of the arguments of the call at `place`.
    pub(crate) fn add_arguments(&mut self, place: usize, piece: &str) -> Result<(), CallError> {
        self.argument_bytes = self.argument_bytes.saturating_add(piece.len());
        if self.argument_bytes > MAX_ARGUMENT_BYTES {
            return Err(CallError::Broken(format!("more than {MAX_ARGUMENT_BYTES} bytes of arguments")));
        }
        if let Some(call) = self.calls.get_mut(place) {
            call.arguments.push_str(piece);
        }
        Ok(())
    }
}

/// The greatest length of an answer, in tokens, as the persona's params have it.
pub(crate) fn max_tokens(call: &ModelCall) -> u64 {
    let named = ["max_tokens", "max_completion_tokens"].iter().find_map(|name| call.model.params.get(*name).and_then(Value::as_u64));
    named.unwrap_or(MAX_TOKENS).clamp(1, MOST_TOKENS)
}

/// The persona's params under the body, minus what is ours to say: who is asked, what is said, how it comes back, how often,
/// and how long it may be.
pub(crate) fn with_params(call: &ModelCall, mut body: Map<String, Value>) -> Map<String, Value> {
    const OURS: &[&str] =
        &["model", "messages", "system", "tools", "stream", "stream_options", "n", "max_tokens", "max_completion_tokens", "delayMs"];
    for (name, value) in &call.model.params {
        if !OURS.contains(&name.as_str()) {
            body.insert(name.clone(), value.clone());
        }
    }
    body
}

/// A provider's error code, if it is a plain code; anything else might repeat the prompt or the key.
pub(crate) fn code(error: &Value) -> String {
    let named = ["type", "code"].iter().find_map(|field| error.get(*field).and_then(Value::as_str));
    let plain = |code: &&str| (1..=64).contains(&code.len()) && code.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    named.filter(plain).unwrap_or("no code").to_owned()
}
