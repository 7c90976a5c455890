//! What is wrong in a folder of documents, all of it at once, each with its place.

use std::{fmt, path::PathBuf};

/// How many problems are printed; one broken template may repeat one mistake a thousand times.
const SHOWN: usize = 50;

/// Line and column of a place in a file, from 1; 0 where only the file is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    /// Line, from 1.
    pub(crate) line: u32,
    /// Column in characters, from 1.
    pub(crate) column: u32,
}

/// One thing that is wrong, with its place. Printed as `file:line:column: path: message`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    file: PathBuf,
    at: At,
    path: String,
    message: String,
}

impl Problem {
    pub(crate) fn new(file: impl Into<PathBuf>, at: At, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { file: file.into(), at, path: path.into(), message: message.into() }
    }

    /// The place and what is wrong there, for a room's mute reason: without the path of the folder.
    #[must_use]
    pub fn short(&self) -> String {
        let file = self.file.file_name().map_or_else(String::new, |f| f.to_string_lossy().into_owned());
        Self { file: file.into(), ..self.clone() }.to_string()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.at.line > 0 {
            write!(f, ":{}:{}", self.at.line, self.at.column)?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// All problems of a folder, sorted by place. Prints the first 50 and says how many more there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn sorted(mut all: Vec<Problem>) -> Self {
        all.sort();
        all.dedup();
        Self(all)
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, sorted by place.
    #[must_use]
    pub fn all(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().take(SHOWN).enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}
