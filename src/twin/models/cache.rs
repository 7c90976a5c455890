//! The providers' prompt cache: a prefix of blocks that was read before costs less.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

/// How far back from a mark an earlier end of a prefix is found.
const LOOK_BACK_BLOCKS: usize = 20;
/// Tokens are counted as a tokenizer would roughly do.
const BYTES_A_TOKEN: usize = 4;

/// One block of a prompt, in the order in which the provider reads them.
pub(super) struct Block {
    pub(super) text: String,
    /// Whether the prefix up to here is to be kept.
    pub(super) mark: bool,
}

/// Tokens of a prompt.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) fresh: usize,
    pub(super) cached: usize,
    pub(super) written: usize,
}

/// Ends of prefixes that were kept.
#[derive(Default)]
pub(super) struct Cache(HashSet<u64>);

impl Cache {
    pub(super) fn read(&mut self, blocks: &[Block]) -> Counted {
        let mut prefix = DefaultHasher::new();
        let mut bytes = 0;
        let ends: Vec<(u64, usize)> = blocks
            .iter()
            .map(|block| {
                block.text.hash(&mut prefix);
                bytes += block.text.len();
                (prefix.finish(), bytes)
            })
            .collect();
        let marks: Vec<usize> = blocks.iter().enumerate().filter(|(_, b)| b.mark).map(|(n, _)| n).collect();
        let reach = |mark: &usize| ends.iter().take(mark + 1).rev().take(LOOK_BACK_BLOCKS).find(|(hash, _)| self.0.contains(hash));
        let cached = marks.iter().filter_map(reach).map(|(_, bytes)| *bytes).max().unwrap_or(0);
        let kept = marks.iter().filter_map(|mark| ends.get(*mark));
        let written = kept.clone().map(|(_, bytes)| *bytes).max().unwrap_or(0).saturating_sub(cached);
        self.0.extend(kept.map(|(hash, _)| *hash));
        let tokens = |bytes: usize| bytes.div_ceil(BYTES_A_TOKEN);
        Counted { fresh: tokens(bytes - cached - written), cached: tokens(cached), written: tokens(written) }
    }
}
