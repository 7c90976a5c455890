//! Tokens and what they cost. Prices are list prices in dollars per million tokens, written here as thousandths of a
//! millionth of a dollar per token, so that all sums are whole numbers.

use std::collections::BTreeMap;

/// Tokens of one call as the provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read at the full price.
    pub input: u64,
    /// Read from the prompt cache.
    pub cached: u64,
    /// Written to the prompt cache.
    pub cache_write: u64,
    /// Written by the model.
    pub output: u64,
}

impl Usage {
    /// Every token.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.cached).saturating_add(self.cache_write).saturating_add(self.output)
    }
}

/// Prices per token, in thousandths of a millionth of a dollar (a price of $3 per million tokens is 3,000).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Full price of a token that is read.
    pub input: u64,
    /// Price of a token that is read from the prompt cache.
    pub cached: u64,
    /// Price of a token that is written.
    pub output: u64,
}

impl Price {
    /// For the stub, and for models that run on the owner's own machines.
    pub const FREE: Self = Self { input: 0, cached: 0, output: 0 };
    /// The highest list price of the table: what a model without a price is taken to cost.
    pub const WORST: Self = Self { input: 15_000, cached: 15_000, output: 75_000 };

    /// Cost in millionths of a dollar, rounded up. Writing to a prompt cache costs a quarter more than reading.
    pub fn cost_microusd(self, used: Usage) -> u64 {
        let write = self.input.saturating_mul(5).div_ceil(4);
        let parts = [(used.input, self.input), (used.cached, self.cached), (used.cache_write, write), (used.output, self.output)];
        parts.into_iter().fold(0_u64, |sum, (n, each)| sum.saturating_add(n.saturating_mul(each))).div_ceil(1_000)
    }
}

/// List prices of the providers, read on their pricing pages; where a price has bands (long prompts), the highest.
const LISTED: &[(&str, u64, u64, u64)] = &[
    ("claude-fable-5-1", 10_000, 1_000, 50_000),
    ("claude-fable-5", 10_000, 1_000, 50_000),
    ("claude-opus-5-5", 4_000, 200, 20_000),
    ("claude-opus-5", 5_000, 500, 25_000),
    ("claude-opus-4-8", 5_000, 500, 25_000),
    ("claude-opus-4-7", 5_000, 500, 25_000),
    ("claude-opus-4-6", 5_000, 500, 25_000),
    ("claude-opus-4-5", 5_000, 500, 25_000),
    ("claude-opus-4-1", 15_000, 1_500, 75_000),
    ("claude-sonnet-5-5", 2_000, 200, 10_000),
    ("claude-sonnet-5", 2_000, 200, 10_000),
    ("claude-sonnet-4-6", 3_000, 300, 15_000),
    ("claude-sonnet-4-5", 6_000, 600, 22_500),
    ("claude-haiku-5-5", 500, 50, 2_500),
    ("claude-haiku-4-5", 1_000, 100, 5_000),
    ("gpt-5", 1_250, 125, 10_000),
    ("gpt-4.1", 2_000, 500, 8_000),
    ("gpt-4o", 2_500, 1_250, 10_000),
    ("gpt-4o-mini", 150, 75, 600),
];

/// Prices by model name.
#[derive(Clone, Debug)]
pub struct PriceTable(BTreeMap<String, Price>);

impl Default for PriceTable {
    fn default() -> Self {
        let listed = LISTED.iter().map(|&(name, input, cached, output)| (name.to_owned(), Price { input, cached, output }));
        Self(listed.collect())
    }
}

/// A price entry cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a price; write MODEL=INPUT/OUTPUT in dollars per million tokens, such as llama3.2=0/0, entries separated by commas")]
pub struct PriceError(String);

impl PriceTable {
    /// Adds or replaces prices, from text such as `llama3.2=0/0,my-model=0.5/1.5` (dollars per million tokens, input/output).
    pub fn extend(&mut self, text: &str) -> Result<(), PriceError> {
        for entry in text.split(',').map(str::trim).filter(|e| !e.is_empty()) {
            let (name, price) = parse(entry).ok_or_else(|| PriceError(entry.to_owned()))?;
            self.0.insert(name, price);
        }
        Ok(())
    }

    /// The price of a model, by its name or that of a dated snapshot of it, with or without a vendor in front. The worst case
    /// where it is not known.
    pub fn price(&self, model: &str) -> Price {
        let bare = model.rsplit('/').next().unwrap_or(model);
        // A snapshot's date is one part (-20251101) or three (-2024-08-06).
        let dash = |n| bare.rmatch_indices('-').nth(n).and_then(|(at, _)| bare.split_at_checked(at));
        let is_date = |end: &str| {
            end == "-latest" || (end.starts_with("-20") && end.len() >= 9 && end.chars().all(|c| c.is_ascii_digit() || c == '-'))
        };
        let undated = [dash(0), dash(2)].into_iter().flatten().filter(|(_, end)| is_date(end)).map(|(name, _)| name);
        let known = [model, bare].into_iter().chain(undated);
        known.into_iter().find_map(|name| self.0.get(name)).copied().unwrap_or(Price::WORST)
    }
}

fn parse(entry: &str) -> Option<(String, Price)> {
    let (name, price) = entry.rsplit_once('=')?;
    let (input, output) = price.split_once('/')?;
    let thousandths = |dollars: &str| {
        let parsed: f64 = dollars.trim().parse().ok()?;
        // A million dollars per million tokens is a slip of the pen.
        (0.0..1e6).contains(&parsed).then(|| (parsed * 1_000.0).ceil() as u64)
    };
    let input = thousandths(input)?;
    let price = Price { input, cached: input, output: thousandths(output)? };
    (!name.trim().is_empty()).then(|| (name.trim().to_owned(), price))
}
