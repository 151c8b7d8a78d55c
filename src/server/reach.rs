//! What a server may ask for.

mod asked;
mod declared;
mod kind;

use std::time::Duration;

use bytes::Bytes;

use super::entry::ServerEntry;
use super::level::McpTrustLevel;

pub(crate) use self::asked::{Asked, Unclear};
pub use self::kind::Reach;

/// What a server may ask of the client that called it.
///
/// - In a sandbox: nothing.
/// - Untrusted: the user, with `elicitation_enabled`; the roots, if the entry names any: it is told those; never the model.
/// - Trusted: likewise, and the model, and what no revision knows.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use tower_toolgate::server::{McpTransport, ReachBack, Root, ServerEntry};
///
/// let entry = ServerEntry::new("files", McpTransport::stdio("mcp-files"), Duration::from_secs(30))
///     .with_roots([Root::new("file:///srv")]);
/// let reach = ReachBack::new(&entry);
/// assert!(reach.roots() && !reach.sampling());
/// assert_eq!(reach.elicitation(), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReachBack {
    sampling: bool,
    elicitation: Option<Duration>,
    roots: bool,
    others: bool,
}

impl ReachBack {
    /// Nothing.
    pub const NONE: Self = Self { sampling: false, elicitation: None, roots: false, others: false };

    /// As far as the operator trusts the server.
    #[must_use]
    pub fn new(entry: &ServerEntry) -> Self {
        Self::at(entry, entry.trust_level)
    }

    /// While the server is trusted no further than this; a level that is higher changes nothing.
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_toolgate::server::{McpTransport, McpTrustLevel, ReachBack, ServerEntry};
    ///
    /// let entry = ServerEntry::new("files", McpTransport::stdio("mcp-files"), Duration::from_secs(30))
    ///     .with_trust_level(McpTrustLevel::Trusted);
    /// assert!(ReachBack::at(&entry, McpTrustLevel::Trusted).sampling());
    /// assert_eq!(ReachBack::at(&entry, McpTrustLevel::Sandboxed), ReachBack::NONE);
    /// ```
    #[must_use]
    pub fn at(entry: &ServerEntry, level: McpTrustLevel) -> Self {
        let level = level.lower(entry.trust_level);
        let is_trusted = level == McpTrustLevel::Trusted;
        if !is_trusted && level != McpTrustLevel::Untrusted {
            return Self::NONE;
        }
        let timeout = Duration::from_secs(entry.elicitation_timeout_secs);
        Self {
            sampling: is_trusted,
            elicitation: entry.elicitation_enabled.then_some(timeout),
            roots: !entry.roots.is_empty(),
            others: is_trusted,
        }
    }

    /// Whether it may ask for something.
    #[must_use]
    pub const fn permits(&self, reach: Reach) -> bool {
        match reach {
            Reach::Elicitation => self.elicitation.is_some(),
            Reach::Other => self.others,
            Reach::Roots => self.roots,
            Reach::Sampling => self.sampling,
        }
    }

    /// Whether it may ask for whatever there is.
    pub(crate) const fn permits_all(&self) -> bool {
        self.elicitation.is_some() && self.others && self.roots && self.sampling
    }

    /// The roots that it is told of, as a list in JSON.
    pub(crate) fn roots_of(&self, entry: &ServerEntry) -> Bytes {
        let roots = if self.roots { entry.roots.as_slice() } else { &[] };
        serde_json::to_vec(roots).map_or(Bytes::from_static(b"[]"), Bytes::from)
    }

    /// Whether it may have the client's model write something.
    #[must_use]
    pub fn sampling(&self) -> bool {
        self.sampling
    }

    /// Whether it may ask the user, and how long the answer may take.
    #[must_use]
    pub fn elicitation(&self) -> Option<Duration> {
        self.elicitation
    }

    /// Whether it may be told the roots.
    #[must_use]
    pub fn roots(&self) -> bool {
        self.roots
    }
}
