//! What messages say of themselves before they are marked.

use memchr::memmem;

use super::Unmarkable;
use crate::json::{Kind, Reader, Text, Value, hides_letters};

/// What a message says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Envelope {
    pub(super) id: Option<Value>,
    pub(super) method: Option<Text>,
}

/// The envelopes of a message, or of those of a batch. It costs a reading: most messages are marked without.
pub(super) fn envelopes(text: &[u8]) -> Result<Vec<Envelope>, Unmarkable> {
    let mut reader = Reader::tolerant(text)?;
    let mut envelopes = Vec::new();
    if reader.kind()? == Kind::Array {
        reader.open_array()?;
        while reader.element()? {
            envelopes.push(envelope(&mut reader, text)?);
        }
    } else {
        envelopes.push(envelope(&mut reader, text)?);
    }
    Ok(envelopes)
}

fn envelope(reader: &mut Reader<'_, true>, text: &[u8]) -> Result<Envelope, Unmarkable> {
    if reader.kind()? != Kind::Object {
        return Err(Unmarkable::NotAMessage);
    }
    let mut envelope = Envelope::default();
    reader.open_object()?;
    while let Some(key) = reader.key()? {
        let value = reader.value()?;
        if key.is(text, "id") {
            envelope.id = Some(value);
        } else if key.is(text, "method") {
            envelope.method = value.as_text();
        }
    }
    Ok(envelope)
}

/// Whether one of some names may be a member's in a text.
pub(super) fn may_name(text: &[u8], names: &[&str]) -> bool {
    hides_letters(text) || names.iter().any(|name| memmem::find(text, name.as_bytes()).is_some())
}

/// Whether one of some names, or what folds onto it, may be a member's in a text.
pub(super) fn may_resemble(text: &[u8], names: &[&str]) -> bool {
    FOLDING.iter().any(|folding| memmem::find(text, folding).is_some())
        || has_raw_control(text)
        // Behind its slash, since some serialisers escape that.
        || names.iter().any(|name| has_word(text, name.rsplit('/').next().unwrap_or_default().as_bytes()))
}

/// Escapes, and the letters that are one of ASCII once case is folded: U+017F and U+212A.
const FOLDING: &[&[u8]] = &[b"\\u", "\u{17f}".as_bytes(), "\u{212a}".as_bytes()];

/// Whether there is a control character that JSON does not want escaped.
fn has_raw_control(text: &[u8]) -> bool {
    let is_control = |at: usize| text.get(at + 1).is_some_and(|trail| *trail < 0xA0);
    memchr::memchr(0x7F, text).is_some() || memchr::memchr_iter(0xC2, text).any(is_control)
}

/// Whether a word is in a text, in whatever case.
fn has_word(text: &[u8], word: &[u8]) -> bool {
    let Some(first) = word.first() else { return true };
    memchr::memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), text)
        .any(|at| text.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word)))
}
