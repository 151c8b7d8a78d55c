//! Tables over names that the operator chose.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map from names.
pub(crate) type NameMap<K, V> = HashMap<K, V, BuildHasherDefault<Fnv>>;
/// A set of names.
pub(crate) type NameSet<K> = HashSet<K, BuildHasherDefault<Fnv>>;

/// FNV-1a, a quarter of the work of the standard hasher on short names. It has no key: who asks cannot add a name,
/// and so cannot make names collide.
#[derive(Clone, Debug)]
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
        }
    }
}
