//! Which names people may choose, and who holds which name in a room.
//!
//! A name is only shown, never believed. But people believe what they see, so a room shows no name twice, no persona's name,
//! and none that sounds like the room itself. Names are compared by a key in which case, spaces, invisible characters and
//! letters of other scripts that look the same make no difference.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
};

use parlor_core::{Member, Millis};

/// The longest name, in characters: it has to fit beside a line on a narrow screen.
pub(super) const NAME_MAX: usize = 40;

/// Names that would speak for the room, its owner or everybody in it.
const RESERVED: &[&str] = &[
    "room",
    "owner",
    "operator",
    "everyone",
    "everybody",
    "anyone",
    "all",
    "here",
    "channel",
    "system",
    "admin",
    "administrator",
    "moderator",
    "mod",
    "parlor",
    "console",
    "bot",
    "persona",
    "nobody",
    "you",
    "me",
];

/// A name that keeps its holder's place for this long after they were last seen, if they never spoke in the room.
const HOLD_MS: Millis = 10 * 60 * 1000;

/// The most names kept per room. More people than this in one room of one console is no use that we know of; the limit keeps
/// the table small when somebody tries names out.
const HOLDS_MAX: usize = 512;

/// Why a name cannot be had; the text is shown to who chose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NameError {
    #[error("Please choose a name: 1 to 40 characters, with at least one letter or digit.")]
    Empty,
    #[error("That name is too long: at most 40 characters.")]
    Long,
    #[error("That name has characters that cannot be seen, or @, < or >. Please leave them out.")]
    Characters,
    #[error("That name is kept for the room itself. Please choose another.")]
    Reserved,
    #[error("One of the personas has that name. Please choose another.")]
    Persona,
    #[error("Somebody in this room has that name already. Please choose another.")]
    Taken,
    #[error("Too many people hold a name in this room now. Please try again in some minutes.")]
    Full,
}

/// The name as it will be shown: outer spaces cut, inner runs of space made one.
pub(super) fn clean(typed: &str) -> Result<String, NameError> {
    // Split first: what counts as space is allowed at this point, and nothing else that cannot be seen is.
    let name = typed.split(is_space).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.chars().count() > NAME_MAX {
        return Err(NameError::Long);
    }
    if name.chars().any(|c| is_hidden(c) || matches!(c, '@' | '<' | '>')) {
        return Err(NameError::Characters);
    }
    if !name.chars().any(char::is_alphanumeric) {
        return Err(NameError::Empty);
    }
    Ok(name)
}

/// The name, if it may be chosen in a room with these members.
pub(super) fn allowed(typed: &str, members: &[Member]) -> Result<String, NameError> {
    let name = clean(typed)?;
    let key = key(&name);
    if RESERVED.iter().any(|kept| self::key(kept) == key) {
        return Err(NameError::Reserved);
    }
    let of_member = |m: &Member| self::key(&m.id) == key || self::key(&m.name) == key || m.aliases.iter().any(|a| self::key(a) == key);
    if members.iter().any(of_member) {
        return Err(NameError::Persona);
    }
    Ok(name)
}

/// What two names have in common when people would take one for the other.
pub(super) fn key(name: &str) -> String {
    let mut key: String =
        name.chars().filter(|&c| !is_space(c) && !is_hidden(c) && !is_mark(c)).flat_map(char::to_lowercase).map(plain).collect();
    // Trailing full stops and the like are not seen as part of a name.
    key.truncate(key.trim_end_matches(['.', '!', '?', ':', ',', ';', '\'', '-', '_']).len());
    key
}

fn is_space(c: char) -> bool {
    // The last four are drawn as nothing or as a gap, though Unicode does not call them space.
    c.is_whitespace() || matches!(c, '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{115f}')
}

/// Characters that cannot be seen, or that change how their neighbours are drawn.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
        || matches!(c, '\u{fff0}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..)
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// The Latin letter that a lower-case letter looks like, for the scripts in which a name can be spelled to the eye.
fn plain(c: char) -> char {
    match c {
        'а' | 'α' => 'a',
        'в' | 'β' => 'b',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ε' => 'e',
        'һ' | 'н' => 'h',
        'і' | 'ı' | 'ι' | 'l' | '1' | '|' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'м' | 'μ' => 'm',
        'ո' => 'n',
        'о' | 'ο' | 'օ' | '0' => 'o',
        'р' | 'ρ' => 'p',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ѡ' | 'ω' | 'ԝ' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        // The full-width forms stand in the same order as ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).map_or(c, plain),
        _ => c,
    }
}

/// Who holds which name, room by room, since this console started. Names that were spoken under before are in the ledger, and
/// the caller brings them.
#[derive(Default)]
pub(super) struct Names {
    rooms: Mutex<HashMap<String, BTreeMap<String, Hold>>>,
}

struct Hold {
    id: String,
    name: String,
    seen: Millis,
    /// Whether the ledger knows the name too, so that it is kept for good.
    spoken: bool,
}

impl Names {
    /// Gives the name to `id` in the room, or says that somebody else has it. `spoken` are the authors and names that the
    /// ledger knows.
    pub(super) fn claim(&self, room: &str, name: &str, id: &str, spoken: &[(String, String)], now: Millis) -> Result<(), NameError> {
        let key = key(name);
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = rooms.entry(room.to_owned()).or_default();
        holds.retain(|_, hold| hold.spoken || now - hold.seen <= HOLD_MS);
        let mine = spoken.iter().any(|(author, said)| author == id && self::key(said) == key);
        if spoken.iter().any(|(author, said)| author != id && self::key(said) == key) && !mine {
            return Err(NameError::Taken);
        }
        if holds.get(&key).is_some_and(|hold| hold.id != id) {
            return Err(NameError::Taken);
        }
        if holds.len() >= HOLDS_MAX && !holds.contains_key(&key) {
            return Err(NameError::Full);
        }
        holds.insert(key, Hold { id: id.to_owned(), name: name.to_owned(), seen: now, spoken: mine });
        Ok(())
    }

    /// Whether `id` holds the name already; notes that they were seen.
    pub(super) fn holds(&self, room: &str, name: &str, id: &str, now: Millis) -> bool {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        match rooms.get_mut(room).and_then(|holds| holds.get_mut(&key(name))) {
            Some(hold) if hold.id == id => {
                hold.seen = now;
                true
            }
            Some(_) | None => false,
        }
    }

    /// The name that somebody entered the room with.
    pub(super) fn name_of(&self, room: &str, id: &str) -> Option<String> {
        let rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.get(room)?.values().find(|hold| hold.id == id).map(|hold| hold.name.clone())
    }
}

#[cfg(test)]
mod tests;
