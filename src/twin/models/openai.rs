//! OpenAI Chat Completions as the service speaks it: what it refuses, and the chunks of a streamed answer.

use serde_json::{Value, json};

use super::{
    cache::{Block, Counted},
    pieces,
    script::What,
};

/// Why the service would refuse this request.
pub(super) fn refusal(body: &Value) -> Option<&'static str> {
    let messages = body.get("messages").and_then(Value::as_array)?;
    if messages.is_empty() {
        return Some("[] is too short - 'messages'");
    }
    let mut open: Option<&Value> = None;
    for message in messages {
        let answers = message.get("tool_call_id");
        match (open.take(), answers) {
            (None, None) => {}
            (Some(id), Some(answered)) if id == answered && message.get("role") == Some(&json!("tool")) => {}
            (Some(_), _) => return Some("An assistant message with 'tool_calls' must be followed by tool messages."),
            (None, Some(_)) => return Some("messages with role 'tool' must be a response to a preceding message with 'tool_calls'."),
        }
        open = message.pointer("/tool_calls/0/id");
    }
    open.is_some().then_some("An assistant message with 'tool_calls' must be followed by tool messages.")
}

/// Tools, then messages. The service caches by itself, so every block is a mark.
pub(super) fn blocks(body: &Value) -> Vec<Block> {
    let list = |name: &str| body.get(name).and_then(Value::as_array).into_iter().flatten();
    list("tools").chain(list("messages")).map(|block| Block { text: block.to_string(), mark: true }).collect()
}

/// The last tool result.
pub(super) fn last_result(body: &Value) -> String {
    let messages = body.get("messages").and_then(Value::as_array).into_iter().flatten().rev();
    let results = messages.filter(|m| m.get("role") == Some(&json!("tool"))).filter_map(|m| m.get("content")?.as_str());
    results.take(1).collect()
}

fn chunk(model: &str, delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
    let data = json!({"id": "chatcmpl-twin", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": model,
        "choices": [choice], "usage": null});
    format!("data: {data}\n\n")
}

/// The chunks of an answer; the usage comes only to those who asked for it.
pub(super) fn events(what: &What, offered: &[String], counted: Counted, model: &str, with_usage: bool) -> Vec<String> {
    let mut events = vec![chunk(model, &json!({"role": "assistant", "content": null}), None)];
    let finish = match what {
        What::Calls(calls) => {
            for (n, (name, arguments)) in calls.iter().enumerate() {
                call(&mut events, model, n, name, &arguments.render(offered));
            }
            "tool_calls"
        }
        What::Text(text) => {
            events.extend(pieces(text).into_iter().map(|piece| chunk(model, &json!({"content": piece}), None)));
            "stop"
        }
        What::Midway(code) => {
            events.push(format!("data: {}\n\n", json!({"error": {"message": "scripted", "type": code, "code": null}})));
            return events;
        }
        What::Length => {
            call(&mut events, model, 0, "reply", "{\"text\": \"a very long");
            "length"
        }
        What::Declined => {
            events.push(chunk(model, &json!({"refusal": "I cannot help with that."}), None));
            "stop"
        }
        What::Never | What::Status { .. } => return events,
    };
    events.push(chunk(model, &json!({}), Some(finish)));
    if with_usage {
        let (prompt, written) = (counted.fresh + counted.cached + counted.written, events.len());
        let usage = json!({"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written,
            "prompt_tokens_details": {"cached_tokens": counted.cached}});
        let data = json!({"id": "chatcmpl-twin", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": model,
            "choices": [], "usage": usage});
        events.push(format!("data: {data}\n\n"));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn call(events: &mut Vec<String>, model: &str, index: usize, name: &str, arguments: &str) {
    let head = json!({"index": index, "id": format!("call_{index}"), "type": "function", "function": {"name": name, "arguments": ""}});
    events.push(chunk(model, &json!({"tool_calls": [head]}), None));
    for piece in pieces(arguments) {
        events.push(chunk(model, &json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}), None));
    }
}
