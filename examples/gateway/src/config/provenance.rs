//! The section `provenance`.

use serde::Deserialize;

/// How results are marked.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProvenanceConfig {
    /// Whether outside text gets visible marks around it.
    pub fence: Fence,
    /// What happens to structured content from outside.
    pub structured_content: StructuredContent,
}

/// Whether outside text gets visible marks around it.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Fence {
    /// It does.
    Delimit,
    /// It does not.
    #[default]
    Off,
}

/// What happens to structured content from outside.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum StructuredContent {
    /// Every text in it is fenced.
    FenceLeaves,
    /// It is removed.
    Strip,
    /// It passes with its tag.
    #[default]
    Tag,
    /// It is handed on as text.
    TextOnly,
}
