//! The machine on scripted rooms, on a virtual clock.

mod answers;
mod asks;
mod hushed;
mod invariants;
mod judged;
mod outcomes;
mod restrained;
mod stage;
