//! Figures for people.

use std::fmt::Write as _;

use super::{Figure, Target};

pub(super) fn of(figures: &[Figure]) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{:<40}{:>14}  {:<14}{:>14}  {:<16}{:>8}  target", "figure", "value", "unit", "baseline", "of", "ratio");
    for f in figures {
        let target = f.target.map_or(String::new(), |t| {
            let met = f.value.is_some_and(|v| t.met(v));
            let bound = match t {
                Target::AtLeast(least) => format!("at least {}", number(Some(least))),
                Target::Below(bound) => format!("below {}", number(Some(bound))),
            };
            format!("{bound}: {}", if met { "met" } else { "missed" })
        });
        let _ = writeln!(
            out,
            "{:<40}{:>14}  {:<14}{:>14}  {:<16}{:>8}  {target}",
            f.name,
            number(f.value),
            f.unit,
            number(f.baseline_value),
            f.baseline_name,
            f.ratio.map_or("-".into(), |r| format!("{r:.2}"))
        );
    }
    out
}

fn number(value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(v) if v.abs() >= 100.0 => format!("{v:.0}"),
        Some(v) => format!("{v:.3}"),
    }
}
