//! What a replay is asked for on the command line.

use std::path::PathBuf;

use super::{import::Format, sweep::Sweep};

/// The share of reply links that a live room is taken to see, where nothing else is asked for.
pub(super) const VISIBLE_LINKS: f64 = 0.3;
/// How long a draft takes, ms, where nothing else is asked for.
const DRAFT_MS: i64 = 6_000;

/// Drafts of a model where nothing else is asked for: enough to see how it talks, and at some seconds each an hour's wait at most.
const MAX_DRAFTS: u64 = 500;

/// What writes the drafts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Drafting {
    /// Nobody: a draft is empty
    Stub,
    /// The configured model
    Model,
}

/// What to replay, and how.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Archives: files of JSON lines, exports of DiscordChatExporter (JSON), IRC logs, or the folder of a Slack export
    #[arg(required = true, value_name = "ARCHIVE")]
    pub archives: Vec<PathBuf>,
    /// What the archives are; told by their content unless it is given
    #[arg(long, value_enum, default_value_t = Format::Auto)]
    pub format: Format,
    /// Whose place the machine takes in every room: a name or an author id of the archive, or somebody new
    #[arg(long, value_name = "NAME")]
    pub persona: Option<String>,
    /// Share of reply links that the machine may see
    #[arg(long, value_name = "0..1", default_value_t = VISIBLE_LINKS, value_parser = share)]
    pub visible_links: f64,
    /// How long a draft takes on the virtual clock, ms
    #[arg(long, value_name = "MS", default_value_t = DRAFT_MS, value_parser = clap::value_parser!(i64).range(0..=600_000))]
    pub draft_ms: i64,
    /// A Room document whose policy the rooms are run with; its personas' place is taken by the archive's
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// What writes the drafts: the stub, whose text is empty, or the configured model
    #[arg(long, value_enum, default_value_t = Drafting::Stub)]
    pub drafter: Drafting,
    /// The model that drafts, such as anthropic/claude-haiku-4-5; else that of the first Persona of --policy
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub model: Option<String>,
    /// Most that the model may cost, in US dollars
    #[arg(long, value_name = "DOLLARS", default_value = "1", value_parser = dollars)]
    pub max_cost: u64,
    /// Most drafts that the model writes
    #[arg(long, value_name = "N", default_value_t = MAX_DRAFTS)]
    pub max_drafts: u64,
    /// Run once more for each value of a timing or bar of the policy, such as turn_done_ms=5000,10000
    #[arg(long, value_name = "NAME=a,b,c", value_parser = super::sweep::parse)]
    pub sweep: Option<Sweep>,
    /// Stop at the first row that cannot be used
    #[arg(long)]
    pub strict: bool,
    /// Seed of the random policy and of the intervals
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write a JSON line for each post of the machine to this file
    #[arg(long, value_name = "FILE")]
    pub sends: Option<PathBuf>,
    /// Write a report for a browser into this folder
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    /// Show the texts of lines in the report: only for an archive that its readers may read
    #[arg(long, requires = "report")]
    pub report_text: bool,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
}

impl Args {
    /// Some archives with every default.
    pub fn of(archives: Vec<PathBuf>) -> Self {
        Self {
            archives,
            format: Format::Auto,
            persona: None,
            visible_links: VISIBLE_LINKS,
            draft_ms: DRAFT_MS,
            policy: None,
            drafter: Drafting::Stub,
            model: None,
            max_cost: 1_000_000,
            max_drafts: MAX_DRAFTS,
            sweep: None,
            strict: false,
            seed: 1,
            sends: None,
            report: None,
            report_text: false,
            json: false,
        }
    }
}

/// Dollars as millionths.
fn dollars(text: &str) -> Result<u64, String> {
    let amount: f64 = text.parse().map_err(|_| "not an amount of dollars".to_owned())?;
    // A million dollars is a slip of the pen.
    if (0.0..1e6).contains(&amount) {
        Ok((amount * 1e6).round() as u64)
    } else {
        Err("an amount is from 0 to below a million dollars".into())
    }
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("a share is from 0 to 1".into()) }
}
