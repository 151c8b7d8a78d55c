//! URIs that mean what they say.

/// Whether no server can read a URI as another one: no dot segments, no encoded dots or separators, no
/// backslashes, no control characters, encoded ones included.
pub(super) fn is_canonical(uri: &str) -> bool {
    let dots = |segment: &str| segment == "." || segment == "..";
    !uri.split(['/', '?', '#', ';']).any(dots)
        && !uri.contains('\\')
        && !uri.chars().any(char::is_control)
        && !uri.split('%').skip(1).any(is_treacherous)
}

/// Whether what follows a percent sign is an encoded dot, separator or control character, encoded once or more often.
fn is_treacherous(mut code: &str) -> bool {
    while let Some(again) = code.strip_prefix("25") {
        code = again;
    }
    let value = code.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
    value.is_some_and(|byte| matches!(byte, b'.' | b'/' | b'\\') || byte.is_ascii_control())
}

#[cfg(test)]
mod tests {
    use super::is_canonical;

    #[test]
    fn decision_6_uris_that_could_be_read_otherwise_match_nothing() {
        for (uri, expected) in [
            ("file:///srv/data/a.txt", true),
            ("file:///srv/a..b/...", true),
            ("db://users/1?fields=a.b", true),
            ("note://caf%C3%A9", true),
            ("a%", true),
            ("a%2", true),
            ("a%zz", true),
            ("file:///srv/../etc/passwd", false),
            ("file:///srv/..", false),
            ("file:///./srv", false),
            ("..", false),
            ("file:///srv/..?x", false),
            ("file:///srv/..;x/etc", false),
            ("file:///srv/%2e%2e/etc", false),
            ("file:///srv/%2E./etc", false),
            ("file:///srv%2Fetc", false),
            ("file:///srv%5Cetc", false),
            ("file:///srv/%252e%252e/etc", false),
            ("file:///srv%25252fetc", false),
            ("file:///srv\\etc", false),
            ("file:///srv\0", false),
            ("file:///srv%00", false),
            ("file:///srv%0a", false),
            ("file:///srv\n", false),
            ("file:///srv\u{85}", false),
        ] {
            assert_eq!(is_canonical(uri), expected, "{uri:?}");
        }
    }
}
