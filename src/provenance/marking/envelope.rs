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
    has_escape(text)
        || has_fold(text, names)
        || has_raw_control(text)
        // Behind its slash, since some serialisers escape that.
        || names.iter().any(|name| has_word(text, name.rsplit('/').next().unwrap_or_default().as_bytes()))
}

/// Whether there is an escape of a letter or a control character.
fn has_escape(text: &[u8]) -> bool {
    let is_escape = |at: usize| matches!(text.get(at + 1), Some(b'b' | b'f' | b'n' | b'r' | b't' | b'u'));
    memchr::memchr_iter(b'\\', text).any(is_escape)
}

/// All characters beyond ASCII that become letters of ASCII once case is folded, and these letters.
const FOLDS: [(&str, &str); 11] = [
    ("\u{df}", "ss"),
    ("\u{131}", "i"),
    ("\u{17f}", "s"),
    ("\u{212a}", "k"),
    ("\u{fb00}", "ff"),
    ("\u{fb01}", "fi"),
    ("\u{fb02}", "fl"),
    ("\u{fb03}", "ffi"),
    ("\u{fb04}", "ffl"),
    ("\u{fb05}", "st"),
    ("\u{fb06}", "st"),
];

/// Whether there is a character that becomes letters of one of some names once case is folded.
fn has_fold(text: &[u8], names: &[&str]) -> bool {
    let is_of_names = |letters: &str| names.iter().any(|name| has_word(name.as_bytes(), letters.as_bytes()));
    let folds = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        FOLDS.iter().any(|(folded, letters)| rest.starts_with(folded.as_bytes()) && is_of_names(letters))
    };
    memchr::memchr3_iter(0xC3, 0xC4, 0xC5, text).chain(memchr::memchr2_iter(0xE2, 0xEF, text)).any(folds)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::fold;

    #[test]
    fn all_that_folds_onto_ascii_is_known() {
        let beyond = ('\u{80}'..=char::MAX).map(|c| (c.to_string(), fold(&c.to_string())));
        let folding = beyond.filter(|(_, folded)| !folded.is_empty() && folded.is_ascii());
        let known = FOLDS.map(|(folded, letters)| (folded.to_owned(), Box::from(letters)));
        assert_eq!(Vec::from_iter(folding), known);
    }

    #[test]
    fn names_in_other_letters_are_found() {
        for name in ["tru\u{fb06}-annotations", "\u{131}fc", "\u{17f}afe", "a\u{df}"] {
            let text = format!("{{\"{name}\":1}}");
            assert!(may_resemble(text.as_bytes(), &["io.example/trust-annotations", "ifc", "x/safe", "ass"]), "{name}");
        }
        assert!(!may_resemble("Stra\u{df}e \u{fb01}n".as_bytes(), &["ifc", "x/origin"]));
    }
}
