//! The numbered points of the send path at which a process may end. Each is compiled in, and a test ends the sender there:
//! whatever the point, a row is posted once. Between the two lies one transaction, which the database ends whole or not at all.

use std::sync::Arc;

/// A place between two steps of sending a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CrashPoint {
    /// 1: the row waits.
    BeforePost = 1,
    /// 2: the row is posted and done; nobody was told.
    Posted = 2,
}

impl CrashPoint {
    /// Every point, in order.
    pub const ALL: [Self; 2] = [Self::BeforePost, Self::Posted];
}

/// Decides at each point whether the sender ends there.
pub type CrashHook = Arc<dyn Fn(CrashPoint) -> bool + Send + Sync>;
