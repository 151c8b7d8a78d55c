//! Entries from code.

use super::entry::{Root, ServerEntry};
use super::level::McpTrustLevel;
use super::meta::ToolSecurityMeta;

/// # From code
impl ServerEntry {
    /// Sets how far it is trusted.
    #[must_use]
    pub fn with_trust_level(mut self, level: McpTrustLevel) -> Self {
        self.trust_level = level;
        self
    }

    /// Adds to the tools that are exposed; of nothing, makes the list an empty one.
    #[must_use]
    pub fn with_tool_allowlist<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tool_allowlist.get_or_insert_default().extend(tools.into_iter().map(Into::into));
        self
    }

    /// Sets whether all tools are exposed if it is untrusted and has no allowlist.
    #[must_use]
    pub fn with_allow_untrusted_without_allowlist(mut self, allow: bool) -> Self {
        self.allow_untrusted_without_allowlist = allow;
        self
    }

    /// Adds to the tools that the operator has seen.
    #[must_use]
    pub fn with_expected_tools<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.expected_tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Adds to the roots that it is told of.
    #[must_use]
    pub fn with_roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.roots.extend(roots);
        self
    }

    /// Sets what the operator knows of a tool.
    #[must_use]
    pub fn with_tool_metadata(mut self, tool: impl Into<String>, meta: ToolSecurityMeta) -> Self {
        self.tool_metadata.insert(tool.into(), meta);
        self
    }

    /// Sets whether it may ask the user.
    #[must_use]
    pub fn with_elicitation_enabled(mut self, enabled: bool) -> Self {
        self.elicitation_enabled = enabled;
        self
    }

    /// Sets how long the user may take to answer, in seconds.
    #[must_use]
    pub fn with_elicitation_timeout_secs(mut self, secs: u64) -> Self {
        self.elicitation_timeout_secs = secs;
        self
    }

    /// Sets whether its process sees nothing of the gateway's environment.
    #[must_use]
    pub fn with_env_isolation(mut self, isolated: bool) -> Self {
        self.env_isolation = Some(isolated);
        self
    }

    /// Sets whether images, sound and other blobs from it pass.
    #[must_use]
    pub fn with_media_passthrough(mut self, pass: bool) -> Self {
        self.media_passthrough = pass;
        self
    }
}
