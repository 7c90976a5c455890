//! The pure room machine: when a persona speaks, and why it stays silent.
//!
//! One [`Room`] is driven by one call, [`Room::step`]: the time and one [`Input`] in, a list of [`Effect`]s out. There is
//! no I/O here, no clock, no async and no randomness: `now` is an argument, so that the same machine runs live, in shadow,
//! in replay and in simulation, and a log of inputs rebuilds its state bit for bit.
//!
//! What this crate must not do: read a clock, hold a handle, log, or keep message text beyond the draft it is checking.

mod burst;
mod decision;
mod effect;
mod hash;
mod id;
mod input;
mod judge;
mod names;
mod newest;
mod obligation;
mod people;
mod policy;
mod reading;
mod room;
mod shingle;
mod text;
mod view;

pub use decision::{Decision, Likelihood, Measured, Odds, Seen, What, Why};
pub use effect::{Address, Draft, Effect, EffectKind, GateCall, Line, Owed, Row, RowKind};
pub use id::{EffectId, Millis, ObligationId, ParseIdError};
pub use input::{
    Act, Author, AuthorKind, DraftAct, DraftFailed, Echo, Failure, Input, Item, ItemKind, Link, Mention, OutboxResult, Outcome, Place,
    Submission, Verdict,
};
pub use judge::{
    model::{Judge, Judges, Model, WeightsError},
    observe::Observation,
};
pub use names::Names;
pub use obligation::Tally;
pub use policy::{Audience, Bars, Budget, GateKind, Member, Mode, Policy, Timings};
pub use room::{Room, SNAPSHOT_FORMAT};
pub use view::{ObligationKind, ObligationState, ObligationView, Phase, View, WaitingFor};
