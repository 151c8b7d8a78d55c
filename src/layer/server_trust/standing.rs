//! What follows from how far a server is trusted.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::server::{Exposure, McpTrustLevel, ReachBack, ServerEntry, ServerError};

/// What follows from how far a server is trusted.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) exposure: Exposure,
    /// What the server may ask of its clients.
    pub(super) reach: ReachBack,
    /// The roots that it is told of, as a list in JSON.
    pub(super) roots: Bytes,
    /// Whether images, sounds and other blobs from it stay.
    pub(super) passes_media: bool,
}

/// What follows at each level: none is above the entry's.
#[derive(Clone)]
pub(super) struct Standings {
    trusted: Arc<Standing>,
    untrusted: Arc<Standing>,
    sandboxed: Arc<Standing>,
    #[cfg(test)]
    future: Arc<Standing>,
    level: Arc<dyn Fn() -> McpTrustLevel + Send + Sync>,
}

impl Standings {
    pub(super) fn new(entry: &ServerEntry) -> Result<Self, ServerError> {
        let exposure = Exposure::new(entry)?;
        let at = |level| {
            let reach = ReachBack::at(entry, level);
            let (roots, passes_media) = (reach.roots_of(entry), entry.passes_media(level));
            Arc::new(Standing { exposure: exposure.demoted(level), reach, roots, passes_media })
        };
        let level = entry.trust_level;
        Ok(Self {
            trusted: at(McpTrustLevel::Trusted),
            untrusted: at(McpTrustLevel::Untrusted),
            sandboxed: at(McpTrustLevel::Sandboxed),
            #[cfg(test)]
            future: at(McpTrustLevel::Future),
            level: Arc::new(move || level),
        })
    }

    pub(super) fn with_level(self, level: impl Fn() -> McpTrustLevel + Send + Sync + 'static) -> Self {
        Self { level: Arc::new(level), ..self }
    }

    /// What follows at the moment.
    pub(super) fn now(&self) -> &Arc<Standing> {
        match (self.level)() {
            McpTrustLevel::Trusted => &self.trusted,
            McpTrustLevel::Untrusted => &self.untrusted,
            McpTrustLevel::Sandboxed => &self.sandboxed,
            #[cfg(test)]
            McpTrustLevel::Future => &self.future,
        }
    }

    /// What follows from the entry alone.
    pub(super) fn of_entry(&self) -> &Standing {
        &self.trusted
    }
}

impl fmt::Debug for Standings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Standings").field(self.of_entry()).finish()
    }
}
