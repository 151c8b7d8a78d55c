//! One thread writes for all: who waits at the same time shares a sync.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::super::memory::{SHARDS, Table};
use super::journal::Disk;
use super::ticket::Ticket;
use crate::store::{StoreError, TaintKey};
use crate::trust::Taint;

/// When a journal is replaced by what is known, and how long after a failure it is tried again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// How many times longer than what is known.
    pub(super) factor: u64,
    /// And how many bytes more.
    pub(super) floor: u64,
    pub(super) pause: Duration,
}

impl Pace {
    pub(super) const DEFAULT: Self = Self { factor: 4, floor: 1 << 20, pause: Duration::from_millis(200) };
}

/// What waits to be written together.
#[derive(Debug)]
struct Batch {
    number: u64,
    records: Vec<u8>,
    tickets: Vec<Arc<Ticket>>,
    /// What was cleared, and is not if it cannot be written.
    cleared: Vec<(TaintKey, Taint)>,
}

impl Batch {
    fn new(number: u64) -> Self {
        Self { number, records: Vec::new(), tickets: Vec::new(), cleared: Vec::new() }
    }
}

impl Drop for Batch {
    /// Whatever ends the writer, nobody waits for it any longer.
    fn drop(&mut self) {
        self.tickets.iter().for_each(|ticket| ticket.finish(Err(StoreError::Unavailable)));
    }
}

#[derive(Debug)]
struct State {
    next: Batch,
    closed: bool,
}

/// From those who visit to the writer.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    wake: Condvar,
    /// The last batch that each shard has something in.
    changed: [AtomicU64; SHARDS],
    /// The last batch that is written with all before it.
    written: AtomicU64,
    failing: AtomicBool,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State { next: Batch::new(1), closed: false }),
            wake: Condvar::new(),
            changed: std::array::from_fn(|_| AtomicU64::new(0)),
            written: AtomicU64::new(0),
            failing: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether all that a shard knows is written. Asked under the lock of the shard.
    pub(super) fn is_written(&self, shard: usize) -> bool {
        let changed = self.changed.get(shard).map_or(u64::MAX, |changed| changed.load(SeqCst));
        changed <= self.written.load(SeqCst) && !self.failing.load(SeqCst)
    }

    /// Something to write, of a shard whose lock is held.
    pub(super) fn put(&self, shard: usize, write: impl FnOnce(&mut Vec<u8>)) -> Arc<Ticket> {
        self.submit(|batch| {
            write(&mut batch.records);
            if let Some(changed) = self.changed.get(shard) {
                changed.store(batch.number, SeqCst);
            }
        })
    }

    /// Nothing to write, but to know that all before is written.
    pub(super) fn wait(&self) -> Arc<Ticket> {
        self.submit(|_| ())
    }

    /// As [`put`](Self::put), of what is known again if it fails.
    pub(super) fn clear(
        &self,
        shard: usize,
        cleared: (TaintKey, Taint),
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Arc<Ticket> {
        self.submit(|batch| {
            write(&mut batch.records);
            batch.cleared.push(cleared);
            if let Some(changed) = self.changed.get(shard) {
                changed.store(batch.number, SeqCst);
            }
        })
    }

    fn submit(&self, add: impl FnOnce(&mut Batch)) -> Arc<Ticket> {
        let ticket = Arc::new(Ticket::new());
        let mut state = self.lock();
        if state.closed {
            ticket.finish(Err(StoreError::Unavailable));
        } else {
            add(&mut state.next);
            state.next.tickets.push(Arc::clone(&ticket));
            self.wake.notify_one();
        }
        ticket
    }

    /// The next batch, as soon as there is something in it; `None` if there will be nothing more.
    fn take(&self) -> Option<Batch> {
        let idle = |state: &mut State| state.next.tickets.is_empty() && !state.closed;
        let mut state = self.wake.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        let number = state.next.number + 1;
        let batch = mem::replace(&mut state.next, Batch::new(number));
        (!batch.tickets.is_empty()).then_some(batch)
    }

    /// Lets nobody in any more; what is in is written.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_one();
    }
}

/// The writer.
#[derive(Debug)]
pub(super) struct Writer<D> {
    pub(super) queue: Arc<Queue>,
    pub(super) table: Arc<Table>,
    pub(super) disk: D,
    pub(super) pace: Pace,
    /// How long the journal was when all that is in it was known.
    pub(super) base: u64,
    /// When it failed last.
    pub(super) failed: Option<Instant>,
}

impl<D: Disk> Writer<D> {
    pub(super) fn run(mut self) {
        let _end = End(Arc::clone(&self.queue));
        while let Some(batch) = self.queue.take() {
            let outcome = self.write(&batch.records).map_err(|_| StoreError::Unavailable);
            match &outcome {
                Ok(()) => self.queue.written.store(batch.number, SeqCst),
                Err(_) => batch.cleared.iter().for_each(|(key, taint)| self.table.absorb(*key, taint)),
            }
            self.queue.failing.store(outcome.is_err(), SeqCst);
            batch.tickets.iter().for_each(|ticket| ticket.finish(outcome.clone()));
            self.compact();
        }
        if self.failed.is_some() {
            // The last chance for what was marked while nothing could be written.
            _ = self.disk.replace(&self.table);
        }
    }

    fn write(&mut self, records: &[u8]) -> std::io::Result<()> {
        if let Some(failed) = self.failed {
            // Nobody knows what of a failed write is on the disk, nor what the kernel thinks is: all is written anew.
            if failed.elapsed() < self.pace.pause {
                return Err(std::io::ErrorKind::Other.into());
            }
            self.failed = Some(Instant::now());
            self.disk.replace(&self.table)?;
            self.base = self.disk.length();
        }
        let written = if records.is_empty() { Ok(()) } else { self.disk.append(records) };
        self.failed = written.is_err().then(Instant::now);
        written
    }

    /// Replaces the journal if much in it is known twice. If that fails, there is still the journal.
    fn compact(&mut self) {
        let due = self.base.saturating_mul(self.pace.factor).saturating_add(self.pace.floor);
        if self.failed.is_none() && self.disk.length() > due {
            _ = self.disk.replace(&self.table);
            self.base = self.disk.length();
        }
    }
}

/// Closes the queue when the writer ends, even in a panic.
struct End(Arc<Queue>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.close();
        let left = mem::replace(&mut self.0.lock().next, Batch::new(0));
        drop(left);
    }
}
