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
    text.chars().filter(|c| !c.is_control()).flat_map(|c| match c {
        // The two characters outside ASCII whose simple folding is within it.
        '\u{17F}' => 's'.to_lowercase(),
        '\u{212A}' => 'k'.to_lowercase(),
        other => other.to_lowercase(),
    })
}
