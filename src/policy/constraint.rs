//! The check of one value: its first word, as a POSIX shell reads words.

use std::borrow::Cow;
use std::sync::Arc;

use memchr::{memchr, memchr3};
use shlex::bytes::Shlex;

/// The first words, or their basenames, that one entry lists.
#[derive(Clone, Debug)]
pub(super) struct Allowed(Arc<[Box<str>]>);

impl Allowed {
    pub(super) fn new(entries: &[String]) -> Self {
        let mut words: Vec<Box<str>> = entries.iter().map(|entry| entry.as_str().into()).collect();
        words.sort_unstable();
        words.dedup();
        Self(words.into())
    }

    /// Whether a value's first word, or that word's basename, is listed. A value that a shell could not read is not.
    pub(super) fn permits(&self, value: &str) -> bool {
        first_word(value).is_some_and(|word| self.lists_word(&word))
    }

    /// The words that all of some lists permit: a word that they permit together is one of these, or has one of these
    /// for a basename.
    pub(super) fn common(all: &[Self]) -> impl Iterator<Item = &str> {
        let words = all.iter().flat_map(|allowed| allowed.0.iter().map(|word| &**word));
        words.filter(|word| all.iter().all(|allowed| allowed.lists_word(word)))
    }

    /// Whether a word, or its basename, is listed.
    pub(super) fn lists_word(&self, word: &str) -> bool {
        self.lists(word) || self.lists(basename(word))
    }

    fn lists(&self, word: &str) -> bool {
        !word.is_empty() && self.0.binary_search_by(|entry| (**entry).cmp(word)).is_ok()
    }
}

fn basename(word: &str) -> &str {
    word.rsplit_once('/').map_or(word, |(_, name)| name)
}

/// The first word of a value. The whole of it is read: an unbalanced quote anywhere leaves nothing to rely on.
fn first_word(value: &str) -> Option<Cow<'_, str>> {
    let bytes = value.as_bytes();
    if memchr3(b'\'', b'"', b'\\', bytes).is_none() && memchr(b'#', bytes).is_none() {
        // Without quotes, escapes and comments words are what stands between blanks.
        return value.split([' ', '\t', '\n']).find(|word| !word.is_empty()).map(Cow::Borrowed);
    }
    let mut words = Shlex::new(bytes);
    let first = words.next()?;
    words.by_ref().for_each(drop);
    if words.had_error { None } else { String::from_utf8(first).ok().map(Cow::Owned) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn aa_11_to_aa_31_first_words() {
        for (row, allowed, value, expected) in [
            ("AA-11", "ls", "ls", true),
            ("AA-11", "ls", "ls -la", true),
            ("AA-11", "ls", "ls\t/etc", true),
            ("AA-12", "ls", "ls -la; id", true),
            ("AA-13", "ls", "ls;id", false),
            ("AA-13", "ls", "ls&&id", false),
            ("AA-13", "ls", "ls|sh", false),
            ("AA-13", "ls", "$(id)", false),
            ("AA-14", "ls", "FOO=1 ls", false),
            ("AA-15", "ls", "  ls", true),
            ("AA-15", "ls", "\nls", true),
            ("AA-16", "ls", "ls\nrm -rf /", true),
            ("AA-17", "ls", "ls\r", false),
            ("AA-18", "ls", "# note\nls", true),
            ("AA-18", "ls", "#ls", false),
            ("AA-19", "ls", "'ls'", true),
            ("AA-19", "ls", "\"ls\" -l", true),
            ("AA-19", "ls", "l\\s", true),
            ("AA-19", "ls", "'l''s'", true),
            ("AA-20", "ls", "/bin/ls", true),
            ("AA-20", "ls", "./ls", true),
            ("AA-20", "ls", "/tmp/evil/ls", true),
            ("AA-21", "/bin/ls", "ls", false),
            ("AA-21", "/bin/ls", "/bin/ls", true),
            ("AA-22", "ls", "/bin/ls/", false),
            ("AA-23", "", "x/", false),
            ("AA-24", "", "", false),
            ("AA-24", "", "   ", false),
            ("AA-24", "", "\"\"", false),
            ("AA-25", "ls", "ls 'a", false),
            ("AA-25", "ls", "ls \"a", false),
            ("AA-25", "ls", "ls \\", false),
            ("AA-26", "SELECT", "SELECT name WHERE x='O''", false),
            ("AA-26", "list", "list the users' files", false),
            ("AA-27", "'bash'", "'bash'", false),
            ("AA-27", "foo\\bar", "foo\\bar", false),
            ("AA-27", "C:\\bin\\ls", "C:\\bin\\ls", false),
            ("AA-28", "ls", "LS", false),
            ("AA-29", "\u{e9}", "e\u{301}", false),
            ("AA-29", "ls", "l\u{455}", false),
            ("AA-30", "my tool", "\"/usr/bin/my tool\" --flag", true),
        ] {
            assert_eq!(Allowed::new(&[allowed.to_owned()]).permits(value), expected, "{row} {value:?}");
        }
    }

    proptest! {
        #[test]
        fn the_short_way_reads_what_shlex_reads(value in "[ab/#'\"\\\\ \t\n\r]{0,12}") {
            let words = shlex::split(&value);
            let expected = words.and_then(|words| words.into_iter().next());
            prop_assert_eq!(first_word(&value).map(Cow::into_owned), expected);
        }
    }
}
