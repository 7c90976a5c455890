//! What can go wrong with a call, and which kind of failure that is to the room machine.
//!
//! Nothing here holds text of a room, of a model or of a provider's error message: those may repeat the prompt or the key.

use parlor_core::Failure;

use super::{account::Denied, acts::Unusable, dialect::Dialect};

/// A call that gave no act.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("the provider asked for a pause that is not over")]
    Resting,
    #[error("the provider could not be reached: {0}; check the base URL and the network")]
    Unreachable(String),
    #[error("the provider answered {status} ({code})")]
    Status { status: u16, code: String },
    #[error("the provider broke off with an error ({0})")]
    Midway(String),
    #[error("the answer broke off: {0}")]
    Broken(String),
    #[error("the provider did not finish in time")]
    TooSlow,
    #[error("{} is not set; set it in the environment of the process, or give the persona the provider stub", .0.key_name())]
    NoKey(Dialect),
    #[error("the HTTP client cannot be set up: {0}")]
    NoClient(String),
    #[error("the persona names the provider {0:?}, which is none of stub, anthropic, openai")]
    UnknownProvider(String),
    #[error("the persona names no model for the provider {0}")]
    NoModel(&'static str),
    #[error("the provider declined to answer")]
    Declined,
    #[error("the call cannot be written as JSON: {0}")]
    Unwritable(#[from] serde_json::Error),
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error(transparent)]
    Unusable(#[from] Unusable),
}

impl CallError {
    /// The kind of failure that the room machine is told.
    #[expect(clippy::match_same_arms, reason = "the arms are grouped by what they have in common")]
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::Resting | Self::Unreachable(_) | Self::Broken(_) | Self::Midway(_) | Self::TooSlow => Failure::Provider,
            // These pass by themselves, as every server error does; any other 4xx will be the same next time.
            Self::Status { status: 408 | 425 | 429 | 500.., .. } => Failure::Provider,
            Self::Status { .. } | Self::NoKey(_) | Self::NoClient(_) | Self::UnknownProvider(_) | Self::NoModel(_) => Failure::Refused,
            Self::Declined | Self::Unwritable(_) | Self::Denied(Denied::Hushed) => Failure::Refused,
            Self::Denied(Denied::OverBudget) => Failure::OverBudget,
            Self::Denied(Denied::Unavailable(_)) => Failure::NoBooks,
            Self::Unusable(_) => Failure::NoAct,
        }
    }

    /// Whether the provider is known to have done nothing: it was not reached, or it turned the request down.
    pub(crate) fn cost_nothing(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Status { status: ..500, .. })
    }

    /// The code in audit and metrics.
    pub(crate) fn outcome(&self) -> &'static str {
        match self {
            Self::Unusable(Unusable::AskAgain { .. }) => "asked_again",
            other => match other.failure() {
                Failure::Timeout | Failure::Provider => "provider",
                Failure::NoAct => "no_act",
                Failure::Refused => "refused",
                Failure::OverBudget => "over_budget",
                Failure::NoBooks => "no_books",
            },
        }
    }
}
