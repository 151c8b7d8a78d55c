//! What a server may ask of the client that called it.

use std::fmt;

use crate::json::fold;

/// What a server asks of the client that called it.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use tower_toolgate::server::{McpTransport, Reach, ReachBack, ServerEntry};
///
/// let entry = ServerEntry::new("files", McpTransport::stdio("mcp-files"), Duration::from_secs(30));
/// assert!(!ReachBack::new(&entry.clone()).permits(Reach::Elicitation));
/// assert!(ReachBack::new(&entry.with_elicitation_enabled(true)).permits(Reach::Elicitation));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reach {
    /// That the user answers or opens something.
    Elicitation,
    /// Something that no revision knows.
    Other,
    /// The roots.
    Roots,
    /// That the model writes something.
    Sampling,
}

impl Reach {
    /// A stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Other => "other",
            Self::Roots => "roots",
            Self::Sampling => "sampling",
        }
    }

    /// What a method asks for, as lenient clients may read its name.
    pub(super) fn of_method(method: &str) -> Self {
        match &*fold(method.trim()) {
            "elicitation/create" => Self::Elicitation,
            "roots/list" => Self::Roots,
            "sampling/createmessage" => Self::Sampling,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Elicitation => "an answer of the user",
            Self::Other => "something that no revision knows",
            Self::Roots => "the roots",
            Self::Sampling => "a text of the model",
        })
    }
}
