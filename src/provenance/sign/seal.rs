//! Signing the tags of messages that are not changed any more.

use bytes::Bytes;

use super::verify::{Envelope, find};
use super::{SigningKey, sign};
use crate::identity::Principal;
use crate::json::{self, Edits, Kind, Reader};
use crate::provenance::MetaKey;

/// Signs for one principal.
#[derive(Clone, Debug)]
pub(crate) struct Seal {
    pub(crate) key: SigningKey,
    pub(crate) name: MetaKey,
    pub(crate) principal: Option<Principal>,
}

impl Seal {
    /// What changes in a message, or in those of a batch, that have tags without a signature. Each message is read by
    /// itself, once. What cannot be read exactly stays unsigned, and so is external to whoever verifies it.
    pub(crate) fn edits(&self, text: &Bytes) -> Edits {
        let mut edits = Edits::new();
        // What was read up to a fault is signed.
        let _ = self.messages(text, &mut edits);
        edits
    }

    fn messages(&self, text: &[u8], edits: &mut Edits) -> Result<(), json::Error> {
        let mut reader = Reader::tolerant(text)?;
        if reader.kind()? != Kind::Array {
            self.message(text, 0, edits);
            return Ok(());
        }
        reader.open_array()?;
        while reader.element()? {
            let span = reader.value()?.raw_span();
            self.message(span.of(text), span.start(), edits);
        }
        Ok(())
    }

    /// A message that starts at an offset.
    fn message(&self, message: &[u8], start: usize, edits: &mut Edits) {
        let Some((end, signature)) = self.signature(message) else { return };
        let member = [",\"sig\":\"", &signature, "\""].concat();
        edits.replace(start + end..start + end, Bytes::from(member));
    }

    /// The signature of a message's tag, and where in the message the tag's object ends.
    fn signature(&self, message: &[u8]) -> Option<(usize, String)> {
        let envelope = Envelope::read(message).ok()?;
        let (carrier, value) = envelope.carried().ok()?;
        let tag = find(value, &[carrier.member(), self.name.as_str()]).ok()??;
        // A tag has members before.
        let end = tag.as_ptr().addr().checked_sub(message.as_ptr().addr())? + tag.strip_suffix(b"}")?.len();
        let signature = sign(&self.key, self.principal.as_ref(), envelope.id, carrier, tag, value, &self.name).ok()?;
        Some((end, signature))
    }
}
