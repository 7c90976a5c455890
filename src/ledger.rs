//! Postgres: streams, cursors, outbox.
