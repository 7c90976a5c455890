//! What the double answers, call by call.

use std::time::Duration;

use serde_json::{Value, json};

/// One scripted answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(super) what: What,
    pub(super) first_after: Duration,
    pub(super) cut: bool,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// Tool calls by name, with arguments as they are to arrive.
    Calls(Vec<(String, Arguments)>),
    /// Text without a tool call.
    Text(String),
    /// An HTTP error.
    Status { status: u16, code: &'static str, message: String, retry_after: Option<String> },
    /// An error event in the middle of the stream.
    Midway(&'static str),
    /// The model declines.
    Declined,
    /// The greatest length is reached within a tool call.
    Length,
    /// A beginning, then nothing for ever.
    Never,
}

#[derive(Clone, Debug)]
pub(super) enum Arguments {
    /// These fields, and `settles` with every id that the request offers.
    SettlingAll(Value),
    /// Exactly this text.
    Raw(String),
}

impl Answer {
    fn new(what: What) -> Self {
        Self { what, first_after: Duration::ZERO, cut: false }
    }

    fn act(name: &str, fields: Value) -> Self {
        Self::new(What::Calls(vec![(name.to_owned(), Arguments::SettlingAll(fields))]))
    }

    /// A reply that settles everything offered.
    pub fn reply(text: &str) -> Self {
        Self::act("reply", json!({"text": text}))
    }

    /// A reaction that settles everything offered.
    pub fn react(emoji: &str) -> Self {
        Self::act("react", json!({"emoji": emoji}))
    }

    /// A pass that settles everything offered.
    pub fn pass(reason: &str) -> Self {
        Self::act("pass", json!({"reason": reason}))
    }

    /// A call of any tool with any arguments, well-formed or not.
    pub fn call(name: &str, arguments: &str) -> Self {
        Self::new(What::Calls(vec![(name.to_owned(), Arguments::Raw(arguments.to_owned()))]))
    }

    /// Two acts in one answer.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self.what, other.what) {
            (What::Calls(mut calls), What::Calls(more)) => {
                calls.extend(more);
                Self { what: What::Calls(calls), ..self }
            }
            (what, _) => Self { what, ..self },
        }
    }

    /// Plain text and no tool call.
    pub fn text(text: &str) -> Self {
        Self::new(What::Text(text.to_owned()))
    }

    /// An HTTP error with a code of the provider's, such as `overloaded_error`.
    pub fn status(status: u16, code: &'static str) -> Self {
        Self::new(What::Status { status, code, message: "scripted".to_owned(), retry_after: None })
    }

    /// What the error says to people.
    #[must_use]
    pub fn saying(mut self, words: &str) -> Self {
        if let What::Status { message, .. } = &mut self.what {
            words.clone_into(message);
        }
        self
    }

    /// A Retry-After header, seconds or a date.
    #[must_use]
    pub fn retry_after(mut self, value: &str) -> Self {
        if let What::Status { retry_after, .. } = &mut self.what {
            *retry_after = Some(value.to_owned());
        }
        self
    }

    /// An error event after the answer has begun.
    pub fn midway(code: &'static str) -> Self {
        Self::new(What::Midway(code))
    }

    /// The model declines to answer.
    pub fn declined() -> Self {
        Self::new(What::Declined)
    }

    /// The answer ends at its greatest length, inside a tool call.
    pub fn length() -> Self {
        Self::new(What::Length)
    }

    /// An answer that begins and never goes on.
    pub fn never() -> Self {
        Self::new(What::Never)
    }

    /// Only after this time.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.first_after = wait;
        self
    }

    /// The connection breaks in the middle.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.cut = true;
        self
    }
}

impl Arguments {
    /// The text that arrives, given the ids that the request offers.
    pub(super) fn render(&self, offered: &[String]) -> String {
        match self {
            Self::Raw(text) => text.clone(),
            Self::SettlingAll(fields) => {
                let mut fields = fields.clone();
                if let Some(fields) = fields.as_object_mut() {
                    fields.insert("settles".into(), json!(offered));
                }
                fields.to_string()
            }
        }
    }
}

/// The ids that the last tool result of a request offers: its line that holds `owed`.
pub(super) fn offered(result: &str) -> Vec<String> {
    let owed = |line: &str| serde_json::from_str::<Value>(line).ok().and_then(|v| v.get("owed").cloned());
    let owed = result.lines().rev().find_map(owed).unwrap_or_default();
    let ids = owed.as_array().into_iter().flatten().filter_map(|o| o.get("id")?.as_str());
    ids.map(str::to_owned).collect()
}
