//! How far a server is trusted.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How far the operator trusts a server: not, unless they say so.
///
/// Written in lower case; every other word is an error.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::McpTrustLevel;
///
/// assert_eq!(McpTrustLevel::default(), McpTrustLevel::Untrusted);
/// assert_eq!("sandboxed".parse(), Ok(McpTrustLevel::Sandboxed));
/// assert!("Trusted".parse::<McpTrustLevel>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
#[non_exhaustive]
pub enum McpTrustLevel {
    /// As the operator's own: its tools are exposed, whatever lists say.
    Trusted,
    /// Only tools that are listed are exposed.
    #[default]
    Untrusted,
    /// The same, and it may ask for nothing in return.
    Sandboxed,
    /// What a later version may add: whoever does not know it must expose nothing.
    #[cfg(test)]
    Future,
}

const LEVELS: [McpTrustLevel; 3] = [McpTrustLevel::Trusted, McpTrustLevel::Untrusted, McpTrustLevel::Sandboxed];

impl McpTrustLevel {
    /// The level as it is written.
    ///
    /// # Example
    ///
    /// ```
    /// assert_eq!(tower_toolgate::server::McpTrustLevel::Trusted.as_str(), "trusted");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Sandboxed => "sandboxed",
            #[cfg(test)]
            Self::Future => "future",
        }
    }

    /// The lower of two levels.
    ///
    /// # Example
    ///
    /// ```
    /// use tower_toolgate::server::McpTrustLevel::{Sandboxed, Trusted, Untrusted};
    ///
    /// assert_eq!(Trusted.lower(Untrusted), Untrusted);
    /// assert_eq!(Sandboxed.lower(Untrusted), Sandboxed);
    /// ```
    #[must_use]
    pub fn lower(self, other: Self) -> Self {
        if self.rank() <= other.rank() { self } else { other }
    }

    /// Whether a server of this level may be sent to addresses that are not public: only one that is trusted.
    ///
    /// # Example
    ///
    /// ```
    /// use tower_toolgate::server::McpTrustLevel;
    ///
    /// assert!(McpTrustLevel::Trusted.may_reach_private());
    /// assert!(!McpTrustLevel::Untrusted.may_reach_private());
    /// ```
    #[must_use]
    pub fn may_reach_private(self) -> bool {
        self == Self::Trusted
    }

    /// A level that is not known here is below all others.
    fn rank(self) -> usize {
        LEVELS.into_iter().rev().position(|level| level == self).map_or(0, |place| place + 1)
    }
}

impl fmt::Display for McpTrustLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<McpTrustLevel> for &'static str {
    fn from(level: McpTrustLevel) -> Self {
        level.as_str()
    }
}

impl FromStr for McpTrustLevel {
    type Err = UnknownTrustLevel;

    fn from_str(text: &str) -> Result<Self, UnknownTrustLevel> {
        let level = LEVELS.into_iter().find(|level| level.as_str() == text);
        level.ok_or_else(|| UnknownTrustLevel(text.to_owned()))
    }
}

impl TryFrom<String> for McpTrustLevel {
    type Error = UnknownTrustLevel;

    fn try_from(text: String) -> Result<Self, UnknownTrustLevel> {
        text.parse()
    }
}

/// A word that is no [`McpTrustLevel`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTrustLevel(String);

impl fmt::Display for UnknownTrustLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no trust level: one of trusted, untrusted, sandboxed", self.0)
    }
}

impl std::error::Error for UnknownTrustLevel {}
