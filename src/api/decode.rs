//! From the tree to the serde structs, with every problem at once. A decoder of serde stops at its first error; so the part that
//! was wrong is taken out of the tree and the rest is tried again, until it fits or nothing more can be said.

use std::fmt;

use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::{
    problem::At,
    tree::{Entry, Node, Step, Value, join},
};

/// At most this many problems of one document are looked for: each costs one more pass over the document.
const MOST: usize = 100;

/// A problem of one document.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) at: At,
    pub(crate) path: Vec<Step>,
    pub(crate) message: String,
}

/// Reads a document and reports all that does not fit, after what was reported of it `before`. There is a value only if what is
/// left without those parts fits.
pub(crate) fn decode<T: DeserializeOwned>(node: &Node, before: Vec<Fault>) -> (Option<T>, Vec<Fault>) {
    let mut rest = node.clone();
    let mut faults = before;
    loop {
        let error = match T::deserialize(In(&rest)) {
            Ok(value) => return (Some(value), faults),
            Err(error) => error,
        };
        let mut path = error.path;
        path.reverse();
        let at = error.at.unwrap_or(rest.at);
        let (message, cut) = match error.what {
            What::Missing(name) => {
                path.push(Step::Key(name.to_owned()));
                // It was there, and what was wrong with it is reported already.
                if faults.iter().any(|f| f.path == path) {
                    return (None, faults);
                }
                ("is required".to_owned(), false)
            }
            What::UnknownField { name, expected } => {
                path.push(Step::Key(name.clone()));
                (format!("unknown field, {}", expected_one_of(&name, expected)), true)
            }
            What::UnknownValue { name, expected } => (format!("{name:?} is not known, {}", expected_one_of(&name, expected)), true),
            What::Other(message) => (message, true),
        };
        let pruned = cut && rest.prune(&path);
        faults.push(Fault { at, path, message });
        if !pruned || faults.len() >= MOST {
            return (None, faults);
        }
    }
}

/// "expected one of a, b; did you mean b?"
pub(crate) fn expected_one_of(name: &str, expected: &[&str]) -> String {
    let list = match expected {
        [] => "expected none here".to_owned(),
        [one] => format!("expected {one}"),
        many => format!("expected one of {}", many.join(", ")),
    };
    match expected.iter().map(|e| (distance(name, e), e)).min() {
        Some((d, near)) if expected.len() > 1 && d <= 1 + near.chars().count() / 4 => format!("{list}; did you mean {near}?"),
        _ => list,
    }
}

/// Edits between two words, without regard to case.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.to_lowercase().chars().take(64).collect(), b.to_lowercase().chars().collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for ((y, up), pair) in b.iter().zip(row.iter().skip(1)).zip(row.iter()) {
            let left = next.last().copied().unwrap_or_default();
            next.push((up + 1).min(left + 1).min(pair + usize::from(x != y)));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// An error with its place, filled in on the way out of the document.
#[derive(Debug)]
struct DecodeError {
    at: Option<At>,
    /// From the innermost step outwards.
    path: Vec<Step>,
    what: What,
}

#[derive(Debug)]
enum What {
    Missing(&'static str),
    UnknownField { name: String, expected: &'static [&'static str] },
    UnknownValue { name: String, expected: &'static [&'static str] },
    Other(String),
}

impl DecodeError {
    fn new(what: What) -> Self {
        Self { at: None, path: Vec::new(), what }
    }

    fn under(mut self, at: At, step: Step) -> Self {
        self.at.get_or_insert(at);
        self.path.push(step);
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path: Vec<Step> = self.path.iter().rev().cloned().collect();
        write!(f, "{}: {:?}", join(&path), self.what)
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(What::Other(message.to_string()))
    }

    fn invalid_type(seen: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let expected = match expected.to_string().as_str() {
            // A number or `true` where text is wanted: an id, mostly.
            "a string" => "text, in quotes".to_owned(),
            "a sequence" => "a list".to_owned(),
            // The words of serde for a mapping with fields.
            word if word.starts_with("struct ") => "a mapping".to_owned(),
            word => word.to_owned(),
        };
        Self::new(What::Other(format!("is {}, expected {expected}", seen_as(seen))))
    }

    fn invalid_value(seen: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(What::Other(format!("is {}, expected {expected}", seen_as(seen))))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(What::Missing(field))
    }

    fn unknown_field(name: &str, expected: &'static [&'static str]) -> Self {
        Self::new(What::UnknownField { name: name.to_owned(), expected })
    }

    fn unknown_variant(name: &str, expected: &'static [&'static str]) -> Self {
        Self::new(What::UnknownValue { name: name.to_owned(), expected })
    }
}

fn seen_as(seen: de::Unexpected<'_>) -> String {
    match seen {
        de::Unexpected::Bool(b) => format!("{b}"),
        de::Unexpected::Unsigned(n) => format!("the number {n}"),
        de::Unexpected::Signed(n) => format!("the number {n}"),
        de::Unexpected::Float(n) => format!("the number {n}"),
        de::Unexpected::Str(_) => "text".to_owned(),
        de::Unexpected::Unit | de::Unexpected::Option => "empty".to_owned(),
        de::Unexpected::Seq => "a list".to_owned(),
        de::Unexpected::Map => "a mapping".to_owned(),
        other => other.to_string(),
    }
}

#[derive(Clone, Copy)]
struct In<'a>(&'a Node);

impl<'de> Deserializer<'de> for In<'_> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let result = match &self.0.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(b) => visitor.visit_bool(*b),
            Value::Int(n) => visitor.visit_i64(*n),
            Value::Float(n) => visitor.visit_f64(*n),
            Value::Text(text) => visitor.visit_str(text),
            Value::List(items) => visitor.visit_seq(Items { items: items.iter() }),
            Value::Map(entries) => visitor.visit_map(Fields { entries: entries.iter(), value: None }),
        };
        result.map_err(|mut e| {
            e.at.get_or_insert(self.0.at);
            e
        })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.0.value {
            // As the API server does: a null is an absent field.
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let result = match &self.0.value {
            Value::Text(text) => visitor.visit_enum(Word(text)),
            _ => Err(de::Error::custom(format!("is no text, {}", expected_one_of("", words)))),
        };
        result.map_err(|mut e| {
            e.at.get_or_insert(self.0.at);
            e
        })
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct
        map struct identifier ignored_any
    }
}

struct Items<'a> {
    items: std::slice::Iter<'a, (usize, Node)>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, DecodeError> {
        let Some((index, node)) = self.items.next() else { return Ok(None) };
        seed.deserialize(In(node)).map(Some).map_err(|e| e.under(node.at, Step::Index(*index)))
    }
}

struct Fields<'a> {
    entries: std::slice::Iter<'a, Entry>,
    value: Option<&'a Entry>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        self.value = Some(entry);
        let key: de::value::StrDeserializer<'_, DecodeError> = entry.key.as_str().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|mut e| {
            e.at.get_or_insert(entry.key_at);
            e
        })
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        let Some(entry) = self.value.take() else { return Err(de::Error::custom("a value was read twice")) };
        seed.deserialize(In(&entry.node)).map_err(|e| e.under(entry.node.at, Step::Key(entry.key.clone())))
    }
}

/// A word of a closed list.
struct Word<'a>(&'a str);

impl<'de> EnumAccess<'de> for Word<'_> {
    type Error = DecodeError;
    type Variant = NoContent;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, NoContent), DecodeError> {
        let word: de::value::StrDeserializer<'_, DecodeError> = self.0.into_deserializer();
        seed.deserialize(word).map(|v| (v, NoContent))
    }
}

struct NoContent;

impl<'de> VariantAccess<'de> for NoContent {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, DecodeError> {
        Err(de::Error::custom("is a word, expected a mapping"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, DecodeError> {
        Err(de::Error::custom("is a word, expected a list"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, DecodeError> {
        Err(de::Error::custom("is a word, expected a mapping"))
    }
}
