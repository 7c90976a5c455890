//! Text that must never be posted: silence written as a word, traces of tool calls, error texts. A draft that holds one is no
//! act, however well the rest of it reads.

/// Words that agents are taught to answer with instead of silence. No person types them.
const SILENCE_WORDS: &[&str] =
    &["NO_REPLY", "NO_RESPONSE", "NO_ANSWER", "NO_OUTPUT", "HEARTBEAT_OK", "SILENT_REPLY", "ANNOUNCE_SKIP", "REPLY_SKIP"];
/// The same in brackets, in lower case.
const SILENCE_IN_BRACKETS: &[&str] =
    &["silent", "silence", "no reply", "no_reply", "no response", "no-reply", "stays silent", "says nothing"];
/// The same as the whole of a text or of its last line, in lower case.
const SILENCE_ALONE: &[&str] = &["pass", "silent", "silence", "no reply", "no response", "null"];
/// Traces of a tool call, of a model's thinking or of a chat template, in lower case.
const TRACES: &[&str] = &[
    "<tool_call",
    "</tool_call",
    "<tool_use",
    "<tool_result",
    "<tool_response",
    "<function_call",
    "<function=",
    "<invoke",
    "</invoke",
    "<parameter",
    "[tool_calls]",
    "[tool_call",
    "[tool_results]",
    "<|",
    "|>",
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking>",
    "function_calls>",
    ":invoke name=",
    "[inst]",
    "[/inst]",
    "\"tool_calls\"",
    "\"tool_use\"",
    "\"tool_use_id\"",
    "\"tool_call_id\"",
    "\"settles\"",
    "functions.reply",
    "traceback (most recent call last)",
];
/// How error texts of providers and clients begin, in lower case; looked for at the start of a line.
const ERRORS: &[&str] = &[
    "error:",
    "api error",
    "http error",
    "error code:",
    "internal server error",
    "overloaded_error",
    "rate_limit_error",
    "invalid_request_error",
    "{\"error\"",
    "{\"type\":\"error\"",
    "{\"type\": \"error\"",
    "connection error",
    "request timed out",
    "upstream connect error",
    "too many requests",
    "service unavailable",
    "rate limit exceeded",
    "rate limit reached",
];

/// What kind of text it is that must not be posted, if it is one.
pub(crate) fn leak(text: &str) -> Option<&'static str> {
    if is_silence(text) {
        return Some("a silence token in the text");
    }
    let lower = text.to_lowercase();
    if TRACES.iter().any(|trace| lower.contains(trace)) {
        return Some("a trace of a tool call in the text");
    }
    let is_error = |line: &str| ERRORS.iter().any(|start| line.trim_start().starts_with(start));
    lower.lines().any(is_error).then_some("an error text")
}

fn is_silence(text: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if text.split(|c| !is_word(c)).any(|word| SILENCE_WORDS.iter().any(|token| word.eq_ignore_ascii_case(token))) {
        return true;
    }
    let lower = text.to_lowercase();
    for (open, close) in [('[', ']'), ('<', '>'), ('(', ')'), ('*', '*'), ('{', '}')] {
        let mut rest = lower.as_str();
        while let Some((_, after)) = rest.split_once(open) {
            let Some((inside, _)) = after.split_once(close) else { break };
            if SILENCE_IN_BRACKETS.contains(&inside.trim().trim_end_matches('/')) {
                return true;
            }
            rest = after;
        }
    }
    let alone = |line: &str| SILENCE_ALONE.contains(&line.trim().trim_matches(|c: char| c.is_ascii_punctuation() || c.is_whitespace()));
    alone(&lower)
        || lower.lines().rfind(|l| !l.trim().is_empty()).is_some_and(|last| last.trim() != lower.trim() && alone(last) && shouted(text))
}

/// Whether the last line is in capitals: "PASS" under a text is a token, "pass" under a list may be an answer.
fn shouted(text: &str) -> bool {
    text.lines().rfind(|l| !l.trim().is_empty()).is_some_and(|l| l.chars().any(char::is_alphabetic) && !l.chars().any(char::is_lowercase))
}
