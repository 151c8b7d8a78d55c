//! Why a text was refused.

use std::fmt;

/// Why a text was refused, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    fault: Fault,
    offset: usize,
}

impl Error {
    pub(crate) const fn new(fault: Fault, offset: usize) -> Self {
        Self { fault, offset }
    }

    /// Why the text was refused.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        self.fault
    }

    /// The offset, in bytes, at which it was noticed.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.fault, self.offset)
    }
}

impl std::error::Error for Error {}

/// The kinds of refusal of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// A number that no binary64 can hold, such as `1e400`.
    BeyondF64,
    /// A byte order mark before the value.
    ByteOrderMark,
    /// Two members of one object have the same name, compared after unescaping.
    DuplicateKey,
    /// No value at all.
    Empty,
    /// Bytes that are not UTF-8.
    InvalidUtf8,
    /// A member's name with half a surrogate pair.
    LoneSurrogateInKey,
    /// `NaN` or `Infinity`, which some parsers accept.
    NotANumber,
    /// Something that the grammar does not have.
    Syntax,
    /// The 128th open container.
    TooDeep,
    /// More bytes than [`MAX_LENGTH`](super::MAX_LENGTH).
    TooLong,
    /// Bytes other than white space after the value.
    TrailingData,
    /// The text ends within a value.
    Truncated,
}

impl Fault {
    /// A stable name, for logs and for the `reason` of an answer.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::BeyondF64 => "json.beyond_f64",
            Self::ByteOrderMark => "json.byte_order_mark",
            Self::DuplicateKey => "json.duplicate_key",
            Self::Empty => "json.empty",
            Self::InvalidUtf8 => "json.invalid_utf8",
            Self::LoneSurrogateInKey => "json.lone_surrogate_in_key",
            Self::NotANumber => "json.not_a_number",
            Self::Syntax => "json.syntax",
            Self::TooDeep => "json.too_deep",
            Self::TooLong => "json.too_long",
            Self::TrailingData => "json.trailing_data",
            Self::Truncated => "json.truncated",
        }
    }

    /// Whether the text is JSON by RFC 8259, and refused only because parsers disagree about it.
    #[must_use]
    pub const fn is_ambiguity(self) -> bool {
        match self {
            Self::BeyondF64 | Self::DuplicateKey | Self::LoneSurrogateInKey | Self::TooDeep => true,
            Self::ByteOrderMark
            | Self::Empty
            | Self::InvalidUtf8
            | Self::NotANumber
            | Self::Syntax
            | Self::TooLong
            | Self::TrailingData
            | Self::Truncated => false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeyondF64 => "number beyond binary64",
            Self::ByteOrderMark => "byte order mark",
            Self::DuplicateKey => "duplicate key",
            Self::Empty => "no value",
            Self::InvalidUtf8 => "invalid UTF-8",
            Self::LoneSurrogateInKey => "lone surrogate in a key",
            Self::NotANumber => "NaN or Infinity",
            Self::Syntax => "syntax error",
            Self::TooDeep => "too many open containers",
            Self::TooLong => "text too long",
            Self::TrailingData => "data after the value",
            Self::Truncated => "unexpected end",
        })
    }
}
