//! Fences around untrusted text, so that a model sees where outside content begins and ends.
//!
//! ```text
//! <<EXT 6f1c02b7d5e94a3380aa51ce server=web tool=fetch block=0>>
//! ...the body, its look-alikes of a marker escaped...
//! <<END-EXT 6f1c02b7d5e94a3380aa51ce>>
//! ```
//!
//! The nonce is drawn for each result and occurs in none of its bodies. Nothing in a body reads as a marker: whatever
//! folds onto the beginning of one gets a `·` behind its first bracket. What is written in other letters, in entities, or
//! with anything invisible or any `·` between its characters folds onto it too, so that an escaped look-alike is itself
//! a look-alike: it gets one `·` more when it is fenced again, and loses one when a fence is taken off.
//!
//! Not every spelling that a model might take for a marker is known: not one with tags of HTML or quotes between its
//! letters, and not one in the tag characters of Unicode (U+E0020 to U+E007E), which nobody sees. The nonce is what tells
//! markers apart.

mod bits;
mod copying;
mod draw;
mod error;
mod escapes;
mod fold;
mod id;
mod look_alike;
mod mode;
mod occurs;
mod open;
mod sieve;
mod skip;
mod units;
mod words;
mod wrap;

pub use self::error::{FenceError, InvalidFenceId, NotFenced};
pub use self::id::FenceId;
pub(crate) use self::look_alike::mentions_fence;
pub use self::mode::FenceMode;
pub use self::open::{Unfenced, unfence};
pub use self::wrap::Fence;
pub(crate) use self::wrap::{RawEdits, RawFenced};

/// What escapes a look-alike: visible, and nothing that a parser reads.
const STUFFING: char = '\u{b7}';

#[cfg(test)]
mod tests;
