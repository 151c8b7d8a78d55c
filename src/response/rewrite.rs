//! What is changed in a response on its way.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;

use super::edit::Edits;
use super::lists::Unreadable;

/// Changes responses on their way.
pub(crate) trait Rewrite: Send + Sync {
    /// Changes the head of a response, of whatever status.
    fn head(&self, headers: &mut HeaderMap) -> Result<(), Unreadable>;

    /// What changes in the body of an answer in JSON, or in a message of a stream.
    fn edits(&self, message: &Bytes) -> Result<Edits, Unreadable>;

    /// Whether something may change in an answer in JSON, so that it has to be held.
    fn holds_answers(&self) -> bool;
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

    pub(crate) fn head(&self, headers: &mut HeaderMap) -> Result<(), Unreadable> {
        self.0.iter().rev().try_for_each(|rewrite| rewrite.head(headers))
    }

    /// The message as it is handed on: the very same where nothing changes.
    pub(crate) fn apply(&self, message: &Bytes) -> Result<Bytes, Unreadable> {
        let mut message = message.clone();
        for rewrite in self.0.iter().rev() {
            let edits = rewrite.edits(&message)?;
            if !edits.is_empty() {
                message = edits.apply(&message).collect::<Vec<_>>().concat().into();
            }
        }
        Ok(message)
    }
}

impl fmt::Debug for Rewrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rewrites({})", self.0.len())
    }
}
