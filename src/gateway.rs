//! The gateway of the console surface: its ear takes what people say into the ledger, its mouth posts what rooms have put
//! into their outbox. For this surface the platform is the ledger, so a post is "seen in the room" when it is an item.
//!
//! What this module must not do: draft, decide, change a policy, or post anything that was not taken from the outbox.

mod crash;
mod ids;
mod intake;
mod rooms;
mod sender;

pub use crash::{CrashHook, CrashPoint};
pub use intake::ConsoleIntake;
pub use rooms::{ConsoleRoom, ConsoleRooms};
pub use sender::{Sender, SenderOptions};
