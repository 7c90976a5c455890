//! The documents `Room`, `Persona` and `PrivacyGrant` of group `parlor.dev`, version `v1alpha1`, exactly as kubectl takes them, and the folder of
//! them (a studio) that `parlor dev` reads.
//!
//! Text becomes a tree that knows its lines ([`tree`]), the tree becomes the documents ([`room`], [`persona`]), the documents of a
//! folder become one [`RoomConfig`] per room ([`studio`]). An unknown field, a field without effect and a value out of bounds are
//! problems with file, line and path; nothing is ignored. This module reads files and nothing else: no database, no clock.

mod changes;
mod check;
mod decode;
mod grant;
mod names;
mod not_yet;
mod persona;
mod problem;
mod resolve;
mod room;
mod scalar;
mod studio;
mod tree;
mod watch;

pub use changes::{Change, Follower};
pub use grant::{From, GrantConfig, GrantMode, GrantSpec, Items, PrivacyGrant};
pub use persona::{Persona, PersonaSpec};
pub use problem::{Problem, Problems};
pub use resolve::{Mute, PersonaConfig, RoomConfig};
pub use room::{Room, RoomSpec};
pub(crate) use scalar::duration;
pub use studio::{Loaded, Studio};
pub use watch::Watcher;

/// Group and version of the documents.
pub const API_VERSION: &str = "parlor.dev/v1alpha1";

#[cfg(test)]
mod tests;
