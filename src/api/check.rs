//! Bounds and rules inside one document, beyond what its types say. Each list, text and number has a bound.

use std::collections::BTreeSet;

use super::{
    names::{is_resource_name, unfit},
    persona::{PersonaSpec, Provider},
    resolve::OWNER,
    room::{Audience, ConsoleSurface, FloorSpec, Metadata, RoomSpec},
    scalar::Wait,
};

/// A problem: path and message.
pub(crate) type Found = (String, String);

const NAME_FORM: &str = "a name of at most 40 lower-case letters, digits and dashes that begins with a letter and does not end with a dash";
/// The identity core goes into every prompt whole; beyond this it would crowd out the room.
const IDENTITY_BYTES: usize = 8 * 1024;

/// Name, namespace, labels.
pub(crate) fn metadata(meta: &Metadata) -> Vec<Found> {
    let mut found = Vec::new();
    for (path, name) in [("metadata.name", Some(&meta.name)), ("metadata.namespace", meta.namespace.as_ref())] {
        if let Some(name) = name.filter(|n| !is_resource_name(n)) {
            found.push((path.to_owned(), format!("{name:?} is not {NAME_FORM}")));
        }
    }
    // As the API server bounds them: 256 KiB in all.
    for (path, map) in [("metadata.labels", &meta.labels), ("metadata.annotations", &meta.annotations)] {
        if map.iter().map(|(k, v)| k.len() + v.len()).sum::<usize>() > 256 * 1024 {
            found.push((path.to_owned(), "holds more than 256 KiB".to_owned()));
        }
    }
    found
}

/// A room alone.
pub(crate) fn room(spec: &RoomSpec) -> Vec<Found> {
    let mut found = Vec::new();
    let mut add = |path: &str, message: String| found.push((path.to_owned(), message));
    match &spec.surface.console {
        None => add("spec.surface", "names no place, expected console: {}".to_owned()),
        Some(console) => one_person(console, spec.audience, &mut add),
    }
    if !(1..=12).contains(&spec.members.len()) {
        add("spec.members", format!("has {} entries, expected 1 to 12", spec.members.len()));
    }
    let mut seen = BTreeSet::new();
    for (i, member) in spec.members.iter().enumerate() {
        if !seen.insert(&member.persona) {
            add(&format!("spec.members[{i}].persona"), format!("{:?} is listed twice", member.persona));
        }
    }
    if let Some(mute) = &spec.mute {
        text(&mute.reason, 1, 500, "spec.mute.reason", &mut add);
    }
    if !(0..=1).contains(&spec.replicas) {
        add("spec.replicas", format!("is {}, expected 0 (stopped) or 1", spec.replicas));
    }
    let budget = &spec.budget;
    if let Some(n) = budget.unprompted_per_hour.filter(|n| !(0..=60).contains(n)) {
        add("spec.budget.unpromptedPerHour", format!("is {n}, expected 0 to 60"));
    }
    if let Some(n) = budget.tokens_per_day.filter(|n| !(0..=1_000_000_000_000).contains(n)) {
        add("spec.budget.tokensPerDay", format!("is {n}, expected 0 to 1000000000000"));
    }
    if let Some(n) = spec.context.max_tokens.filter(|n| !(1_000..=1_000_000).contains(n)) {
        add("spec.context.maxTokens", format!("is {n}, expected 1000 to 1000000"));
    }
    floor(&spec.floor, &mut add);
    found
}

/// A room of one person says who that is, by an id that nobody can choose for themselves.
fn one_person(console: &ConsoleSurface, audience: Audience, add: &mut impl FnMut(&str, String)) {
    match &console.dm {
        None if audience == Audience::Direct => {
            add("spec.surface.console", "does not say whose room it is, expected dm: { userId: owner } beside audience: Direct".to_owned());
        }
        Some(_) if audience != Audience::Direct => {
            add("spec.surface.console.dm", format!("makes it the room of one person, but spec.audience is {audience:?}, expected Direct"));
        }
        Some(dm) if dm.user_id != OWNER && !is_visitor(&dm.user_id) => {
            let expected = "expected owner, or the 32 hexadecimal digits that parlor tail --json shows as the author of a visitor's line";
            add("spec.surface.console.dm.userId", format!("{:?} is no id of the web page (a name is none), {expected}", dm.user_id));
        }
        _ => {}
    }
}

fn is_visitor(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn floor(floor: &FloorSpec, add: &mut impl FnMut(&str, String)) {
    if let Some(n) = floor.agent_turns.filter(|n| !(1..=64).contains(n)) {
        add("spec.floor.agentTurns", format!("is {n}, expected 1 to 64"));
    }
    for (path, emoji) in [("spec.floor.declineEmoji", &floor.decline_emoji), ("spec.floor.answeredEmoji", &floor.answered_emoji)] {
        if let Some(emoji) = emoji {
            text(emoji, 1, 64, path, add);
            if emoji.chars().any(|c| c.is_whitespace() || c.is_control()) {
                add(path, "holds a blank, expected one emoji".to_owned());
            }
        }
    }
    let t = floor.timings();
    // A wait of zero would make the machine ask again without end, or never let a draft finish.
    for (path, ms, least) in [
        ("spec.floor.draftTimeout", t.draft_timeout_ms, 1_000),
        ("spec.floor.draftMaxAge", t.draft_max_age_ms, 1_000),
        ("spec.floor.directMaxAge", t.direct_max_age_ms, 1_000),
        ("spec.floor.typingRefresh", t.typing_refresh_ms, 1_000),
        ("spec.floor.lull", t.lull_ms, 1_000),
    ] {
        if ms < least {
            add(path, format!("is {}, expected at least {}", Wait(ms), Wait(least)));
        }
    }
    if t.room_wait_min_ms > t.room_wait_max_ms {
        let (min, max) = (Wait(t.room_wait_min_ms), Wait(t.room_wait_max_ms));
        let path = if floor.room_wait_min.is_some() { "spec.floor.roomWaitMin" } else { "spec.floor.roomWaitMax" };
        add(path, format!("roomWaitMin is {min} and roomWaitMax is {max}, expected min to be at most max"));
    }
}

/// A persona alone.
pub(crate) fn persona(spec: &PersonaSpec) -> Vec<Found> {
    let mut found = Vec::new();
    let mut add = |path: &str, message: String| found.push((path.to_owned(), message));
    if let Some(why) = unfit(&spec.display_name) {
        add("spec.displayName", why);
    }
    if spec.identity.trim().is_empty() {
        add("spec.identity", "is empty; say in a few sentences who the persona is".to_owned());
    }
    if spec.identity.len() > IDENTITY_BYTES {
        add("spec.identity", format!("has {} bytes, expected at most {IDENTITY_BYTES}: it is never cut", spec.identity.len()));
    }
    if spec.aliases.len() > 8 {
        add("spec.aliases", format!("has {} entries, expected at most 8", spec.aliases.len()));
    }
    for (i, alias) in spec.aliases.iter().enumerate() {
        if let Some(why) = unfit(alias) {
            add(&format!("spec.aliases[{i}]"), why);
        }
    }
    for (path, lines) in [("spec.voice.examples", &spec.voice.examples), ("spec.voice.antiExamples", &spec.voice.anti_examples)] {
        if lines.len() > 16 {
            add(path, format!("has {} entries, expected at most 16", lines.len()));
        }
        for (i, line) in lines.iter().enumerate() {
            text(line, 1, 1_000, &format!("{path}[{i}]"), &mut add);
        }
    }
    if let Some(model) = &spec.models.draft {
        match model.provider {
            Provider::Stub => {}
            Provider::Anthropic | Provider::Openai if model.name.is_empty() => {
                add("spec.models.draft.name", "is required: the provider's name of the model".to_owned());
            }
            Provider::Anthropic | Provider::Openai => text(&model.name, 1, 200, "spec.models.draft.name", &mut add),
        }
        if model.params.len() > 16 {
            add("spec.models.draft.params", format!("has {} entries, expected at most 16", model.params.len()));
        }
        if serde_json::to_string(&model.params).map_or(usize::MAX, |t| t.len()) > 4096 {
            add("spec.models.draft.params", "is longer than 4096 bytes".to_owned());
        }
    }
    found
}

fn text(value: &str, least: usize, most: usize, path: &str, add: &mut impl FnMut(&str, String)) {
    let chars = value.chars().count();
    if !(least..=most).contains(&chars) {
        add(path, format!("has {chars} characters, expected {least} to {most}"));
    }
}
