//! Servers and doubles that the tests start.
