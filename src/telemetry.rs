//! Logging and the names of metrics.
