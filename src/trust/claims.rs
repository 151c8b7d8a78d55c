//! What a server says of its own content.

use crate::bits::bit_set;

/// What an upstream server says of a tool or of a result, as far as it makes them worse: a set that only grows.
///
/// # Example
///
/// ```
/// use tower_toolgate::trust::Claims;
///
/// let claims = Claims::OPEN_WORLD | Claims::UNTRUSTED;
/// assert!(claims.contains(Claims::UNTRUSTED));
/// assert!(!claims.contains(Claims::INTEGRITY_UNTRUSTED));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Claims(u8);

impl Claims {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// `annotations.openWorldHint` is true: the tool deals with an open world.
    pub const OPEN_WORLD: Self = Self(1);
    /// The trust annotations in `_meta` say `untrusted`.
    pub const UNTRUSTED: Self = Self(1 << 1);
    /// `_meta.ifc.integrity` is `untrusted`.
    pub const INTEGRITY_UNTRUSTED: Self = Self(1 << 2);
    /// What it says of trust has not the form that it must have, and so says nothing in its favour.
    pub const MALFORMED: Self = Self(1 << 3);
}

bit_set!(Claims);
