//! What is remembered of those for whom there was no room: too much rather than too little.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::store::PrincipalKey;
use crate::trust::Facts;

/// Bits of the filter for each key that is told apart, in tenths: one false positive in a thousand.
const TENTHS: usize = 144;

/// How many bits stand for a fact of a principal.
const PROBES: u64 = 10;

/// A Bloom filter over facts of principals. It is never written but under the lock of the principal's shard.
#[derive(Debug)]
pub(crate) struct Filter {
    words: Box<[AtomicU64]>,
    /// How many bits are set.
    set: AtomicUsize,
}

impl Filter {
    /// For so many facts.
    pub(crate) fn new(capacity: usize) -> Self {
        let words = (capacity.saturating_mul(TENTHS) / 10).div_ceil(64).max(16);
        Self { words: std::iter::repeat_with(AtomicU64::default).take(words).collect(), set: AtomicUsize::new(0) }
    }

    /// With bits that another one had, which mean something in this number only; `None` without any.
    pub(crate) fn of_words(words: impl Iterator<Item = u64>) -> Option<Self> {
        let words: Box<[_]> = words.map(AtomicU64::new).collect();
        let set = words.iter().map(|word| word.load(Relaxed).count_ones() as usize).sum();
        (!words.is_empty()).then(|| Self { words, set: AtomicUsize::new(set) })
    }

    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        self.words.iter().map(|word| word.load(Relaxed))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.set.load(Relaxed) == 0
    }

    /// Whether a bit was set that was not.
    pub(crate) fn insert(&self, key: &PrincipalKey, facts: Facts) -> bool {
        let mut new = 0;
        for (word, mask) in each(facts).flat_map(|fact| self.probes(key, fact)) {
            new += usize::from(word.fetch_or(mask, Relaxed) & mask == 0);
        }
        self.set.fetch_add(new, Relaxed);
        new > 0
    }

    /// What may have been inserted.
    pub(crate) fn facts(&self, key: &PrincipalKey) -> Facts {
        if self.is_empty() {
            return Facts::NONE;
        }
        let known = |fact: &u16| self.probes(key, *fact).all(|(word, mask)| word.load(Relaxed) & mask != 0);
        Facts::from_bits(each(Facts::ALL).filter(known).fold(0, |facts, fact| facts | fact))
    }

    fn probes(&self, key: &PrincipalKey, fact: u16) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let number = u128::from_be_bytes(*key.as_bytes());
        let (high, low) = ((number >> 64) as u64, number as u64);
        let start = mix(high ^ mix(low ^ u64::from(fact)));
        let step = mix(low.wrapping_add(start)) | 1;
        let bits = self.words.len() as u64 * 64;
        (0..PROBES).filter_map(move |probe| {
            let bit = start.wrapping_add(step.wrapping_mul(probe)) % bits;
            Some((self.words.get((bit / 64) as usize)?, 1 << (bit % 64)))
        })
    }
}

/// The facts one by one.
fn each(facts: Facts) -> impl Iterator<Item = u16> {
    (0..u16::BITS).map(|bit| 1 << bit).filter(move |fact| facts.bits() & fact != 0)
}

/// SplitMix64's last step: every bit of the input changes half of the output.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u128) -> PrincipalKey {
        PrincipalKey::from_bytes(number.to_be_bytes())
    }

    #[test]
    fn sk_19_a_filter_knows_what_it_was_told_and_seldom_more() {
        let filter = Filter::new(10_000);
        assert!(filter.facts(&key(1)).is_none());
        (0..10_000).for_each(|n| _ = filter.insert(&key(n), Facts::OUTSIDE));
        assert!((0..10_000).all(|n| filter.facts(&key(n)).contains(Facts::OUTSIDE)));
        let wrong = (10_000..110_000).filter(|n| filter.facts(&key(*n)).contains(Facts::OUTSIDE)).count();
        assert!(wrong < 200, "{wrong} of 100000");
        assert!(!filter.insert(&key(1), Facts::OUTSIDE));
        let copy = Filter::of_words(filter.words()).unwrap();
        assert_eq!(copy.set.load(Relaxed), filter.set.load(Relaxed));
        assert!((0..10_000).all(|n| copy.facts(&key(n)).contains(Facts::OUTSIDE)));
    }
}
