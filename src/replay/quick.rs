//! Rows as most exporters write them, read without a general parser: known fields, each once, and texts without escapes. A replay
//! spends a fifth of its time on rows otherwise.
//!
//! It never judges: where it meets anything else, it reads nothing and the general parser of [`super::row`] decides.

use std::borrow::Cow;

use parlor_core::Place;

use super::row::{Id, MAX_TS_MS, Named, Row};

/// Times of more digits are left to the general parser.
const MAX_DIGITS: usize = 15;

/// Reads a row of the plain shape.
pub(super) fn read(line: &str) -> Option<Row<'_>> {
    let mut fields = Fields::default();
    let mut at = Cursor { line, at: 0 };
    at.token(b'{')?;
    loop {
        let key = at.text()?;
        at.token(b':')?;
        at.field(key, &mut fields)?;
        match at.next()? {
            b',' => {}
            b'}' => break,
            _ => return None,
        }
    }
    if !line.get(at.at..)?.trim_ascii().is_empty() {
        return None;
    }
    let ts = fields.ts.filter(|ts| (0..=MAX_TS_MS).contains(ts))?;
    let text = Cow::Borrowed;
    Some(Row {
        room: text(fields.room?),
        id: text(fields.id?),
        ts,
        author_id: text(fields.author_id?),
        author_name: text(fields.author_name?),
        content: text(fields.content?),
        reply_to: fields.reply_to.and_then(Listed::known),
        mentions: fields.mentions.and_then(Listed::known),
        bot: fields.bot.unwrap_or(false),
        deleted: fields.deleted.unwrap_or(false),
        reply_to_me: fields.reply_to_me.unwrap_or(false),
    })
}

#[derive(Default)]
struct Fields<'a> {
    room: Option<&'a str>,
    id: Option<&'a str>,
    ts: Option<i64>,
    author_id: Option<&'a str>,
    author_name: Option<&'a str>,
    content: Option<&'a str>,
    reply_to: Option<Listed<Id<'a>>>,
    mentions: Option<Listed<Named<'a>>>,
    bot: Option<bool>,
    deleted: Option<bool>,
    reply_to_me: Option<bool>,
}

/// A list that may be null.
enum Listed<T> {
    Null,
    Of(Vec<T>),
}

impl<T> Listed<T> {
    fn known(self) -> Option<Vec<T>> {
        match self {
            Self::Null => None,
            Self::Of(items) => Some(items),
        }
    }
}

/// A place in a line.
struct Cursor<'a> {
    line: &'a str,
    at: usize,
}

/// Sets what was not set before.
fn set<T>(field: &mut Option<T>, value: T) -> Option<()> {
    field.replace(value).is_none().then_some(())
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a [u8] {
        self.line.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ') = self.rest().first() {
            self.at += 1;
        }
        self.rest().first().copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn token(&mut self, wanted: u8) -> Option<()> {
        (self.next()? == wanted).then_some(())
    }

    fn word(&mut self, wanted: &str) -> Option<()> {
        self.rest().starts_with(wanted.as_bytes()).then(|| self.at += wanted.len())
    }

    fn field(&mut self, key: &str, fields: &mut Fields<'a>) -> Option<()> {
        match key {
            "room" => set(&mut fields.room, self.text()?),
            "id" => set(&mut fields.id, self.text()?),
            "ts" => set(&mut fields.ts, self.number()?),
            "author_id" => set(&mut fields.author_id, self.text()?),
            "author_name" => set(&mut fields.author_name, self.text()?),
            "content" => set(&mut fields.content, self.text()?),
            "reply_to" => set(&mut fields.reply_to, self.list(|at| Some(Id(Cow::Borrowed(at.text()?))))?),
            "mentions" => set(&mut fields.mentions, self.list(Self::named)?),
            "bot" => set(&mut fields.bot, self.flag()?),
            "deleted" => set(&mut fields.deleted, self.flag()?),
            "reply_to_me" => set(&mut fields.reply_to_me, self.flag()?),
            _ => None,
        }
    }

    /// A text between quotes, without escapes.
    fn text(&mut self) -> Option<&'a str> {
        self.token(b'"')?;
        let length = plain_length(self.rest());
        let text = self.line.get(self.at..self.at + length)?;
        self.at += length;
        (self.rest().first() == Some(&b'"')).then(|| self.at += 1)?;
        Some(text)
    }

    fn number(&mut self) -> Option<i64> {
        self.peek()?;
        let digits = self.rest().iter().take_while(|b| b.is_ascii_digit()).count();
        let text = self.line.get(self.at..self.at + digits).filter(|t| digits <= MAX_DIGITS && (digits == 1 || !t.starts_with('0')))?;
        self.at += digits;
        // What goes on as a fraction or an exponent does not end here, and is left alone.
        matches!(self.peek()?, b',' | b'}').then(|| text.parse().ok())?
    }

    fn flag(&mut self) -> Option<bool> {
        match self.peek()? {
            b't' => self.word("true").map(|()| true),
            b'f' => self.word("false").map(|()| false),
            _ => None,
        }
    }

    /// A list, or null.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Listed<T>> {
        if self.peek()? == b'n' {
            return self.word("null").map(|()| Listed::Null);
        }
        self.token(b'[')?;
        let mut items = Vec::new();
        if self.peek()? == b']' {
            self.at += 1;
            return Some(Listed::Of(items));
        }
        loop {
            items.push(item(self)?);
            match self.next()? {
                b',' => {}
                b']' => return Some(Listed::Of(items)),
                _ => return None,
            }
        }
    }

    fn named(&mut self) -> Option<Named<'a>> {
        let (mut author_id, mut pos) = (None, None);
        self.token(b'{')?;
        loop {
            let key = self.text()?;
            self.token(b':')?;
            match (key, self.text()?) {
                ("author_id", id) => set(&mut author_id, Id(Cow::Borrowed(id)))?,
                ("pos", "typed") => set(&mut pos, Place::Typed)?,
                ("pos", "open") => set(&mut pos, Place::Open)?,
                ("pos", "in") => set(&mut pos, Place::In)?,
                _ => return None,
            }
            match self.next()? {
                b',' => {}
                b'}' => return Some(Named { author_id: author_id?, pos: pos? }),
                _ => return None,
            }
        }
    }
}

/// How many bytes come before the first quote, backslash or control character.
fn plain_length(bytes: &[u8]) -> usize {
    const fn each(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    let (eights, rest) = bytes.as_chunks::<8>();
    for (n, eight) in eights.iter().enumerate() {
        let eight = u64::from_le_bytes(*eight);
        // A byte below a limit borrows from its high bit. It may borrow on from the next bytes, but none before the first is marked.
        let below = |of: u64, limit: u8| of.wrapping_sub(each(limit)) & !of;
        let marked = (below(eight, b' ') | below(eight ^ each(b'"'), 1) | below(eight ^ each(b'\\'), 1)) & each(0x80);
        if marked != 0 {
            return n * 8 + marked.trailing_zeros() as usize / 8;
        }
    }
    let plain = |b: &&u8| !matches!(b, b'"' | b'\\' | 0..=0x1f);
    bytes.len() - rest.len() + rest.iter().take_while(plain).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::row::{self, Line};

    const ROW: &str = r#"{"room":"r","id":"7","ts":5,"author_id":"a","author_name":"A","content":"x y","reply_to":["6","5"],"mentions":[{"author_id":"b","pos":"open"},{"pos":"in","author_id":"c"}],"bot":true,"deleted":false,"reply_to_me":true}"#;

    fn told(row: &Row<'_>) -> String {
        let mentions = row.mentions.as_ref().map(|all| all.iter().map(|m| (m.author_id.0.as_ref(), m.pos)).collect::<Vec<_>>());
        let replies = row.reply_to.as_ref().map(|all| all.iter().map(|id| id.0.as_ref()).collect::<Vec<_>>());
        let Row { room, id, ts, author_id, author_name, content, bot, deleted, reply_to_me, .. } = row;
        format!("{room} {id} {ts} {author_id} {author_name} {content} {replies:?} {mentions:?} {bot} {deleted} {reply_to_me}")
    }

    fn general(line: &str) -> Option<String> {
        match row::read_any(line) {
            Ok(Line::Row(row)) => Some(told(&row)),
            Ok(Line::Header(_)) | Err(_) => None,
        }
    }

    #[test]
    fn plain_rows_are_read_as_the_general_parser_reads_them() {
        let spaced = ROW.replace(':', ": ").replace(',', ", ");
        let least = r#"{"id":"7","room":"r","content":"\u00e9 is not plain, é is","author_name":"","author_id":"a","ts":0}"#
            .replace("\\u00e9", "e");
        let null =
            r#"{"room":"r","id":"7","ts":253402300799999,"author_id":"a","author_name":"A","content":"","reply_to":null,"mentions":[]} "#;
        for line in [ROW, &spaced, &least, null] {
            assert_eq!(read(line).as_ref().map(told), general(line), "{line}");
            assert!(read(line).is_some(), "{line}");
        }
    }

    /// Whatever is cut out, doubled or changed: it is read alike, or not at all.
    #[test]
    fn what_is_not_plain_is_left_to_the_general_parser() {
        for at in 0..ROW.len() {
            for with in ["", "\\", "\"", "0", "-", ".", "e", "{", "}", "[", "]", ",", ":", "null", "\u{1}", "\t", "\u{e9}", "x"] {
                for line in [format!("{}{with}{}", &ROW[..at], &ROW[at + 1..]), format!("{}{with}{}", &ROW[..at], &ROW[at..])] {
                    if let Some(row) = read(&line) {
                        assert_eq!(Some(told(&row)), general(&line), "{line}");
                    }
                }
            }
        }
        for line in [
            r#"{"room":"r","id":7,"ts":5,"author_id":"a","author_name":"A","content":"x"}"#,
            r#"{"room":"r","id":"7","ts":-5,"author_id":"a","author_name":"A","content":"x"}"#,
            r#"{"room":"r","id":"7","ts":5,"ts":6,"author_id":"a","author_name":"A","content":"x"}"#,
            r#"{"room":"r","persona_id":"7"}"#,
            r#"{"room":"r","id":"7","ts":5,"author_id":"a","author_name":"A","content":"x","more":1}"#,
            "",
            "{",
            "{}",
        ] {
            assert!(read(line).is_none(), "{line}");
        }
    }

    #[test]
    fn the_end_of_a_plain_text_is_found_at_every_place() {
        for length in 0..20 {
            for stop in [b'"', b'\\', 0, 0x1f] {
                for after in [b' ', b'"', 0x80, 0xff] {
                    let mut bytes = vec![0xc3; length];
                    bytes.push(stop);
                    bytes.extend([after; 9]);
                    assert_eq!(plain_length(&bytes), length);
                }
            }
            assert_eq!(plain_length(&vec![b'#'; length]), length);
        }
    }
}
