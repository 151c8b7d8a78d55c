//! What a server says of its own content.

use std::fmt;

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

    /// Whether all of `other` is in it.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// All but what is in `other`.
    #[cfg(feature = "content-trust")]
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl std::ops::BitOr for Claims {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for Claims {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Claims({:#b})", self.0)
    }
}
