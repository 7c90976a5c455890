//! Server-sent events, as far as model providers use them: every event is one `data:` line. Other fields and comments carry
//! nothing that the data does not repeat, and are skipped.

/// The longest line taken. Providers send a few words a line; a line this long is no answer to a chat.
const MAX_LINE_BYTES: usize = 256 * 1024;
/// The longest answer taken, thinking included.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// The stream is longer than any honest answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Splits bytes into the data of events.
#[derive(Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    seen: usize,
}

impl Events {
    /// Takes the next piece; gives the data of each event that it completes.
    pub(crate) fn feed(&mut self, piece: &[u8]) -> Result<Vec<String>, TooLong> {
        self.seen = self.seen.saturating_add(piece.len());
        if self.seen > MAX_ANSWER_BYTES {
            return Err(TooLong);
        }
        let mut events = Vec::new();
        let mut parts = piece.split(|b| *b == b'\n');
        // The last part has no line end yet; every part before it completes a line.
        let unfinished = parts.next_back().unwrap_or_default();
        for part in parts {
            self.grow(part)?;
            events.extend(data(&self.line));
            self.line.clear();
        }
        self.grow(unfinished)?;
        Ok(events)
    }

    fn grow(&mut self, part: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + part.len() > MAX_LINE_BYTES {
            return Err(TooLong);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }
}

fn data(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line.strip_prefix(b"data:")?);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_any_cut_of_the_bytes() {
        let stream = "event: ping\r\ndata: {\"a\":1}\r\n\r\n: comment\ndata:{\"b\":\"é\"}\n\ndata: [DONE]\n";
        let whole = vec!["{\"a\":1}".to_owned(), "{\"b\":\"é\"}".to_owned(), "[DONE]".to_owned()];
        for cut in 0..=stream.len() {
            let (head, tail) = stream.as_bytes().split_at(cut);
            let mut events = Events::default();
            let mut got = events.feed(head).expect("short");
            got.extend(events.feed(tail).expect("short"));
            assert_eq!(got, whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_line_or_an_answer_without_end_is_refused() {
        let mut line = Events::default();
        assert_eq!(line.feed(&vec![b'x'; MAX_LINE_BYTES + 1]), Err(TooLong));
        let mut answer = Events::default();
        let piece = b"data: x\n".repeat(1_024);
        let fed = (0..=MAX_ANSWER_BYTES / piece.len()).map(|_| answer.feed(&piece)).find(Result::is_err);
        assert_eq!(fed, Some(Err(TooLong)));
    }
}
