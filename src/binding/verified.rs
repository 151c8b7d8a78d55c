//! Ids that are the caller's.

use std::fmt;
use std::time::SystemTime;

use crate::store::ConversationKey;

/// A session that is the caller's, at the server that the request goes to.
///
/// Only verifying a bound id makes one. The layer puts it into the extensions of requests that name a session.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifiedSession {
    id: Box<str>,
    minted: SystemTime,
    conversation: ConversationKey,
}

impl VerifiedSession {
    pub(super) fn new(id: &str, minted: SystemTime, server: Option<&str>) -> Self {
        // Servers choose ids on their own, and two may choose one.
        let mut name = server.map_or(u64::MAX, |server| server.len() as u64).to_be_bytes().to_vec();
        name.extend_from_slice(server.unwrap_or_default().as_bytes());
        name.extend_from_slice(id.as_bytes());
        Self { id: id.into(), minted, conversation: ConversationKey::of("mcp-session-id", &name) }
    }

    /// The session of the request that these extensions belong to.
    #[must_use]
    pub fn of(extensions: &http::Extensions) -> Option<&Self> {
        extensions.get()
    }

    /// The server's own id. Whoever holds it can use the session at the server: it should not be logged.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// When the id was given to the client, to the second.
    #[must_use]
    pub fn minted(&self) -> SystemTime {
        self.minted
    }

    /// The session as stores know it, together with its principal: the same in every process, with every key.
    #[must_use]
    pub fn conversation(&self) -> ConversationKey {
        self.conversation
    }
}

impl fmt::Debug for VerifiedSession {
    /// A digest of the id, never the id.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (conversation, minted) = (&self.conversation, &self.minted);
        f.debug_struct("VerifiedSession")
            .field("conversation", conversation)
            .field("minted", minted)
            .finish_non_exhaustive()
    }
}

/// A task that is the caller's, at the server that the request goes to.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifiedTask {
    id: Box<str>,
}

impl VerifiedTask {
    pub(super) fn new(id: &str) -> Self {
        Self { id: id.into() }
    }

    /// The server's own id. It should not be logged.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl fmt::Debug for VerifiedTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VerifiedTask(..)")
    }
}
