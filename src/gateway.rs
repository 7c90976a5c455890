//! Intake and sender of a surface.
