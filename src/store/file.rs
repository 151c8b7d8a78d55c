//! A memory that outlives the process.

mod error;
mod journal;
mod lock;
mod record;
mod ticket;
mod writer;

use std::fmt;
use std::fs;
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub use self::error::{OpenError, OpenProblem};
use self::journal::{Disk, Journal};
use self::lock::Lock;
use self::ticket::Ticket;
use self::writer::{Pace, Queue, Writer};
use super::memory::{Joined, Table, mark, shard};
use super::registry;
use super::{Admin, Clearance, Cursor, Page, StoreError, TaintCapacity, TaintKey, TaintRegistry, TaintStore};
use super::{Visit, Visited};
use crate::trust::Taint;

/// Marks are known to be renewed to the minute, rounded up, so that a renewal seldom needs a write.
const MINUTE: u64 = 60;

/// A memory of sessions in this process and in a file: bounded, and known again after a restart or a crash.
///
/// Whatever a visit has marked is on the disk before its future is ready; visits that come at the same time share a
/// write. Dropping the future takes nothing back. Looking, and marking what is marked already, needs no write.
///
/// - **One process.** A file has one store at a time, by a socket `FILE.lock` beside it. What a crash leaves of it is
///   replaced; a crash in the very moment of that leaves `FILE.turn`, which has to be removed by hand. Hosts that share
///   a filesystem do not see each other's. The path must not be longer than 70 bytes or so: a socket's address has
///   108. Without Unix sockets the lock is a file, and after a crash it has to be removed by hand.
/// - **Failures.** While nothing can be written every visit that marks fails, and what it marked is known here
///   nevertheless. As soon as a write works again, all that is known is written.
/// - **Size.** A journal that is much longer than what is known is replaced by a new one, `FILE.new` until it is whole.
/// - **Damage.** A record that was being written in a crash is cut off. Anything else that is not as it was written
///   is an error: a memory that lost a part must not look like a clean one. An empty file is one too.
///
/// Principals for whom there was no room are neither listed nor cleared: they read as coarse as long as there is the
/// file.
///
/// # Example
///
/// ```
/// use tower_toolgate::Principal;
/// use tower_toolgate::store::{FileTaintStore, TaintKey, TaintStore, Visit};
/// use tower_toolgate::trust::{Cause, Facts};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = std::env::temp_dir().join(format!("toolgate-example-{}", std::process::id()));
/// let key = TaintKey::of(&Principal::new("api-key", "ci")?);
/// let store = FileTaintStore::open(&path, 100_000)?;
/// store.visit(Visit::mark(key, Facts::OUTSIDE, Cause::new("fetch"), 1_700_000_000)).await?;
/// drop(store);
///
/// let store = FileTaintStore::open(&path, 100_000)?;
/// let known = store.visit(Visit::read(key, 1_700_000_001)).await?.before;
/// assert_eq!((known.facts, known.cause), (Facts::OUTSIDE, Some(Cause::new("fetch"))));
/// # drop(store);
/// # std::fs::remove_file(path)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FileTaintStore(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    table: Arc<Table>,
    queue: Arc<Queue>,
    writer: Option<JoinHandle<()>>,
}

impl FileTaintStore {
    /// Opens a file, or makes one where there is none, and reads all of it. Directories are not made.
    ///
    /// # Errors
    ///
    /// Another store has the file; it is no journal, of another version or damaged; it cannot be read or written.
    pub fn open(path: impl AsRef<Path>, capacity: impl Into<TaintCapacity>) -> Result<Self, OpenError> {
        Self::open_at(path.as_ref(), capacity.into(), Pace::DEFAULT, |journal| journal)
            .map_err(|problem| OpenError::new(path.as_ref(), problem))
    }

    fn open_at<D: Disk>(
        path: &Path,
        capacity: TaintCapacity,
        pace: Pace,
        disk: impl FnOnce(Journal) -> D,
    ) -> Result<Self, OpenProblem> {
        // The name is renamed over: a link to the file must not be.
        let path = match fs::canonicalize(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.into(),
            path => path?,
        };
        let lock = Lock::acquire(&path)?.ok_or(OpenProblem::InUse)?;
        let mut table = Table::new(capacity);
        let mut journal = match Journal::open(&path, &mut table) {
            Err(OpenProblem::Io(error)) if error.kind() == io::ErrorKind::NotFound => Journal::create(&path, &table)?,
            journal => journal?,
        };
        if table.coarsenings() > 0 {
            // With less room than before more is merged than the journal says, and marks that this makes known are not
            // written: with more room they would not be known any longer.
            journal.replace(&table)?;
            table.start();
        }
        Ok(Self::start(table, disk(journal), pace, lock)?)
    }

    fn start(table: Table, disk: impl Disk, pace: Pace, lock: Lock) -> io::Result<Self> {
        let (table, queue) = (Arc::new(table), Arc::new(Queue::new()));
        let base = table.written_size();
        let writer = Writer { queue: Arc::clone(&queue), table: Arc::clone(&table), disk, pace, base, failed: None };
        let run = move || {
            writer.run();
            drop(lock);
        };
        let thread = thread::Builder::new().name("toolgate-taint".into()).spawn(run)?;
        Ok(Self(Arc::new(Shared { table, queue, writer: Some(thread) })))
    }
}

impl fmt::Debug for FileTaintStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileTaintStore").field("coarsenings", &self.coarsenings()).finish_non_exhaustive()
    }
}

impl Drop for Shared {
    /// All that was marked is written, and the file is free, when the last clone is gone.
    fn drop(&mut self) {
        self.queue.close();
        // The writer itself may drop the last clone, with a future that it wakes.
        let others = |writer: &JoinHandle<()>| writer.thread().id() != thread::current().id();
        _ = self.writer.take().filter(others).map(JoinHandle::join);
    }
}

impl Shared {
    /// What there is to wait for, after a mark has become something. The lock of the shard is held.
    fn note(&self, joined: &Joined) -> Option<Arc<Ticket>> {
        let shard = shard(joined.key.principal);
        if joined.new {
            return Some(self.queue.put(shard, |to| record::join(to, joined.key, &joined.taint)));
        }
        (!self.queue.is_written(shard)).then(|| self.queue.wait())
    }
}

impl TaintStore for FileTaintStore {
    type Visit = FileVisit;

    fn visit(&self, visit: Visit) -> Self::Visit {
        let mark = mark(&visit).map(|mark| Taint { last: mark.last.div_ceil(MINUTE).saturating_mul(MINUTE), ..mark });
        let (visited, ticket) = self.0.table.visit(&visit, mark.as_ref(), |joined| self.0.note(&joined));
        FileVisit(Written { value: Some(visited), ticket: ticket.flatten() })
    }

    fn retention(&self) -> Option<Duration> {
        None
    }

    fn forgets_at_restart(&self) -> bool {
        false
    }
}

impl TaintRegistry for FileTaintStore {
    fn list(&self, after: Option<Cursor>, limit: usize) -> Admin<Page> {
        Box::pin(std::future::ready(registry::page(&self.0.table, after.as_ref(), limit)))
    }

    fn inspect(&self, key: TaintKey) -> Admin<Taint> {
        Box::pin(std::future::ready(Ok(self.0.table.inspect(key))))
    }

    fn clear(&self, key: TaintKey, clearance: Clearance) -> Admin<Taint> {
        let tell = |known: &Taint| {
            let write = |to: &mut Vec<u8>| record::clear(to, key, &clearance);
            self.0.queue.clear(shard(key.principal), (key, known.clone()), write)
        };
        let (known, ticket) = self.0.table.clear(key, tell);
        Box::pin(Written { value: Some(known), ticket: Some(ticket) })
    }

    fn coarsenings(&self) -> u64 {
        self.0.table.coarsenings()
    }
}

/// The future of a visit to a [`FileTaintStore`].
#[derive(Debug)]
pub struct FileVisit(Written<Visited>);

impl Future for FileVisit {
    type Output = Result<Visited, StoreError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

/// What was found, as soon as what was done is written.
#[derive(Debug)]
struct Written<T> {
    value: Option<T>,
    ticket: Option<Arc<Ticket>>,
}

impl<T: Unpin> Future for Written<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(ticket) = &self.ticket {
            ready!(ticket.poll(cx))?;
        }
        Poll::Ready(self.value.take().ok_or(StoreError::Unavailable))
    }
}

#[cfg(test)]
mod tests;
