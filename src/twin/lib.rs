//! Doubles that speak the real protocols on loopback, so that tests run the shipped clients unchanged.
//!
//! A double refuses what the real service refuses; it holds no logic of Parlor and depends on none of it.

pub mod models;
