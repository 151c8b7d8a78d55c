//! Strict JSON (RFC 8259, tightened after RFC 7493): one pass, no tree, nothing ambiguous accepted; and changes to
//! ranges of it.
//!
//! Knows no JSON-RPC. What is refused, beyond what the grammar refuses, is what two parsers are known to
//! read differently: see [`Fault`].

#[cfg_attr(not(feature = "provenance"), allow(dead_code, reason = "nothing is added"))]
mod edit;
mod error;
mod fold;
mod keys;
mod members;
mod number;
mod reader;
mod scan;
mod text;

#[cfg(feature = "provenance")]
pub(crate) use self::edit::Slot;
pub(crate) use self::edit::{Cuts, Edits, is_the_very, join};
pub use self::error::{Error, Fault};
#[cfg(feature = "provenance")]
pub(crate) use self::fold::folds_onto_any;
#[cfg(any(feature = "content-trust", feature = "provenance", feature = "upstream"))]
pub(crate) use self::fold::hides_letters;
#[cfg(any(feature = "provenance", feature = "server-trust"))]
pub(crate) use self::fold::reads_as;
pub(crate) use self::fold::{fold, folds_onto, has_control};
pub use self::members::{Argument, Arguments, OwnedArguments};
pub(crate) use self::members::{Member, Scope};
pub(crate) use self::reader::Reader;
#[cfg(feature = "provenance")]
pub(crate) use self::text::unescaped;
pub use self::text::{Kind, LoneSurrogate};
pub(crate) use self::text::{Span, Text, Value};

/// The open containers that a text may have at once: one more is refused.
pub const MAX_DEPTH: u8 = 127;

/// The bytes that a text may have at most: 2 GiB less one.
pub const MAX_LENGTH: usize = (u32::MAX >> 1) as usize;

#[cfg(test)]
mod tests;
