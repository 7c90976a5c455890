//! Every figure of the project by name.
