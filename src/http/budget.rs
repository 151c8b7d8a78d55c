//! A bound on all that is being buffered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A bound on the bytes of all bodies that have arrived and are being buffered, shared by the layers that are given clones of it.
///
/// A request whose body would pass the bound is answered with 503; its bytes count until the last of the
/// request is dropped.
///
/// # Example
///
/// ```
/// use tower_toolgate::http::BufferBudget;
///
/// let budget = BufferBudget::new(64 << 20);
/// assert_eq!(budget.available(), 64 << 20);
/// ```
#[derive(Clone, Debug)]
pub struct BufferBudget(Arc<AtomicUsize>);

impl BufferBudget {
    /// A budget of so many bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(bytes)))
    }

    /// The bytes that may still be buffered.
    #[must_use]
    pub fn available(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl BufferBudget {
    /// Whether both are clones of one.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What one request has taken from a budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: BufferBudget,
    taken: usize,
    /// What an outer layer has taken for the same body, which counts as long as this does.
    outer: Option<Arc<Reservation>>,
    /// What may be buffered without taking more.
    credit: usize,
}

impl Reservation {
    pub(crate) fn new(budget: BufferBudget, outer: Option<Arc<Self>>) -> Self {
        let credit = outer.as_ref().map_or(0, |outer| outer.buffered());
        Self { budget, taken: 0, outer, credit }
    }

    pub(crate) fn budget(&self) -> &BufferBudget {
        &self.budget
    }

    /// Takes or gives back what so many bytes need: whether there was enough.
    pub(crate) fn resize(&mut self, bytes: usize) -> bool {
        if bytes > self.taken {
            return self.buffer(bytes - self.taken);
        }
        self.budget.0.fetch_add(self.taken - bytes, Ordering::Relaxed);
        self.taken = bytes;
        true
    }

    fn buffered(&self) -> usize {
        self.taken + self.outer.as_ref().map_or(0, |outer| outer.buffered())
    }

    /// Takes what is needed to buffer so many bytes more: whether there was enough.
    pub(crate) fn buffer(&mut self, bytes: usize) -> bool {
        let missing = bytes.saturating_sub(self.credit);
        let take = |available: usize| available.checked_sub(missing);
        let enough = self.budget.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        if enough {
            self.taken += missing;
            self.credit = self.credit.saturating_sub(bytes);
        }
        enough
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.0.fetch_add(self.taken, Ordering::Relaxed);
    }
}
