//! Whether a line asks something, for the truth of the scorer only. It must not change when the machine's own ear for questions
//! does: figures of two versions are compared with this one.
//!
//! The rules are four patterns over the text without the name it opens with and without links:
//! a question mark; an asking word at the start, after greetings; and, for a request, one of a list of asking phrases anywhere.

/// What may stand before the asking word. `um` may go on as `ummm`.
const BEFORE: &[&str] = &["hi", "hey", "hello", "ok", "so", "and", "also", "well", "guys", "all", "everyone", "please"];

/// Words that make a line a question when they come first.
const ASKING: &[&str] = &[
    "who", "what", "whats", "what's", "when", "where", "wheres", "why", "how", "hows", "which", "is", "are", "am", "was", "does", "do",
    "did", "can", "could", "should", "would", "will", "has", "have", "any", "anyone", "anybody", "someone", "somebody",
];

/// Phrases that make a line a request wherever they stand.
const PHRASES: &[&str] = &[
    "anyone",
    "anybody",
    "someone",
    "somebody",
    "does any",
    "is there",
    "can i",
    "how do",
    "how can",
    "how to",
    "how would",
    "how should",
    "what's",
    "what is",
    "what are",
    "what does",
    "where is",
    "where can",
    "where do",
    "why is",
    "why does",
    "why do",
    "why are",
    "which",
    "help me",
    "need help",
    "im trying",
    "im having",
    "im getting",
    "im looking",
    "i'm trying",
    "i'm having",
    "i'm getting",
    "i'm looking",
    "problem with",
    "trying to",
    "doesnt work",
    "doesn't work",
    "not working",
];

/// What a line asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asks {
    /// It is a question.
    pub question: bool,
    /// It is a question or another request for help.
    pub request: bool,
}

/// Reads one line.
pub(super) fn asks(text: &str) -> Asks {
    let body = without_urls(without_address(text));
    let body = body.trim();
    let question = body.contains('?') || opens_with_asking(body);
    Asks { question, request: question || holds_phrase(body) }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The rest after `word`, whatever its case.
fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| text.get(word.len()..)).flatten()
}

fn ends_word(rest: &str) -> bool {
    !rest.chars().next().is_some_and(is_word)
}

/// Leaves out `name:`, `@name,` or `<name>` at the start.
fn without_address(text: &str) -> &str {
    let is_nick = |c: char| is_word(c) || "-[]\\`^{}|".contains(c);
    let mut rest = text.trim_start();
    for mark in ['@', '<', '@'] {
        rest = rest.strip_prefix(mark).unwrap_or(rest);
    }
    let named = rest.trim_start_matches(is_nick);
    if named.len() == rest.len() {
        return text;
    }
    let separator = |s: &str| s.trim_start().starts_with([':', ',', ';', '>']);
    let closed = named.strip_prefix('>').filter(|s| separator(s));
    let Some(end) = closed.or_else(|| separator(named).then_some(named)) else {
        return text;
    };
    let end = end.trim_start();
    end.get(1..).unwrap_or_default().trim_start()
}

fn without_urls(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("http") {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        let body = from.strip_prefix("https://").or_else(|| from.strip_prefix("http://"));
        match body.map(|b| b.trim_start_matches(|c: char| !c.is_whitespace())) {
            Some(tail) if body.is_some_and(|b| b.len() > tail.len()) => rest = tail,
            _ => {
                let (head, tail) = from.split_at("http".len());
                kept.push_str(head);
                rest = tail;
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// Every place that the words of [`BEFORE`] can lead to is tried: none of them begins another, so the way is unique and short.
fn opens_with_asking(text: &str) -> bool {
    let mut rest = text;
    loop {
        if ASKING.iter().any(|w| after(rest, w).is_some_and(ends_word)) {
            return true;
        }
        let next = BEFORE.iter().find_map(|w| after(rest, w)).or_else(|| after_um(rest)).or_else(|| {
            let c = rest.chars().next()?;
            (c.is_whitespace() || ",.!:".contains(c)).then(|| rest.get(c.len_utf8()..)).flatten()
        });
        match next {
            Some(n) => rest = n,
            None => return false,
        }
    }
}

fn after_um(text: &str) -> Option<&str> {
    Some(after(text, "um")?.trim_start_matches(['m', 'M']))
}

fn holds_phrase(text: &str) -> bool {
    let mut inside = false;
    text.char_indices().any(|(at, c)| {
        let starts = is_word(c) && !inside;
        inside = is_word(c);
        starts && text.get(at..).is_some_and(|rest| PHRASES.iter().any(|p| after(rest, p).is_some_and(ends_word)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_what_they_ask() {
        let cases = [
            ("is it on?", true, true),
            ("wren: is it on", true, true),
            ("<wren> which one", true, true),
            ("@wren> ; how", true, true),
            ("hello, so umm guys where do they go", true, true),
            ("sohow does it", true, true),
            ("howl at the moon", false, false),
            ("see http://a.example/?q=1", false, false),
            ("see http:// ?", true, true),
            ("I'm trying to glaze it", false, true),
            ("it does not work, not working at all", false, true),
            ("somebody's kiln", true, true),
            ("the kiln of somebody", false, true),
            ("whatsoever", false, false),
            ("", false, false),
            ("\u{5e9}\u{5dc}\u{5d5}\u{5dd}?", true, true),
            ("\u{1f525}\u{1f525}", false, false),
            ("name only:", false, false),
            ("wren wren: can you", false, false),
        ];
        for (text, question, request) in cases {
            assert_eq!(asks(text), Asks { question, request }, "{text:?}");
        }
    }
}
