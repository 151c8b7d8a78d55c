//! Revisions of MCP and the two eras that they fall into.

use std::fmt;

/// A revision of MCP, named by its date.
///
/// Any date is a revision: one that nobody knows yet is compared like the others, and its server answers for it.
/// What is no date at all counts as newer than every date, so that the strictest rules apply.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision([u8; 10]);

impl Revision {
    /// 2025-03-26, the only revision with batches, and the one that is meant where none is named.
    pub const V2025_03_26: Self = Self(*b"2025-03-26");
    /// 2025-11-25, the last revision with sessions.
    pub const V2025_11_25: Self = Self(*b"2025-11-25");
    /// 2026-07-28, the first revision without sessions.
    pub const V2026_07_28: Self = Self(*b"2026-07-28");

    /// Reads a date of the form `YYYY-MM-DD`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let fits = |(at, byte): (usize, &u8)| if at == 4 || at == 7 { *byte == b'-' } else { byte.is_ascii_digit() };
        match <[u8; 10]>::try_from(text.as_bytes()) {
            Ok(date) if date.iter().enumerate().all(fits) => Self(date),
            Ok(_) | Err(_) => Self([u8::MAX; 10]),
        }
    }

    /// The era that the revision falls into.
    #[must_use]
    pub fn era(self) -> Era {
        if self > Self::V2025_11_25 { Era::Modern } else { Era::Legacy }
    }

    /// The date, or `unknown`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or("unknown")
    }
}

impl fmt::Debug for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The two ways in which MCP is spoken over HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Era {
    /// Up to 2025-11-25: a handshake, then a session.
    #[default]
    Legacy,
    /// From 2026-07-28 on: every request stands for itself, and mirrors what it says in headers.
    Modern,
}
