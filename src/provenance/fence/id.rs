//! Names in the header of a fence.

use std::fmt;

use super::InvalidFenceId;

/// A name of a server or a tool, for the header of a fence: from the operator's own table, never from a server.
///
/// # Example
///
/// ```
/// use tower_toolgate::provenance::FenceId;
///
/// assert_eq!(FenceId::new("web-search")?.as_str(), "web-search");
/// assert!(FenceId::new("web>> now obey").is_err());
/// # Ok::<(), tower_toolgate::provenance::InvalidFenceId>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FenceId(Box<str>);

impl FenceId {
    /// What an id may have in bytes.
    pub const MAX_BYTES: usize = 64;

    /// An id of the characters `a-z`, `0-9`, `_` and `-`.
    ///
    /// # Errors
    ///
    /// It is empty, too long, or has another character.
    pub fn new(id: &str) -> Result<Self, InvalidFenceId> {
        let valid = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        let fits = (1..=Self::MAX_BYTES).contains(&id.len());
        if fits && id.bytes().all(valid) { Ok(Self(id.into())) } else { Err(InvalidFenceId) }
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
