//! What this gateway itself knows: what a server that lost its data is told again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::value::Known;
use crate::store::memory::Filter;
use crate::store::{TaintKey, Visit};
use crate::trust::{Facts, Taint};

/// What was marked or seen, and what was marked but not confirmed. Nothing of it says that anybody is clean.
///
/// Whoever finds no room is remembered in a filter. What a filter says is never written to the server, because it may
/// be wrong, and the one for `known` is not even asked before a server may have lost something.
#[derive(Debug)]
pub(super) struct Cache {
    entries: Mutex<Entries>,
    capacity: usize,
    spilled: Filter,
    spilled_owed: Filter,
    lost: AtomicBool,
}

#[derive(Debug, Default)]
struct Entries {
    known: HashMap<TaintKey, Known>,
    owed: HashMap<TaintKey, Taint>,
}

/// What goes with a visit.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) known: [Option<Known>; 2],
    pub(super) owed: [Option<Taint>; 2],
    /// What cannot be ruled out.
    pub(super) assumed: Facts,
}

/// The keys whose values a visit reads: the principal's, and the conversation's if there is one.
fn keys(key: TaintKey) -> [Option<TaintKey>; 2] {
    [Some(TaintKey { conversation: None, ..key }), key.conversation.map(|_| key)]
}

impl Cache {
    pub(super) fn new(capacity: usize) -> Self {
        let (spilled, spilled_owed) = (Filter::new(capacity), Filter::new(capacity));
        Self { entries: Mutex::default(), capacity, spilled, spilled_owed, lost: AtomicBool::new(false) }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on a server may not know what it was told.
    pub(super) fn suspect_loss(&self) {
        self.lost.store(true, Relaxed);
    }

    pub(super) fn tell(&self, key: TaintKey) -> Told {
        let mut assumed = self.spilled_owed.facts(&key.principal);
        if self.lost.load(Relaxed) {
            assumed |= self.spilled.facts(&key.principal);
        }
        let entries = self.lock();
        Told {
            known: keys(key).map(|key| entries.known.get(&key?).cloned()),
            owed: keys(key).map(|key| entries.owed.get(&key?).cloned()),
            assumed,
        }
    }

    /// What the server said: the principal's value and the conversation's. What it cannot read is not kept.
    pub(super) fn learn(&self, key: TaintKey, values: [Option<Known>; 2]) {
        let mut entries = self.lock();
        for (key, known) in keys(key).into_iter().zip(values).filter_map(|(key, known)| Some((key?, known?))) {
            self.learn_one(&mut entries.known, key, known);
        }
    }

    fn learn_one(&self, entries: &mut HashMap<TaintKey, Known>, key: TaintKey, known: Known) {
        let room = entries.len() < self.capacity;
        match entries.get_mut(&key) {
            // Answers may be overtaken: the older one says less.
            Some(old) if old.epoch == known.epoch => {
                let marks = old.taint.marks.max(known.taint.marks);
                old.taint.join(&known.taint);
                old.taint.marks = marks;
            }
            Some(old) if old.epoch > known.epoch => (),
            Some(_) if known.taint.is_clean() => _ = entries.remove(&key),
            Some(old) => *old = known,
            None if known.taint.is_clean() => (),
            None if room => _ = entries.insert(key, known),
            None => _ = self.spilled.insert(&key.principal, known.taint.facts),
        }
    }

    /// Something was marked, and the server did not say that it knows.
    pub(super) fn owe(&self, key: TaintKey, mark: &Taint) {
        let owed = &mut self.lock().owed;
        if owed.len() >= self.capacity && !owed.contains_key(&key) {
            self.spilled_owed.insert(&key.principal, mark.facts);
        } else {
            owed.entry(key).or_default().join(mark);
        }
    }

    /// The server has joined what went with a visit to values that it can read.
    pub(super) fn settle(&self, key: TaintKey, told: &Told) {
        if told.owed.iter().all(Option::is_none) {
            return;
        }
        let mut entries = self.lock();
        for (key, owed) in keys(key).into_iter().zip(&told.owed).filter_map(|(key, owed)| Some((key?, owed.as_ref()?)))
        {
            if entries.owed.get(&key) == Some(owed) {
                entries.owed.remove(&key);
            }
        }
    }

    /// An operator has cleared it.
    pub(super) fn forget(&self, key: TaintKey) {
        let covered = |other: &TaintKey| match key.conversation {
            Some(_) => *other == key,
            None => other.principal == key.principal,
        };
        let mut entries = self.lock();
        entries.known.retain(|key, _| !covered(key));
        entries.owed.retain(|key, _| !covered(key));
    }

    /// Whether there is something that the server has not confirmed.
    pub(super) fn owes(&self) -> bool {
        !self.lock().owed.is_empty()
    }

    /// A visit to each key that the server may not know of.
    pub(super) fn visits(&self, owed_only: bool) -> Vec<Visit> {
        let entries = self.lock();
        let known = entries.known.keys().filter(|_| !owed_only);
        known.chain(entries.owed.keys()).map(|key| Visit::read(*key, 0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{NOW, key};

    fn known(facts: Facts, epoch: u64) -> Option<Known> {
        let taint = if facts.is_none() { Taint::default() } else { Taint::mark(facts, NOW, None) };
        Some(Known { taint, epoch })
    }

    #[test]
    fn rd_06_what_is_clean_is_not_kept_and_an_overtaken_answer_takes_nothing_back() {
        let cache = Cache::new(10);
        cache.learn(key(1, None), [known(Facts::NONE, 0), None]);
        assert!(cache.tell(key(1, None)).known[0].is_none());
        for (facts, epoch) in [(Facts::OUTSIDE, 0), (Facts::NONE, 0), (Facts::PRIVATE, 0)] {
            cache.learn(key(1, None), [known(facts, epoch), None]);
        }
        let told = cache.tell(key(1, 1)).known[0].clone().unwrap();
        assert_eq!((told.taint.facts, told.taint.marks), (Facts::OUTSIDE | Facts::PRIVATE, 1));
        cache.learn(key(1, None), [known(Facts::NONE, 1), None]);
        assert!(cache.tell(key(1, None)).known[0].is_none());
    }

    #[test]
    fn sk_20_rd_06_what_finds_no_room_is_assumed_after_a_loss_only() {
        let cache = Cache::new(10);
        (0..100).for_each(|n| cache.learn(key(n, None), [known(Facts::OUTSIDE, 0), None]));
        assert_eq!(cache.lock().known.len(), 10);
        assert!(cache.tell(key(50, None)).assumed.is_none());
        cache.suspect_loss();
        assert_eq!(cache.tell(key(50, 1)).assumed, Facts::OUTSIDE);
    }

    #[test]
    fn sd_09_what_is_owed_is_settled_only_as_it_was_told() {
        let cache = Cache::new(1);
        let mark = |facts| Taint::mark(facts, NOW, None);
        cache.owe(key(1, 1), &mark(Facts::OUTSIDE));
        let told = cache.tell(key(1, 1));
        cache.owe(key(1, 1), &mark(Facts::PRIVATE));
        cache.settle(key(1, 1), &told);
        let told = cache.tell(key(1, 1));
        assert_eq!(told.owed[1].as_ref().unwrap().facts, Facts::OUTSIDE | Facts::PRIVATE);
        cache.settle(key(1, 1), &told);
        assert!(cache.visits(true).is_empty());
        cache.owe(key(1, 1), &mark(Facts::OUTSIDE));
        cache.owe(key(2, 1), &mark(Facts::PRIVATE));
        assert_eq!(cache.tell(key(2, None)).assumed, Facts::PRIVATE);
        cache.forget(key(1, None));
        assert!(cache.tell(key(1, 1)).owed[1].is_none());
    }
}
