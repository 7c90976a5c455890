//! YAML as a tree in which every value knows its line and column, so that a problem found later can name its place.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, SnippetMode, Spanned};

use super::problem::At;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) at: At,
    pub(crate) value: Value,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// The items with the place each has in the file, which pruning does not change.
    List(Vec<(usize, Node)>),
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_at: At,
    pub(crate) node: Node,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// A path as people write it: `spec.members[1].persona`.
pub(crate) fn join(steps: &[Step]) -> String {
    let mut out = String::new();
    for step in steps {
        match step {
            Step::Key(key) if out.is_empty() => out.push_str(key),
            Step::Key(key) => {
                out.push('.');
                out.push_str(key);
            }
            Step::Index(i) => {
                out.push('[');
                out.push_str(&i.to_string());
                out.push(']');
            }
        }
    }
    out
}

/// The inverse of [`join`] for the paths that this module's own code writes.
pub(crate) fn split(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in path.split('.').filter(|p| !p.is_empty()) {
        let (key, rest) = part.split_once('[').unwrap_or((part, ""));
        steps.push(Step::Key(key.to_owned()));
        for index in rest.split(['[', ']']).filter_map(|i| i.parse().ok()) {
            steps.push(Step::Index(index));
        }
    }
    steps
}

impl Node {
    /// The value at `path`, if it is there.
    pub(crate) fn get(&self, path: &[Step]) -> Option<&Node> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        match (first, &self.value) {
            (Step::Key(key), Value::Map(entries)) => entries.iter().find(|e| e.key == *key)?.node.get(rest),
            (Step::Index(i), Value::List(items)) => items.iter().find(|(at, _)| at == i)?.1.get(rest),
            _ => None,
        }
    }

    /// The text at `path`, if there is text.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        match &self.get(&split(path))?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Where `path` stands, or the deepest part of it that is in the file.
    pub(crate) fn locate(&self, path: &[Step]) -> At {
        let Some((first, rest)) = path.split_first() else { return self.at };
        match (first, &self.value) {
            (Step::Key(key), Value::Map(entries)) => match entries.iter().find(|e| e.key == *key) {
                Some(entry) if rest.is_empty() => entry.key_at,
                Some(entry) => match entry.node.value {
                    Value::Map(_) | Value::List(_) => entry.node.locate(rest),
                    _ => entry.key_at,
                },
                None => self.at,
            },
            (Step::Index(i), Value::List(items)) => items.iter().find(|(at, _)| at == i).map_or(self.at, |(_, n)| n.locate(rest)),
            _ => self.at,
        }
    }

    /// Takes the value at `path` out.
    pub(crate) fn prune(&mut self, path: &[Step]) -> bool {
        let Some((last, parents)) = path.split_last() else { return false };
        let mut node = self;
        for step in parents {
            let next = match (step, &mut node.value) {
                (Step::Key(key), Value::Map(entries)) => entries.iter_mut().find(|e| e.key == *key).map(|e| &mut e.node),
                (Step::Index(i), Value::List(items)) => items.iter_mut().find(|(at, _)| at == i).map(|(_, n)| n),
                _ => None,
            };
            let Some(next) = next else { return false };
            node = next;
        }
        match (last, &mut node.value) {
            (Step::Key(key), Value::Map(entries)) => {
                let before = entries.len();
                entries.retain(|e| e.key != *key);
                entries.len() < before
            }
            (Step::Index(i), Value::List(items)) => {
                let before = items.len();
                items.retain(|(at, _)| at != i);
                items.len() < before
            }
            _ => false,
        }
    }
}

/// The documents of a file; empty ones are left out. The error is the place and what the parser says.
pub(crate) fn parse(text: &str) -> Result<Vec<Node>, (At, String)> {
    // A file has at most 1 MiB. These keep aliases from unfolding it, and depth from eating the stack.
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_documents: 256,
            max_depth: 32,
            max_nodes: 100_000,
            max_aliases: 256,
        },
        with_snippet: false,
    };
    serde_saphyr::from_multiple_with_options::<Node>(text, options).map_err(|error| {
        let at = error.location().map_or_else(At::default, at);
        let formatter = serde_saphyr::UserMessageFormatter;
        let render = serde_saphyr::render_options! { formatter: &formatter, snippets: SnippetMode::Off };
        let said = error.render_with_options(render);
        // The place stands before the message already.
        let said = said.split(" at line ").next().unwrap_or_default().lines().next().unwrap_or_default();
        (at, format!("not readable as YAML: {said}"))
    })
}

fn at(location: Location) -> At {
    At { line: location.line() as u32, column: location.column() as u32 }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { at: at(spanned.referenced), value: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(Value::Bool(v))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(Value::Int(v))
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<Value, E> {
        i64::try_from(v).map(Value::Int).map_err(|_| E::custom("a number beyond 63 bits"))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Value, E> {
        Ok(Value::Float(v))
    }

    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(Value::Text(v.to_owned()))
    }

    fn visit_string<E>(self, v: String) -> Result<Value, E> {
        Ok(Value::Text(v))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(node) = seq.next_element::<Node>()? {
            items.push((items.len(), node));
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            entries.push(Entry { key: key.value, key_at: at(key.referenced), node: map.next_value()? });
        }
        Ok(Value::Map(entries))
    }
}
