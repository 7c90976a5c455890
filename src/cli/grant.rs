//! `parlor grant show`: what rooms may know of each other, who used it, and how it ended; with a name also the exact text.

use std::path::PathBuf;

use jiff::tz::TimeZone;

use super::{CliError, Running, out};
use crate::ledger::{GrantMode, GrantRow, Ledger};

/// What is to be done about grants.
#[derive(Debug, clap::Subcommand)]
pub enum GrantCommand {
    /// Shows grants; with a name the exact text, each use and how it ended.
    Show(ShowGrants),
}

/// Which grants are shown.
#[derive(Debug, clap::Args)]
pub struct ShowGrants {
    /// Name of one grant; without it, all of them.
    name: Option<String>,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
    /// State folder of the running `parlor dev`.
    #[arg(long, value_name = "DIR", default_value = ".parlor")]
    state: PathBuf,
}

impl GrantCommand {
    /// Prints them.
    pub async fn run(self) -> Result<(), CliError> {
        let Self::Show(ShowGrants { name, json, state }) = self;
        let ledger = Ledger::connect(&Running::read(&state)?.database(), "parlor-cli", 1)?;
        ledger.check_schema().await?;
        let reader = ledger.reader();
        let mut grants = reader.grants(None).await?;
        if let Some(name) = &name {
            let known: Vec<String> = grants.iter().map(|g| named(&g.id).to_owned()).collect();
            let mut whole = Vec::new();
            for grant in grants.iter().filter(|g| named(&g.id) == name) {
                whole.extend(reader.grants(Some(&grant.id)).await?);
            }
            if whole.is_empty() {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(CliError::NoGrant { name: name.clone(), known });
            }
            grants = whole;
        }
        let zone = TimeZone::system();
        let line = |grant: &GrantRow| if json { serde_json::to_string(grant).unwrap_or_default() } else { text(grant, &zone) };
        let mut lines: Vec<String> = grants.iter().map(line).collect();
        if lines.is_empty() && !json {
            lines.push("nothing was granted yet".to_owned());
        }
        out::print(&lines)?;
        Ok(())
    }
}

/// The id of a grant begins with its name.
fn named(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}

fn text(grant: &GrantRow, zone: &TimeZone) -> String {
    let state = match (&grant.revocation, grant.live) {
        (Some(end), _) => end.why.as_str(),
        (None, true) => "live",
        (None, false) => "over",
    };
    let verb = match grant.mode {
        GrantMode::Read => "may read",
        GrantMode::Release => "is given",
    };
    let plain = |text: &str| out::plain(text, 4);
    let mut lines = vec![
        format!(
            "{}  {state}  {} {verb} {} messages of {} ({})",
            plain(named(&grant.id)),
            grant.target,
            grant.count,
            grant.source,
            grant.from
        ),
        format!("    purpose     {}", plain(&grant.purpose)),
        format!("    granted by  {}, {} until {}", plain(&grant.granted_by), out::stamp(grant.made_ms), out::stamp(grant.expires_ms)),
    ];
    for used in &grant.uses {
        lines.push(format!(
            "    used        {}  {} by incarnation {}, {} messages",
            out::stamp(used.at_ms),
            used.kind,
            used.incarnation,
            used.items
        ));
    }
    if let Some(end) = &grant.revocation {
        let since = |at: Option<i64>| at.map_or("not yet".to_owned(), |at| format!("after {} ms", at - end.requested_ms));
        lines.push(format!(
            "    {:10}  {}: invisible {}, sessions ended {}, next incarnation {}; {} rows refused, {} derived hidden",
            end.why,
            out::stamp(end.requested_ms),
            since(Some(end.rows_invisible_ms)),
            since(end.sessions_ended_ms),
            since(end.incarnation_replaced_ms),
            end.rows_refused,
            end.derived_hidden
        ));
    }
    for item in grant.items.iter().flatten() {
        lines.push(format!("    {}  {}  {}: {}", item.seq, out::clock(item.at_ms, zone), plain(&item.name), plain(&item.text)));
    }
    lines.join("\n")
}
