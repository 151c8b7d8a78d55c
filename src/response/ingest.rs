//! What has to happen before content is handed on.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

/// Looks at messages before they are handed on.
pub(crate) trait Ingest: Send + Sync {
    /// Looks at the body of an answer in JSON, or at a message of a stream.
    fn examine(&self, message: &[u8], carrier: Carrier) -> Option<Marking>;

    /// An answer that cannot be looked at, since it is coded.
    fn unseen(&self) -> Marking;
}

/// What a message comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// A body of its own, the answer to a request.
    Answer,
    /// A stream of events.
    Stream,
}

/// A mark that is being made; what waits for it is not handed on without.
pub(crate) type Marking = Pin<Box<dyn Future<Output = Result<(), Unmarked>> + Send>>;

/// A mark could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unmarked;

/// All who look at what is handed on.
#[derive(Clone, Default)]
pub(crate) struct Ingests {
    /// There is seldom another one: it is kept without a list.
    first: Option<Arc<dyn Ingest>>,
    more: Vec<Arc<dyn Ingest>>,
}

impl Ingests {
    pub(crate) fn push(&mut self, ingest: Arc<dyn Ingest>) {
        match self.first {
            None => self.first = Some(ingest),
            Some(_) => self.more.push(ingest),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    fn iter(&self) -> impl Iterator<Item = &dyn Ingest> {
        self.first.iter().chain(&self.more).map(|ingest| &**ingest)
    }

    pub(crate) fn examine(&self, message: &[u8], carrier: Carrier) -> Markings {
        Markings::of(self.iter().filter_map(|ingest| ingest.examine(message, carrier)))
    }

    pub(crate) fn unseen(&self) -> Markings {
        Markings::of(self.iter().map(Ingest::unseen))
    }
}

impl fmt::Debug for Ingests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ingests({})", self.iter().count())
    }
}

/// The marks that have to be made before something is handed on, one after another.
pub(crate) struct Markings(Mutex<Vec<Marking>>);

impl Markings {
    pub(crate) fn none() -> Self {
        Self(Mutex::default())
    }

    fn of(markings: impl Iterator<Item = Marking>) -> Self {
        Self(Mutex::new(markings.collect()))
    }

    pub(crate) fn is_empty(&mut self) -> bool {
        self.all().is_empty()
    }

    fn all(&mut self) -> &mut Vec<Marking> {
        // Never locked: it only makes what holds this shareable between threads.
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Unmarked>> {
        while let Some(marking) = self.all().last_mut() {
            let made = ready!(marking.as_mut().poll(cx));
            self.all().pop();
            made?;
        }
        Poll::Ready(Ok(()))
    }
}

impl fmt::Debug for Markings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Markings(..)")
    }
}
