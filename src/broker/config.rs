//! Where the providers are and how they are paid, from the environment of the process.

use std::{fmt, time::Duration};

use reqwest::Url;
use secrecy::SecretString;

use super::price::{PriceError, PriceTable};

/// Everything the broker is told at its start.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// Anthropic Messages.
    pub anthropic: Endpoint,
    /// OpenAI Chat Completions, and everything that speaks it.
    pub openai: Endpoint,
    /// What models cost.
    pub prices: PriceTable,
    /// How long a provider may take.
    pub deadlines: Deadlines,
}

/// One provider.
#[derive(Clone)]
pub struct Endpoint {
    /// Without the path of the call.
    pub base_url: Url,
    /// Where the provider wants one.
    pub key: Option<SecretString>,
    /// Whether calls without a key are refused before they leave.
    pub needs_key: bool,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A base URL may carry a user and password.
        let host = self.base_url.host_str().unwrap_or("-");
        f.debug_struct("Endpoint").field("host", &host).field("key", &self.key.is_some()).finish_non_exhaustive()
    }
}

/// How long a provider may take before a call counts as failed.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    /// To open a connection.
    pub connect: Duration,
    /// Between two pieces of an answer, and until the first.
    pub idle: Duration,
    /// For the whole call.
    pub whole: Duration,
}

/// The room machine gives a draft up (`draftTimeout`, 90 s) and the call ends with it, so the broker's own limits lie well above
/// and only end what nobody waits for.
impl Default for Deadlines {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_mins(10), whole: Duration::from_mins(10) }
    }
}

/// The environment does not make sense.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A base URL cannot be used.
    #[error("{0} is not an http or https URL; write it like http://127.0.0.1:11434/v1")]
    BaseUrl(&'static str),
    /// A price cannot be read.
    #[error("PARLOR_MODEL_PRICES: {0}")]
    Price(#[from] PriceError),
}

const ANTHROPIC: &str = "https://api.anthropic.com";
const OPENAI: &str = "https://api.openai.com/v1";

impl BrokerConfig {
    /// Reads `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`, `OPENAI_API_KEY`, `OPENAI_BASE_URL`, `PARLOR_MODEL_PRICES`.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_vars(|name| std::env::var(name).ok())
    }

    /// The same from any source of variables. An empty one counts as not set.
    pub fn from_vars(var: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let set = |name: &str| var(name).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
        let endpoint = |key: &str, base: &'static str, usual: &str| {
            let named = set(base);
            let text = named.as_deref().unwrap_or(usual);
            let url = Url::parse(text).ok().filter(|u| matches!(u.scheme(), "http" | "https") && u.has_host());
            let base_url = url.ok_or(ConfigError::BaseUrl(base))?;
            let needs_key = text.trim_end_matches('/') == usual;
            Ok::<_, ConfigError>(Endpoint { base_url, key: set(key).map(SecretString::from), needs_key })
        };
        let mut prices = PriceTable::default();
        if let Some(own) = set("PARLOR_MODEL_PRICES") {
            prices.extend(&own)?;
        }
        Ok(Self {
            anthropic: endpoint("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", ANTHROPIC)?,
            openai: endpoint("OPENAI_API_KEY", "OPENAI_BASE_URL", OPENAI)?,
            prices,
            deadlines: Deadlines::default(),
        })
    }
}
