//! Parlor: AI personas as participants in group chats. See docs/ARCHITECTURE.md for the map.

pub mod actor;
pub mod api;
pub mod bench;
pub mod broker;
pub mod cli;
pub mod console;
pub mod dev;
pub mod gateway;
pub mod ledger;
pub mod ports;
pub mod replay;
pub mod sim;
pub mod telemetry;
