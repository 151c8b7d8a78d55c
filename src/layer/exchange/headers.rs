//! Headers of what is changed on its way.

use http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_LENGTH, ETAG, HeaderMap, HeaderName, HeaderValue};

/// What says something of the bytes of a body.
const OF_THE_BYTES: [HeaderName; 5] = [
    ETAG,
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("repr-digest"),
];

/// Makes headers fit a body that was changed, and has this length now.
pub(crate) fn measure(headers: &mut HeaderMap, length: usize) {
    forget_bytes(headers);
    if headers.contains_key(CONTENT_LENGTH) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
}

/// What comes back is to be read, not inflated.
pub(crate) fn ask_for_plain(headers: &mut HeaderMap) {
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// What this caller may see is for no other one (RFC 9111, section 5.2.2).
pub(super) fn make_private(headers: &mut HeaderMap) {
    let values: Vec<_> = headers.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok()).collect();
    let directives = || values.iter().flat_map(|value| value.split(',')).map(str::trim);
    let shares = |directive: &str| {
        let name = directive.split('=').next().unwrap_or_default().trim_end();
        ["public", "s-maxage"].iter().any(|shared| name.eq_ignore_ascii_case(shared))
    };
    if directives().any(shares) {
        let kept: Vec<_> = directives().filter(|directive| !shares(directive)).chain(["private"]).collect();
        let value = HeaderValue::from_str(&kept.join(", ")).unwrap_or(HeaderValue::from_static("private"));
        headers.insert(CACHE_CONTROL, value);
    }
}

pub(super) fn forget_bytes(headers: &mut HeaderMap) {
    for name in OF_THE_BYTES {
        headers.remove(name);
    }
}
