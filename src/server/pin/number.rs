//! Numbers as ECMAScript writes them, which RFC 8785, section 3.2.2.3, asks for.

use ryu_js::Buffer;

/// The greatest integer that every reader keeps: 2^53 - 1, of RFC 7493, section 2.2.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// An integer as it is written; `None` if readers that keep numbers in binary64 take it for another one.
pub(super) fn integer(raw: &str) -> Option<String> {
    let (sign, digits) = raw.strip_prefix('-').map_or(("", raw), |digits| ("-", digits));
    match digits.parse::<u64>() {
        Ok(0) => Some("0".to_owned()),
        Ok(safe @ ..=MAX_SAFE) => Some(format!("{sign}{safe}")),
        Ok(_) | Err(_) => None,
    }
}

/// `Number::toString` of ECMA-262, for a number that is finite.
pub(super) fn to_string(value: f64) -> String {
    Buffer::new().format_finite(value).to_owned()
}
