//! The one integration-test binary: one file per capability, doubles and servers under `support`.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests may fail loudly")]

mod actor_outage;
mod actor_restart;
mod bench;
mod broker_books;
mod broker_budget;
mod broker_kit;
mod broker_models;
mod broker_stub;
mod console_browser;
mod console_dev;
mod console_feed;
mod console_http;
mod console_looks;
mod dev;
mod dev_disk;
mod gateway_console;
mod gateway_crash;
mod grants;
mod ledger_bell;
mod ledger_books;
mod ledger_grants;
mod ledger_items;
mod ledger_outbox;
mod ledger_server;
mod ledger_steps;
mod mute;
mod replay;
mod replay_drafter;
mod replay_html;
mod replay_import;
mod replay_policy;
mod room_bursts;
mod room_chaos;
mod room_many;
mod room_memory;
mod room_mute;
mod room_overtaken;
mod room_silence;
mod shadow;
mod sim;
mod support;
mod tidy;
