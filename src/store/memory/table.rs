//! What is known, in bounded memory.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::causes::Causes;
use super::filter::Filter;
use super::rows::{Row, Rows, all_of, clamp};
use crate::store::{PrincipalKey, TaintCapacity, TaintKey, Visit, Visited};
use crate::trust::Taint;

/// Principals are spread over these by the first bits of their keys, so that shards are in the order of keys.
pub(crate) const SHARDS: usize = 64;

/// What is known of all keys. Whatever is known of one principal is read and written under the lock of its shard.
#[derive(Debug)]
pub(crate) struct Table {
    shards: [Mutex<Rows>; SHARDS - 1],
    last: Mutex<Rows>,
    pub(super) causes: Causes,
    pub(super) filter: Filter,
    pub(super) capacity: TaintCapacity,
    /// How many rows there are, with those that are about to be.
    used: AtomicUsize,
    pub(super) coarsenings: AtomicU64,
}

/// What became of a mark: read again, it leads to what is known now.
#[derive(Debug)]
pub(crate) struct Joined {
    /// Whose it is now: the principal's, if its conversation was merged.
    pub(crate) key: TaintKey,
    /// What was joined, all that was merged with it included.
    pub(crate) taint: Taint,
    /// Whether anything but a count is new.
    pub(crate) new: bool,
}

/// The shard of a principal.
pub(crate) fn shard(principal: PrincipalKey) -> usize {
    usize::from(principal.as_bytes()[0] >> 2)
}

fn own(principal: PrincipalKey) -> TaintKey {
    TaintKey { principal, conversation: None }
}

impl Table {
    pub(crate) fn new(capacity: TaintCapacity) -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            last: Mutex::default(),
            causes: Causes::new(),
            filter: Filter::new(capacity.keys()),
            capacity,
            used: AtomicUsize::new(0),
            coarsenings: AtomicU64::new(0),
        }
    }

    /// Rows are whole whenever the lock is free: a panic elsewhere is no reason to stop.
    pub(super) fn lock(&self, shard: usize) -> MutexGuard<'_, Rows> {
        self.shards.get(shard).unwrap_or(&self.last).lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    pub(crate) fn coarsenings(&self) -> u64 {
        self.coarsenings.load(Relaxed)
    }

    /// Reads, and joins a mark unless it is refused. What became of the mark is told under the lock, so that it is told
    /// in the order in which it was done.
    pub(crate) fn visit<T>(
        &self,
        visit: &Visit,
        mark: Option<&Taint>,
        tell: impl FnOnce(Joined) -> T,
    ) -> (Visited, Option<T>) {
        let mut rows = self.lock(shard(visit.key.principal));
        let visited = Visited::of(self.known(&rows, visit.key, visit.since), &visit.refuse);
        let mark = mark.filter(|_| visited.refused.is_none());
        let told = mark.map(|mark| tell(self.join(&mut rows, visit.key, mark)));
        (visited, told)
    }

    /// What counts for a key: its own, its principal's, and what the filter says.
    fn known(&self, rows: &Rows, key: TaintKey, since: u64) -> Taint {
        let since = u64::from(clamp(since));
        let of = |key| self.row(rows, &key).since(since);
        let mut known = of(own(key.principal));
        if key.conversation.is_some() {
            known.join(&of(key));
        }
        known.join(&self.filtered(key.principal));
        known
    }

    fn row(&self, rows: &Rows, key: &TaintKey) -> Taint {
        rows.get(key).map(|row| row.taint(&self.causes)).unwrap_or_default()
    }

    /// What the filter says. It knows no times, so that no window passes it.
    fn filtered(&self, principal: PrincipalKey) -> Taint {
        let facts = self.filter.facts(&principal);
        Taint { facts, coarse: !facts.is_none(), ..Taint::default() }
    }

    /// What is known of one key alone.
    pub(crate) fn inspect(&self, key: TaintKey) -> Taint {
        let mut taint = self.row(&self.lock(shard(key.principal)), &key);
        if key.conversation.is_none() {
            taint.join(&self.filtered(key.principal));
        }
        taint
    }
}

/// Joining.
impl Table {
    pub(super) fn join(&self, rows: &mut Rows, key: TaintKey, mark: &Taint) -> Joined {
        let whole = own(key.principal);
        let key = if rows.get(&whole).is_some_and(Row::is_coarse) { whole } else { key };
        if mark.coarse && key == whole {
            return self.merge(rows, key.principal, mark);
        }
        if rows.get(&key).is_some() {
            return self.put(rows, key, mark);
        }
        let one_too_many = || rows.conversations(key.principal) >= self.capacity.conversations();
        if (key != whole && one_too_many()) || !self.reserve() {
            return self.merge(rows, key.principal, mark);
        }
        self.put(rows, key, mark)
    }

    /// Joins to the row of a key, for which there is room.
    fn put(&self, rows: &mut Rows, key: TaintKey, mark: &Taint) -> Joined {
        let old = rows.get(&key).copied();
        let mut taint = old.map(|row| row.taint(&self.causes)).unwrap_or_default();
        taint.join(mark);
        let row = Row::new(key, &taint, &self.causes);
        rows.put(row);
        Joined { key, taint: mark.clone(), new: old.is_none_or(|old| !old.says(&row)) }
    }

    /// Makes one row of all that is known of a principal; without any, it goes into the filter if there is no room.
    fn merge(&self, rows: &mut Rows, principal: PrincipalKey, mark: &Taint) -> Joined {
        let key = own(principal);
        let mut taint = Taint { coarse: true, ..mark.clone() };
        let merged = rows.take(&all_of(key), |row| taint.join(&row.taint(&self.causes)));
        if merged == 0 && !self.reserve() {
            let new = self.filter.insert(&principal, mark.facts);
            self.count(new && !mark.coarse);
            // Told even if it is not new: what others put into the filter may be elsewhere when it is read again.
            return Joined { key, taint, new: true };
        }
        self.release(merged.saturating_sub(1));
        self.count(!mark.coarse);
        rows.put(Row::new(key, &taint, &self.causes));
        Joined { key, taint, new: true }
    }

    /// Forgets the rows of a key, or of a principal and all its conversations: what was known.
    pub(crate) fn clear<T>(&self, key: TaintKey, tell: impl FnOnce(&Taint) -> T) -> (Taint, T) {
        let mut rows = self.lock(shard(key.principal));
        let mut taint = Taint::default();
        let taken = rows.take(&all_of(key), |row| taint.join(&row.taint(&self.causes)));
        self.release(taken);
        let told = tell(&taint);
        if key.conversation.is_none() {
            taint.join(&self.filtered(key.principal));
        }
        (taint, told)
    }

    /// Counts what was merged here. What is told as coarse was counted where it became so.
    fn count(&self, merged: bool) {
        self.coarsenings.fetch_add(merged.into(), Relaxed);
    }

    /// Makes room for one row more, if there is any.
    fn reserve(&self) -> bool {
        let add = |used: usize| (used < self.capacity.keys()).then_some(used + 1);
        self.used.fetch_update(Relaxed, Relaxed, add).is_ok()
    }

    fn release(&self, rows: usize) {
        self.used.fetch_sub(rows, Relaxed);
    }

    /// Some rows behind a key, in the order of keys.
    pub(crate) fn after(&self, key: Option<TaintKey>, limit: usize) -> Vec<(TaintKey, Taint)> {
        let mut entries = Vec::new();
        let from = key.unwrap_or(own(PrincipalKey::from_bytes([0; 16])));
        for number in shard(from.principal)..SHARDS {
            if entries.len() >= limit {
                break;
            }
            let rows = self.lock(number);
            let behind = rows.from(&from).filter(|row| Some(row.key()) != key).take(limit - entries.len());
            entries.extend(behind.map(|row| (row.key(), row.taint(&self.causes))));
        }
        entries
    }
}
