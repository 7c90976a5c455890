//! Servers and doubles that the tests start.

pub(crate) mod postgres;
