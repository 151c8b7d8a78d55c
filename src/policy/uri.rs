//! URIs that mean what they say.

use std::borrow::Cow;

use crate::json::has_control;

/// Whether no server can read a URI as another one: no dot segments, no encoded dots or separators, no
/// backslashes, no control characters, encoded ones included; nothing encoded twice; what is encoded is UTF-8.
pub(super) fn is_canonical(uri: &str) -> bool {
    if has_dots(uri) || uri.contains('\\') || has_control(uri) {
        return false;
    }
    let harmless = |byte: u8| !matches!(byte, b'.' | b'/' | b'\\');
    let Some(decoded) = decode(uri, harmless) else { return false };
    // What has an escape even then was encoded twice.
    !has_dots(&decoded) && !has_control(&decoded) && decode(&decoded, |_| false).is_some()
}

/// Whether it has a segment that means another one. Some systems drop blanks behind the dots.
fn has_dots(uri: &str) -> bool {
    uri.split([':', '/', '?', '#', ';']).any(|segment| matches!(segment.trim_end(), "." | ".."))
}

/// Decodes each escape once; `None` where one is not permitted, or they do not make UTF-8.
fn decode(text: &str, permitted: impl Fn(u8) -> bool) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let (mut decoded, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, behind @ ..] = rest {
        let byte = Some(behind).filter(|_| *first == b'%').and_then(escape);
        if byte.is_some_and(|byte| !permitted(byte)) {
            return None;
        }
        decoded.push(byte.unwrap_or(*first));
        rest = rest.get(if byte.is_some() { 3 } else { 1 }..).unwrap_or_default();
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

/// The byte that two hexadecimal digits stand for.
fn escape(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| digits.get(at).and_then(|digit| char::from(*digit).to_digit(16));
    u8::try_from(digit(0)? << 4 | digit(1)?).ok()
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
            ("a%25", true),
            ("100%25 sure", true),
            ("file:///srv/../etc/passwd", false),
            ("file:///srv/..", false),
            ("file:///./srv", false),
            ("file:../etc/passwd", false),
            ("file:..", false),
            ("..", false),
            ("file:///srv/..?x", false),
            ("file:///srv/..;x/etc", false),
            ("file:///srv/%2e%2e/etc", false),
            ("file:///srv/%2E./etc", false),
            ("file:///srv%2Fetc", false),
            ("file:///srv%5Cetc", false),
            ("file:///srv/%252e%252e/etc", false),
            ("file:///srv%25252fetc", false),
            ("f:///srv/%25%32%65%25%32%65/etc", false),
            ("f:///a%25%32%66b", false),
            ("f:///a/%%32%65%%32%65/b", false),
            ("f:///a/%c0%ae%c0%ae/b", false),
            ("f:///a%ff", false),
            ("file:///srv/..%20/etc", false),
            ("file:///srv/.. /etc", false),
            ("file:///srv/..%3Bx/etc", false),
            ("file:///srv\\etc", false),
            ("file:///srv\0", false),
            ("file:///srv%00", false),
            ("file:///srv%0a", false),
            ("file:///srv%7f", false),
            ("f:///a%c2%85", false),
            ("file:///srv\n", false),
            ("file:///srv\u{85}", false),
        ] {
            assert_eq!(is_canonical(uri), expected, "{uri:?}");
        }
    }
}
