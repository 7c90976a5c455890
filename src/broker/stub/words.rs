//! Plain word rules of the stub: what a line is, and how it is quoted. English, and no cleverer than it has to be.

/// Words quoted of one line.
const QUOTED_WORDS: usize = 8;
/// A longer word (an address, a hash) is cut.
const WORD_CHARS: usize = 30;

/// A few words of a line in quotes, without the persona's name (and a greeting) in front. A number in it is always among them, because numbers
/// are what corrections are about.
pub(super) fn quote(text: &str, name: &str) -> String {
    let all: Vec<&str> = text.split_whitespace().collect();
    let words = match all.as_slice() {
        [hello, named, rest @ ..] if !rest.is_empty() && greets(hello, name) && same_name(named, name) => rest,
        [named, rest @ ..] if !rest.is_empty() && same_name(named, name) => rest,
        whole => whole,
    };
    let number = words.iter().rposition(|w| w.chars().any(|c| c.is_ascii_digit()));
    let start = match number {
        Some(at) if at >= QUOTED_WORDS => at + 1 - QUOTED_WORDS.min(at + 1),
        _ => 0,
    };
    let shown: Vec<String> = words.iter().skip(start).take(QUOTED_WORDS).map(|w| plain(w)).filter(|w| !w.is_empty()).collect();
    let (before, after) = (if start > 0 { "\u{2026} " } else { "" }, if words.len() > start + QUOTED_WORDS { " \u{2026}" } else { "" });
    let shown = shown.join(" ");
    if shown.is_empty() {
        return "that".to_owned();
    }
    let shown = shown.trim_end_matches(['.', '?', '!', ',', ';', ':']);
    format!("\u{201c}{before}{shown}{after}\u{201d}")
}

/// The first words of an own post, to refer back to it.
pub(super) fn first_words(own: &str) -> String {
    let words: Vec<String> = own.split_whitespace().take(12).map(plain).filter(|w| !w.is_empty()).collect();
    format!("\u{201c}{} \u{2026}\u{201d}", words.join(" ").replace(['\u{201c}', '\u{201d}'], "'"))
}

/// A word that can stand in a quote: no mention that would ring somebody, nothing that looks like markup or a token.
fn plain(word: &str) -> String {
    if word.contains(['<', '>', '[', ']', '{', '}', '|', '_', '`']) {
        return String::new();
    }
    word.trim_start_matches('@').replace('"', "'").chars().take(WORD_CHARS).collect()
}

fn same_name(word: &str, name: &str) -> bool {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase() == name.to_lowercase()
}

/// The line's words in lower case, without punctuation and without the persona's name.
fn words(text: &str, name: &str) -> Vec<String> {
    let cut = |w: &str| w.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    text.split_whitespace().filter(|w| !same_name(w, name)).map(cut).filter(|w| !w.is_empty()).collect()
}

/// Only the persona's name.
pub(super) fn bare_name(text: &str, name: &str) -> bool {
    words(text, name).is_empty() && text.split_whitespace().any(|w| same_name(w, name))
}

/// Thanks and nothing else.
pub(super) fn thanks(text: &str, name: &str) -> bool {
    const THANKS: &[&str] = &["thanks", "thank", "thx", "ty", "cheers"];
    const BESIDE: &[&str] = &["you", "a", "lot", "so", "much", "many", "very", "ok", "okay", "great", "cool", "perfect", "nice", "again"];
    only(text, name, THANKS, BESIDE)
}

/// A greeting and nothing else.
pub(super) fn greets(text: &str, name: &str) -> bool {
    const HELLO: &[&str] = &["hi", "hello", "hey", "hiya", "yo", "morning", "evening", "afternoon"];
    only(text, name, HELLO, &["good", "there", "all", "everyone", "everybody", "folks", "again"])
}

/// Only words of the two lists, and at least one of the first.
fn only(text: &str, name: &str, needed: &[&str], beside: &[&str]) -> bool {
    let words = words(text, name);
    let known = |w: &String| needed.contains(&w.as_str()) || beside.contains(&w.as_str());
    words.iter().all(known) && words.iter().any(|w| needed.contains(&w.as_str()))
}

/// Asks after what the persona said before.
pub(super) fn asks_back(text: &str) -> bool {
    const FORMS: &[&str] = &[
        " did you just say ",
        " did you say ",
        " you just said ",
        " you said ",
        " say that again ",
        " repeat that ",
        " what was that ",
        " and then ",
        " go on ",
        " do you mean ",
        " you meant ",
        " tell me more ",
        " why that ",
        " why is that ",
        " how so ",
    ];
    let spoken = format!(" {} ", words(text, "").join(" "));
    FORMS.iter().any(|form| spoken.contains(form))
}

/// Has the tone of news.
pub(super) fn exclaims(text: &str) -> bool {
    text.trim_end().ends_with('!')
}
