//! Numbers: the grammar of RFC 8259, section 6, and the range of binary64.

use super::error::Fault;

/// The digits that an integer may have before its range has to be looked at.
const SURELY_FINITE: usize = 300;

/// Reads a number: the offset behind it, and whether it is written as an integer. Its range may be `ANY`.
#[inline]
pub(super) fn number<const ANY: bool>(text: &str, start: usize) -> Result<(usize, bool), (Fault, usize)> {
    let bytes = text.as_bytes();
    let mut at = start + usize::from(bytes.get(start) == Some(&b'-'));
    at = match bytes.get(at) {
        Some(b'0') => at + 1,
        Some(b'1'..=b'9') => at + digits(bytes, at),
        Some(b'I' | b'N') => return Err((Fault::NotANumber, at)),
        Some(_) => return Err((Fault::Syntax, at)),
        None => return Err((Fault::Truncated, at)),
    };
    let integer = at;
    if bytes.get(at) == Some(&b'.') {
        at = some_digits(bytes, at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = some_digits(bytes, at + 1 + sign)?;
    } else if integer - start <= SURELY_FINITE {
        return Ok((at, at == integer));
    }
    if ANY {
        return Ok((at, at == integer));
    }
    match text.get(start..at).map(str::parse::<f64>) {
        Some(Ok(value)) if value.is_finite() => Ok((at, at == integer)),
        _ => Err((Fault::BeyondF64, start)),
    }
}

fn some_digits(bytes: &[u8], at: usize) -> Result<usize, (Fault, usize)> {
    match (digits(bytes, at), bytes.get(at)) {
        (0, None) => Err((Fault::Truncated, at)),
        (0, Some(_)) => Err((Fault::Syntax, at)),
        (count, _) => Ok(at + count),
    }
}

fn digits(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count()
}
