//! `parlor tail`: the last lines of a room, and those that follow.

use std::time::Duration;

use jiff::tz::TimeZone;
use parlor_core::{AuthorKind, ItemKind};
use serde_json::json;

use super::{CliError, Common, out};
use crate::ledger::{ITEMS_AT_ONCE, LedgerItem, Page};

/// How often a followed room is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Shows a room.
#[derive(Debug, clap::Args)]
pub struct Tail {
    #[command(flatten)]
    common: Common,
    /// How many of the last events are shown.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(0..=500))]
    lines: u16,
    /// Goes on until interrupted.
    #[arg(long, short)]
    follow: bool,
}

impl Tail {
    /// Prints the room.
    pub async fn run(self) -> Result<(), CliError> {
        let (reader, stream) = self.common.open().await?;
        let zone = TimeZone::system();
        let show = |item: &LedgerItem| if self.common.json { as_json(item).to_string() } else { as_text(item, &zone) };
        let items = reader.items(stream.id, Page::Last, usize::from(self.lines).max(1)).await?;
        let mut last = items.last().map_or(0, |i| i.seq);
        let shown: Vec<String> = items.iter().take(usize::from(self.lines)).map(show).collect();
        let mut open = out::print(&shown)?;
        let mut away = false;
        while self.follow && open {
            tokio::time::sleep(LOOK_EVERY).await;
            match reader.items(stream.id, Page::After(last), ITEMS_AT_ONCE).await {
                Ok(items) => {
                    away = false;
                    last = items.last().map_or(last, |i| i.seq);
                    let shown: Vec<String> = items.iter().map(show).collect();
                    open = out::print(&shown)?;
                }
                // A stopped process takes its notice away; a database that is only away comes back.
                Err(e) if e.is_transient() && self.common.running().is_ok() => {
                    if !away {
                        eprintln!("parlor: {e}; it goes on when the database is back");
                        away = true;
                    }
                }
                Err(e) if e.is_transient() => return Err(CliError::NotRunning(self.common.state.clone())),
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }
}

/// An event on one line: number, time, who, what.
pub(super) fn as_text(item: &LedgerItem, zone: &TimeZone) -> String {
    let head = format!("{:>5}  {}  ", item.seq, out::clock(item.at_ms, zone));
    let name = out::plain(&item.name, 0);
    let who = match item.author_kind {
        AuthorKind::Own => format!("{name} (persona)"),
        AuthorKind::Owner => format!("{name} (owner)"),
        AuthorKind::Bot | AuthorKind::Webhook => format!("{name} (bot)"),
        AuthorKind::Human => name,
    };
    let of = item.of_seq.map_or_else(|| "a line that is not here".to_owned(), |seq| format!("line {seq}"));
    let text = out::plain(&item.text, head.len());
    let what = match item.kind {
        ItemKind::Message if item.of_seq.is_some() => format!(" (to {of}): {text}"),
        ItemKind::Message => format!(": {text}"),
        ItemKind::Edit => format!(" changed {of}: {text}"),
        ItemKind::Delete => format!(" deleted {of}"),
        ItemKind::Reaction => format!(" put {text} on {of}"),
        ItemKind::Unreaction => format!(" took {text} off {of}"),
        ItemKind::System => format!(" * {text}"),
    };
    format!("{head}{who}{what}")
}

pub(super) fn as_json(item: &LedgerItem) -> serde_json::Value {
    json!({
        "type": "line",
        "seq": item.seq,
        "at": out::stamp(item.at_ms),
        "author": item.author,
        "author_kind": item.author_kind,
        "name": item.name,
        "kind": item.kind,
        "platform_id": item.platform_id,
        "text": item.text,
        "of": item.of_seq,
    })
}
