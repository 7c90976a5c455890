//! `--sweep NAME=a,b,c`: the same archives once for each value of one timing, so that what a constant does can be seen.
//!
//! Names are those of the policy's timings as they are stored, so a constant that comes in can be swept at once.

use std::fmt::Write as _;

use parlor_core::{Policy, Timings};
use serde_json::{Map, Number, Value, json};

use super::{
    Args, ReplayError,
    seat::Seat,
    table::{cell, compared},
};

/// Most values of one sweep: each is a run over all archives.
const MAX_VALUES: usize = 32;

/// One constant and the values to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    name: String,
    values: Vec<Number>,
}

/// What came out for each value.
#[derive(Clone, Debug)]
pub(super) struct Swept {
    pub name: String,
    /// The value without a sweep.
    pub default: Value,
    /// Each value with the figures of `parlor`.
    pub rows: Vec<(Number, Map<String, Value>)>,
}

/// Reads `NAME=a,b,c`. The name may be given without its `_ms`.
pub(super) fn parse(text: &str) -> Result<Sweep, String> {
    let (name, list) = text.split_once('=').ok_or("write it as NAME=a,b,c")?;
    let known = names();
    let name = name.trim();
    let name = known
        .iter()
        .find(|k| *k == name || k.strip_suffix("_ms") == Some(name))
        .ok_or_else(|| format!("{name:?} is no timing of the policy; there are: {}", known.join(", ")))?;
    let values: Vec<Number> =
        list.split(',').map(|v| v.trim().parse().map_err(|_| format!("{:?} is not a number", v.trim()))).collect::<Result<_, _>>()?;
    if values.len() > MAX_VALUES {
        return Err(format!("{} values are too many; {MAX_VALUES} at most", values.len()));
    }
    let sweep = Sweep { name: name.clone(), values };
    // Whether the policy takes each value shows before an hour is spent on the first.
    let policy = Policy::new(Vec::new());
    for value in &sweep.values {
        sweep.set(&policy, value)?;
    }
    Ok(sweep)
}

/// Every constant that can be swept.
fn names() -> Vec<String> {
    match serde_json::to_value(Timings::default()) {
        Ok(Value::Object(fields)) => fields.into_iter().filter(|(_, v)| v.is_number()).map(|(name, _)| name).collect(),
        _ => Vec::new(),
    }
}

impl Sweep {
    fn set(&self, policy: &Policy, value: &Number) -> Result<Policy, String> {
        let refused = |e: &dyn std::fmt::Display| format!("{} = {value} is refused: {e}", self.name);
        if value.as_f64().is_none_or(|v| v < 0.0) {
            return Err(refused(&"it is negative"));
        }
        let mut whole = serde_json::to_value(policy).map_err(|e| refused(&e))?;
        if let Some(slot) = whole.get_mut("timings").and_then(|t| t.get_mut(&self.name)) {
            *slot = Value::Number(value.clone());
        }
        serde_json::from_value(whole).map_err(|e| refused(&e))
    }

    /// One run for each value.
    pub(super) fn run(&self, args: &Args, seat: &Seat) -> Result<Swept, ReplayError> {
        let mut rows = Vec::new();
        for value in &self.values {
            let policy = self.set(seat.plain_policy(), value).map_err(ReplayError::Sweep)?;
            let report = super::once(args, &seat.with_policy(policy))?;
            rows.push((value.clone(), report.parlor()));
        }
        let timings = serde_json::to_value(seat.plain_policy().timings).unwrap_or_default();
        Ok(Swept { name: self.name.clone(), default: timings.get(&self.name).cloned().unwrap_or_default(), rows })
    }
}

impl Swept {
    pub(super) fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(|(value, figures)| json!({"value": value, "parlor": figures})).collect();
        json!({"name": self.name, "default": self.default, "values": rows})
    }

    pub(super) fn table(&self) -> String {
        // Writing to a string cannot fail.
        let mut out = format!("\n{} (without a sweep {})\n", self.name, self.default);
        let _ = write!(out, "{:>12}", "");
        for row in compared() {
            let _ = write!(out, "{:>22}", row.short);
        }
        out.push('\n');
        for (value, figures) in &self.rows {
            let _ = write!(out, "{:>12}", value.to_string());
            for row in compared() {
                let _ = write!(out, "{:>22}", cell(row, figures));
            }
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_timing_can_be_swept_and_nothing_else() {
        for name in names() {
            let sweep = parse(&format!("{name}=1,2")).unwrap();
            let policy = sweep.set(&Policy::new(Vec::new()), &sweep.values[1]).unwrap();
            assert_eq!(serde_json::to_value(policy.timings).unwrap()[&name], 2, "{name}");
        }
        assert!(names().contains(&"turn_done_ms".to_owned()));
        assert_eq!(parse("turn_done=5").unwrap(), parse("turn_done_ms=5").unwrap());
        let unknown = parse("patience=1").unwrap_err();
        assert!(unknown.contains("\"patience\"") && unknown.contains("turn_open_ms"), "{unknown}");
        for (text, words) in [("turn_done_ms", "NAME=a,b,c"), ("turn_done=x", "\"x\" is not a number"), ("turn_done=-4", "negative")] {
            let told = parse(text).unwrap_err();
            assert!(told.contains(words), "{told}");
        }
    }
}
