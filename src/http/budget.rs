//! A bound on all that is being buffered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A bound on the bytes of all bodies that are being buffered, shared by the layers that are given clones of it.
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

/// What one request has taken from a budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: BufferBudget,
    bytes: usize,
}

impl Reservation {
    pub(crate) fn new(budget: BufferBudget) -> Self {
        Self { budget, bytes: 0 }
    }

    /// Takes more: whether there was enough.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let take = |available: usize| available.checked_sub(bytes);
        let taken = self.budget.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        self.bytes += if taken { bytes } else { 0 };
        taken
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.0.fetch_add(self.bytes, Ordering::Relaxed);
    }
}
