//! A memory that ends with the process.

mod causes;
mod filter;
mod rows;
mod snapshot;
mod table;

use std::future::{Ready, ready};
use std::sync::Arc;
use std::time::Duration;

pub(super) use self::filter::Filter;
pub(super) use self::table::{Joined, SHARDS, Table, shard};
use super::registry;
use super::{Admin, Clearance, Cursor, Page, StoreError, TaintCapacity, TaintKey, TaintRegistry, TaintStore};
use super::{Visit, Visited};
use crate::trust::{Facts, Taint};

/// A memory of sessions in this process: bounded, and gone when the process ends.
///
/// Clones share it. It never fails. Whoever has several processes, or must know after a restart what was before it,
/// needs another one.
///
/// # Example
///
/// ```
/// use tower_toolgate::Principal;
/// use tower_toolgate::store::{MemoryTaintStore, TaintKey, TaintStore, Visit};
/// use tower_toolgate::trust::{Cause, Facts};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemoryTaintStore::new(100_000);
/// let key = TaintKey::of(&Principal::new("api-key", "ci")?);
/// store.visit(Visit::mark(key, Facts::OUTSIDE, Cause::new("fetch"), 1_700_000_000)).await?;
///
/// let known = store.visit(Visit::read(key, 1_700_000_001)).await?.before;
/// assert_eq!((known.facts, known.cause), (Facts::OUTSIDE, Some(Cause::new("fetch"))));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct MemoryTaintStore(Arc<Table>);

impl MemoryTaintStore {
    /// An empty memory that tells so many marked keys apart. All that it takes beside them is allocated here: a filter
    /// of 1.8 bytes a key.
    #[must_use]
    pub fn new(capacity: impl Into<TaintCapacity>) -> Self {
        Self(Arc::new(Table::new(capacity.into())))
    }
}

/// What a visit marks, if it does.
pub(super) fn mark(visit: &Visit) -> Option<Taint> {
    let marks = |facts: Facts| Taint::mark(facts, visit.now, visit.cause.clone());
    (!visit.marks.is_none()).then(|| marks(visit.marks))
}

impl TaintStore for MemoryTaintStore {
    type Visit = Ready<Result<Visited, StoreError>>;

    fn visit(&self, visit: Visit) -> Self::Visit {
        ready(Ok(self.0.visit(&visit, mark(&visit).as_ref(), drop::<Joined>).0))
    }

    fn retention(&self) -> Option<Duration> {
        None
    }

    fn forgets_at_restart(&self) -> bool {
        true
    }
}

/// Principals for whom there was no room are not listed, and not cleared: they read as coarse for as long as the
/// process lives.
impl TaintRegistry for MemoryTaintStore {
    fn list(&self, after: Option<Cursor>, limit: usize) -> Admin<Page> {
        Box::pin(ready(registry::page(&self.0, after.as_ref(), limit)))
    }

    fn inspect(&self, key: TaintKey) -> Admin<Taint> {
        Box::pin(ready(Ok(self.0.inspect(key))))
    }

    fn clear(&self, key: TaintKey, _: Clearance) -> Admin<Taint> {
        Box::pin(ready(Ok(self.0.clear(key, |_| ()).0)))
    }

    fn coarsenings(&self) -> u64 {
        self.0.coarsenings()
    }
}

#[cfg(test)]
mod tests;
