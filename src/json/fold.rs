//! Names that some parser takes for another name.

#[cfg(any(feature = "content-trust", feature = "provenance", feature = "upstream"))]
use std::sync::LazyLock;

#[cfg(any(feature = "content-trust", feature = "provenance", feature = "upstream"))]
use memchr::memmem::Finder;

/// Whether `name` is not `known` but reads as it once control characters are dropped and case is folded,
/// U+017F and U+212A included.
pub(crate) fn folds_onto(name: &str, known: &str) -> bool {
    if name.is_ascii() && known.is_ascii() {
        return name != known && folded_ascii(name).eq(folded_ascii(known));
    }
    name != known && folded(name).eq(folded(known))
}

/// Whether some reader takes `name` for `known`, which it may be.
#[cfg(any(feature = "provenance", feature = "server-trust"))]
pub(crate) fn reads_as(name: &str, known: &str) -> bool {
    name == known || folds_onto(name, known)
}

/// Whether `name` [folds onto](folds_onto) one of several names, all of which are in visible ASCII.
#[cfg(feature = "provenance")]
pub(crate) fn folds_onto_any(name: &str, known: &[&str]) -> bool {
    if name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return known.iter().any(|known| known.eq_ignore_ascii_case(name) && *known != name);
    }
    known.iter().any(|known| folds_onto(name, known))
}

/// Whether `text` has a character of Unicode's category Cc.
pub(crate) fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}

/// How the escape of a character of ASCII begins. Making a searcher takes longer than searching what is short.
#[cfg(any(feature = "content-trust", feature = "provenance", feature = "upstream"))]
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\\u00"));

/// Whether an escape may stand for a letter of a name: of ASCII, and visible.
#[cfg(any(feature = "content-trust", feature = "provenance", feature = "upstream"))]
pub(crate) fn hides_letters(text: &[u8]) -> bool {
    let is_visible = |at: usize| text.get(at + 4).is_some_and(|digit| matches!(digit, b'2'..=b'7'));
    ESCAPE.find_iter(text).any(is_visible)
}

/// A name as lenient parsers may read it.
pub(crate) fn fold(name: &str) -> Box<str> {
    folded(name).collect()
}

/// The same as [`folded`]: every name of every message is compared, and nearly all are in ASCII.
fn folded_ascii(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().filter(|byte| !byte.is_ascii_control()).map(|byte| byte.to_ascii_lowercase())
}

fn folded(text: &str) -> impl Iterator<Item = char> {
    // Up and down again: what differs only by case in either direction becomes one, U+017F and U+212A included.
    text.chars().filter(|c| !c.is_control()).flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ascii_folds_as_all_else_does(name in "[\\x00-\\x7f]{0,6}", known in "[A-Za-z]{0,3}") {
            prop_assert_eq!(folded_ascii(&name).map(char::from).collect::<String>(), &*fold(&name));
            prop_assert_eq!(folds_onto(&name, &known), name != known && fold(&name) == fold(&known));
        }

        #[cfg(feature = "provenance")]
        #[test]
        fn several_names_are_as_each_of_them(name in "[\\x00-\\x7fſK]{0,3}", known in "[A-Za-z_]{0,3}", other in "[a-z]{0,3}") {
            let each = folds_onto(&name, &known) || folds_onto(&name, &other);
            prop_assert_eq!(folds_onto_any(&name, &[&known, &other]), each);
        }
    }
}
