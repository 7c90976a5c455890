//! Room and Persona documents.
