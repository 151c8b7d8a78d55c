//! Waiting for a write.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::store::StoreError;

type Outcome = Result<(), StoreError>;

/// What one waits with. Whether anybody still waits does not matter to what is written.
#[derive(Debug)]
pub(super) struct Ticket(Mutex<State>);

#[derive(Debug)]
enum State {
    Waiting(Option<Waker>),
    Done(Outcome),
}

impl Ticket {
    pub(super) fn new() -> Self {
        Self(Mutex::new(State::Waiting(None)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first outcome counts.
    pub(super) fn finish(&self, outcome: Outcome) {
        let waker = match &mut *self.lock() {
            State::Done(_) => return,
            waiting @ State::Waiting(_) => std::mem::replace(waiting, State::Done(outcome)),
        };
        if let State::Waiting(Some(waker)) = waker {
            waker.wake();
        }
    }

    pub(super) fn poll(&self, cx: &Context<'_>) -> Poll<Outcome> {
        match &mut *self.lock() {
            State::Done(outcome) => Poll::Ready(outcome.clone()),
            State::Waiting(waker) => {
                *waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}
