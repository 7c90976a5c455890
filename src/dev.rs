//! Everything in one process.
