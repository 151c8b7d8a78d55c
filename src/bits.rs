//! Sets of few known things, as bits.

/// What every such set can do.
macro_rules! bit_set {
    ($set:ident) => {
        impl $set {
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

        impl std::ops::BitOr for $set {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl std::ops::BitOrAssign for $set {
            fn bitor_assign(&mut self, other: Self) {
                self.0 |= other.0;
            }
        }

        impl std::fmt::Debug for $set {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($set), "({:#b})"), self.0)
            }
        }
    };
}

pub(crate) use bit_set;
