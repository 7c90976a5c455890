//! How much of the room a model is shown, and where one read ends and the next begins.
//!
//! The boundaries stay where they are from one call to the next, so that what a provider has cached of the prompt stays
//! usable; only a full window is cut anew. It holds numbers, no text: the text comes from the ledger at each call.

use crate::ports::{Read, ReadItem};

/// Kept of a full window when it is cut anew: half, so that cuts are rare.
const KEPT: usize = 2;
/// Boundaries kept before the reads are joined into one: each read costs a message of its own in the prompt.
const MAX_READS: usize = 64;
/// Bytes of text that count as a token: low for English, so that the window is rather too small than too large.
const BYTES_PER_TOKEN: usize = 3;
/// Tokens of an item besides its text: keys, time, ids.
const ITEM_TOKENS: usize = 40;

/// The boundaries of one room's reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    max_tokens: usize,
    /// The window shows what comes after this.
    base: u64,
    /// Last seq of each read, ascending, all above `base`.
    ends: Vec<u64>,
}

impl Window {
    pub(crate) fn new(max_tokens: usize) -> Self {
        Self { max_tokens, base: 0, ends: Vec::new() }
    }

    /// Where reading begins, if there was a read since the start.
    pub(crate) fn base(&self) -> Option<u64> {
        (!self.ends.is_empty()).then_some(self.base)
    }

    pub(super) fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// What items count, by estimate.
    pub(crate) fn tokens(items: &[ReadItem]) -> usize {
        items.iter().map(tokens).sum()
    }

    /// Whether items of so many tokens, read backwards from the newest, already fill a new window.
    pub(super) fn is_filled_by(&self, tokens: usize) -> bool {
        tokens >= self.max_tokens / KEPT
    }

    /// Cuts all items after the base, oldest first, into reads, and remembers the boundaries. A first or overfull window
    /// begins anew with the newest half, the newest item whole whatever its length.
    pub(crate) fn cut(&mut self, mut items: Vec<ReadItem>) -> Vec<Read> {
        let (Some(oldest), Some(newest)) = (items.first().map(|i| i.seq), items.last().map(|i| i.seq)) else { return Vec::new() };
        // A gap to the base would be a read that leaves lines out: begin anew.
        if self.ends.is_empty() || oldest != self.base + 1 {
            self.base = oldest.saturating_sub(1);
            self.ends.clear();
        }
        if Self::tokens(&items) > self.max_tokens {
            self.rebase(&mut items);
        } else if self.ends.len() >= MAX_READS {
            self.ends.clear();
        }
        if self.ends.last().is_none_or(|&end| end < newest) {
            self.ends.push(newest);
        }
        self.split(items)
    }

    fn rebase(&mut self, items: &mut Vec<ReadItem>) {
        let mut left = self.max_tokens / KEPT;
        let fits = items.iter().rev().take_while(|item| {
            let cost = tokens(item);
            let fits = cost <= left;
            left = left.saturating_sub(cost);
            fits
        });
        // The newest item stays, whatever its length.
        let cut = items.len().saturating_sub(fits.count().max(1));
        if let Some(last_cut) = items.drain(..cut).next_back() {
            self.base = last_cut.seq;
        }
        self.ends.clear();
    }

    fn split(&self, items: Vec<ReadItem>) -> Vec<Read> {
        let mut reads = Vec::with_capacity(self.ends.len());
        let mut rest = items.into_iter().peekable();
        let mut after = self.base;
        for &end in &self.ends {
            let mut read = Read { after, items: Vec::new() };
            while let Some(item) = rest.next_if(|i| i.seq <= end) {
                read.items.push(item);
            }
            after = end;
            reads.push(read);
        }
        reads
    }
}

fn tokens(item: &ReadItem) -> usize {
    ITEM_TOKENS + (item.text.len() + item.name.len()) / BYTES_PER_TOKEN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(seqs: std::ops::RangeInclusive<u64>, bytes: usize) -> Vec<ReadItem> {
        let item = |seq| ReadItem {
            seq,
            at: "2026-01-01T00:00:00Z".into(),
            author: "a".into(),
            name: String::new(),
            kind: "message".into(),
            text: "x".repeat(bytes),
            of: None,
        };
        seqs.map(item).collect()
    }

    fn shape(reads: &[Read]) -> Vec<(u64, Vec<u64>)> {
        reads.iter().map(|r| (r.after, r.items.iter().map(|i| i.seq).collect())).collect()
    }

    #[test]
    fn a_second_call_repeats_the_reads_of_the_first_and_adds_one() {
        let mut window = Window::new(10_000);
        assert_eq!(window.base(), None);
        let first = shape(&window.cut(items(1..=3, 30)));
        assert_eq!(first, [(0, vec![1, 2, 3])]);
        assert_eq!(window.base(), Some(0));
        let second = shape(&window.cut(items(1..=5, 30)));
        assert_eq!(second, [(0, vec![1, 2, 3]), (3, vec![4, 5])]);
        assert_eq!(shape(&window.cut(items(1..=5, 30))), second, "nothing new adds no read");
    }

    #[test]
    fn a_full_window_is_cut_to_its_newest_half_once() {
        // Each item counts 50 tokens; 10 fit.
        let mut window = Window::new(500);
        window.cut(items(1..=10, 30));
        let cut = shape(&window.cut(items(1..=11, 30)));
        assert_eq!(cut, [(6, vec![7, 8, 9, 10, 11])]);
        assert_eq!(window.base(), Some(6));
        assert_eq!(shape(&window.cut(items(7..=12, 30))), [(6, vec![7, 8, 9, 10, 11]), (11, vec![12])]);
    }

    #[test]
    fn the_newest_item_stays_whole_however_long() {
        let mut window = Window::new(100);
        assert_eq!(shape(&window.cut(items(1..=3, 9_000))), [(2, vec![3])]);
    }

    #[test]
    fn a_first_read_that_does_not_begin_at_the_start_says_so() {
        let mut window = Window::new(10_000);
        assert_eq!(shape(&window.cut(items(41..=42, 30))), [(40, vec![41, 42])]);
    }

    #[test]
    fn very_many_reads_are_joined() {
        let mut window = Window::new(1_000_000);
        for newest in 1..=(MAX_READS as u64 + 1) {
            window.cut(items(1..=newest, 3));
        }
        assert_eq!(window.ends, [MAX_READS as u64 + 1]);
    }

    #[test]
    fn reading_backwards_stops_at_half_a_window() {
        let window = Window::new(500);
        assert!(!window.is_filled_by(Window::tokens(&items(1..=4, 30))));
        assert!(window.is_filled_by(Window::tokens(&items(1..=5, 30))));
    }
}
