//! The names in the objects that are open, so that a second one of the same name is noticed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use super::text::{LoneSurrogate, Text};

/// The names up to which an object is searched from end to end.
const SMALL: usize = 24;
/// Marks a name that stands in the arena, since its escapes had to be decoded.
const IN_ARENA: u32 = 1 << 31;

/// The names of the open objects, innermost last.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// A frame for each open object: a mark that holds what is known of the frame below, then the object's names.
    names: Vec<Name>,
    /// Where the innermost object's names start.
    frame: usize,
    /// A bit for each of the innermost object's names, picked by its hash: a name whose bit is not set is new.
    seen: u64,
    /// The unescaped names that `names` does not find in the text.
    arena: Vec<u8>,
    /// The indices of those open objects that outgrew a search from end to end.
    large: Vec<Large>,
}

#[derive(Clone, Copy, Debug)]
struct Name {
    /// The first eight bytes: most names differ there, or are equal.
    head: u64,
    start: u32,
    /// With [`IN_ARENA`].
    length: u32,
}

/// An object's names by a keyed hash, which nobody outside can make collide.
#[derive(Debug)]
struct Large {
    frame: usize,
    key: RandomState,
    by_hash: HashMap<u64, u32, BuildHasherDefault<AlreadyHashed>>,
}

impl Keys {
    #[inline]
    pub(super) fn open(&mut self) {
        if self.names.capacity() == 0 {
            self.names.reserve(16);
        }
        self.names.push(Name { head: self.seen, start: self.arena.len() as u32, length: self.frame as u32 });
        self.frame = self.names.len();
        self.seen = 0;
    }

    #[inline]
    pub(super) fn close(&mut self) {
        self.large.pop_if(|large| large.frame == self.frame);
        self.names.truncate(self.frame);
        if let Some(mark) = self.names.pop() {
            self.arena.truncate(mark.start as usize);
            self.frame = mark.length as usize;
            self.seen = mark.head;
        }
    }

    /// Adds a name to the innermost object: whether it is new there. Always inlined, as its callers are.
    #[inline(always)]
    pub(super) fn insert(&mut self, bytes: &[u8], text: Text) -> Result<bool, LoneSurrogate> {
        let name = if text.is_escaped() {
            self.decoded(bytes, text)?
        } else {
            Name::new(bytes, text.span().start(), text.span().len())
        };
        let bit = name.bit();
        let small = self.names.len() - self.frame < SMALL;
        let new = small && self.seen & bit == 0 || self.is_new(bytes, name);
        self.seen |= bit;
        self.names.push(name);
        Ok(new)
    }

    /// Compares a name with the others of its object.
    #[inline(never)]
    fn is_new(&mut self, bytes: &[u8], name: Name) -> bool {
        let siblings = self.names.get(self.frame..).unwrap_or_default();
        if siblings.len() < SMALL {
            !siblings.iter().any(|other| self.same(bytes, *other, name))
        } else {
            !self.in_large(bytes, name)
        }
    }

    #[cold]
    fn decoded(&mut self, bytes: &[u8], text: Text) -> Result<Name, LoneSurrogate> {
        let decoded = text.decode(bytes)?;
        let start = self.arena.len();
        self.arena.extend_from_slice(decoded.as_bytes());
        let mut name = Name::new(&self.arena, start, decoded.len());
        name.length |= IN_ARENA;
        Ok(name)
    }

    #[inline]
    fn same(&self, bytes: &[u8], one: Name, other: Name) -> bool {
        one.head == other.head
            && one.len() == other.len()
            && (one.len() <= 8 || self.name(bytes, one) == self.name(bytes, other))
    }

    fn name<'a>(&'a self, bytes: &'a [u8], name: Name) -> &'a [u8] {
        let source = if name.length & IN_ARENA == 0 { bytes } else { &self.arena };
        source.get(name.start as usize..name.start as usize + name.len()).unwrap_or_default()
    }

    /// Adds a name to the innermost object's index, which is made when it is first needed: whether it was there.
    fn in_large(&mut self, bytes: &[u8], name: Name) -> bool {
        if self.large.last().is_none_or(|large| large.frame != self.frame) {
            self.index(bytes);
        }
        let Some(mut large) = self.large.pop() else { return true };
        let hash = large.key.hash_one(self.name(bytes, name));
        let known = match large.by_hash.entry(hash) {
            Entry::Vacant(vacant) => {
                vacant.insert(self.names.len() as u32);
                false
            }
            Entry::Occupied(other) => {
                let siblings = self.names.get(self.frame..).unwrap_or_default();
                let first = self.names.get(*other.get() as usize);
                first.is_some_and(|first| self.same(bytes, *first, name))
                    || siblings.iter().any(|other| self.same(bytes, *other, name))
            }
        };
        self.large.push(large);
        known
    }

    #[cold]
    fn index(&mut self, bytes: &[u8]) {
        let key = RandomState::new();
        let names = self.names.iter().enumerate().skip(self.frame);
        let by_hash = names.map(|(at, name)| (key.hash_one(self.name(bytes, *name)), at as u32)).collect();
        self.large.push(Large { frame: self.frame, key, by_hash });
    }
}

impl Name {
    #[inline]
    fn new(source: &[u8], start: usize, length: usize) -> Self {
        let word = source.get(start..).and_then(|rest| rest.first_chunk::<8>());
        let head = match (word, length) {
            (Some(word), 8..) => u64::from_le_bytes(*word),
            (Some(word), _) => u64::from_le_bytes(*word) & !(u64::MAX << (8 * length)),
            (None, _) => {
                let bytes = source.get(start..start + length).unwrap_or_default();
                bytes.iter().rev().fold(0, |head, byte| head << 8 | u64::from(*byte))
            }
        };
        Self { head, start: start as u32, length: length as u32 }
    }

    /// Where it is noted that an object has the name. The product's highest bits depend on all bits of the head.
    #[inline]
    fn bit(self) -> u64 {
        1 << (self.head.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58)
    }

    fn len(self) -> usize {
        (self.length & !IN_ARENA) as usize
    }
}

/// Hashes are not hashed again.
#[derive(Debug, Default)]
struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
