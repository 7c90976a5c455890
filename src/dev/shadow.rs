//! `parlor shadow report`: what a persona in Shadow would have said, beside what people did. The room is read from the ledger of a
//! running `parlor dev` and judged by the scorer of the replay.
//!
//! It only reads the ledger.

use jiff::tz::TimeZone;
use parlor_core::{AuthorKind, ItemKind};

use crate::{
    cli::{self, CliError},
    ledger::{DecisionRow, ITEMS_AT_ONCE, LedgerError, LedgerItem, OutboxRow, Page, Reader},
    replay::{Line, ReplayError, Said, Shadow, ShadowArgs, Watched, shadow},
};

/// Posts that are printed, the newest; all of them are in the JSON and most in the pages.
const SHOWN: usize = 20;
/// Decisions and rows for each event that are read at most: an event leads to a handful.
const PER_EVENT: usize = 16;

/// Looks at a room in Shadow.
#[derive(Debug, clap::Subcommand)]
pub enum ShadowCommand {
    /// What the persona would have said, beside what people did, with the figures of a replay.
    Report(ShadowReport),
}

/// See [`ShadowCommand::Report`].
#[derive(Debug, clap::Args)]
pub struct ShadowReport {
    #[command(flatten)]
    common: cli::Common,
    #[command(flatten)]
    args: ShadowArgs,
}

/// There is no report.
#[derive(Debug, thiserror::Error)]
pub enum ShadowError {
    /// The room cannot be read, or the report not printed.
    #[error(transparent)]
    Cli(#[from] CliError),
    /// It cannot be judged.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The room was made, and nothing more.
    #[error("the room {0} has no policy yet; is it still starting?")]
    NoPolicy(String),
}

impl ShadowCommand {
    /// Prints the report.
    pub async fn run(self) -> Result<(), ShadowError> {
        let Self::Report(ShadowReport { common, args }) = self;
        let (reader, stream) = common.open().await?;
        let watched = read(&reader, stream.id, &stream.room, args.lines as usize).await.map_err(CliError::from)?;
        let watched = watched.ok_or_else(|| ShadowError::NoPolicy(stream.room.clone()))?;
        let shadow = shadow(&args, &watched)?;
        let lines = if common.json { vec![shadow.json().to_string()] } else { told(&shadow) };
        cli::print(&lines).map_err(CliError::from)?;
        Ok(())
    }
}

/// The latest events of a room, at most so many, and what came of them.
pub async fn read(reader: &Reader, stream: i64, room: &str, lines: usize) -> Result<Option<Watched>, LedgerError> {
    let Some(policy) = reader.policy(stream).await? else { return Ok(None) };
    let own = |i: &LedgerItem| i.author_kind == AuthorKind::Own && i.kind == ItemKind::Message;
    let mut pages: Vec<Vec<LedgerItem>> = Vec::new();
    let (mut page, mut left) = (Page::Last, lines);
    // Beyond the persona's last post nothing is wanted.
    while left > 0 && !pages.last().is_some_and(|p| p.iter().any(own)) {
        let items = reader.items(stream, page, left.min(ITEMS_AT_ONCE)).await?;
        let Some(first) = items.first() else { break };
        (page, left) = (Page::Before(first.seq), left - items.len());
        pages.push(items);
    }
    let items: Vec<LedgerItem> = pages.into_iter().rev().flatten().collect();
    let from = items.first().map_or(0, |i| i.seq);
    let at = items.first().map_or(0, |i| i.at_ms);
    let most = lines.saturating_mul(PER_EVENT);
    let decisions =
        newest(most, |d: &DecisionRow| d.cursor >= from, |d| d.n, async |page| reader.decisions(stream, page, ITEMS_AT_ONCE).await);
    let decisions = decisions.await?;
    // Not before the first event by the database's clock either; the judge looks at the machine's own times.
    let rows =
        newest(most, |r: &OutboxRow| r.created_ms >= at, |r| r.n, async |page| reader.rows(stream, page, ITEMS_AT_ONCE).await).await?;
    Ok(Some(Watched { room: room.to_owned(), policy, items, rows, decisions }))
}

/// Pages from the newest back, as long as the oldest of a page is wanted.
async fn newest<T>(
    most: usize,
    wanted: impl Fn(&T) -> bool,
    number: impl Fn(&T) -> i64,
    read: impl AsyncFn(Page) -> Result<Vec<T>, LedgerError>,
) -> Result<Vec<T>, LedgerError> {
    let mut pages: Vec<Vec<T>> = Vec::new();
    let (mut page, mut held) = (Page::Last, 0);
    while held < most {
        let rows = read(page).await?;
        let Some(first) = rows.first() else { break };
        let more = wanted(first);
        page = Page::Before(number(first));
        held += rows.len();
        pages.push(rows);
        if !more {
            break;
        }
    }
    Ok(pages.into_iter().rev().flatten().filter(|row| wanted(row)).collect())
}

fn told(shadow: &Shadow) -> Vec<String> {
    let zone = TimeZone::system();
    let s = &shadow.stretch;
    let part = s.stand_in.as_deref().map_or_else(String::new, |name| format!(" in the part of {}", cli::plain(name, 0)));
    let mut lines = vec![format!(
        "{} as {}{part}, now {:?}: events {} to {}, {} to {}",
        cli::plain(&s.room, 0),
        cli::plain(&s.persona, 0),
        s.mode,
        s.first.0,
        s.last.0,
        cli::stamp(s.first.1),
        cli::stamp(s.last.1)
    )];
    lines.extend(shadow.notes());
    lines.extend(shadow.report.table().lines().map(str::to_owned));
    let left_out = shadow.said.len().saturating_sub(SHOWN);
    lines.push(String::new());
    lines.push(match shadow.said.len() {
        0 => "It would have said nothing.".to_owned(),
        n if left_out > 0 => format!("What it would have said, the newest {SHOWN} of {n}:"),
        _ => "What it would have said:".to_owned(),
    });
    lines.extend(shadow.said.iter().skip(left_out).flat_map(|said| post(said, &s.persona, &zone)));
    lines
}

/// What it answers, what it would have said, and what people did.
fn post(said: &Said, persona: &str, zone: &TimeZone) -> Vec<String> {
    let line = |l: &Line| format!("line {} {}: {}", l.seq, cli::plain(&l.name, 0), cli::plain(&l.text, 16));
    let mut lines = vec![format!("{}  {}: {}", cli::clock(said.at_ms, zone), cli::plain(persona, 0), cli::plain(&said.text, 16))];
    lines.extend(said.to.iter().map(|l| format!("          to {}", line(l))));
    lines.push(match &said.people {
        Some(l) if l.at_ms <= said.at_ms => format!("          people, {} s before: {}", (said.at_ms - l.at_ms) / 1_000, line(l)),
        Some(l) => format!("          people, {} s later: {}", (l.at_ms - said.at_ms) / 1_000, line(l)),
        None => "          people: nobody is seen to answer".to_owned(),
    });
    lines
}
