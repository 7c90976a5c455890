//! `--sweep NAME=a,b,c`: the same archives once for each value of one timing or bar, so that what a constant does can be seen.
//!
//! Names are those of the policy as it is stored, so a constant that comes in can be swept at once.

use std::fmt::Write as _;

use parlor_core::Policy;
use serde_json::{Map, Number, Value, json};

use super::{
    Args, ReplayError,
    seat::Seat,
    table::{cell, compared},
};

/// Most values of one sweep: each is a run over all archives.
const MAX_VALUES: usize = 32;
/// The parts of a policy that hold constants, all of them numbers under names of their own.
const PARTS: [&str; 2] = ["timings", "bars"];
/// Units, which may be left out of a name.
const UNITS: [&str; 2] = ["_ms", "_permille"];

/// One constant and the values to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The part of the policy that holds it.
    part: &'static str,
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

/// Reads `NAME=a,b,c`. The name may be given without its unit.
pub(super) fn parse(text: &str) -> Result<Sweep, String> {
    let (name, list) = text.split_once('=').ok_or("write it as NAME=a,b,c")?;
    let known = constants();
    let wanted = name.trim();
    let is = |known: &str| known == wanted || UNITS.iter().any(|unit| known.strip_suffix(unit) == Some(wanted));
    let (part, name) = known.iter().find(|(_, name)| is(name)).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(_, name)| name.as_str()).collect();
        format!("{wanted:?} is no timing and no bar of the policy; there are: {}", names.join(", "))
    })?;
    let values: Vec<Number> =
        list.split(',').map(|v| v.trim().parse().map_err(|_| format!("{:?} is not a number", v.trim()))).collect::<Result<_, _>>()?;
    if values.len() > MAX_VALUES {
        return Err(format!("{} values are too many; {MAX_VALUES} at most", values.len()));
    }
    let sweep = Sweep { part, name: name.clone(), values };
    // Whether the policy takes each value shows before an hour is spent on the first.
    let policy = Policy::new(Vec::new());
    for value in &sweep.values {
        sweep.set(&policy, value)?;
    }
    Ok(sweep)
}

/// Every constant that can be swept, with its part.
fn constants() -> Vec<(&'static str, String)> {
    let policy = serde_json::to_value(Policy::new(Vec::new())).unwrap_or_default();
    let of = |part: &'static str| {
        let fields = policy.get(part).and_then(Value::as_object).into_iter().flatten();
        fields.filter(|(_, value)| value.is_number()).map(move |(name, _)| (part, name.clone())).collect::<Vec<_>>()
    };
    PARTS.into_iter().flat_map(of).collect()
}

impl Sweep {
    fn set(&self, policy: &Policy, value: &Number) -> Result<Policy, String> {
        let refused = |e: &dyn std::fmt::Display| format!("{} = {value} is refused: {e}", self.name);
        if value.as_f64().is_none_or(|v| v < 0.0) {
            return Err(refused(&"it is negative"));
        }
        let mut whole = serde_json::to_value(policy).map_err(|e| refused(&e))?;
        if let Some(slot) = whole.get_mut(self.part).and_then(|part| part.get_mut(&self.name)) {
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
        let policy = serde_json::to_value(seat.plain_policy()).unwrap_or_default();
        let default = policy.get(self.part).and_then(|part| part.get(&self.name)).cloned().unwrap_or_default();
        Ok(Swept { name: self.name.clone(), default, rows })
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
    fn every_timing_and_bar_can_be_swept_and_nothing_else() {
        for (part, name) in constants() {
            let sweep = parse(&format!("{name}=1,2")).unwrap();
            let policy = sweep.set(&Policy::new(Vec::new()), &sweep.values[1]).unwrap();
            assert_eq!(serde_json::to_value(policy).unwrap()[part][&name], 2, "{name}");
        }
        let known: Vec<String> = constants().into_iter().map(|(_, name)| name).collect();
        for name in ["turn_done_ms", "answered_room_permille", "wanted_permille"] {
            assert!(known.iter().any(|k| k == name), "{name}");
        }
        assert_eq!(known.iter().collect::<std::collections::BTreeSet<_>>().len(), known.len(), "a name stands for one constant");
        assert_eq!(parse("turn_done=5").unwrap(), parse("turn_done_ms=5").unwrap());
        assert_eq!(parse("answered_room=5").unwrap(), parse("answered_room_permille=5").unwrap());
        let unknown = parse("patience=1").unwrap_err();
        assert!(unknown.contains("\"patience\"") && unknown.contains("turn_open_ms") && unknown.contains("room_permille"), "{unknown}");
        for (text, words) in [
            ("turn_done_ms", "NAME=a,b,c"),
            ("turn_done=x", "\"x\" is not a number"),
            ("turn_done=-4", "negative"),
            ("room_permille=0.4", "expected u16"),
        ] {
            let told = parse(text).unwrap_err();
            assert!(told.contains(words), "{told}");
        }
    }
}
