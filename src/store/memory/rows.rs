//! Entries in the order of their keys, in chunks that waste little.

use std::mem::size_of;
use std::ops::RangeInclusive;

use super::causes::Causes;
use crate::store::{ConversationKey, PrincipalKey, TaintKey};
use crate::trust::{Facts, Taint};

/// What is known of one key, in 48 bytes. Times end in 2106, and counts at 65535.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    principal: PrincipalKey,
    conversation: [u8; 16],
    first: u32,
    last: u32,
    facts: u16,
    cause: u16,
    marks: u16,
    has_conversation: bool,
    coarse: bool,
}

const _: () = assert!(size_of::<Row>() == 48);

/// A time as rows know it. What is compared with one must go through here too.
pub(super) fn clamp(time: u64) -> u32 {
    u32::try_from(time).unwrap_or(u32::MAX)
}

impl Row {
    pub(super) fn new(key: TaintKey, taint: &Taint, causes: &Causes) -> Self {
        Self {
            principal: key.principal,
            conversation: key.conversation.map_or([0; 16], |conversation| *conversation.as_bytes()),
            first: clamp(taint.first),
            last: clamp(taint.last),
            facts: taint.facts.bits(),
            cause: causes.number(taint.cause.as_ref()),
            marks: u16::try_from(taint.marks).unwrap_or(u16::MAX),
            has_conversation: key.conversation.is_some(),
            coarse: taint.coarse,
        }
    }

    pub(super) fn key(&self) -> TaintKey {
        let conversation = self.has_conversation.then(|| ConversationKey::from_bytes(self.conversation));
        TaintKey { principal: self.principal, conversation }
    }

    pub(super) fn taint(&self, causes: &Causes) -> Taint {
        Taint {
            facts: Facts::from_bits(self.facts),
            first: self.first.into(),
            last: self.last.into(),
            marks: self.marks.into(),
            cause: causes.get(self.cause),
            coarse: self.coarse,
        }
    }

    pub(super) fn is_coarse(&self) -> bool {
        self.coarse
    }

    /// Whether it says the same, however often.
    pub(super) fn says(&self, other: &Self) -> bool {
        Self { marks: 0, ..*self } == Self { marks: 0, ..*other }
    }
}

/// The most rows of a chunk. A full one is halved, one with a nearly empty neighbour joined.
const CHUNK: usize = 32;

/// How many rows more a chunk gets when it is full.
const GROWTH: usize = 4;

/// Rows by key. Rows of one principal are neighbours: its own first.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// None is empty.
    chunks: Vec<Vec<Row>>,
    /// The start of each chunk's last principal: looked through first, since it stays in the cache.
    ends: Vec<u64>,
}

/// The start of a principal's key, as a number in the order of keys.
fn start(principal: PrincipalKey) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *principal.as_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

fn end(chunk: &[Row]) -> u64 {
    chunk.last().map_or(u64::MAX, |row| start(row.principal))
}

impl Rows {
    /// Where a key is or would be: the chunk, and the place in it.
    fn place(&self, key: &TaintKey) -> (usize, usize) {
        let before = |row: &Row| row.key() < *key;
        let start = start(key.principal);
        let first = self.ends.partition_point(|end| *end < start);
        let ends = self.ends.get(first..).unwrap_or_default();
        // Mostly it has none, and there is nothing to be searched for.
        let alike = if ends.first() == Some(&start) { ends.partition_point(|end| *end == start) } else { 0 };
        let alike = self.chunks.get(first..first + alike).unwrap_or_default();
        let chunk = first + alike.partition_point(|chunk| chunk.last().is_some_and(before));
        (chunk, self.chunks.get(chunk).map_or(0, |chunk| chunk.partition_point(before)))
    }

    pub(super) fn get(&self, key: &TaintKey) -> Option<&Row> {
        let (chunk, at) = self.place(key);
        self.chunks.get(chunk)?.get(at).filter(|row| row.key() == *key)
    }

    /// Puts a row into the place of the one with its key, or into a new one.
    pub(super) fn put(&mut self, row: Row) {
        let key = row.key();
        let (mut at, place) = self.place(&key);
        if let Some(old) = self.chunks.get_mut(at).and_then(|chunk| chunk.get_mut(place)).filter(|old| old.key() == key)
        {
            *old = row;
            return;
        }
        let is_last = at == self.chunks.len();
        if is_last && at > 0 {
            at -= 1;
        }
        match (self.chunks.get_mut(at), self.ends.get_mut(at)) {
            (Some(chunk), Some(last)) => {
                insert(chunk, if is_last { chunk.len() } else { place }, row);
                *last = end(chunk);
            }
            _ => {
                self.ends.push(start(row.principal));
                self.chunks.push(vec![row]);
            }
        }
        self.split(at);
    }

    fn split(&mut self, at: usize) {
        if let Some(chunk) = self.chunks.get_mut(at).filter(|chunk| chunk.len() >= CHUNK) {
            let rest = chunk.split_off(CHUNK / 2);
            chunk.shrink_to_fit();
            self.ends.insert(at, end(chunk));
            self.chunks.insert(at + 1, rest);
        }
    }

    /// How many conversations of a principal there are.
    pub(super) fn conversations(&self, principal: PrincipalKey) -> usize {
        let ((first, start), (last, end)) = self.places(&all_conversations(principal));
        let between: usize = self.chunks.iter().take(last).skip(first).map(Vec::len).sum();
        (between + end).saturating_sub(start)
    }

    /// Rows from a key on.
    pub(super) fn from(&self, key: &TaintKey) -> impl Iterator<Item = &Row> {
        let (chunk, at) = self.place(key);
        self.chunks.iter().skip(chunk).flatten().skip(at)
    }

    /// All rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Row> {
        self.chunks.iter().flatten()
    }

    /// Takes out what is in a range of keys: how many they were.
    pub(super) fn take(&mut self, range: &RangeInclusive<TaintKey>, mut each: impl FnMut(&Row)) -> usize {
        let ((first, _), (last, _)) = self.places(range);
        let mut taken = 0;
        for chunk in self.chunks.iter_mut().take(last + 1).skip(first) {
            chunk.retain(|row| {
                let stays = !range.contains(&row.key());
                if !stays {
                    taken += 1;
                    each(row);
                }
                stays
            });
            chunk.shrink_to_fit();
        }
        self.join(first, last);
        taken
    }

    /// The places of a range's first key, and behind its last.
    fn places(&self, range: &RangeInclusive<TaintKey>) -> ((usize, usize), (usize, usize)) {
        let (last, mut end) = self.place(range.end());
        let found = self.chunks.get(last).and_then(|chunk| chunk.get(end)).is_some_and(|row| row.key() == *range.end());
        end += usize::from(found);
        (self.place(range.start()), (last, end))
    }

    /// Makes one chunk of small neighbours, so that chunks are never more than twice what they need be.
    fn join(&mut self, first: usize, last: usize) {
        let end = last.saturating_add(2).min(self.chunks.len());
        let start = first.saturating_sub(1).min(end);
        let mut joined: Vec<Vec<Row>> = Vec::new();
        for chunk in self.chunks.drain(start..end).filter(|chunk| !chunk.is_empty()).collect::<Vec<_>>() {
            match joined.last_mut().filter(|before| before.len() + chunk.len() <= CHUNK / 2) {
                Some(before) => {
                    before.reserve_exact(chunk.len());
                    before.extend(chunk);
                }
                None => joined.push(chunk),
            }
        }
        self.chunks.splice(start..start, joined);
        self.ends = self.chunks.iter().map(|chunk| self::end(chunk)).collect();
    }
}

fn insert(chunk: &mut Vec<Row>, at: usize, row: Row) {
    if chunk.len() == chunk.capacity() {
        chunk.reserve_exact(GROWTH);
    }
    chunk.insert(at, row);
}

/// The keys of all conversations of a principal.
fn all_conversations(principal: PrincipalKey) -> RangeInclusive<TaintKey> {
    let key = |byte| TaintKey { principal, conversation: Some(ConversationKey::from_bytes([byte; 16])) };
    key(0)..=key(u8::MAX)
}

/// The keys of a principal and all its conversations, or of one conversation.
pub(super) fn all_of(key: TaintKey) -> RangeInclusive<TaintKey> {
    match key.conversation {
        Some(_) => key..=key,
        None => key..=*all_conversations(key.principal).end(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn key(principal: u8, conversation: Option<u16>) -> TaintKey {
        let bytes = |number: u16| ConversationKey::from_bytes((u128::from(number) << 112).to_be_bytes());
        TaintKey { principal: PrincipalKey::from_bytes([principal; 16]), conversation: conversation.map(bytes) }
    }

    fn steps() -> impl Strategy<Value = Vec<(bool, u8, Option<u16>)>> {
        let step = (proptest::bool::weighted(0.98), 0..4_u8, proptest::option::weighted(0.95, 0..2000_u16));
        proptest::collection::vec(step, 0..2000)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn rows_are_a_sorted_map(steps in steps()) {
            let (causes, mut rows, mut map) = (Causes::new(), Rows::default(), BTreeMap::new());
            for (now, (puts, principal, conversation)) in steps.into_iter().enumerate() {
                let key = key(principal, conversation);
                let row = Row::new(key, &Taint::mark(Facts::OUTSIDE, now as u64, None), &causes);
                if puts {
                    rows.put(row);
                    map.insert(key, row);
                } else {
                    let range = all_of(key);
                    let count = map.range(range.clone()).count();
                    prop_assert_eq!(rows.take(&range, |row| assert!(range.contains(&row.key()))), count);
                    map.retain(|key, _| !range.contains(key));
                }
                prop_assert_eq!(rows.get(&key), map.get(&key));
                prop_assert!(rows.chunks.iter().all(|chunk| !chunk.is_empty() && chunk.len() < CHUNK));
                prop_assert!(rows.chunks.iter().map(|chunk| end(chunk)).eq(rows.ends.iter().copied()));
            }
            prop_assert!(rows.iter().eq(map.values()));
            for principal in 0..4 {
                let from = key(principal, Some(1000));
                prop_assert!(rows.from(&from).eq(map.range(from..).map(|(_, row)| row)));
                let principal = from.principal;
                let count = map.range(all_conversations(principal)).count();
                prop_assert_eq!(rows.conversations(principal), count);
            }
        }
    }
}
