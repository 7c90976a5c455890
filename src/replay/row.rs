//! One line of an archive, borrowed from the buffer it was read into wherever the text has no escapes.
//!
//! Reasons given here never quote a row: what people wrote does not belong into a terminal or a log.

use std::{borrow::Cow, fmt};

use parlor_core::Place;
use serde::{
    Deserialize, Deserializer,
    de::{Error, SeqAccess, Visitor},
};

use super::{import::Resolution, quick};

/// Latest time that a row may carry, ms: the end of the year 9999. Beyond it sums of times and waits could not be trusted.
pub(super) const MAX_TS_MS: i64 = 253_402_300_799_999;

/// A line of an archive.
pub(super) enum Line<'a> {
    /// Names the persona of a room.
    Header(Header<'a>),
    /// Somebody's line.
    Row(Row<'a>),
}

/// Names the persona of a room.
pub(super) struct Header<'a> {
    pub room: Cow<'a, str>,
    pub persona_id: Cow<'a, str>,
    pub persona_name: Option<Cow<'a, str>>,
    pub ts_res: Option<Resolution>,
}

/// Somebody's line.
pub(super) struct Row<'a> {
    pub room: Cow<'a, str>,
    pub id: Cow<'a, str>,
    pub ts: i64,
    pub author_id: Cow<'a, str>,
    pub author_name: Cow<'a, str>,
    pub content: Cow<'a, str>,
    /// Truth: `None` is not annotated, an empty list opens a topic.
    pub reply_to: Option<Vec<Id<'a>>>,
    /// `None` where names inside the text are still to be found.
    pub mentions: Option<Vec<Named<'a>>>,
    pub bot: bool,
    pub deleted: bool,
    pub reply_to_me: bool,
}

/// Somebody named by a row.
#[derive(Deserialize)]
pub(super) struct Named<'a> {
    #[serde(borrow)]
    pub author_id: Id<'a>,
    pub pos: Place,
}

/// Everything that a line may hold, before it is known what it is.
#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow)]
    room: Option<Id<'a>>,
    #[serde(borrow)]
    id: Option<Id<'a>>,
    ts: Option<i64>,
    #[serde(borrow)]
    author_id: Option<Id<'a>>,
    #[serde(borrow)]
    author_name: Option<Text<'a>>,
    #[serde(borrow)]
    content: Option<Text<'a>>,
    #[serde(borrow)]
    reply_to: Option<Ids<'a>>,
    #[serde(borrow)]
    mentions: Option<Vec<Named<'a>>>,
    bot: Option<bool>,
    deleted: Option<bool>,
    reply_to_me: Option<bool>,
    #[serde(borrow)]
    persona_id: Option<Id<'a>>,
    #[serde(borrow)]
    persona_name: Option<Text<'a>>,
    #[serde(borrow)]
    ts_res: Option<Text<'a>>,
}

/// Reads one line; the error is a reason in words.
#[inline]
pub(super) fn read(line: &str) -> Result<Line<'_>, String> {
    quick::read(line).map_or_else(|| read_any(line), |row| Ok(Line::Row(row)))
}

/// Reads one line of whatever shape.
pub(super) fn read_any(line: &str) -> Result<Line<'_>, String> {
    let raw: Raw<'_> = serde_json::from_str(line).map_err(|e| reason(&e))?;
    let room = raw.room.ok_or("missing field `room`")?.0;
    if let (Some(persona), None) = (raw.persona_id, &raw.id) {
        let ts_res = raw.ts_res.and_then(|word| Resolution::of(&word.0));
        return Ok(Line::Header(Header { room, persona_id: persona.0, persona_name: raw.persona_name.map(|n| n.0), ts_res }));
    }
    let ts = raw.ts.ok_or("missing field `ts`")?;
    if !(0..=MAX_TS_MS).contains(&ts) {
        return Err("`ts` is outside the years 1970 to 9999; it counts milliseconds".into());
    }
    Ok(Line::Row(Row {
        room,
        id: raw.id.ok_or("missing field `id`")?.0,
        ts,
        author_id: raw.author_id.ok_or("missing field `author_id`")?.0,
        author_name: raw.author_name.ok_or("missing field `author_name`")?.0,
        content: raw.content.ok_or("missing field `content`")?.0,
        reply_to: raw.reply_to.map(|r| r.0),
        mentions: raw.mentions,
        bot: raw.bot.unwrap_or(false),
        deleted: raw.deleted.unwrap_or(false),
        reply_to_me: raw.reply_to_me.unwrap_or(false),
    }))
}

/// The parser's words without the value that it tripped over.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(", expected ") {
        Some((_, wanted)) if text.starts_with("invalid ") => format!("wrong value, expected {wanted}"),
        _ if text.starts_with("unknown variant") => format!("unknown `pos`, expected typed, open or in at column {}", error.column()),
        _ => text,
    }
}

/// An id: text, or a whole number as some exporters write it.
pub(super) struct Id<'a>(pub Cow<'a, str>);

/// A text.
struct Text<'a>(Cow<'a, str>);

/// One id or several.
struct Ids<'a>(Vec<Id<'a>>);

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }
    fn visit_borrowed_str<E: Error>(self, v: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(v))
    }
    fn visit_str<E: Error>(self, v: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_owned()))
    }
}

struct IdVisitor;

impl<'de> Visitor<'de> for IdVisitor {
    type Value = Cow<'de, str>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id (text or a whole number)")
    }
    fn visit_borrowed_str<E: Error>(self, v: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(v))
    }
    fn visit_str<E: Error>(self, v: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_owned()))
    }
    fn visit_u64<E: Error>(self, v: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_string()))
    }
    fn visit_i64<E: Error>(self, v: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_string()))
    }
}

struct IdsVisitor;

impl<'de> Visitor<'de> for IdsVisitor {
    type Value = Vec<Id<'de>>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id, a list of ids or null")
    }
    fn visit_borrowed_str<E: Error>(self, v: &'de str) -> Result<Self::Value, E> {
        Ok(vec![Id(Cow::Borrowed(v))])
    }
    fn visit_str<E: Error>(self, v: &str) -> Result<Self::Value, E> {
        Ok(vec![Id(Cow::Owned(v.to_owned()))])
    }
    fn visit_u64<E: Error>(self, v: u64) -> Result<Self::Value, E> {
        Ok(vec![Id(Cow::Owned(v.to_string()))])
    }
    fn visit_i64<E: Error>(self, v: i64) -> Result<Self::Value, E> {
        Ok(vec![Id(Cow::Owned(v.to_string()))])
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut ids = Vec::new();
        while let Some(id) = seq.next_element()? {
            ids.push(id);
        }
        Ok(ids)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Id<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(IdVisitor).map(Self)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_str(TextVisitor).map(Self)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Ids<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(IdsVisitor).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(line: &str) -> String {
        read(line).err().unwrap_or_else(|| "none".into())
    }

    #[test]
    fn a_row_borrows_what_has_no_escapes() {
        let line = r#"{"room":"r","id":7,"ts":5,"author_id":"a","author_name":"A","content":"x\"y","reply_to":"6","mentions":null}"#;
        let Ok(Line::Row(row)) = read(line) else { panic!("no row") };
        assert!(matches!(row.author_id, Cow::Borrowed("a")));
        assert_eq!((row.id.as_ref(), row.content.as_ref()), ("7", "x\"y"));
        assert_eq!(row.reply_to.map(|r| r.into_iter().map(|i| i.0.into_owned()).collect::<Vec<_>>()), Some(vec!["6".to_owned()]));
        assert!(row.mentions.is_none());
    }

    #[test]
    fn reasons_say_what_is_wrong_and_never_quote_the_row() {
        let cases = [
            (r#"{"room":"r"}"#, "missing field `ts`"),
            (r#"{"id":"1"}"#, "missing field `room`"),
            (r#"{"room":"r","ts":"secret words"}"#, "wrong value, expected i64 at line 1"),
            (r#"{"room":"r","content":{"a":"secret"}}"#, "wrong value, expected text at line 1"),
            (r#"{"room":"r","ts":-4}"#, "`ts` is outside the years 1970 to 9999; it counts milliseconds"),
            (r#"{"room":"r","mentions":[{"author_id":"a","pos":"secret"}]}"#, "unknown `pos`, expected typed, open or in at column"),
            ("[1]", "wrong value, expected"),
            ("{", "EOF while parsing an object at line 1 column 1"),
        ];
        for (line, want) in cases {
            let got = fault(line);
            assert!(got.starts_with(want), "{line}: {got}");
            assert!(!got.contains("secret"), "{got}");
        }
    }
}
