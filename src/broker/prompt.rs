//! The prompt, before a dialect dresses it: the system text, then what grants let the room know, then the reads of the room, each as one short user line (the
//! doorbell) and the result of a tool call that holds the lines as data.
//!
//! It is append-only: a read that is not the last never changes, so that provider caches keep working. Everything a person
//! wrote stands inside a JSON string, and no character leaves it that could look like markup or a chat template's token.

use std::io;

use serde::Serialize;
use serde_json::{json, ser::Formatter};

use super::acts::RULES;
use crate::ports::{ModelCall, OwedLine, Read};

/// What a dialect needs.
pub(crate) struct Prompt {
    /// Instructions: the persona's own, then the rules of taking part.
    pub(crate) system: String,
    /// Oldest first.
    pub(crate) reads: Vec<Shown>,
}

/// One read of the room.
pub(crate) struct Shown {
    /// Names the tool call. Nine letters and digits, because some servers refuse anything else.
    pub(crate) call_id: String,
    /// The doorbell.
    pub(crate) bell: String,
    /// Read everything after this.
    pub(crate) after: u64,
    /// JSON lines.
    pub(crate) result: String,
}

/// The line of the last read that says what is expected.
#[derive(Serialize)]
struct Owed<'a> {
    owed: &'a [OwedLine],
}

/// Renders a call.
pub(crate) fn prompt(call: &ModelCall) -> Result<Prompt, serde_json::Error> {
    let mut reads = granted(call).into_iter().collect::<Result<Vec<_>, _>>()?;
    for (n, read) in call.reads.iter().enumerate() {
        reads.push(shown(call, n, read)?);
    }
    if call.reads.is_empty() {
        // A room without a line still owes something, such as a reminder that is due.
        reads.push(shown(call, 0, &Read { after: 0, items: Vec::new() })?);
    }
    if let Some(last) = reads.last_mut() {
        push_line(&mut last.result, &Owed { owed: &call.owed })?;
        if let Some(start) = &call.start {
            push_line(&mut last.result, &json!({"draft": start}))?;
        }
    }
    Ok(Prompt { system: format!("{}\n\n{RULES}", call.system), reads })
}

/// What grants let the room know: before everything of the room itself, and data like it.
fn granted(call: &ModelCall) -> Option<Result<Shown, serde_json::Error>> {
    let lines = || {
        let mut result = String::new();
        for line in &call.granted {
            push_line(&mut result, line)?;
        }
        let bell = format!("read what other rooms let room {} know", call.room);
        Ok(Shown { call_id: "granted00".to_owned(), bell, after: 0, result })
    };
    (!call.granted.is_empty()).then(lines)
}

fn shown(call: &ModelCall, n: usize, read: &Read) -> Result<Shown, serde_json::Error> {
    let mut result = String::new();
    for item in &read.items {
        push_line(&mut result, item)?;
    }
    if read.items.is_empty() {
        push_line(&mut result, &json!({"lines": 0}))?;
    }
    let bell = format!("read room {} after {}", call.room, read.after);
    Ok(Shown { call_id: format!("read{n:05}"), bell, after: read.after, result })
}

fn push_line(out: &mut String, value: &impl Serialize) -> Result<(), serde_json::Error> {
    let mut line = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut line, Guarded))?;
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(&String::from_utf8_lossy(&line));
    Ok(())
}

/// Plain JSON, except that inside strings the characters that open tags and template tokens (`<`, `>`), and the line ends that
/// JSON allows unescaped, are written as escapes. Servers that run open models turn a raw `<|im_start|>` into the token itself.
struct Guarded;

impl Formatter for Guarded {
    fn write_string_fragment<W: io::Write + ?Sized>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(risky) {
            let (clean, from) = rest.split_at(at);
            writer.write_all(clean.as_bytes())?;
            let mut chars = from.chars();
            if let Some(c) = chars.next() {
                write!(writer, "\\u{:04x}", u32::from(c))?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

fn risky(c: char) -> bool {
    matches!(c, '<' | '>' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests;
