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

/// Whether one of some names may be a member's in a text. Behind its slash, since some serialisers escape that.
pub(super) fn may_name(text: &[u8], names: &[&str]) -> bool {
    let word = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    hides_letters(text) || names.iter().any(|name| memmem::find(text, word(name).as_bytes()).is_some())
}
