//! The unpacked folder of a Slack export: `users.json`, and one folder a channel with a file a day.
//!
//! A reply in a thread answers the line that the thread hangs on, so far as the export says. Slack writes people, channels and
//! links into texts as `<...>`; they are put back as what people read.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{
    At, Take, Told,
    elements::{self, Parts, parse},
};
use crate::replay::{ReplayError, row::Id};

/// Largest `users.json`: some kilobytes a person, so that this is for a hundred thousand people.
const USERS_BYTES: u64 = 256 << 20;

#[derive(Deserialize)]
struct User {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    real_name: Option<String>,
    #[serde(default)]
    is_bot: bool,
    #[serde(default)]
    profile: Profile,
}

#[derive(Default, Deserialize)]
struct Profile {
    #[serde(default)]
    display_name: Option<String>,
    #[serde(default)]
    real_name: Option<String>,
}

/// What somebody is called.
struct Person {
    shown: String,
    others: Vec<String>,
    bot: bool,
}

type People = BTreeMap<String, Person>;

#[derive(Deserialize)]
struct Message {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    subtype: Option<String>,
    ts: String,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    bot_id: Option<String>,
    #[serde(default)]
    username: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thread_ts: Option<String>,
}

pub(super) fn read(folder: &Path, progress: &dyn Fn(u64), take: &mut Take<'_>) -> Result<(), ReplayError> {
    let people = people(&folder.join("users.json"), take)?;
    let fault = |path: &Path| {
        let path = path.to_owned();
        move |source| ReplayError::Read { path, source }
    };
    let mut done = 0;
    for channel in sorted(folder).map_err(fault(folder))?.into_iter().filter(|p| p.is_dir()) {
        let room = channel.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let mut day = Day { room, people: &people };
        for file in sorted(&channel).map_err(fault(&channel))?.into_iter().filter(|p| is_day(p)) {
            elements::read(&file, None, &|bytes| progress(done + bytes), &mut day, take)?;
            done += file.metadata().map_or(0, |m| m.len());
        }
    }
    Ok(())
}

/// Bytes of the files that are read.
pub(super) fn size(folder: &Path) -> u64 {
    let channels = sorted(folder).unwrap_or_default().into_iter().filter(|p| p.is_dir());
    channels.flat_map(|c| sorted(&c).unwrap_or_default()).filter(|p| is_day(p)).filter_map(|p| p.metadata().ok()).map(|m| m.len()).sum()
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<io::Result<_>>()?;
    found.sort();
    Ok(found)
}

/// Whether a file is `YYYY-MM-DD.json`.
fn is_day(path: &Path) -> bool {
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    path.extension().is_some_and(|e| e == "json") && stem.parse::<jiff::civil::Date>().is_ok()
}

/// Everybody of the workspace. Without the file people are called by their ids.
fn people(path: &Path, take: &mut Take<'_>) -> Result<People, ReplayError> {
    let fault = |source| ReplayError::Read { path: path.to_owned(), source };
    let mut text = Vec::new();
    match fs::File::open(path) {
        Ok(file) => file.take(USERS_BYTES).read_to_end(&mut text).map_err(fault)?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(People::new()),
        Err(source) => return Err(fault(source)),
    };
    let mut people = People::new();
    let users: Vec<Box<serde_json::value::RawValue>> = match serde_json::from_slice(&text) {
        Ok(users) => users,
        Err(e) => {
            let reason = crate::replay::row::reason(&e).into();
            take(Told::Bad((path, 1), reason))?;
            return Ok(people);
        }
    };
    for (n, user) in users.iter().enumerate() {
        match parse::<User>(user.get()) {
            Ok(user) => {
                people.insert(user.id.clone(), Person::of(user));
            }
            Err(reason) => take(Told::Bad((path, n as u64 + 1), reason.into()))?,
        }
    }
    Ok(people)
}

impl Person {
    fn of(user: User) -> Self {
        let names = [user.profile.display_name, user.profile.real_name, user.real_name, Some(user.name)];
        let mut names = names.into_iter().flatten().filter(|n| !n.is_empty());
        Self { shown: names.next().unwrap_or(user.id), others: names.collect(), bot: user.is_bot }
    }
}

struct Day<'p> {
    room: String,
    people: &'p People,
}

impl Parts for Day<'_> {
    fn member(&mut self, _: &str, _: &str) {}

    fn element(&mut self, json: &str, at: At<'_>, take: &mut Take<'_>) -> Result<Result<(), String>, ReplayError> {
        let message: Message = match parse(json) {
            Ok(message) => message,
            Err(reason) => return Ok(Err(reason)),
        };
        let said = matches!(
            message.subtype.as_deref(),
            None | Some("bot_message" | "me_message" | "thread_broadcast" | "file_share" | "file_comment")
        );
        // Joins, topics, pins: nobody said them.
        if message.kind != "message" || !said {
            return Ok(Ok(()));
        }
        let Some(ts) = millis(&message.ts) else {
            return Ok(Err("`ts` is no time, such as 1700000000.000100".into()));
        };
        let Some(author) = message.user.as_deref().or(message.bot_id.as_deref()).or(message.username.as_deref()) else {
            return Ok(Err("missing field `user`".into()));
        };
        let person = self.people.get(author);
        let name = person.map(|p| p.shown.as_str()).or(message.username.as_deref()).unwrap_or(author);
        let others: Vec<&str> = person.iter().flat_map(|p| &p.others).map(String::as_str).collect();
        let text = shown(message.text.as_deref().unwrap_or_default(), self.people);
        let mut row = super::row(&self.room, &message.ts, ts, author, name, &text);
        let by_program = message.subtype.as_deref() == Some("bot_message") || message.bot_id.is_some() || author == "USLACKBOT";
        row.bot = by_program || person.is_some_and(|p| p.bot);
        row.reply_to = message.thread_ts.filter(|thread| *thread != message.ts).map(|thread| vec![Id(thread.into())]);
        take(Told::Row(row, &others, at)).map(Ok)
    }
}

/// `1234.567800` as milliseconds.
fn millis(ts: &str) -> Option<i64> {
    let (seconds, fraction) = ts.split_once('.').unwrap_or((ts, ""));
    let seconds: i64 = seconds.parse().ok().filter(|s| (0..=253_402_300_799).contains(s))?;
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    Some(seconds * 1_000 + digits.parse::<i64>().ok().filter(|ms| *ms >= 0)?)
}

/// The text as people read it.
fn shown(text: &str, people: &People) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let Some((inside, behind)) = after.split_once('>') else { break };
        out.push_str(before);
        out.push_str(&mark(inside, people));
        rest = behind;
    }
    out.push_str(rest);
    if out.contains('&') { out.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") } else { out }
}

/// What stands between angle brackets.
fn mark(inside: &str, people: &People) -> String {
    let (target, label) = inside.split_once('|').map_or((inside, None), |(target, label)| (target, Some(label)));
    let mut kind = target.chars();
    match (kind.next(), kind.as_str()) {
        (Some('@'), id) => format!("@{}", people.get(id).map(|p| p.shown.as_str()).or(label).unwrap_or(id)),
        (Some('#'), id) => format!("#{}", label.unwrap_or(id)),
        (Some('!'), word) => match label {
            Some(label) => label.to_owned(),
            None => format!("@{}", word.split('^').next().unwrap_or(word)),
        },
        _ => label.unwrap_or(target).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_what_people_read() {
        let person = Person { shown: "Ada L".into(), others: Vec::new(), bot: false };
        let people = People::from([("U1".to_owned(), person)]);
        for (text, want) in [
            ("<@U1> how hot?", "@Ada L how hot?"),
            ("<@U2|bob> and <@U3>", "@bob and @U3"),
            ("in <#C1|kiln> or <#C2>", "in #kiln or #C2"),
            ("<https://a.example/x?y=1&amp;z|the chart> <https://b.example>", "the chart https://b.example"),
            ("<!here> <!subteam^S1|@potters> <!date^1^{date}|May 1>", "@here @potters May 1"),
            ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
            ("&amp;lt; stays", "&lt; stays"),
            ("open < end", "open < end"),
            ("", ""),
        ] {
            assert_eq!(shown(text, &people), want, "{text}");
        }
    }

    #[test]
    fn times_are_seconds_with_a_fraction() {
        assert_eq!(millis("1700000000.123456"), Some(1_700_000_000_123));
        assert_eq!(millis("17.5"), Some(17_500));
        assert_eq!(millis("17"), Some(17_000));
        for bad in ["", "-4.0", "x", "17.-5", "99999999999999.0"] {
            assert_eq!(millis(bad), None, "{bad}");
        }
    }
}
