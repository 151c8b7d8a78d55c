//! What is known of the session of a request.

use super::{Facts, Taint};

/// What was known of the session when a call was decided on, before the call itself.
///
/// A content trust layer keeps it with the request: the service behind it finds it with `SessionTaint::of`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionTaint {
    before: Taint,
    assumed: bool,
}

impl SessionTaint {
    pub(crate) fn known(before: Taint) -> Self {
        Self { before, assumed: false }
    }

    /// What is known, and everything else.
    pub(crate) fn assumed_beside(mut before: Taint) -> Self {
        before.join(&Taint::assumed());
        Self { before, assumed: true }
    }

    pub(crate) fn assumed() -> Self {
        Self { before: Taint::assumed(), assumed: true }
    }

    /// Whether it has received content from outside.
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.before.facts.contains(Facts::OUTSIDE)
    }

    /// Whether that is only assumed: the store gave no answer, or has forgotten what was before its start.
    #[must_use]
    pub fn is_assumed(&self) -> bool {
        self.assumed
    }

    /// What is known.
    #[must_use]
    pub fn taint(&self) -> &Taint {
        &self.before
    }
}

/// What a layer has found out about a request.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Of the message that brings the most foreign content: its place and its verdict.
    pub(crate) verdict: Option<(usize, super::Verdict<'static>)>,
    pub(crate) session: SessionTaint,
}
