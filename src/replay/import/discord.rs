//! A channel exported by DiscordChatExporter as JSON: one object with the guild, the channel and the list of messages.
//!
//! <https://github.com/Tyrrrz/DiscordChatExporter> writes `guild` and `channel` before `messages`, times with their offset, and
//! mentions in the text as `@` and the name, unless it was told to leave the markup as it is (`<@id>`); both are read.

use std::{collections::BTreeMap, path::Path};

use jiff::Timestamp;
use serde::Deserialize;

use super::{
    At, Take, Told,
    elements::{self, Parts, parse},
};
use crate::replay::{ReplayError, row::Id};

/// The channel of each room name: two channels of one name are two rooms, and parts of one channel are one.
pub(super) type Channels = BTreeMap<String, String>;

#[derive(Default, Deserialize)]
struct Place {
    id: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    id: Id<'a>,
    #[serde(borrow, rename = "type")]
    kind: Id<'a>,
    timestamp: String,
    #[serde(default)]
    content: Option<String>,
    author: User,
    #[serde(default)]
    mentions: Vec<User>,
    #[serde(default)]
    reference: Option<Reference>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct User {
    id: String,
    name: String,
    #[serde(default)]
    nickname: Option<String>,
    #[serde(default)]
    is_bot: bool,
}

impl User {
    /// As it stands in the texts of the export.
    fn shown(&self) -> &str {
        self.nickname.as_deref().filter(|n| !n.is_empty()).unwrap_or(&self.name)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    message_id: Option<String>,
}

/// Whether a file begins like an export.
pub(super) fn looks_so(text: &str) -> bool {
    text.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with("\"guild\""))
}

pub(super) fn read(path: &Path, channels: &mut Channels, progress: &dyn Fn(u64), take: &mut Take<'_>) -> Result<(), ReplayError> {
    let mut export = Export { guild: Place::default(), channel: Place::default(), room: None, channels };
    elements::read(path, Some("messages"), progress, &mut export, take)
}

struct Export<'c> {
    guild: Place,
    channel: Place,
    /// The room's name, once the first message is there.
    room: Option<String>,
    channels: &'c mut Channels,
}

impl Export<'_> {
    fn name_room(&mut self) -> String {
        let named = |place: &Place| place.name.clone().or_else(|| place.id.clone()).unwrap_or_default();
        let id = self.channel.id.clone().unwrap_or_default();
        let name = format!("{} #{}", named(&self.guild), named(&self.channel));
        match self.channels.get(&name) {
            Some(other) if *other != id => format!("{name} ({id})"),
            Some(_) => name,
            None => {
                self.channels.insert(name.clone(), id);
                name
            }
        }
    }
}

impl Parts for Export<'_> {
    fn member(&mut self, name: &str, json: &str) {
        match name {
            "guild" => self.guild = parse(json).unwrap_or_default(),
            "channel" => self.channel = parse(json).unwrap_or_default(),
            _ => {}
        }
    }

    fn element(&mut self, json: &str, at: At<'_>, take: &mut Take<'_>) -> Result<Result<(), String>, ReplayError> {
        if self.room.is_none() {
            self.room = Some(self.name_room());
        }
        let message: Message<'_> = match parse(json) {
            Ok(message) => message,
            Err(reason) => return Ok(Err(reason)),
        };
        let reply = match message.kind.0.as_ref() {
            "Default" | "0" | "ChatInputCommand" | "20" | "ContextMenuCommand" | "23" => false,
            "Reply" | "19" => true,
            // Joins, pins, calls, threads: nobody said them.
            _ => return Ok(Ok(())),
        };
        let Ok(time) = message.timestamp.parse::<Timestamp>() else {
            return Ok(Err("`timestamp` is no time with an offset, such as 2026-01-31T20:15:00+00:00".into()));
        };
        let ts = time.as_millisecond();
        if ts < 0 {
            return Ok(Err("`timestamp` is before 1970".into()));
        }
        let text = shown(message.content.as_deref().unwrap_or_default(), &message.mentions);
        let room = self.room.as_deref().unwrap_or_default();
        let author = &message.author;
        let mut row = super::row(room, &message.id.0, ts, &author.id, author.shown(), &text);
        row.bot = author.is_bot;
        // A forwarded message has a reference too, and answers nobody.
        let target = message.reference.and_then(|r| r.message_id).filter(|_| reply);
        row.reply_to = target.map(|id| vec![Id(id.into())]);
        take(Told::Row(row, &[&author.name], at)).map(Ok)
    }
}

/// The text with names in place of what mentions them.
fn shown(text: &str, mentions: &[User]) -> String {
    let mut text = text.to_owned();
    for user in mentions.iter().filter(|_| text.contains("<@")).collect::<Vec<_>>() {
        for mark in [format!("<@{}>", user.id), format!("<@!{}>", user.id)] {
            text = text.replace(&mark, &format!("@{}", user.shown()));
        }
    }
    text
}
