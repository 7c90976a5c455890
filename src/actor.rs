//! The async shell around one room machine.
