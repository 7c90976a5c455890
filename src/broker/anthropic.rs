//! Anthropic Messages: <https://platform.claude.com/docs/en/api/messages>, streaming.
//!
//! Tools are offered, not forced: models that always think refuse a forced choice. A persona may set `tool_choice` in its params
//! for models that take it. Assistant turns are ours (a read of the room is called for the model), so none carries thinking.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    acts::{READ_TOOL, tools},
    dialect::{Answer, Stop, code, max_tokens, with_params},
    failure::CallError,
    price::Usage,
    prompt::Prompt,
};
use crate::ports::ModelCall;

/// The only version there is.
pub(crate) const VERSION: &str = "2023-06-01";

pub(crate) fn body(call: &ModelCall, prompt: &Prompt, again: Option<&str>) -> Map<String, Value> {
    let tools: Vec<Value> =
        tools().into_iter().map(|t| json!({"name": t.name, "description": t.description, "input_schema": t.schema})).collect();
    let mut messages = Vec::with_capacity(prompt.reads.len() * 3 + 1);
    for (n, read) in prompt.reads.iter().enumerate() {
        messages.push(json!({"role": "user", "content": read.bell}));
        let input = json!({"room": call.room, "after": read.after});
        messages.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": read.call_id, "name": READ_TOOL, "input": input}]}));
        let mut result = json!({"type": "tool_result", "tool_use_id": read.call_id, "content": read.result});
        // The last read changes with the obligations; the one before it is the end of what stays.
        if let (true, Some(result)) = (n + 2 == prompt.reads.len(), result.as_object_mut()) {
            result.insert("cache_control".into(), json!({"type": "ephemeral"}));
        }
        messages.push(json!({"role": "user", "content": [result]}));
    }
    if let Some(again) = again {
        messages.push(json!({"role": "user", "content": again}));
    }
    let mut body = Map::new();
    body.insert("model".into(), json!(call.model.name));
    body.insert("max_tokens".into(), json!(max_tokens(call)));
    body.insert("stream".into(), json!(true));
    // This breakpoint covers the tools too: they stand before the system text in the provider's order.
    body.insert("system".into(), json!([{"type": "text", "text": prompt.system, "cache_control": {"type": "ephemeral"}}]));
    body.insert("tools".into(), json!(tools));
    body.insert("tool_choice".into(), json!({"type": "auto", "disable_parallel_tool_use": true}));
    body.insert("messages".into(), json!(messages));
    with_params(call, body)
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Started,
    },
    ContentBlockStart {
        index: u64,
        content_block: Block,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    MessageDelta {
        delta: Ending,
        #[serde(default)]
        usage: Tokens,
    },
    MessageStop,
    Error {
        error: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Started {
    #[serde(default)]
    usage: Tokens,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    ToolUse {
        name: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Delta {
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Ending {
    stop_reason: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct Tokens {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cached: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
}

pub(crate) fn fold(answer: &mut Answer, data: &str) -> Result<(), CallError> {
    let event: Event = serde_json::from_str(data).map_err(|_| CallError::Broken("an event that is not JSON of the protocol".into()))?;
    match event {
        Event::MessageStart { message } => {
            // Output is still to come; until its count is there, the usage is not known.
            answer.usage = None;
            answer.seen_input = Some(input(message.usage, Usage::default()));
        }
        Event::ContentBlockStart { index, content_block: Block::ToolUse { name } } => answer.begin_call((index, String::new()), &name)?,
        Event::ContentBlockDelta { index, delta: Delta::InputJsonDelta { partial_json } } => {
            if let Some(place) = answer.keys.iter().position(|(key, _)| *key == index) {
                answer.add_arguments(place, &partial_json)?;
            }
        }
        Event::MessageDelta { delta, usage } => {
            if let Some(reason) = delta.stop_reason {
                answer.stop = Some(stop(&reason));
            }
            if let (Some(start), Some(output)) = (answer.seen_input, usage.output) {
                answer.usage = Some(Usage { output, ..input(usage, start) });
            }
        }
        Event::MessageStop => answer.over = true,
        Event::Error { error } => return Err(CallError::Midway(code(&error))),
        Event::ContentBlockStart { .. } | Event::ContentBlockDelta { .. } | Event::Other => {}
    }
    Ok(())
}

fn input(tokens: Tokens, before: Usage) -> Usage {
    Usage {
        input: tokens.input.unwrap_or(before.input),
        cached: tokens.cached.unwrap_or(before.cached),
        cache_write: tokens.cache_write.unwrap_or(before.cache_write),
        output: 0,
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => Stop::Length,
        "refusal" => Stop::Declined,
        _ => Stop::End,
    }
}
