//! What happens to sessions, as an observer sees it.

use std::fmt;

use crate::identity::Principal;
use crate::store::{StoreError, TaintKey};
use crate::trust::{RuleKind, Taint, Verdict};

/// Sees what happens to sessions.
///
/// Closures over [`TrustEvent`] implement it. It is called on the path of the request, and so should be quick.
pub trait OnTrust: Send + Sync + 'static {
    /// Something has happened.
    fn on_trust(&self, event: &TrustEvent<'_>);
}

impl<F> OnTrust for F
where
    F: Fn(&TrustEvent<'_>) + Send + Sync + 'static,
{
    fn on_trust(&self, event: &TrustEvent<'_>) {
        self(event);
    }
}

/// What has happened to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustEventKind<'a> {
    /// A call passed although the store gave no answer: it needs none in a session that is assumed to be tainted.
    Assumed,
    /// A rule was about a call that passed.
    Flagged(RuleKind),
    /// It was marked.
    Marked,
    /// A rule refused a call.
    Refused(RuleKind),
    /// The store gave no answer.
    StoreFailed(&'a StoreError),
    /// Content was withheld, since the mark could not be made.
    Withheld,
}

impl TrustEventKind<'_> {
    /// A stable name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Assumed => "assumed",
            Self::Flagged(_) => "flagged",
            Self::Marked => "marked",
            Self::Refused(_) => "refused",
            Self::StoreFailed(_) => "store_failed",
            Self::Withheld => "withheld",
        }
    }
}

/// Something that has happened to a session. What it borrows is gone when the call returns.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct TrustEvent<'a> {
    /// What.
    pub kind: TrustEventKind<'a>,
    /// Whose memory it is.
    pub key: TaintKey,
    /// Who is behind the request, if authentication says so.
    pub principal: Option<&'a Principal>,
    /// What the call brings back, with what decided.
    pub verdict: Option<&'a Verdict<'a>>,
    /// What was known of the session, with its first cause.
    pub known: Option<&'a Taint>,
}

impl fmt::Debug for TrustEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrustEvent")
            .field("kind", &self.kind)
            .field("key", &self.key)
            .field("verdict", &self.verdict)
            .field("known", &self.known)
            .finish_non_exhaustive()
    }
}
