//! The document `Persona`: who speaks. Only fields that have an effect are here; `not_yet` names the known ones that have none.

use serde::{Deserialize, Serialize};

use super::room::{Audience, Metadata};

/// A Persona document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Persona {
    /// `parlor.dev/v1alpha1`.
    pub api_version: String,
    /// `Persona`.
    pub kind: String,
    /// Name and namespace.
    pub metadata: Metadata,
    /// Who it is.
    pub spec: PersonaSpec,
}

/// Who speaks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PersonaSpec {
    /// How it is called in the room, 1 to 80 characters.
    pub display_name: String,
    /// The identity core, at most 8 KiB: it goes into every prompt whole and is never cut.
    pub identity: String,
    /// What people also call it, at most 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// How it sounds.
    #[serde(default)]
    pub voice: Voice,
    /// Which models write for it.
    #[serde(default)]
    pub models: Models,
    /// The widest audience of a room that it may be in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_audience: Option<Audience>,
    /// Where it runs.
    #[serde(default)]
    pub runtime: Runtime,
}

/// How a persona sounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Voice {
    /// Lines that sound like it, at most 16.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Lines that it would never say, at most 16.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub anti_examples: Vec<String>,
}

/// Which models write for a persona.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Models {
    /// Writes what is posted. Absent: the offline stub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<Model>,
}

/// A model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Who serves it.
    pub provider: Provider,
    /// The provider's name of it. Not needed for the stub.
    #[serde(default)]
    pub name: String,
    /// Passed on to the provider, at most 16.
    #[serde(default)]
    pub params: serde_json::Map<String, serde_json::Value>,
}

/// Who serves a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Answers by itself, offline and always the same.
    Stub,
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, and whatever speaks the same.
    Openai,
}

impl Provider {
    /// The word in the documents.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Stub => "stub",
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
        }
    }
}

/// Where a persona runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Runtime {
    /// In Parlor.
    #[default]
    Native,
}
