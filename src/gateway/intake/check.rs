//! What the intake takes: sizes, and who may not be posed as.

use super::ConsoleRoom;
use crate::ports::{Heard, IntakeError};

/// As a message of a chat platform; `ports` promises the same to the console.
const TEXT_CHARS: usize = 4_000;
/// The longest emoji sequences have some 10 characters, the names of custom ones 32.
const EMOJI_CHARS: usize = 64;
/// Visitor ids are short random strings.
const ID_CHARS: usize = 64;
/// What a visitor calls themselves.
const NAME_CHARS: usize = 80;

pub(super) fn who(heard: &Heard, room: &ConsoleRoom) -> Result<(), IntakeError> {
    author(&heard.author, room)?;
    if heard.client_id.is_empty() || heard.client_id.chars().count() > ID_CHARS {
        return refuse(format!("the client id must have 1 to {ID_CHARS} characters"));
    }
    if heard.name.trim().is_empty() || heard.name.chars().count() > NAME_CHARS {
        return refuse(format!("the name must have 1 to {NAME_CHARS} characters"));
    }
    Ok(())
}

/// An author's id is stored beside the personas' resource names, so it may not be one.
pub(super) fn author(id: &str, room: &ConsoleRoom) -> Result<(), IntakeError> {
    if id.is_empty() || id.chars().count() > ID_CHARS {
        return refuse(format!("the visitor's id must have 1 to {ID_CHARS} characters"));
    }
    if room.personas.contains_key(id) {
        return refuse("the visitor's id is the name of a persona".into());
    }
    Ok(())
}

pub(super) fn text(text: &str) -> Result<&str, IntakeError> {
    let text = text.trim_end();
    if text.trim_start().is_empty() {
        return refuse("there is nothing to say in the message".into());
    }
    let chars = text.chars().count();
    if chars > TEXT_CHARS {
        return refuse(format!("the message has {chars} characters, at most {TEXT_CHARS} are taken; say it in parts"));
    }
    Ok(text)
}

pub(super) fn emoji(emoji: &str) -> Result<(), IntakeError> {
    if emoji.trim().is_empty() || emoji.chars().count() > EMOJI_CHARS {
        return refuse(format!("a reaction has 1 to {EMOJI_CHARS} characters"));
    }
    Ok(())
}

fn refuse<T>(why: String) -> Result<T, IntakeError> {
    Err(IntakeError::Refused(why))
}
