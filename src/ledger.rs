//! The ledger on Postgres, the only store: streams of items, the outbox, what a room machine persists, budgets, the bell.
//!
//! Everything that writes goes through a function of the schema `api`, in one transaction each; this module only calls those
//! functions and turns their answers into our own types. What a process may do is given by the handle it holds: [`Admin`] for
//! the controller, [`Ear`] and [`Mouth`] for the gateway, [`Session`] for an actor, [`Books`] for the broker, [`Reader`] for
//! the console and the terminal.
//!
//! What this module must not do: decide anything that the database can decide (mute, order, fences, budgets), hand a type of
//! the database driver to another module, write message text or an address with a password into a log or an error.

mod admin;
mod bell;
mod books;
mod ear;
mod error;
mod grants;
mod item;
mod jobs;
mod logins;
mod mouth;
mod pool;
mod reader;
mod schema;
mod scram;
mod session;
mod shown;
mod step;

pub use admin::{Admin, Label, PolicyRow, StreamInfo};
pub use bell::{Bell, Hub, HubOptions, Ringer};
pub use books::{AuditRow, Books, Caps, Reservation, Reserved, Spent};
pub use ear::{Ear, MessageState};
pub use error::LedgerError;
pub use grants::{GrantItems, GrantMode, GrantRow, GrantUse, Granted, GrantedItem, NewGrant, OpenGrant, Revocation, ShownItem};
pub use item::{ITEMS_AT_ONCE, LedgerItem, NewItem, Stored};
pub use jobs::{About, Job, NewJob, NewNote, Note};
pub use logins::{Login, Logins, Passwords, RoomLogin};
pub use mouth::{Claimed, ClaimedKind, Mouth, Spoken};
pub use pool::Ledger;
pub use reader::{DecisionRow, FloorRow, OutboxRow, Page, Reader};
pub use schema::migrate;
pub use session::{Cursor, PolicyRead, Reading, RowOutcome, Session, TypingNow};
pub use step::{Born, Restored, RowState, Snapshot, StepDone, StepRecord, StoredInput};
