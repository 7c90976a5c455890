//! What a machine is given when it sits down in a room of an archive: the policy and the time that a draft takes.

use std::rc::Rc;

use parlor_core::{Judges, Member, Millis, Policy};

use super::{
    Args, ReplayError,
    diary::{Diary, Keep},
    drafter::Drafts,
};
use crate::api::Studio;

/// See the module.
#[derive(Clone)]
pub(super) struct Seat {
    /// Of every room; its members are the persona of each.
    policy: Policy,
    /// The weights that judge.
    pub judges: &'static Judges,
    /// How long a draft takes on the virtual clock.
    pub draft_ms: Millis,
    /// The model that writes; without one drafts are empty.
    pub drafts: Option<Rc<Drafts>>,
    /// What a report wants to know.
    keep: Option<Rc<Keep>>,
}

impl Seat {
    /// The seat that was asked for. A mute and a stop of the document are left out: they belong to a day, not to an archive.
    pub(super) fn of(args: &Args, drafts: Option<Rc<Drafts>>) -> Result<Self, ReplayError> {
        let policy = match &args.policy {
            None => Policy::new(Vec::new()),
            Some(file) => Policy { stopped: false, muted: false, ..Studio::room_of(file).map_err(ReplayError::Policy)?.policy(1, 0) },
        };
        let keep = args.report.as_ref().map(|_| Rc::new(Keep::new(args.report_text)));
        Ok(Self { policy, judges: Judges::embedded(), draft_ms: args.draft_ms, drafts, keep })
    }

    /// The policy of a room where this persona sits.
    pub(super) fn policy(&self, persona: &Member) -> Policy {
        Policy { members: vec![persona.clone()], ..self.policy.clone() }
    }

    /// A diary for one more room, where a report wants it.
    pub(super) fn diary(&self) -> Option<Box<Diary>> {
        self.keep.as_ref()?.diary()
    }

    /// The same seat under another policy, for its figures alone.
    pub(super) fn with_policy(&self, policy: Policy) -> Self {
        Self { policy, keep: None, ..self.clone() }
    }

    /// The same seat under other weights.
    pub(super) fn judged_by(&self, judges: &'static Judges) -> Self {
        Self { judges, ..self.clone() }
    }

    pub(super) fn plain_policy(&self) -> &Policy {
        &self.policy
    }
}
