//! Reads an archive file, plain or gzip, as batches of whole lines in one buffer that never grows.
//!
//! It knows lines and nothing of what stands in them.

use std::{
    cell::Cell,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
    rc::Rc,
};

use flate2::bufread::MultiGzDecoder;

/// Bytes that are read before lines are handed out: few enough to stay in a core's cache while they are decoded.
const BATCH_BYTES: usize = 1 << 16;

/// Size of the buffer and so the longest line that is read. A chat line is at most some kilobytes; 1 MiB leaves room for exporters
/// that put whole files into one, and still bounds what a broken archive can cost.
const BUFFER_BYTES: usize = 1 << 20;

/// An archive file that is being read.
pub(super) struct Archive {
    input: Box<dyn Read>,
    /// Compressed bytes read so far.
    progress: Rc<Cell<u64>>,
    buffer: Vec<u8>,
    /// Bytes of the buffer that hold data.
    filled: usize,
    /// Bytes of it that were handed out.
    used: usize,
    ended: bool,
    /// A line longer than the buffer is being passed over.
    skipping: bool,
}

/// What comes next out of a file.
pub(super) enum Batch<'a> {
    /// Whole lines.
    Lines(&'a [u8]),
    /// A line is longer than the buffer and was left out.
    TooLong,
}

struct Counted {
    file: File,
    read: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(into)?;
        self.read.set(self.read.get() + n as u64);
        Ok(n)
    }
}

/// The content of a file, and the bytes read of it so far.
type Opened = (Box<dyn Read>, Rc<Cell<u64>>);

/// Opens a file, and a count of the bytes read of it; whether it is gzip shows in its first bytes, not in its name.
pub(super) fn open(path: &Path) -> io::Result<Opened> {
    let progress = Rc::new(Cell::new(0));
    let mut file = BufReader::with_capacity(1 << 16, Counted { file: File::open(path)?, read: Rc::clone(&progress) });
    let input: Box<dyn Read> =
        if file.fill_buf()?.starts_with(&[0x1f, 0x8b]) { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    Ok((input, progress))
}

impl Archive {
    /// Opens a file to be read by lines.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let (input, progress) = open(path)?;
        Ok(Self { input, progress, buffer: vec![0; BUFFER_BYTES], filled: 0, used: 0, ended: false, skipping: false })
    }

    /// Bytes of the file read so far.
    pub(super) fn read_bytes(&self) -> u64 {
        self.progress.get()
    }

    /// The next lines; `None` at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<Batch<'_>>> {
        let mut wanted = BATCH_BYTES;
        loop {
            self.fill(wanted)?;
            let held = self.buffer.get(self.used..self.filled).unwrap_or_default();
            let whole = if self.ended { held.len() } else { held.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1) };
            if self.skipping {
                let Some(at) = held.iter().position(|b| *b == b'\n') else {
                    self.used = self.filled;
                    if self.ended {
                        return Ok(None);
                    }
                    continue;
                };
                self.used += at + 1;
                self.skipping = false;
                continue;
            }
            if whole > 0 {
                let from = self.used;
                self.used += whole;
                return Ok(Some(Batch::Lines(self.buffer.get(from..self.used).unwrap_or_default())));
            }
            if self.ended {
                return Ok(None);
            }
            if self.filled < BUFFER_BYTES {
                wanted = BUFFER_BYTES;
                continue;
            }
            self.used = self.filled;
            self.skipping = true;
            return Ok(Some(Batch::TooLong));
        }
    }

    /// Moves what is left to the front and reads until there is as much as is wanted or the file ends.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        self.buffer.copy_within(self.used..self.filled, 0);
        self.filled -= self.used;
        self.used = 0;
        while !self.ended {
            let Some(room) = self.buffer.get_mut(self.filled..wanted).filter(|r| !r.is_empty()) else { break };
            match self.input.read(room) {
                Ok(0) => self.ended = true,
                Ok(n) => self.filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let mut archive = Archive::open(file.path()).unwrap();
        let mut seen = Vec::new();
        while let Some(batch) = archive.next().unwrap() {
            match batch {
                Batch::Lines(bytes) => {
                    seen.extend(std::str::from_utf8(bytes).unwrap().lines().map(|l| l.chars().take(8).collect()));
                }
                Batch::TooLong => seen.push("too long".into()),
            }
        }
        seen
    }

    #[test]
    fn a_line_beyond_the_buffer_is_left_out_and_the_next_are_read() {
        let mut bytes = b"one\n".to_vec();
        bytes.extend(vec![b'x'; 3 * BUFFER_BYTES]);
        bytes.extend(b"\nthree\nfour");
        assert_eq!(lines(&bytes), ["one", "too long", "three", "four"]);
    }

    #[test]
    fn a_line_longer_than_a_batch_and_an_empty_file() {
        let mut bytes = vec![b'y'; BATCH_BYTES + 100_000];
        bytes.extend(b"\nend");
        assert_eq!(lines(&bytes), ["yyyyyyyy", "end"]);
        assert!(lines(b"").is_empty());
    }
}
