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

/// A map from names that looks at no name longer than its own, so that a long one costs nothing.
#[derive(Clone, Debug)]
pub(crate) struct NameTable<V> {
    values: NameMap<Box<str>, V>,
    longest: usize,
}

impl<V> NameTable<V> {
    pub(crate) fn get(&self, name: &str) -> Option<&V> {
        if name.len() > self.longest { None } else { self.values.get(name) }
    }

    /// The value of a name, made if there is none.
    pub(crate) fn entry(&mut self, name: &str, new: impl FnOnce() -> V) -> &mut V {
        self.longest = self.longest.max(name.len());
        self.values.entry(name.into()).or_insert_with(new)
    }

    /// How many bytes the longest name has.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }
}

impl<V> Default for NameTable<V> {
    fn default() -> Self {
        Self { values: NameMap::default(), longest: 0 }
    }
}
