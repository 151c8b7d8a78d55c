//! The memory of sessions: what each principal or conversation has received or done.
//!
//! A store never forgets what it was told as long as the key can be used: the only write is a join. What does not fit
//! is merged upwards (a conversation into its principal) or kept in a filter that knows too much rather than too
//! little.

mod capacity;
mod file;
mod key;
mod memory;
#[cfg(feature = "redis")]
mod redis;
mod registry;

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

pub use self::capacity::TaintCapacity;
pub use self::file::{FileTaintStore, FileVisit, OpenError, OpenProblem};
pub use self::key::{ConversationKey, PrincipalKey, TaintKey};
pub use self::memory::MemoryTaintStore;
#[cfg(feature = "redis")]
#[cfg_attr(docsrs, doc(cfg(feature = "redis")))]
pub use self::redis::{RedisBuilder, RedisTaintStore, RedisVisit};
use crate::trust::{Cause, Facts, Taint};

/// The memory of sessions.
///
/// # For implementors
///
/// - [`visit`](Self::visit) is one atomic step: what is read, and whether anything in `refuse` applies to it, is true
///   at the moment of the join.
/// - What was joined once is read from then on, by every clone and every replica, until the key cannot be used any
///   more. Whatever is unknown, unreadable or of another version is [`Taint::assumed`], not nothing.
/// - A failure is an error. There is no falling back to something else.
pub trait TaintStore: Clone + Send + Sync + 'static {
    /// The future of a visit.
    type Visit: Future<Output = Result<Visited, StoreError>> + Send + 'static;

    /// Reads what is known and joins marks to it, in one step.
    fn visit(&self, visit: Visit) -> Self::Visit;

    /// How long marks are kept at least; `None` is as long as keys can be used.
    fn retention(&self) -> Option<Duration>;

    /// Whether a restart of this process, or of the store, forgets.
    fn forgets_at_restart(&self) -> bool;
}

/// What operators do, beside calls.
pub trait TaintRegistry: TaintStore {
    /// Everything that is marked, in some order, after a cursor that an earlier page gave.
    fn list(&self, after: Option<Cursor>, limit: usize) -> Admin<Page>;

    /// What is known of one key alone.
    fn inspect(&self, key: TaintKey) -> Admin<Taint>;

    /// Forgets what is known of a key: of a principal with all its conversations, or of one conversation. The only
    /// way down. Gives what was known.
    fn clear(&self, key: TaintKey, clearance: Clearance) -> Admin<Taint>;

    /// How often memory ran out and marks were merged upwards.
    fn coarsenings(&self) -> u64;
}

/// The future of an operator's action.
pub type Admin<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// Where a page of a list ends. Opaque.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor(pub(crate) Box<str>);

impl Cursor {
    /// From what [`as_str`](Self::as_str) gave.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// For a link to the next page.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A part of everything that is marked.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The keys with what is known of them.
    pub entries: Vec<(TaintKey, Taint)>,
    /// Where the next page begins, if there is one.
    pub next: Option<Cursor>,
}

/// Who forgets, and why. Both are for the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clearance {
    actor: Box<str>,
    reason: Box<str>,
}

impl Clearance {
    /// Somebody, for a reason; `None` if one of them is blank.
    #[must_use]
    pub fn new(actor: &str, reason: &str) -> Option<Self> {
        let (actor, reason) = (actor.trim(), reason.trim());
        (!actor.is_empty() && !reason.is_empty()).then(|| Self { actor: actor.into(), reason: reason.into() })
    }

    /// Who.
    #[must_use]
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// One call's visit to the memory of its session.
#[derive(Clone, Debug)]
pub struct Visit {
    /// Whose memory. With a conversation, what is known is the join of the conversation's and the principal's; marks
    /// go to the conversation.
    pub key: TaintKey,
    /// What is joined, unless the visit is refused. [`Facts::NONE`] only reads.
    pub marks: Facts,
    /// Why.
    pub cause: Option<Cause>,
    /// Nothing is joined if all facts of one of these are known.
    pub refuse: Box<[Facts]>,
    /// The time of the caller, in seconds since 1970. Stores have no clocks.
    pub now: u64,
    /// What was not marked again since then does not count; 0 counts everything.
    pub since: u64,
}

impl Visit {
    /// Reads what is known.
    #[must_use]
    pub fn read(key: TaintKey, now: u64) -> Self {
        Self { key, marks: Facts::NONE, cause: None, refuse: Box::default(), now, since: 0 }
    }

    /// Marks.
    #[must_use]
    pub fn mark(key: TaintKey, marks: Facts, cause: Cause, now: u64) -> Self {
        Self { marks, cause: Some(cause), ..Self::read(key, now) }
    }
}

/// What a visit found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visited {
    /// What was known before.
    pub before: Taint,
    /// Which of `refuse` applied, so that nothing was joined.
    pub refused: Option<usize>,
}

impl Visited {
    /// What a visit finds where this is known: whether it is refused is for all stores to decide alike.
    #[must_use]
    pub fn of(before: Taint, refuse: &[Facts]) -> Self {
        let refused = refuse.iter().position(|facts| before.facts.contains(*facts));
        Self { before, refused }
    }
}

/// Why a store gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// It cannot be reached, or does not take the command.
    Unavailable,
    /// It did not answer in time.
    TimedOut,
    /// It is there, and does not let this caller in.
    Rejected(&'static str),
    /// It cannot be relied upon: it forgets, or is not what it should be.
    Unfit(&'static str),
    /// What was given as a cursor is none of this store.
    NoSuchCursor,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable => f.write_str("the store cannot be reached"),
            Self::TimedOut => f.write_str("the store did not answer in time"),
            Self::Rejected(why) => write!(f, "the store refuses the connection: {why}"),
            Self::Unfit(why) => write!(f, "the store cannot be relied upon: {why}"),
            Self::NoSuchCursor => f.write_str("the cursor is none of this store"),
        }
    }
}

impl Error for StoreError {}

#[cfg(test)]
pub(crate) mod tests;
