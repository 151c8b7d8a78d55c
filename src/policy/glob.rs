//! Globs, in which `*` is the only metacharacter.

use std::borrow::Cow;
use std::iter;

use memchr::memmem;

use crate::names::NameSet;

/// A pattern with at least one star.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    prefix: Box<str>,
    /// What stands between the stars, in order.
    middle: Box<[Box<str>]>,
    suffix: Box<str>,
}

impl Glob {
    /// Compiles a pattern; `None` if it has no star and so is a plain name.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        let (prefix, rest) = pattern.split_once('*')?;
        let (middle, suffix) = rest.rsplit_once('*').unwrap_or(("", rest));
        let middle = middle.split('*').filter(|part| !part.is_empty()).map(Box::from).collect();
        Some(Self { prefix: prefix.into(), middle, suffix: suffix.into() })
    }

    /// What matches any text that has these parts in order.
    pub(super) fn of_parts(prefix: &str, middle: &[&str], suffix: &str) -> Self {
        let middle = middle.iter().filter(|part| !part.is_empty()).map(|part| Box::from(*part)).collect();
        Self { prefix: prefix.into(), middle, suffix: suffix.into() }
    }

    /// What stands before the first star, and all that stands behind it.
    pub(super) fn parts(&self) -> (&str, String) {
        (&self.prefix, self.middle.concat() + &self.suffix)
    }

    /// Some text that both match, if there is any: only their ends can contradict each other. Where they leave a
    /// choice, it has a `filler`.
    pub(super) fn common(&self, other: &Self, filler: &str) -> Option<String> {
        let [mut prefix, mut suffix] = [&*self.prefix, &*self.suffix];
        if other.prefix.len() > prefix.len() {
            prefix = &other.prefix;
        }
        if other.suffix.len() > suffix.len() {
            suffix = &other.suffix;
        }
        let fits = |glob: &Self| prefix.starts_with(&*glob.prefix) && suffix.ends_with(&*glob.suffix);
        if !fits(self) || !fits(other) {
            return None;
        }
        let middle = self.middle.iter().chain(&other.middle).map(|part| &**part);
        let parts: Vec<_> = iter::once(prefix).chain(middle).chain([suffix]).collect();
        Some(parts.join(filler))
    }

    /// Whether a name matches: prefix and suffix do not overlap, and the rest is found between them in order.
    pub(super) fn matches(&self, name: &str) -> bool {
        let Some(rest) = name.strip_prefix(&*self.prefix) else { return false };
        let Some(mut rest) = rest.strip_suffix(&*self.suffix) else { return false };
        self.middle.iter().all(|part| {
            // The first place is as good as any: it leaves most for the parts that follow.
            let found = memmem::find(rest.as_bytes(), part.as_bytes());
            let behind = found.and_then(|at| rest.get(at + part.len()..));
            rest = behind.unwrap_or_default();
            behind.is_some()
        })
    }
}

/// Names and patterns, any of which may match. Plain names are found by their hash.
#[derive(Clone, Debug, Default)]
pub(crate) struct GlobSet {
    any: bool,
    names: NameSet<Box<str>>,
    globs: Vec<Glob>,
}

impl GlobSet {
    pub(crate) fn insert(&mut self, pattern: &str) {
        match Glob::new(pattern) {
            _ if pattern == "*" => self.any = true,
            Some(glob) => self.globs.push(glob),
            None => {
                self.names.insert(pattern.into());
            }
        }
    }

    /// Whether nothing can match.
    pub(crate) fn is_empty(&self) -> bool {
        !self.any && self.names.is_empty() && self.globs.is_empty()
    }

    /// The plain names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// The patterns with a star.
    pub(super) fn globs(&self) -> impl Iterator<Item = Cow<'_, Glob>> {
        let any = self.any.then(|| Cow::Owned(Glob::of_parts("", &[], "")));
        self.globs.iter().map(Cow::Borrowed).chain(any)
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        self.any || self.names.contains(name) || self.globs.iter().any(|glob| glob.matches(name))
    }
}

impl<'a> FromIterator<&'a str> for GlobSet {
    fn from_iter<I: IntoIterator<Item = &'a str>>(patterns: I) -> Self {
        let mut set = Self::default();
        patterns.into_iter().for_each(|pattern| set.insert(pattern));
        set
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        GlobSet::from_iter([pattern]).matches(name)
    }

    #[test]
    fn aa_06_aa_07_the_star_is_the_only_metacharacter() {
        for (pattern, name, expected) in [
            ("run-*", "run-foo", true),
            ("run-*", "run-", true),
            ("run-*", "Run-foo", false),
            ("run-*", "run", false),
            ("run-foo", "run-foo", true),
            ("run-foo", "run-foo ", false),
            ("*", "", true),
            ("*", "anything", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("ab*bc", "abc", false),
            ("ab*bc", "abbc", true),
            ("*_drop_*", "x_drop_y", true),
            ("*_drop_*", "_drop_", true),
            ("*_drop_*", "drop", false),
            ("a*b*b", "ab", false),
            ("a*b*b", "abb", true),
            ("a**b", "ab", true),
            ("*a*b*", "xbxa", false),
            ("*a*b*", "xaxb", true),
            ("*aa*aa*", "aaa", false),
            ("r?n", "run", false),
            ("r?n", "r?n", true),
            ("[a]", "a", false),
            ("é*", "é1", true),
            ("é*", "e\u{301}1", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern:?} {name:?}");
        }
    }

    /// The textbook definition.
    fn reference(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            ([b'*', rest @ ..], _) => (0..=name.len()).any(|at| reference(rest, &name[at..])),
            ([p, pattern @ ..], [n, name @ ..]) => p == n && reference(pattern, name),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn what_two_globs_have_in_common_both_match(
            one in "[abx]{0,2}[*][ab*]{0,4}",
            other in "[abx]{0,2}[*][ab*]{0,4}",
            name in "[ab]{0,8}",
        ) {
            let [one, other] = [one, other].map(|pattern| Glob::new(&pattern).unwrap());
            let common = one.common(&other, "x");
            prop_assert!(common.as_ref().is_none_or(|text| one.matches(text) && other.matches(text)), "{:?}", common);
            prop_assert!(common.is_some() || !one.matches(&name) || !other.matches(&name));
        }

        #[test]
        fn globs_match_by_the_textbook(pattern in "[ab*]{0,8}", name in "[ab]{0,10}") {
            prop_assert_eq!(matches(&pattern, &name), reference(pattern.as_bytes(), name.as_bytes()));
        }
    }
}
