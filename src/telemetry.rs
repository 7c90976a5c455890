//! Logging to stderr, and the metrics of the process.
//!
//! Logs and metrics hold identifiers, counts and codes; never message text, secrets or addresses that carry one.

mod metrics;

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, filter::ParseError, util::TryInitError};

pub use metrics::{Metrics, MetricsError};

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One readable line each, for a terminal.
    Human,
    /// One JSON object each, for a collector.
    Json,
}

/// Logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter does not parse.
    #[error("PARLOR_LOG is not a log filter ({0}); use something like \"info\" or \"info,parlor::broker=debug\"")]
    Filter(#[from] ParseError),
    /// Somebody else was first.
    #[error("logging is set up already in this process: {0}")]
    Twice(#[from] TryInitError),
}

/// Sets logging up for the whole process: `format` on stderr, filtered by `filter`, the value of `PARLOR_LOG` where set.
/// Call it once, from `main`.
pub fn init(format: LogFormat, filter: Option<&str>) -> Result<(), LogError> {
    use tracing_subscriber::util::SubscriberInitExt as _;
    let filter = EnvFilter::try_new(filter.unwrap_or("info"))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Human => lines.compact().with_ansi(std::io::stderr().is_terminal()).finish().try_init()?,
        LogFormat::Json => lines.json().flatten_event(true).finish().try_init()?,
    }
    Ok(())
}
