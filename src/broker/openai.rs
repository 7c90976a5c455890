//! OpenAI Chat Completions, streaming: OpenAI itself, and by base URL vLLM, llama.cpp, Ollama, OpenRouter and others. Only what
//! all of them understand is sent, and what they leave out of an answer is borne.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    acts::{READ_TOOL, tools},
    config::Endpoint,
    dialect::{Answer, Stop, code, max_tokens, with_params},
    failure::CallError,
    price::Usage,
    prompt::Prompt,
};
use crate::ports::ModelCall;

pub(crate) fn body(call: &ModelCall, prompt: &Prompt, endpoint: &Endpoint, again: Option<&str>) -> Map<String, Value> {
    let function = |name: &str, description: &str, schema: Value| json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}});
    let tools: Vec<Value> = tools().into_iter().map(|t| function(t.name, t.description, t.schema)).collect();
    let mut messages = Vec::with_capacity(prompt.reads.len() * 3 + 2);
    messages.push(json!({"role": "system", "content": prompt.system}));
    for read in &prompt.reads {
        let arguments = json!({"room": call.room, "after": read.after}).to_string();
        messages.push(json!({"role": "user", "content": read.bell}));
        // Empty text, not null: the templates of some servers cannot take null.
        messages.push(json!({"role": "assistant", "content": "", "tool_calls": [
            {"id": read.call_id, "type": "function", "function": {"name": READ_TOOL, "arguments": arguments}}]}));
        messages.push(json!({"role": "tool", "tool_call_id": read.call_id, "content": read.result}));
    }
    if let Some(again) = again {
        messages.push(json!({"role": "user", "content": again}));
    }
    let mut body = Map::new();
    body.insert("model".into(), json!(call.model.name));
    // OpenAI itself refuses the old name for models that think; the others know no new one.
    let length = if endpoint.needs_key { "max_completion_tokens" } else { "max_tokens" };
    body.insert(length.into(), json!(max_tokens(call)));
    body.insert("stream".into(), json!(true));
    body.insert("stream_options".into(), json!({"include_usage": true}));
    body.insert("tools".into(), json!(tools));
    // Routers hand this on to Anthropic's models, which refuse a forced choice.
    let forced = if call.model.name.contains("claude") { "auto" } else { "required" };
    body.insert("tool_choice".into(), json!(forced));
    body.insert("messages".into(), json!(messages));
    with_params(call, body)
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Delta {
    tool_calls: Option<Vec<Piece>>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct Piece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(rename = "prompt_tokens")]
    read: u64,
    #[serde(rename = "completion_tokens", default)]
    written: u64,
    #[serde(rename = "prompt_tokens_details")]
    details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

pub(crate) fn fold(answer: &mut Answer, data: &str) -> Result<(), CallError> {
    if data == "[DONE]" {
        answer.over = true;
        return Ok(());
    }
    let chunk: Chunk = serde_json::from_str(data).map_err(|_| CallError::Broken("an event that is not JSON of the protocol".into()))?;
    if let Some(error) = chunk.error.filter(|e| !e.is_null()) {
        return Err(CallError::Midway(code(&error)));
    }
    // One choice is asked for; a server that sends more has the first one taken.
    if let Some(choice) = chunk.choices.into_iter().next() {
        for piece in choice.delta.tool_calls.into_iter().flatten() {
            take(answer, piece)?;
        }
        if choice.delta.refusal.is_some_and(|r| !r.is_empty()) {
            answer.stop = Some(Stop::Declined);
        }
        if let (Some(reason), true) = (choice.finish_reason, answer.stop != Some(Stop::Declined)) {
            answer.stop = Some(stop(&reason));
        }
    }
    if let Some(tokens) = chunk.usage {
        let cached = tokens.details.and_then(|d| d.cached_tokens).unwrap_or(0).min(tokens.read);
        answer.usage = Some(Usage { input: tokens.read - cached, cached, cache_write: 0, output: tokens.written });
    }
    Ok(())
}

/// Adds a piece of a tool call. Servers number calls, or name them, or send each call whole.
fn take(answer: &mut Answer, piece: Piece) -> Result<(), CallError> {
    let id = piece.id.unwrap_or_default();
    let (name, arguments) = piece.function.map_or((None, None), |f| (f.name, f.arguments));
    let known = match piece.index {
        Some(index) => answer.keys.iter().position(|(key, named)| *key == index && (id.is_empty() || *named == id)),
        None if id.is_empty() && name.is_none() => answer.calls.len().checked_sub(1),
        None => answer.keys.iter().position(|(_, named)| !id.is_empty() && *named == id),
    };
    let place = if let Some(place) = known {
        place
    } else {
        let index = piece.index.unwrap_or(answer.calls.len() as u64);
        answer.begin_call((index, id), name.as_deref().unwrap_or_default())?;
        answer.calls.len() - 1
    };
    answer.add_arguments(place, arguments.as_deref().unwrap_or_default())
}

fn stop(reason: &str) -> Stop {
    match reason {
        "length" => Stop::Length,
        "content_filter" => Stop::Declined,
        _ => Stop::End,
    }
}
