//! How results are marked: what the operator chooses.

use std::fmt;

use serde::Deserialize;

use super::super::{FenceId, FenceMode, MetaKey};

/// What becomes of `structuredContent` from outside.
///
/// Clients differ in what they show a model: `content`, `structuredContent`, or both. A fence in a value breaks the tool's
/// `outputSchema` where that wants a form, and so each mode has its `tools/list`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StructuredContent {
    /// It stays as it is, under the result's tag.
    #[default]
    Tag,
    /// It goes, and with it the `outputSchema` of all tools.
    Strip,
    /// Each string in it is fenced; names of members are not. An `outputSchema` that wants some form of a string goes.
    FenceLeaves,
    /// It becomes a fenced block of text, and the `outputSchema` of all tools goes.
    TextOnly,
}

/// What becomes of images, sounds and other blobs from outside, which no fence can hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MediaPolicy {
    /// They stay, tagged.
    #[default]
    Pass,
    /// A block of text before each says that it comes from outside. Where no block can be put before, it stays as under
    /// [`Pass`](Self::Pass): content that is one block and no array, as in the messages of prompts, and what
    /// `resources/read` brings.
    Notice,
    /// A block of text takes the place of each. Blocks of types that are not known count if they have `data` or a `blob`.
    Drop,
}

/// How results are marked.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    pub(crate) key: MetaKey,
    pub(crate) trust_annotations: bool,
    pub(crate) ifc: bool,
    pub(crate) fence: FenceMode,
    /// What a fence says of where a text comes from.
    pub(crate) fence_server: Option<FenceId>,
    pub(crate) structured: StructuredContent,
    pub(crate) media: MediaPolicy,
    /// Lists and instructions are marked as well.
    pub(crate) descriptions: bool,
    /// The schemes of links that stay, in lower case; without, all do.
    pub(crate) link_schemes: Option<Box<[Box<str>]>>,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            key: MetaKey::default(),
            trust_annotations: false,
            ifc: false,
            fence: FenceMode::Off,
            fence_server: None,
            structured: StructuredContent::Tag,
            media: MediaPolicy::Pass,
            descriptions: false,
            link_schemes: None,
        }
    }
}

impl Style {
    pub(super) fn allows_link(&self, uri: &str) -> bool {
        let scheme = uri.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        let Some(allowed) = &self.link_schemes else { return true };
        scheme.is_some_and(|scheme| allowed.iter().any(|allowed| **allowed == *scheme))
    }
}

/// The leaves of `structuredContent` were to be fenced without a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FenceNeeded;

impl fmt::Display for FenceNeeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`fence_leaves` needs a fence other than `off`")
    }
}

impl std::error::Error for FenceNeeded {}
