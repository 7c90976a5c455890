//! The numbered points of the send path at which a process may end. Each is compiled in, and a test ends the sender there:
//! whatever the point, a row is posted once.

use std::sync::Arc;

/// A place between two steps of sending a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CrashPoint {
    /// 1: nothing is claimed yet.
    BeforeClaim = 1,
    /// 2: the row is claimed; the surface knows nothing of it.
    Claimed = 2,
    /// 3: the surface has the post; its answer is lost.
    Posted = 3,
    /// 4: the row is settled; nobody was told.
    Settled = 4,
}

impl CrashPoint {
    /// Every point, in order.
    pub const ALL: [Self; 4] = [Self::BeforeClaim, Self::Claimed, Self::Posted, Self::Settled];
}

/// Decides at each point whether the sender ends there.
pub type CrashHook = Arc<dyn Fn(CrashPoint) -> bool + Send + Sync>;
