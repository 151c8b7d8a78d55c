//! Why a definition has no hash.

use std::fmt;

use crate::json;

/// Why a definition of a tool has no hash: two readers may see two different tools in it.
///
/// Offsets are in bytes, from the start of the definition.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::{DefinitionFault, DefinitionHash};
///
/// let fault = DefinitionHash::of(br#"{"name":"a","inputSchema":{"maximum":9007199254740993}}"#).unwrap_err();
/// assert_eq!(fault, DefinitionFault::UnsafeInteger { offset: 37 });
/// assert_eq!(fault.reason(), "pin.unsafe_integer");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DefinitionFault {
    /// Lenient readers take the name of a member for `name`.
    AmbiguousName,
    /// No JSON, or JSON that parsers are known to read differently.
    Json(json::Error),
    /// A string holds half a surrogate pair.
    LoneSurrogate {
        /// Where it begins.
        offset: usize,
    },
    /// There is no member `name`, or it is no string.
    NoName,
    /// It is no object.
    NotAnObject,
    /// An integer is beyond 2^53 - 1: some readers take it for another one.
    UnsafeInteger {
        /// Where it begins.
        offset: usize,
    },
}

impl DefinitionFault {
    /// A stable name, for logs.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::AmbiguousName => "pin.ambiguous_name",
            Self::Json(error) => error.fault().reason(),
            Self::LoneSurrogate { .. } => "pin.lone_surrogate",
            Self::NoName => "pin.no_name",
            Self::NotAnObject => "pin.not_an_object",
            Self::UnsafeInteger { .. } => "pin.unsafe_integer",
        }
    }
}

impl From<json::Error> for DefinitionFault {
    fn from(error: json::Error) -> Self {
        Self::Json(error)
    }
}

impl fmt::Display for DefinitionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AmbiguousName => f.write_str("a key resembles `name`"),
            Self::Json(error) => fmt::Display::fmt(error, f),
            Self::LoneSurrogate { offset } => write!(f, "lone surrogate in a string at byte {offset}"),
            Self::NoName => f.write_str("no name"),
            Self::NotAnObject => f.write_str("not an object"),
            Self::UnsafeInteger { offset } => write!(f, "integer beyond 2^53 - 1 at byte {offset}"),
        }
    }
}

impl std::error::Error for DefinitionFault {}

/// Why a list of tools cannot be read.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::{ListFault, definitions};
///
/// assert_eq!(definitions(b"{}"), Err(ListFault::NoList));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListFault {
    /// Lenient readers take a key for `tools` or `result`.
    AmbiguousKey,
    /// No JSON, or JSON that parsers are known to read differently.
    Json(json::Error),
    /// There is no list of tools.
    NoList,
    /// There are more tools than anybody has.
    TooMany,
    /// There are two.
    TwoLists,
}

impl From<json::Error> for ListFault {
    fn from(error: json::Error) -> Self {
        Self::Json(error)
    }
}

impl fmt::Display for ListFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AmbiguousKey => f.write_str("a key resembles another one"),
            Self::Json(error) => fmt::Display::fmt(error, f),
            Self::NoList => f.write_str("no list of tools"),
            Self::TooMany => f.write_str("too many tools"),
            Self::TwoLists => f.write_str("two lists of tools"),
        }
    }
}

impl std::error::Error for ListFault {}
