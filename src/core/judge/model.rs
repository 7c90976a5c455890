//! The logistic models: a dot product and a threshold each. Their weights are a small file of the repository, made by
//! `parlor train-gate` from an archive (docs/judgement.md).

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, Serialize};

use super::numbers::{Beside, Past, Said, Since};

/// The weights that the machine uses unless it is given others.
static EMBEDDED: LazyLock<Judges> = LazyLock::new(|| {
    // A test reads the same text: a file that cannot be used does not leave the repository.
    Judges::read(include_str!("weights.json")).unwrap_or_else(|_| Judges::silent())
});

/// One of the models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judge {
    /// Whether a burst that addresses nobody is for the persona.
    Me,
    /// Whether it asks the room.
    Room,
    /// Whether a statement that addresses the persona, soon after it spoke to its author, wants an answer.
    Statement,
    /// Whether a later line of somebody else answers a burst.
    Answer,
    /// Whether, all in all, a burst was answered.
    Answered,
    /// Whether a question to the room still wants an answer.
    Wanted,
}

impl Judge {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Me, Self::Room, Self::Statement, Self::Answer, Self::Answered, Self::Wanted];

    /// Name and meaning of the numbers that it sees, in order.
    #[must_use]
    pub fn numbers(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Self::Me | Self::Room | Self::Statement => Past::NAMES.iter().chain(Said::NAMES).copied().collect(),
            Self::Answer => Beside::NAMES.to_vec(),
            Self::Answered | Self::Wanted => Since::NAMES.to_vec(),
        }
    }
}

/// A logistic model: the weights of its numbers, in order, and the bias.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Log-odds where every number is 0.
    pub bias: f64,
    /// Log-odds for each unit of each number.
    pub weights: Vec<f64>,
}

impl Model {
    /// The probability; the numbers come in one or several pieces.
    pub(crate) fn probability(&self, pieces: &[&[f64]]) -> f64 {
        let mut odds = self.bias;
        let mut weights = self.weights.as_slice();
        for numbers in pieces {
            let (own, rest) = weights.split_at(numbers.len().min(weights.len()));
            odds += dot(own, numbers);
            weights = rest;
        }
        1.0 / (1.0 + (-odds).exp())
    }
}

/// The dot product, by four sums that do not wait for each other. The order is part of the result: sums of floating point are no
/// sums of numbers.
fn dot(weights: &[f64], numbers: &[f64]) -> f64 {
    let ((fours, rest), (by, left)) = (weights.as_chunks::<4>(), numbers.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (four, by) in fours.iter().zip(by) {
        for (sum, (w, x)) in sums.iter_mut().zip(four.iter().zip(by)) {
            *sum += w * x;
        }
    }
    let [a, b, c, d] = sums;
    (a + b) + (c + d) + rest.iter().zip(left).map(|(w, x)| w * x).sum::<f64>()
}

/// All models of one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Judges {
    models: [Model; 6],
}

/// A file of weights cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// It is no JSON of the right shape.
    #[error("the weights cannot be read: {0}; `parlor train-gate` writes such a file")]
    Json(#[from] serde_json::Error),
    /// It is for another version of the machine.
    #[error("the weights are for another version: {judge} knows {want:?}, the file has {found:?}; train them again")]
    Numbers {
        /// Which model.
        judge: String,
        /// The number that the machine has at that place.
        want: Option<String>,
        /// What the file has there.
        found: Option<String>,
    },
}

#[derive(Serialize, Deserialize)]
struct Stored {
    bias: f64,
    weights: BTreeMap<String, f64>,
}

impl Judges {
    /// Those of the repository.
    #[must_use]
    pub fn embedded() -> &'static Self {
        &EMBEDDED
    }

    /// Models that think nothing likely: a machine with them speaks only where it is addressed.
    #[must_use]
    pub fn silent() -> Self {
        Self { models: Judge::ALL.map(|j| Model { bias: f64::NEG_INFINITY, weights: vec![0.0; j.numbers().len()] }) }
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, judge: Judge) -> &Model {
        let [me, room, statement, answer, answered, wanted] = &self.models;
        match judge {
            Judge::Me => me,
            Judge::Room => room,
            Judge::Statement => statement,
            Judge::Answer => answer,
            Judge::Answered => answered,
            Judge::Wanted => wanted,
        }
    }

    /// Puts another in its place.
    pub fn set(&mut self, judge: Judge, model: Model) {
        if let Some((slot, _)) = self.models.iter_mut().zip(Judge::ALL).find(|(_, of)| *of == judge) {
            *slot = model;
        }
    }

    /// Reads a file of weights.
    pub fn read(json: &str) -> Result<Self, WeightsError> {
        let stored: BTreeMap<Judge, Stored> = serde_json::from_str(json)?;
        let mut judges = Self::silent();
        for (judge, s) in &stored {
            let names = judge.numbers();
            let fault = |want: Option<&str>, found: Option<&str>| WeightsError::Numbers {
                judge: format!("{judge:?}"),
                want: want.map(str::to_owned),
                found: found.map(str::to_owned),
            };
            if let Some(name) = s.weights.keys().find(|k| !names.iter().any(|(n, _)| n == k)) {
                return Err(fault(None, Some(name)));
            }
            let weights = names.iter().map(|(n, _)| s.weights.get(*n).copied().ok_or_else(|| fault(Some(n), None)));
            judges.set(*judge, Model { bias: s.bias, weights: weights.collect::<Result<_, _>>()? });
        }
        match Judge::ALL.into_iter().find(|j| !stored.contains_key(j)) {
            Some(missing) => Err(WeightsError::Numbers { judge: format!("{missing:?}"), want: Some("weights".into()), found: None }),
            None => Ok(judges),
        }
    }

    /// The file of these weights, a weight a line.
    pub fn write(&self) -> Result<String, WeightsError> {
        let stored = |j: Judge| {
            let m = self.get(j);
            let weights = j.numbers().iter().zip(&m.weights).map(|((n, _), w)| ((*n).to_owned(), *w)).collect();
            (j, Stored { bias: m.bias, weights })
        };
        let all: BTreeMap<Judge, Stored> = Judge::ALL.into_iter().map(stored).collect();
        Ok(serde_json::to_string_pretty(&all)? + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_of_the_repository_can_be_used_and_are_written_as_they_are_read() {
        let text = include_str!("weights.json");
        let judges = Judges::read(text).unwrap();
        assert_eq!(judges, *Judges::embedded());
        assert_eq!(judges.write().unwrap(), text);
    }

    #[test]
    fn weights_for_another_machine_are_refused_by_name() {
        let text = include_str!("weights.json");
        let fewer = text.replacen("\"pace\"", "\"paces\"", 1);
        assert!(Judges::read(&fewer).unwrap_err().to_string().contains("pace"));
        assert!(Judges::read("{}").unwrap_err().to_string().contains("Me"));
        assert!(Judges::read("[").is_err());
    }

    #[test]
    fn a_model_is_a_dot_product() {
        let m = Model { bias: -1.0, weights: vec![2.0, 0.5] };
        assert!((m.probability(&[&[0.5], &[0.0]]) - 0.5).abs() < 1e-12);
        assert!(m.probability(&[&[0.5, 1.0]]) > 0.6);
        // Each weight meets its own number, in one piece or several, whatever the length.
        for length in 1..12 {
            let m = Model { bias: 0.5, weights: (1..=length).map(f64::from).collect() };
            for at in 0..length as usize {
                let mut numbers = vec![0.0; length as usize];
                numbers[at] = 0.25;
                let want = 1.0 / (1.0 + (-(0.5 + 0.25 * (at + 1) as f64)).exp());
                let (head, tail) = numbers.split_at(length as usize / 3);
                assert_eq!((m.probability(&[&numbers]), m.probability(&[head, tail])), (want, want), "{length} {at}");
            }
        }
        assert!(Judges::silent().get(Judge::Me).probability(&[&[1.0; 62]]) == 0.0);
    }
}
