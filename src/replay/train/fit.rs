//! Logistic regression: Newton's method on standardised numbers, with a ridge. No randomness, one thread, one order of sums, so
//! that the same rows give the same weights bit for bit.

use parlor_core::Model;

/// Weight of the losses against the ridge (half the squared weights of standardised numbers).
const C: f64 = 0.5;
/// Newton doubles the right digits with each step; ten are more than enough from zero.
const MAX_STEPS: usize = 25;
/// Steps this small change no digit that matters.
const SMALL_STEP: f64 = 1e-9;
/// A number that never changes has this spread, so that its weight stays 0.
const NO_SPREAD: f64 = 1e-9;

/// What a model is to learn from: rows of numbers, each with yes or no.
#[derive(Clone, Debug, Default)]
pub(super) struct Examples {
    width: usize,
    numbers: Vec<f64>,
    yes: Vec<bool>,
}

impl Examples {
    pub(super) fn add(&mut self, numbers: &[f64], yes: bool) {
        self.width = numbers.len();
        self.numbers.extend_from_slice(numbers);
        self.yes.push(yes);
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.width = self.width.max(other.width);
        self.numbers.extend_from_slice(&other.numbers);
        self.yes.extend_from_slice(&other.yes);
    }

    pub(super) fn len(&self) -> usize {
        self.yes.len()
    }

    pub(super) fn positive(&self) -> usize {
        self.yes.iter().filter(|y| **y).count()
    }

    fn rows(&self) -> impl Iterator<Item = (&[f64], bool)> {
        self.numbers.chunks_exact(self.width.max(1)).zip(self.yes.iter().copied())
    }

    /// Fits a model; none where the examples are all of one kind.
    pub(super) fn fit(&self) -> Option<Model> {
        if self.positive() == 0 || self.positive() == self.len() {
            return None;
        }
        let scale = Scale::of(self);
        let wide = self.width + 1;
        let mut weights = vec![0.0; wide];
        let mut row = vec![0.0; wide];
        for _ in 0..MAX_STEPS {
            let mut system = System::new(wide);
            for (numbers, yes) in self.rows() {
                scale.apply(numbers, &mut row);
                let odds: f64 = row.iter().zip(&weights).map(|(x, w)| x * w).sum();
                let p = 1.0 / (1.0 + (-odds).exp());
                system.add(&row, C * (p - f64::from(u8::from(yes))), C * p * (1.0 - p));
            }
            let step = system.solve(&weights);
            let size = step.iter().fold(0.0_f64, |most, s| most.max(s.abs()));
            weights.iter_mut().zip(&step).for_each(|(w, s)| *w -= s);
            if size < SMALL_STEP {
                break;
            }
        }
        Some(scale.model(&weights))
    }
}

/// Mean and spread of each number.
struct Scale {
    mean: Vec<f64>,
    spread: Vec<f64>,
}

impl Scale {
    fn of(examples: &Examples) -> Self {
        let n = examples.len() as f64;
        let mut mean = vec![0.0; examples.width];
        for (row, _) in examples.rows() {
            mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / n);
        }
        let mut spread = vec![0.0; examples.width];
        for (row, _) in examples.rows() {
            spread.iter_mut().zip(row.iter().zip(&mean)).for_each(|(s, (x, m))| *s += (x - m) * (x - m) / n);
        }
        for s in &mut spread {
            *s = s.sqrt() + NO_SPREAD;
        }
        Self { mean, spread }
    }

    /// The row standardised, and a 1 for the bias at its end.
    fn apply(&self, numbers: &[f64], row: &mut [f64]) {
        let ones = std::iter::once(1.0);
        let scaled = numbers.iter().zip(self.mean.iter().zip(&self.spread)).map(|(x, (m, s))| (x - m) / s);
        row.iter_mut().zip(scaled.chain(ones)).for_each(|(to, x)| *to = x);
    }

    /// Folds mean and spread into the weights.
    fn model(&self, weights: &[f64]) -> Model {
        let bias = weights.last().copied().unwrap_or_default();
        let folded: Vec<f64> = weights.iter().zip(&self.spread).map(|(w, s)| w / s).collect();
        let shift: f64 = folded.iter().zip(&self.mean).map(|(w, m)| w * m).sum();
        Model { bias: rounded(bias - shift), weights: folded.into_iter().map(rounded).collect() }
    }
}

/// Weights are kept to six digits after the point: what is below moves no decision, and files stay readable.
fn rounded(x: f64) -> f64 {
    (x * 1e6).round() / 1e6
}

/// The equations of one step: a symmetric matrix, of which the lower half is kept, and a right side.
struct System {
    wide: usize,
    matrix: Vec<f64>,
    side: Vec<f64>,
}

impl System {
    fn new(wide: usize) -> Self {
        Self { wide, matrix: vec![0.0; wide * wide], side: vec![0.0; wide] }
    }

    fn add(&mut self, row: &[f64], slope: f64, curve: f64) {
        for ((line, x), side) in self.matrix.chunks_exact_mut(self.wide).zip(row).zip(&mut self.side) {
            *side += slope * x;
            let pull = curve * x;
            line.iter_mut().zip(row).for_each(|(to, y)| *to += pull * y);
        }
    }

    /// The step, by elimination: the ridge makes the matrix positive, so no pivot is near 0.
    fn solve(mut self, weights: &[f64]) -> Vec<f64> {
        let wide = self.wide;
        // The ridge; the bias at the end is free, with a trace for the case that nothing holds it.
        for (i, (line, side)) in self.matrix.chunks_exact_mut(wide).zip(&mut self.side).enumerate() {
            let ridge = if i + 1 == wide { 1e-9 } else { 1.0 };
            if let Some(diagonal) = line.get_mut(i) {
                *diagonal += ridge;
            }
            *side += if i + 1 == wide { 0.0 } else { weights.get(i).copied().unwrap_or_default() };
        }
        let mut lines: Vec<Vec<f64>> =
            self.matrix.chunks_exact(wide).zip(&self.side).map(|(line, side)| line.iter().copied().chain([*side]).collect()).collect();
        for i in 0..wide {
            let (above, below) = lines.split_at_mut(i + 1);
            let Some(pivot) = above.last() else { continue };
            let head = pivot.get(i).copied().unwrap_or(1.0);
            for line in below {
                let factor = line.get(i).copied().unwrap_or_default() / head;
                line.iter_mut().zip(pivot).skip(i).for_each(|(to, p)| *to -= factor * p);
            }
        }
        let mut step = vec![0.0; wide];
        for (i, line) in lines.iter().enumerate().rev() {
            let known: f64 = line.iter().zip(&step).skip(i + 1).map(|(a, s)| a * s).sum();
            let side = line.last().copied().unwrap_or_default();
            if let (Some(slot), Some(head)) = (step.get_mut(i), line.get(i)) {
                *slot = (side - known) / head;
            }
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Random;

    #[test]
    fn the_weights_that_made_the_answers_are_found_again() {
        let mut random = Random::new(7, "fit");
        let mut examples = Examples::default();
        for _ in 0..20_000 {
            let (a, b) = (random.unit() * 4.0, random.unit());
            let p = 1.0 / (1.0 + (-(1.5 * a - 2.0 * b - 1.0)).exp());
            examples.add(&[a, b, 3.0], random.chance(p));
        }
        let m = examples.fit().unwrap();
        assert!((m.weights[0] - 1.5).abs() < 0.1 && (m.weights[1] + 2.0).abs() < 0.2, "{m:?}");
        assert!(m.weights[2].abs() < 1e-6 && (m.bias + 1.0).abs() < 0.2, "{m:?}");
        assert_eq!(examples.fit(), Some(m));
    }

    #[test]
    fn examples_of_one_kind_teach_nothing() {
        let mut examples = Examples::default();
        assert_eq!(examples.fit(), None);
        examples.add(&[1.0], true);
        assert_eq!(examples.fit(), None);
    }
}
