//! The rows of a table of metrics: names for people, and how a figure is written.

use serde_json::{Map, Value};

/// A row of the table.
pub(super) struct TableRow {
    pub title: &'static str,
    /// For the head of a narrow column.
    pub short: &'static str,
    /// The name in JSON.
    pub name: &'static str,
    unit: Unit,
}

enum Unit {
    /// A fraction, shown in percent with its interval if it has one.
    Percent,
    Seconds,
    Plain,
}

const fn row(title: &'static str, short: &'static str, name: &'static str, unit: Unit) -> TableRow {
    TableRow { title, short, name, unit }
}

/// Every metric.
pub(super) const ROWS: &[TableRow] = &[
    row("duplicate, %", "duplicate", "duplicate_rate", Unit::Percent),
    row("already answered, %", "answered", "already_answered_rate", Unit::Percent),
    row("pre-empt, %", "pre-empt", "preempt_rate", Unit::Percent),
    row("missed direct, %", "missed direct", "missed_direct_rate", Unit::Percent),
    row("missed orphan, %", "missed orphan", "missed_orphan_rate", Unit::Percent),
    row("cut-off, %", "cut-off", "cut_off_rate", Unit::Percent),
    row("butt-in, %", "butt-in", "butt_in_rate", Unit::Percent),
    row("balanced accuracy, %", "balanced acc.", "balanced_accuracy", Unit::Percent),
    row("macro F1, %", "macro F1", "macro_f1", Unit::Percent),
    row("MIR (wanted, not said), %", "MIR", "mir", Unit::Percent),
    row("FIR (said, not wanted), %", "FIR", "fir", Unit::Percent),
    row("latency p50, s", "p50, s", "latency_p50_ms", Unit::Seconds),
    row("latency p95, s", "p95, s", "latency_p95_ms", Unit::Seconds),
    row("posts per 100 lines", "posts", "sends", Unit::Plain),
    row("reactions per 100 lines", "reactions", "reactions", Unit::Plain),
    row("drafts per 100 lines", "drafts", "drafts", Unit::Plain),
    row("gate calls per 100 lines", "gate calls", "gate_calls", Unit::Plain),
];

/// Those by which values of a constant are compared, one column each.
pub(super) fn compared() -> impl Iterator<Item = &'static TableRow> {
    ROWS.iter().filter(|row| !matches!(row.name, "macro_f1" | "mir" | "fir" | "gate_calls"))
}

/// A figure as text.
pub(super) fn cell(row: &TableRow, figures: &Map<String, Value>) -> String {
    match range(row, figures) {
        Some(range) => format!("{} ({range})", number(row, figures)),
        None => number(row, figures),
    }
}

/// A figure without its interval.
pub(super) fn number(row: &TableRow, figures: &Map<String, Value>) -> String {
    let Some(value) = figures.get(row.name).and_then(Value::as_f64) else { return "-".into() };
    match row.unit {
        Unit::Plain => format!("{value:.1}"),
        Unit::Seconds => format!("{:.1}", value / 1_000.0),
        Unit::Percent => format!("{:.1}", 100.0 * value),
    }
}

/// The ends of a figure's interval, if it has one.
pub(super) fn range(row: &TableRow, figures: &Map<String, Value>) -> Option<String> {
    let end = |which: &str| figures.get(&format!("{}_{which}", row.name)).and_then(Value::as_f64);
    Some(format!("{:.1}-{:.1}", 100.0 * end("low")?, 100.0 * end("high")?))
}
