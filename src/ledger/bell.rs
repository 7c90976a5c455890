//! The doorbell: "look", never what there is to see. It is rung in a database of its own, after the commit; losing, doubling or
//! forging a ring changes nothing but a delay, since whoever is woken reads everything after its cursor and the hub looks at
//! the heads of the streams by itself every few seconds.
//!
//! A [`Ringer`] rings at the hub of its own process, which needs no way through the database, and at the hubs of all others by a
//! notification; its own hub does not hear that one again.

mod hub;
mod ringer;

pub use hub::{Bell, Hub, HubOptions};
pub use ringer::Ringer;

/// The channel of a stream: an opaque number, no body.
fn channel(stream: i64) -> String {
    format!("s{stream}")
}
