//! The offline model: deterministic, without keys, for `make try` and for tests. It answers nothing cleverly and says so; it
//! is there to show the floor at work, so its replies name the askers and quote what they are about.
//!
//! The same call gives the same act. It reads nothing but the call.

mod room;
mod words;

use std::time::Duration;

use parlor_core::DraftAct;

use crate::ports::{ModelAct, ModelCall, OwedLine};
use room::Room;
use words::{asks_back, bare_name, exclaims, first_words, greets, quote, thanks};

/// Long enough that typing shows, and that a correction during the draft can overtake it.
const DELAY_MS: u64 = 700;
/// No test and no demonstration needs a slower stub; a longer value is a slip.
const MAX_DELAY_MS: u64 = 60_000;
/// A post that has grown beyond this answers no further askers; the rest stays owed.
const ENOUGH_CHARS: usize = 1_200;
/// How much of another room's line is told.
const TOLD_CHARS: usize = 200;

/// What is said about a question; one after the other, so that two posts in a row never read alike.
const ON_QUESTIONS: &[&str] = &[
    "on {q}: I would try the plain way first.",
    "as for {q}, start small and tell us how it went.",
    "{q} has no short answer, but the simplest cause is the likeliest.",
    "my guess about {q}: look at what changed last.",
    "I would put {q} to the test before trusting anyone's word, mine included.",
    "with {q} it depends on what you want to end up with.",
    "{q} sounds right to me, with a little care.",
    "half of {q} is patience; the other half I would look up.",
    "if it were up to me, {q} could wait until tomorrow.",
    "{q}? Write it down, try it once, then ask again.",
    "there are two ways about {q}; take the one you can undo.",
];
/// What is said about a statement.
const ON_STATEMENTS: &[&str] =
    &["noted: {q}.", "got it, {q}.", "so it is {q}. I will keep that in mind.", "{q}, understood.", "thanks for saying: {q}."];

/// What is said to a greeting.
const ON_GREETINGS: &[&str] =
    &["Hi {a}! What are you working on?", "Hello {a}, good to see you here.", "Hey {a}, how is it going today?", "Good to have you, {a}."];
/// What is said to nothing but the name.
const ON_THE_NAME: &[&str] = &["Yes, {a}?", "I am here, {a}.", "Listening, {a}.", "What is it, {a}?"];

/// How long the stub takes, from `delayMs` of the model's params.
pub(crate) fn delay(call: &ModelCall) -> Duration {
    let wanted = call.model.params.get("delayMs").and_then(serde_json::Value::as_u64).unwrap_or(DELAY_MS);
    Duration::from_millis(wanted.min(MAX_DELAY_MS))
}

/// The act for a call.
pub(crate) fn act(call: &ModelCall) -> ModelAct {
    let room = Room::new(&call.reads, &call.persona);
    let of = |kept: &dyn Fn(&OwedLine) -> bool| call.owed.iter().filter(|o| kept(o)).collect::<Vec<_>>();
    let is_thanks = |o: &OwedLine| room.last_of(o).is_some_and(|text| thanks(text, &call.persona_name));
    let is_remark = |o: &OwedLine| o.kind == "opening";
    let wants_text = |o: &OwedLine| o.answered_by.is_none() && !is_remark(o) && !is_thanks(o) && (room.knows(o) || call.start.is_some());

    let asked = of(&wants_text);
    if !asked.is_empty() {
        return reply(call, &room, &asked);
    }
    let answered = of(&|o| o.answered_by.is_some());
    if !answered.is_empty() {
        return done(DraftAct::React { emoji: "\u{1f44d}".into() }, &answered);
    }
    let thanked = of(&|o| is_thanks(o) && o.kind == "direct");
    if !thanked.is_empty() {
        return done(DraftAct::React { emoji: "\u{1f49b}".into() }, &thanked);
    }
    let openings = of(&is_remark);
    let news = openings.iter().find_map(|o| room.last_of(o).filter(|text| exclaims(text)).map(|text| (*o, text)));
    if let Some((opening, text)) = news {
        let said = format!("{}, that sounds like news: {}", opening.asker, quote(text, &call.persona_name));
        return done(DraftAct::Reply { text: with_note(call, &room, said) }, &[opening]);
    }
    let reason = if openings.is_empty() { "there is nothing to answer" } else { "nothing to remark on" };
    done(DraftAct::Pass { reason: reason.into() }, &of(&|_| true))
}

fn done(act: DraftAct, settled: &[&OwedLine]) -> ModelAct {
    ModelAct { act, settles: settled.iter().map(|o| o.id).collect() }
}

/// One post that names every asker, as many as fit.
fn reply(call: &ModelCall, room: &Room<'_>, asked: &[&OwedLine]) -> ModelAct {
    let mut said: Vec<String> = Vec::new();
    let mut settled: Vec<&OwedLine> = Vec::new();
    let mut length = 0;
    for owed in asked {
        if settled.iter().any(|s| s.id == owed.id) {
            continue;
        }
        if length > ENOUGH_CHARS {
            break;
        }
        // All that one person asks is answered in one breath.
        let theirs: Vec<&OwedLine> = asked.iter().copied().filter(|o| o.asker == owed.asker).collect();
        let part = to_asker(call, room, &theirs, said.len());
        length += part.chars().count();
        said.push(part);
        settled.extend(theirs);
    }
    said.extend(told(call, room));
    done(DraftAct::Reply { text: with_note(call, room, said.join(" ")) }, &settled)
}

/// What another room let this one know, so that a grant can be seen at work.
fn told(call: &ModelCall, room: &Room<'_>) -> Option<String> {
    let granted = call.granted.last().map(|line| (line.name.as_str(), line.text.as_str()));
    let (name, text) = granted.or(room.released())?;
    let text: String = text.chars().take(TOLD_CHARS).collect();
    Some(format!("And {name} lets me tell you: \u{201c}{text}\u{201d}."))
}

fn to_asker(call: &ModelCall, room: &Room<'_>, theirs: &[&OwedLine], place: usize) -> String {
    let asker = theirs.first().map_or("you", |o| o.asker.as_str());
    let lines: Vec<&str> = theirs.iter().flat_map(|o| room.texts_of(o)).collect();
    let turn = room.own_posts().len() + place;
    let Some(last) = lines.last() else {
        return call.start.clone().unwrap_or_else(|| format!("{asker}, I am here."));
    };
    if let (true, Some(own)) = (asks_back(last), room.own_posts().last()) {
        return format!("{asker}, what I said was: {}. That still stands.", first_words(own));
    }
    if lines.iter().all(|l| greets(l, &call.persona_name)) {
        return nth(ON_GREETINGS, turn).replacen("{a}", asker, 1);
    }
    if lines.iter().all(|l| bare_name(l, &call.persona_name)) {
        return nth(ON_THE_NAME, turn).replacen("{a}", asker, 1);
    }
    let quoted = quote_all(&lines, &call.persona_name);
    let asks = lines.iter().any(|l| l.contains('?')) || theirs.iter().any(|o| o.kind == "room_question");
    let said = if asks { ON_QUESTIONS } else { ON_STATEMENTS };
    format!("{asker}, {}", nth(said, turn).replacen("{q}", &quoted, 1))
}

fn nth(said: &'static [&'static str], turn: usize) -> &'static str {
    said.get(turn % said.len().max(1)).copied().unwrap_or_default()
}

/// Few words of each line, so that an edit and a second half show; of many lines the first two and the last two.
fn quote_all(lines: &[&str], name: &str) -> String {
    let kept: Vec<&str> = match lines {
        [first, second, .., third, last] => vec![*first, *second, *third, *last],
        few => few.to_vec(),
    };
    let quoted: Vec<String> = kept.iter().filter(|l| !bare_name(l, name) && !greets(l, name)).map(|l| quote(l, name)).collect();
    if quoted.is_empty() { "that".to_owned() } else { quoted.join(" and ") }
}

/// The first reply of a room says what is speaking.
fn with_note(call: &ModelCall, room: &Room<'_>, said: String) -> String {
    if !room.own_posts().is_empty() {
        return said;
    }
    format!("{said} ({} runs on the offline stub model here: it shows when I speak, not what a real model would say.)", call.persona_name)
}
