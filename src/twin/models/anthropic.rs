//! Anthropic Messages as the service speaks it: what it refuses, and the events of a streamed answer.

use serde_json::{Value, json};

use super::{
    cache::{Block, Counted},
    pieces,
    script::What,
};

/// Why the service would refuse this request.
pub(super) fn refusal(body: &Value) -> Option<&'static str> {
    let messages = body.get("messages").and_then(Value::as_array)?;
    if body.get("max_tokens").and_then(Value::as_u64).is_none_or(|n| n == 0) {
        return Some("max_tokens: Field required");
    }
    if messages.first().and_then(|m| m.get("role")) != Some(&json!("user")) {
        return Some("messages: first message must use the \"user\" role");
    }
    let name = body.get("model").and_then(Value::as_str).unwrap_or_default();
    let choice = body.pointer("/tool_choice/type").and_then(Value::as_str).unwrap_or("auto");
    if name.contains("opus-5-5") && matches!(choice, "any" | "tool") {
        return Some("tool_choice: forced tool use is not supported by this model");
    }
    let marks = body.to_string().matches("\"cache_control\"").count();
    if marks > 4 {
        return Some("A maximum of 4 blocks with cache_control may be provided.");
    }
    let mut open: Option<&Value> = None;
    for message in messages {
        let blocks = message.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if blocks.is_empty() && message.get("content").and_then(Value::as_str).is_none_or(str::is_empty) {
            return Some("messages: text content blocks must be non-empty");
        }
        let results: Vec<&Value> = blocks.iter().filter_map(|b| b.get("tool_use_id")).collect();
        match (open.take(), results.as_slice()) {
            (None, []) => {}
            (Some(id), [answered]) if id == *answered => {}
            (Some(_), _) => return Some("messages: `tool_use` ids were found without `tool_result` blocks immediately after"),
            (None, _) => return Some("messages: unexpected `tool_use_id` found in `tool_result` blocks"),
        }
        open = blocks.iter().find(|b| b.get("type") == Some(&json!("tool_use"))).and_then(|b| b.get("id"));
    }
    open.is_some().then_some("messages: `tool_use` ids were found without `tool_result` blocks immediately after")
}

/// Tools, system, messages: the order in which the service reads a prompt.
pub(super) fn blocks(body: &Value) -> Vec<Block> {
    let list = |name: &str| body.get(name).and_then(Value::as_array).into_iter().flatten();
    let contents = list("messages").flat_map(|m| match m.get("content") {
        Some(Value::Array(blocks)) => blocks.clone(),
        Some(text) => vec![text.clone()],
        None => Vec::new(),
    });
    let all = list("tools").chain(list("system")).cloned().chain(contents);
    all.map(|mut block| {
        let mark = block.as_object_mut().and_then(|b| b.remove("cache_control")).is_some();
        Block { text: block.to_string(), mark }
    })
    .collect()
}

/// The last tool result.
pub(super) fn last_result(body: &Value) -> String {
    let messages = body.get("messages").and_then(Value::as_array).into_iter().flatten().rev();
    let results = messages.filter_map(|m| m.pointer("/content/0/content").and_then(Value::as_str));
    results.take(1).collect()
}

fn event(name: &str, mut data: Value) -> String {
    if let Some(fields) = data.as_object_mut() {
        fields.insert("type".into(), json!(name));
    }
    format!("event: {name}\ndata: {data}\n\n")
}

/// The events of an answer.
pub(super) fn events(what: &What, offered: &[String], counted: Counted, model: &str) -> Vec<String> {
    let usage = json!({"input_tokens": counted.fresh, "cache_read_input_tokens": counted.cached,
        "cache_creation_input_tokens": counted.written, "output_tokens": 1});
    let mut events = vec![
        event(
            "message_start",
            json!({"message": {"id": "msg_twin", "type": "message", "role": "assistant", "model": model,
            "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage}}),
        ),
        event("ping", json!({})),
        // Models that think do so first; by default without showing it.
        event("content_block_start", json!({"index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}})),
        event("content_block_delta", json!({"index": 0, "delta": {"type": "signature_delta", "signature": "c2lnbmVk"}})),
        event("content_block_stop", json!({"index": 0})),
    ];
    let stop = match what {
        What::Calls(calls) => {
            for (n, (name, arguments)) in calls.iter().enumerate() {
                call(&mut events, n + 1, name, &arguments.render(offered));
            }
            "tool_use"
        }
        What::Text(text) => {
            events.push(event("content_block_start", json!({"index": 1, "content_block": {"type": "text", "text": ""}})));
            for piece in pieces(text) {
                events.push(event("content_block_delta", json!({"index": 1, "delta": {"type": "text_delta", "text": piece}})));
            }
            events.push(event("content_block_stop", json!({"index": 1})));
            "end_turn"
        }
        What::Midway(code) => {
            events.push(event("error", json!({"error": {"type": code, "message": "scripted"}})));
            return events;
        }
        What::Length => {
            call(&mut events, 1, "reply", "{\"text\": \"a very long");
            "max_tokens"
        }
        What::Declined => "refusal",
        What::Never | What::Status { .. } => return events,
    };
    let written: usize = events.iter().map(String::len).sum::<usize>() / 40;
    events
        .push(event("message_delta", json!({"delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": written}})));
    events.push(event("message_stop", json!({})));
    events
}

fn call(events: &mut Vec<String>, index: usize, name: &str, arguments: &str) {
    let block = json!({"type": "tool_use", "id": format!("toolu_{index}"), "name": name, "input": {}});
    events.push(event("content_block_start", json!({"index": index, "content_block": block})));
    events.push(event("content_block_delta", json!({"index": index, "delta": {"type": "input_json_delta", "partial_json": ""}})));
    for piece in pieces(arguments) {
        events.push(event("content_block_delta", json!({"index": index, "delta": {"type": "input_json_delta", "partial_json": piece}})));
    }
    events.push(event("content_block_stop", json!({"index": index})));
}
