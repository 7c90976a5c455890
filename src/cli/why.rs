//! `parlor why`: whether the room is silent, what it decided, and why, all of it or about one line.

use jiff::tz::TimeZone;
use parlor_core::{What, Why as Reason};
use serde_json::json;

use super::{CliError, Common, mute, out, tail};
use crate::ledger::{DecisionRow, ITEMS_AT_ONCE, LedgerItem, OutboxRow, Page, Reader};

/// Shows what a room decided, and why.
#[derive(Debug, clap::Args)]
pub struct Why {
    #[command(flatten)]
    common: Common,
    /// Number or platform id of a line; without it, the latest decisions.
    line: Option<String>,
    /// How many of the latest decisions are shown.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
    lines: u16,
}

impl Why {
    /// Prints the decisions.
    pub async fn run(self) -> Result<(), CliError> {
        let (reader, stream) = self.common.open().await?;
        let zone = TimeZone::system();
        let mut lines = Vec::new();
        let decisions = match &self.line {
            None => {
                let hush = reader.hush(stream.id).await?;
                lines.extend(if self.common.json { mute::as_json(&hush) } else { mute::told(&hush) });
                reader.decisions(stream.id, Page::Last, usize::from(self.lines)).await?
            }
            Some(line) => {
                let item = find(&reader, stream.id, line).await?;
                lines.push(if self.common.json { tail::as_json(&item).to_string() } else { tail::as_text(&item, &zone) });
                reader.decisions_about(stream.id, item.seq).await?
            }
        };
        if decisions.is_empty() && !self.common.json {
            lines.push("nothing was decided yet".to_owned());
        }
        lines.extend(decisions.iter().map(|d| if self.common.json { decision_json(d).to_string() } else { decision_text(d, &zone) }));
        if self.line.is_some() {
            let mut owed: Vec<_> = decisions.iter().flat_map(|d| d.obligations.clone()).collect();
            owed.sort_unstable();
            owed.dedup();
            let rows = if owed.is_empty() { Vec::new() } else { reader.rows_settling(stream.id, &owed).await? };
            lines.extend(rows.iter().map(|r| if self.common.json { row_json(r).to_string() } else { row_text(r, &zone) }));
        }
        out::print(&lines)?;
        Ok(())
    }
}

/// The item with this number, or the last of the newest ones with this platform id.
async fn find(reader: &Reader, stream: i64, line: &str) -> Result<LedgerItem, CliError> {
    let items = match line.parse::<i64>() {
        Ok(seq) => reader.items(stream, Page::After(seq.saturating_sub(1)), 1).await?.into_iter().find(|i| i.seq == seq),
        Err(_) => reader.items(stream, Page::Last, ITEMS_AT_ONCE).await?.into_iter().find(|i| i.platform_id == line),
    };
    items.ok_or_else(|| CliError::NoLine(line.to_owned()))
}

fn meaning_of_what(code: &str) -> &'static str {
    What::ALL.iter().find(|w| w.code() == code).map_or("", |w| w.meaning())
}

fn meaning_of_why(code: &str) -> &'static str {
    Reason::ALL.iter().find(|w| w.code() == code).map_or("", |w| w.meaning())
}

/// When, what, why, who, what was owed and about which lines; the reason in words on the line below, and what the models
/// thought on one more.
fn decision_text(row: &DecisionRow, zone: &TimeZone) -> String {
    let list = |label: &str, items: Vec<String>| if items.is_empty() { String::new() } else { format!("  {label}{}", items.join(" ")) };
    let persona = row.persona.as_deref().map_or_else(String::new, |p| format!("  {}", out::plain(p, 0)));
    let owed = list("", row.obligations.iter().map(ToString::to_string).collect());
    let about = list("line ", row.lines.iter().map(ToString::to_string).collect());
    let why = format!("{:10}  {}{persona}{owed}{about}", row.what, row.why);
    let odds = row.odds.map_or_else(String::new, |odds| format!("\n            Likely: {odds}."));
    format!("{}  {why}\n            {}{odds}", out::clock(row.at_ms, zone), meaning_of_why(&row.why))
}

fn decision_json(row: &DecisionRow) -> serde_json::Value {
    json!({
        "type": "decision",
        "n": row.n,
        "at": out::stamp(row.at_ms),
        "what": row.what,
        "what_means": meaning_of_what(&row.what),
        "why": row.why,
        "why_means": meaning_of_why(&row.why),
        "persona": row.persona,
        "obligations": row.obligations,
        "effect": row.effect,
        "cursor": row.cursor,
        "lines": row.lines,
        "odds": row.odds,
    })
}

fn row_text(row: &OutboxRow, zone: &TimeZone) -> String {
    let what = match (&row.body, &row.emoji) {
        (Some(body), _) => out::plain(body, 12),
        (None, Some(emoji)) => out::plain(emoji, 12),
        (None, None) => String::new(),
    };
    let place = row.echo_seq.map_or_else(String::new, |seq| format!(" (line {seq})"));
    let reason = row.reason.as_deref().map_or_else(String::new, |r| format!(", {}", out::plain(r, 0)));
    let persona = out::plain(&row.persona, 0);
    format!("{}  {} of {persona}, {}{reason}{place}: {what}", out::clock(row.created_ms, zone), row.kind, state(row))
}

/// The states are single words.
fn state(row: &OutboxRow) -> String {
    format!("{:?}", row.state).to_lowercase()
}

fn row_json(row: &OutboxRow) -> serde_json::Value {
    json!({
        "type": "row",
        "n": row.n,
        "at": out::stamp(row.created_ms),
        "dedupe": row.dedupe,
        "persona": row.persona,
        "kind": row.kind,
        "state": state(row),
        "reason": row.reason,
        "settles": row.settles,
        "body": row.body,
        "emoji": row.emoji,
        "echo": row.echo_seq,
    })
}

#[cfg(test)]
mod tests {
    use parlor_core::{Likelihood, Measured, ObligationId, Odds};

    use super::*;

    #[test]
    fn a_decision_is_told_with_what_the_models_thought() {
        let measured = Some(Measured { likelihood: Likelihood::Answered, permille: 812, bar_permille: 140 });
        let row = DecisionRow {
            n: 3,
            input_n: 9,
            at_ms: 45_296_000,
            what: "answered".into(),
            why: "person_answered".into(),
            persona: None,
            obligations: vec![ObligationId { input: 4, index: 0 }],
            effect: None,
            cursor: 8,
            lines: vec![7],
            odds: Some(Odds { me_permille: 52, room_permille: 618, measured }),
        };
        let told = decision_text(&row, &TimeZone::UTC);
        let (first, rest) = told.split_once('\n').unwrap();
        assert_eq!(first, "12:34:56  answered    person_answered  o4  line 7");
        assert_eq!(
            rest,
            "            A person's line answers it.\n            Likely: for the persona 0.05, for the room 0.62, answered 0.81 (bar 0.14)."
        );
        assert_eq!(decision_json(&row)["odds"]["measured"]["permille"], 812);
        assert_eq!(decision_text(&DecisionRow { odds: None, ..row }, &TimeZone::UTC).lines().count(), 2);
    }
}
