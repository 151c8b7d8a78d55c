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
    has_fold(text)
        || has_raw_control(text)
        // Behind its slash, since some serialisers escape that.
        || names.iter().any(|name| has_word(text, name.rsplit('/').next().unwrap_or_default().as_bytes()))
}

/// Whether there is an escape of a letter or a control character, or a letter that is one of ASCII once case is folded: U+017F or U+212A.
fn has_fold(text: &[u8]) -> bool {
    let starts = |at: usize, with: &[u8]| text.get(at..).is_some_and(|rest| rest.starts_with(with));
    let is_escape = |at: usize| matches!(text.get(at..), Some([b'\\', b'b' | b'f' | b'n' | b'r' | b't' | b'u', ..]));
    memchr::memchr3_iter(b'\\', 0xC5, 0xE2, text)
        .any(|at| is_escape(at) || starts(at, "\u{17f}".as_bytes()) || starts(at, "\u{212a}".as_bytes()))
}

/// Whether there is a control character that JSON does not want escaped.
fn has_raw_control(text: &[u8]) -> bool {
    let is_control = |at: usize| text.get(at + 1).is_some_and(|trail| *trail < 0xA0);
    memchr::memchr2_iter(0x7F, 0xC2, text).any(|at| text.get(at) == Some(&0x7F) || is_control(at))
}

/// From the letter that is seldom in a text to the one that is often.
const BY_RARITY: &[u8] = b"-_.zqxjkvbpygfwmucldrhsnioate";

/// Whether a word is in a text, in whatever case. It is looked for by its rarest letter.
fn has_word(text: &[u8], word: &[u8]) -> bool {
    let rarest = |letter: &u8| word.iter().position(|other| other.eq_ignore_ascii_case(letter));
    let offset = BY_RARITY.iter().find_map(rarest).unwrap_or(0);
    let Some(letter) = word.get(offset) else { return true };
    let is_there = |at: usize| {
        let start = at.checked_sub(offset)?;
        text.get(start..start + word.len()).filter(|found| found.eq_ignore_ascii_case(word))
    };
    memchr::memchr2_iter(letter.to_ascii_lowercase(), letter.to_ascii_uppercase(), text)
        .any(|at| is_there(at).is_some())
}
