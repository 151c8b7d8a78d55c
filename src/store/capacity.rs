//! How much a store of this process tells apart.

/// How many marked keys a store tells apart, and how many of them may be conversations of one principal.
///
/// What is clean takes no room. With one more conversation than its share a principal is merged: all it did in any
/// conversation counts in all of them. Where there is no room for one more key, a conversation is merged with its
/// principal likewise, and a principal that has no entry goes into a filter that is seldom wrong and never to the
/// clean side. Nobody's entries make room for somebody else's.
///
/// # Example
///
/// ```
/// use tower_toolgate::store::{MemoryTaintStore, TaintCapacity};
///
/// let capacity = TaintCapacity::new(100_000).with_conversations(500);
/// assert_eq!((capacity.keys(), capacity.conversations()), (100_000, 500));
/// let store = MemoryTaintStore::new(capacity);
/// let store = MemoryTaintStore::new(100_000); // 6250 conversations of a principal
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaintCapacity {
    keys: usize,
    conversations: usize,
}

impl TaintCapacity {
    /// So many keys, a sixteenth of them for the conversations of one principal. A million takes 64 MiB at most.
    #[must_use]
    pub fn new(keys: usize) -> Self {
        Self { keys, conversations: (keys / 16).max(1) }
    }

    /// Another number of conversations of one principal, at least one.
    #[must_use]
    pub fn with_conversations(self, conversations: usize) -> Self {
        Self { conversations: conversations.max(1), ..self }
    }

    /// How many marked keys are told apart.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// How many marked conversations of one principal are told apart.
    #[must_use]
    pub fn conversations(&self) -> usize {
        self.conversations
    }
}

impl From<usize> for TaintCapacity {
    fn from(keys: usize) -> Self {
        Self::new(keys)
    }
}
