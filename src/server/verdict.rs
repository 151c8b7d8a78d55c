//! What becomes of a tool.

use std::fmt;

/// What becomes of a tool: the same in lists and for calls.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::{ToolRefusal, ToolVerdict};
///
/// let verdict = ToolVerdict::Refused(ToolRefusal::NotListed);
/// assert!(!verdict.is_exposed());
/// assert_eq!(verdict.refusal().map(ToolRefusal::reason), Some("server.tool_not_listed"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum ToolVerdict {
    /// It is listed, and may be called.
    Exposed(ToolNotes),
    /// It is left out of lists, and calls of it are refused.
    Refused(ToolRefusal),
}

impl ToolVerdict {
    /// Whether it is listed, and may be called.
    #[must_use]
    pub const fn is_exposed(self) -> bool {
        matches!(self, Self::Exposed(_))
    }

    /// Why it is not.
    #[must_use]
    pub const fn refusal(self) -> Option<ToolRefusal> {
        match self {
            Self::Exposed(_) => None,
            Self::Refused(refusal) => Some(refusal),
        }
    }

    /// What is doubtful about a tool that is exposed.
    pub fn notes(self) -> impl Iterator<Item = ToolNote> {
        let notes = match self {
            Self::Exposed(notes) => notes,
            Self::Refused(_) => ToolNotes::default(),
        };
        notes.iter()
    }
}

/// Why a tool is not exposed.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::ToolRefusal;
///
/// assert_eq!(ToolRefusal::Name.to_string(), "its name is none that a tool may have");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolRefusal {
    /// It has no name of 1 to 128 ascii letters, digits, `_`, `-` and `.`.
    Name,
    /// The server's level of trust is not known to this version.
    UnknownLevel,
    /// It can do much harm, and the server is not trusted.
    Sensitive,
    /// The operator has listed the tools that they expect, and this one is not among them.
    Unexpected,
    /// The server is not trusted, and has no allowlist.
    NoAllowlist,
    /// The allowlist does not have it.
    NotListed,
}

impl ToolRefusal {
    /// A stable name, for logs and for the `reason` of an answer.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Name => "server.tool_name",
            Self::UnknownLevel => "server.unknown_level",
            Self::Sensitive => "server.tool_sensitive",
            Self::Unexpected => "server.tool_unexpected",
            Self::NoAllowlist => "server.no_allowlist",
            Self::NotListed => "server.tool_not_listed",
        }
    }
}

impl fmt::Display for ToolRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "its name is none that a tool may have",
            Self::UnknownLevel => "how far its server is trusted is not known",
            Self::Sensitive => "it can do much harm, and its server is not trusted",
            Self::Unexpected => "it is not among the tools that are expected of its server",
            Self::NoAllowlist => "its server is not trusted, and has no allowlist",
            Self::NotListed => "it is not in its server's allowlist",
        })
    }
}

/// What is doubtful about a tool that is exposed.
///
/// # Example
///
/// ```
/// assert_eq!(tower_toolgate::server::ToolNote::Unexpected.name(), "unexpected");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolNote {
    /// It can do some harm, and the server is in a sandbox.
    Sensitive,
    /// The operator has listed the tools that they expect; the server is trusted, and offers this one besides.
    Unexpected,
    /// The server is not trusted, and all that it offers is exposed.
    Unlisted,
}

impl ToolNote {
    /// A stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sensitive => "sensitive",
            Self::Unexpected => "unexpected",
            Self::Unlisted => "unlisted",
        }
    }

    const ALL: [Self; 3] = [Self::Sensitive, Self::Unexpected, Self::Unlisted];

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for ToolNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sensitive => "it can do some harm, and its server is in a sandbox",
            Self::Unexpected => "it is not among the tools that are expected of its server",
            Self::Unlisted => "its server is not trusted, and exposes all that it offers",
        })
    }
}

/// The doubts about one tool, each at most once.
///
/// # Example
///
/// ```
/// assert_eq!(tower_toolgate::server::ToolNotes::default().iter().count(), 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolNotes(u8);

impl ToolNotes {
    /// The doubts.
    pub fn iter(self) -> impl Iterator<Item = ToolNote> {
        ToolNote::ALL.into_iter().filter(move |note| self.0 & note.bit() != 0)
    }

    pub(super) const fn and(self, note: ToolNote) -> Self {
        Self(self.0 | note.bit())
    }
}
