//! Servers and doubles that the tests start.

pub(crate) mod asked;
pub(crate) mod attack;
pub(crate) mod browser;
pub(crate) mod dev;
pub(crate) mod models;
pub(crate) mod postgres;
pub(crate) mod room;
pub(crate) mod rooms;
pub(crate) mod site;
pub(crate) mod steps;
