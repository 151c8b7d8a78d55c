//! Ids of messages.

use std::borrow::Cow;

use super::Fault;
use crate::json::{Kind, Span, Value};

/// Where an id stands, quotes included: answers echo it byte for byte.
///
/// # Errors
///
/// It is not a string or an integer of 64 bits.
pub(super) fn id(bytes: &[u8], value: Value) -> Result<Span, Fault> {
    match value.kind {
        Kind::Array => Err(Fault::IdArray),
        Kind::Bool => Err(Fault::IdBoolean),
        Kind::Null => Err(Fault::IdNull),
        Kind::Object => Err(Fault::IdObject),
        Kind::Number => integer(bytes, value),
        Kind::String => match value.as_text().map(|text| text.decode(bytes)) {
            Some(Ok(_)) => Ok(value.raw_span()),
            Some(Err(_)) | None => Err(Fault::IdLoneSurrogate),
        },
    }
}

fn integer(bytes: &[u8], value: Value) -> Result<Span, Fault> {
    let text = str::from_utf8(value.raw(bytes)).unwrap_or_default();
    if !value.integer {
        return Err(Fault::IdFraction);
    }
    if text.parse::<i64>().is_err() && text.parse::<u64>().is_err() {
        return Err(Fault::IdOutOfRange);
    }
    Ok(value.raw_span())
}

/// What an id says, for comparing: `1` and `"1"` differ, `"a"` and `"\u0061"` do not, nor do integers that binary64
/// makes one.
pub(crate) fn meaning(raw: &str) -> Cow<'_, str> {
    if let Ok(number) = raw.parse::<f64>() {
        // The sum makes one zero of two.
        return Cow::Owned((number + 0.0).to_string());
    }
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    match serde_json::from_str::<String>(raw) {
        // The quote keeps strings apart from numbers.
        Ok(text) => Cow::Owned(format!("\"{text}\"")),
        Err(_) => Cow::Borrowed(raw),
    }
}

/// Whether two ids, as they were written, say the same.
#[cfg(any(feature = "provenance", feature = "upstream"))]
pub(crate) fn same_id(one: &str, other: &str) -> bool {
    one == other || meaning(one) == meaning(other)
}
