//! What the models were asked, for training: the machine itself writes down the numbers that it saw.

use super::model::Judge;
use crate::{Millis, ObligationKind};

/// One question to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Which model; `Me` stands for `Room` too, and `Answered` for `Wanted`, which see the same numbers.
    pub judge: Judge,
    /// When.
    pub at: Millis,
    /// The numbers that it saw.
    pub numbers: Vec<f64>,
    /// Platform ids of the lines of the burst.
    pub lines: Vec<String>,
    /// For [`Judge::Answer`]: the later line.
    pub line: Option<String>,
    /// What is owed for the burst, if anything yet.
    pub owed: Option<ObligationKind>,
}
