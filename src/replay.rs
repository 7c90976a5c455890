//! Whole archives through the room machine on a virtual clock.
