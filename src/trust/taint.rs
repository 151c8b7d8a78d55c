//! What is known of a session: a value that only grows.

use std::fmt;
use std::sync::Arc;

use crate::bits::bit_set;

/// What a session has received or done: a set that only grows.
///
/// # Example
///
/// ```
/// use tower_toolgate::trust::Facts;
///
/// let facts = Facts::OUTSIDE | Facts::PRIVATE;
/// assert!(facts.contains(Facts::OUTSIDE));
/// assert!(!Facts::OUTSIDE.contains(facts));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Facts(u16);

impl Facts {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// It has received content from outside.
    pub const OUTSIDE: Self = Self(1);
    /// It has read what is private.
    pub const PRIVATE: Self = Self(1 << 1);
    /// Everything: what is assumed where nothing can be known.
    pub const ALL: Self = Self(u16::MAX);

    /// How many steps of forbidden sequences there may be.
    pub const STEPS: u8 = 14;

    /// It has taken a step of a forbidden sequence; `None` from [`STEPS`](Self::STEPS) on.
    #[must_use]
    pub const fn step(index: u8) -> Option<Self> {
        if index < Self::STEPS { Some(Self(1 << (index + 2))) } else { None }
    }

    /// As bits, for a store.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// From bits that a store has kept.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }
}

bit_set!(Facts);

/// Why something was marked: names of tools and servers, never values. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cause(Arc<str>);

impl Cause {
    /// What a cause may have in bytes.
    pub const MAX_BYTES: usize = 256;

    /// A cause in words; what is too long is cut off.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let end = (0..=Self::MAX_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        Self(text.get(..end).unwrap_or_default().into())
    }

    /// The words.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nothing of a tool's name begins a line of a log.
        self.0.chars().try_for_each(|letter| match letter {
            '\u{2028}' | '\u{2029}' => write!(f, "{}", letter.escape_unicode()),
            letter if letter.is_control() => write!(f, "{}", letter.escape_default()),
            letter => write!(f, "{letter}"),
        })
    }
}

/// What is known of a principal or a conversation: a join-semilattice, so that the order in which marks come does not
/// matter, and nothing that is joined is lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Taint {
    /// What it has received or done.
    pub facts: Facts,
    /// When it was first marked, in seconds since 1970.
    pub first: u64,
    /// When it was last marked, in seconds since 1970.
    pub last: u64,
    /// How often it was marked; a lower bound where memory ran out.
    pub marks: u64,
    /// Why it was first marked, if that was kept.
    pub cause: Option<Cause>,
    /// Whether it stands for more than was asked about: memory ran out, and marks were merged upwards.
    pub coarse: bool,
}

impl Taint {
    /// What one mark says.
    #[must_use]
    pub fn mark(facts: Facts, now: u64, cause: Option<Cause>) -> Self {
        Self { facts, first: now, last: now, marks: 1, cause, coarse: false }
    }

    /// What is assumed where nothing can be known.
    #[must_use]
    pub fn assumed() -> Self {
        Self { facts: Facts::ALL, coarse: true, ..Self::default() }
    }

    /// Whether nothing has been marked.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.facts.is_none()
    }

    /// Joins what is known from elsewhere. The earlier cause is kept.
    pub fn join(&mut self, other: &Self) {
        if other.is_clean() {
            return;
        }
        let earlier = self.is_clean() || (other.first, &other.cause) < (self.first, &self.cause);
        if earlier && (other.cause.is_some() || self.cause.is_none()) {
            self.cause.clone_from(&other.cause);
        }
        self.first = if self.is_clean() { other.first } else { self.first.min(other.first) };
        self.facts |= other.facts;
        self.last = self.last.max(other.last);
        self.marks = self.marks.saturating_add(other.marks);
        self.coarse |= other.coarse;
    }

    /// What counts of it if marks that were not renewed since a time count no more.
    #[must_use]
    pub fn since(self, since: u64) -> Self {
        if self.last >= since || self.coarse { self } else { Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sk_12_sk_16_marks_are_joined_and_the_first_cause_is_kept() {
        let mark = |facts, now, cause| Taint::mark(facts, now, Some(Cause::new(cause)));
        let (one, two) = (mark(Facts::OUTSIDE, 5, "one"), mark(Facts::PRIVATE, 7, "two"));
        for order in [[&one, &two], [&two, &one]] {
            let mut taint = Taint::default();
            order.into_iter().for_each(|mark| taint.join(mark));
            assert_eq!((taint.facts, taint.first, taint.last), (Facts::OUTSIDE | Facts::PRIVATE, 5, 7));
            assert_eq!((taint.marks, taint.cause), (2, Some(Cause::new("one"))));
        }
        let mut taint = one.clone();
        taint.join(&Taint::default());
        assert_eq!(taint, one);
    }

    #[test]
    fn a_window_forgets_what_was_not_renewed_but_nothing_coarse() {
        let taint = Taint::mark(Facts::OUTSIDE, 5, None);
        assert_eq!(taint.clone().since(5), taint);
        assert!(taint.since(6).is_clean());
        assert!(!Taint::assumed().since(6).is_clean());
    }

    #[test]
    fn a_cause_is_short_and_stays_on_its_line() {
        assert_eq!(Cause::new(&"ä".repeat(200)).as_str().len(), 256);
        assert_eq!(Cause::new("tool 'a\nb\u{2028}ä'").to_string(), "tool 'a\\nb\\u{2028}ä'");
        assert_eq!((Facts::step(13).map(Facts::bits), Facts::step(14)), (Some(1 << 15), None));
    }
}
