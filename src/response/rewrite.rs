//! What is changed in a response on its way.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use http::response::Parts;

use super::lists::Unreadable;
use crate::json::{Edits, join};

/// Changes responses on their way.
pub(crate) trait Rewrite: Send + Sync {
    /// Changes the head of a response, of whatever status, before its body is looked at.
    fn head(&self, head: &mut Parts) -> Result<(), Unreadable>;

    /// Whether something may have to change in a message, as it came from the server: what is not read costs nothing.
    fn concerns(&self, message: &[u8]) -> bool;

    /// Whether it has to see a message as it came from the server, before those further in change it.
    fn comes_first(&self) -> bool {
        false
    }

    /// What changes in a message.
    fn edits(&self, message: &Bytes, of: &mut Origin<'_>) -> Result<Edits, Unreadable>;

    /// Changes trailers.
    fn trailers(&self, _trailers: &mut HeaderMap) {}

    /// Whether something is added to messages that nobody changes any more.
    fn seals(&self) -> bool {
        false
    }

    /// What is added.
    fn seal(&self, _message: &Bytes) -> Edits {
        Edits::new()
    }

    /// Changes the head of a stream of events, before any of them is there.
    fn stream(&self, _head: &mut Parts) {}

    /// Whether something may change in an answer in JSON, so that it has to be held.
    fn holds_answers(&self) -> bool;

    /// Whether nothing may be handed on that cannot be read.
    fn is_exact(&self) -> bool;
}

/// What a message came in.
pub(crate) enum Origin<'a> {
    /// A response of its own, the head of which is still here.
    Answer(&'a mut Parts),
    Stream,
}

/// All who change what is handed on, from the outside in.
#[derive(Clone, Default)]
pub(crate) struct Rewrites(Vec<Arc<dyn Rewrite>>);

impl Rewrites {
    pub(crate) fn push(&mut self, rewrite: Arc<dyn Rewrite>) {
        self.0.push(rewrite);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn hold_answers(&self) -> bool {
        self.0.iter().any(|rewrite| rewrite.holds_answers())
    }

    pub(crate) fn are_exact(&self) -> bool {
        self.0.iter().any(|rewrite| rewrite.is_exact())
    }

    pub(crate) fn head(&self, head: &mut Parts) -> Result<(), Unreadable> {
        self.0.iter().rev().try_for_each(|rewrite| rewrite.head(head))
    }

    pub(crate) fn stream(&self, head: &mut Parts) {
        self.0.iter().rev().for_each(|rewrite| rewrite.stream(head));
    }

    pub(crate) fn trailers(&self, trailers: &mut HeaderMap) {
        self.0.iter().rev().for_each(|rewrite| rewrite.trailers(trailers));
    }

    /// The same pieces with what is added last.
    pub(crate) fn seal(&self, mut pieces: Vec<Bytes>) -> Vec<Bytes> {
        for rewrite in self.0.iter().rev().filter(|rewrite| rewrite.seals()) {
            let whole = join(pieces);
            pieces = rewrite.seal(&whole).pieces(&whole);
        }
        pieces
    }

    /// The message as it is handed on, in pieces: the very same where nothing changes.
    pub(crate) fn apply(&self, message: &Bytes, of: &mut Origin<'_>) -> Result<Vec<Bytes>, Unreadable> {
        let (mut whole, mut pieces) = (message.clone(), Vec::new());
        // What one of them writes concerns no other, so that what came is what is asked about.
        let concerned = |first| {
            let placed = move |rewrite: &&Arc<dyn Rewrite>| rewrite.comes_first() == first;
            self.0.iter().rev().filter(placed).filter(|rewrite| rewrite.concerns(message))
        };
        for rewrite in concerned(true).chain(concerned(false)) {
            if !pieces.is_empty() {
                whole = join(std::mem::take(&mut pieces));
            }
            let edits = rewrite.edits(&whole, of)?;
            if !edits.is_empty() {
                pieces = edits.pieces(&whole);
            }
        }
        Ok(if pieces.is_empty() { vec![whole] } else { pieces })
    }
}

impl fmt::Debug for Rewrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rewrites({})", self.0.len())
    }
}
