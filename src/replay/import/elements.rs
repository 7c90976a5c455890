//! A list in a JSON file, read element by element: the file is never in memory as a whole, and an element that does not fit is
//! passed over.

use std::{
    cell::Cell,
    fmt,
    io::{self, BufReader, Read},
    path::Path,
    rc::Rc,
};

use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{At, Take, Told};
use crate::replay::{ReplayError, archive, row};

/// Longest element. A message of a chat is some kilobytes, with everything that an exporter knows about its author and its links;
/// this leaves room and bounds what a broken file can cost.
const ELEMENT_BYTES: u64 = 8 << 20;

/// What is done with the parts of a file.
pub(super) trait Parts {
    /// A member of the object in which the list stands, other than the list.
    fn member(&mut self, name: &str, json: &str);
    /// An element; the error is a reason in words.
    fn element(&mut self, json: &str, at: At<'_>, take: &mut Take<'_>) -> Result<Result<(), String>, ReplayError>;
}

/// Reads a file whose list is the whole, or the member `list` of an object.
pub(super) fn read(
    path: &Path,
    list: Option<&str>,
    progress: &dyn Fn(u64),
    parts: &mut dyn Parts,
    take: &mut Take<'_>,
) -> Result<(), ReplayError> {
    let fault = |source| ReplayError::Read { path: path.to_owned(), source };
    let (input, bytes) = archive::open(path).map_err(fault)?;
    let left = Rc::new(Cell::new(ELEMENT_BYTES));
    let limited = Limited { input: skip_mark(input).map_err(fault)?, left: Rc::clone(&left) };
    let mut reading = Reading { path, number: 0, left, ended: None, parts, take, progress: &|| progress(bytes.get()) };
    let mut json = serde_json::Deserializer::from_reader(BufReader::with_capacity(1 << 16, limited));
    let done = match list {
        Some(list) => Object { list, reading: &mut reading }.deserialize(&mut json),
        None => List { reading: &mut reading }.deserialize(&mut json),
    };
    let done = done.and_then(|()| json.end());
    let Reading { ended, number, .. } = reading;
    progress(bytes.get());
    if let Some(error) = ended {
        return Err(error);
    }
    match done {
        Ok(()) => Ok(()),
        Err(e) if e.is_io() && !e.to_string().starts_with(TOO_LONG) => Err(fault(e.into())),
        Err(e) => {
            let reason = format!("{}; what follows in the file is not read", row::reason(&e));
            take(Told::Bad((path, number + 1), reason.into()))
        }
    }
}

/// Some exporters begin a file with a byte order mark, which JSON does not know.
fn skip_mark(mut input: Box<dyn Read>) -> io::Result<impl Read> {
    let mut head = Vec::with_capacity(3);
    input.by_ref().take(3).read_to_end(&mut head)?;
    if head == "\u{feff}".as_bytes() {
        head.clear();
    }
    Ok(io::Cursor::new(head).chain(input))
}

const TOO_LONG: &str = "the element is longer than 8 MiB";

/// Ends with an error where one element does not end.
struct Limited<R> {
    input: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(into)?;
        let left = self.left.get().checked_sub(n as u64).ok_or_else(|| io::Error::other(TOO_LONG))?;
        self.left.set(left);
        Ok(n)
    }
}

struct Reading<'a, 't> {
    path: &'a Path,
    /// Elements so far.
    number: u64,
    left: Rc<Cell<u64>>,
    /// Why the reading was ended from outside.
    ended: Option<ReplayError>,
    parts: &'a mut dyn Parts,
    take: &'a mut Take<'t>,
    progress: &'a dyn Fn(),
}

/// Elements between two looks at how far the reading is.
const BETWEEN_LOOKS: u64 = 1_024;

impl Reading<'_, '_> {
    fn element(&mut self, json: &str) -> Result<(), ReplayError> {
        self.number += 1;
        self.left.set(ELEMENT_BYTES);
        if self.number.is_multiple_of(BETWEEN_LOOKS) {
            (self.progress)();
        }
        let at = (self.path, self.number);
        match self.parts.element(json, at, self.take)? {
            Ok(()) => Ok(()),
            Err(reason) => (self.take)(Told::Bad(at, reason.into())),
        }
    }
}

struct List<'r, 'a, 't> {
    reading: &'r mut Reading<'a, 't>,
}

impl<'de> DeserializeSeed<'de> for List<'_, '_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_, '_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(json) = seq.next_element::<Box<RawValue>>()? {
            if let Err(error) = self.reading.element(json.get()) {
                self.reading.ended = Some(error);
                return Err(A::Error::custom("ended"));
            }
        }
        Ok(())
    }
}

struct Object<'r, 'a, 't> {
    list: &'r str,
    reading: &'r mut Reading<'a, 't>,
}

impl<'de> DeserializeSeed<'de> for Object<'_, '_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, '_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an export, which is an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if name == self.list {
                map.next_value_seed(List { reading: &mut *self.reading })?;
            } else if self.reading.number == 0 {
                let json = map.next_value::<Box<RawValue>>()?;
                self.reading.parts.member(&name, json.get());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            self.reading.left.set(ELEMENT_BYTES);
        }
        Ok(())
    }
}

/// Reads an element; the reason never quotes it.
pub(super) fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|e| row::reason(&e))
}
