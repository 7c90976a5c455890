//! Everything in one process.

pub mod postgres;
