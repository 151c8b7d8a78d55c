//! Names that some parser takes for another name.

/// Whether `name` is not `known` but reads as it once control characters are dropped and case is folded,
/// U+017F and U+212A included.
pub(crate) fn folds_onto(name: &str, known: &str) -> bool {
    name != known && folded(name).eq(folded(known))
}

/// Whether `text` has a character of Unicode's category Cc.
pub(crate) fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}

/// A name as lenient parsers may read it.
pub(crate) fn fold(name: &str) -> Box<str> {
    folded(name).collect()
}

fn folded(text: &str) -> impl Iterator<Item = char> {
    // Up and down again: what differs only by case in either direction becomes one, U+017F and U+212A included.
    text.chars().filter(|c| !c.is_control()).flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}
