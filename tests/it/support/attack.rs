//! What each promise of the walls was put to: `make attack` prints it as a table.

use std::{fs::OpenOptions, io::Write as _};

/// What a suite tried against one promise.
pub(crate) struct Probes {
    /// `g01` to `g12`: the promise that the test is named after.
    pub(crate) promise: &'static str,
    /// What was tried.
    pub(crate) tried: usize,
    /// What of it was refused, or ended as the promise says.
    pub(crate) held: usize,
    /// What the same attempts got where the wall was left out, if they were made there too.
    pub(crate) naive: Option<usize>,
}

impl Probes {
    /// Holds the promise: whatever was tried was refused, and the control, if there is one, let something through (a suite that
    /// finds nothing there sees nothing). Adds a line to the file that `PARLOR_ATTACK` names, if it names one.
    pub(crate) fn settle(&self) {
        if let Some(path) = std::env::var_os("PARLOR_ATTACK") {
            let naive = self.naive.map_or_else(|| "-".to_owned(), |n| n.to_string());
            let line = format!("{}\t{}\t{}\t{naive}\n", self.promise, self.tried, self.held);
            // One write, so that tests that end together do not mix their lines.
            OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(line.as_bytes()).unwrap();
        }
        assert!(self.tried > 0, "{} was not attacked", self.promise);
        assert_eq!(self.held, self.tried, "{} does not hold", self.promise);
        assert_ne!(self.naive, Some(0), "{}: the control without the wall let nothing through, so this test cannot see", self.promise);
    }
}
