//! What an entry says of where content comes from.

use super::entry::ServerEntry;
use super::level::McpTrustLevel;
use crate::trust::{DeclaredServer, ServerTrust};

/// # Example
///
/// ```
/// use std::time::Duration;
/// use tower_toolgate::server::{McpTransport, McpTrustLevel, ServerEntry};
/// use tower_toolgate::trust::{Classifier, ClassifierConfig, DeclaredServer, ToolContentOrigin};
///
/// let entry = ServerEntry::new("files", McpTransport::stdio("mcp-files"), Duration::from_secs(30))
///     .with_trust_level(McpTrustLevel::Trusted);
/// let classifier = Classifier::new(&ClassifierConfig::new().with_server(DeclaredServer::from(&entry)))?;
/// assert_eq!(classifier.classify(Some("files"), "read").class(), ToolContentOrigin::Local);
/// # Ok::<(), tower_toolgate::trust::ClassifierError>(())
/// ```
impl From<&ServerEntry> for DeclaredServer {
    /// The server as a [`Classifier`](crate::trust::Classifier) wants it: its content is local if it is trusted. A level
    /// that is not known counts as a sandbox.
    fn from(entry: &ServerEntry) -> Self {
        let trust = match entry.trust_level {
            McpTrustLevel::Trusted => ServerTrust::Trusted,
            McpTrustLevel::Untrusted => ServerTrust::Untrusted,
            _ => ServerTrust::Sandboxed,
        };
        Self::new(entry.id.clone()).with_trust(trust)
    }
}

#[cfg(feature = "provenance")]
impl From<&ServerEntry> for crate::provenance::MediaPolicy {
    /// What becomes of images, sounds and other blobs: they stay where the entry [passes](ServerEntry::passes_media) them,
    /// and go elsewhere.
    fn from(entry: &ServerEntry) -> Self {
        if entry.passes_media(entry.trust_level) { Self::Pass } else { Self::Drop }
    }
}
