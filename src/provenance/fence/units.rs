//! The characters of a text, as it stands or as the contents of a JSON string.

use memchr::memmem;

use super::bits::each_flagged;
use super::copying::Copying;
use crate::json::unescaped;

/// A text whose characters stand at known offsets.
pub(super) trait Units: Copy {
    /// Escapes of JSON stand for characters.
    const ESCAPED: bool;

    fn bytes(&self) -> &[u8];

    /// The character at an offset, and the offset behind it. Half a surrogate pair is U+FFFD.
    fn unit(&self, at: usize) -> Option<(char, usize)>;

    /// Every character of the private-use area of the Basic Multilingual Plane, and others beside it.
    fn each_private(&self, mut each: impl FnMut(char)) {
        for at in memchr::memchr2_iter(0xEE, 0xEF, self.bytes()) {
            each(self.unit(at).map_or(char::REPLACEMENT_CHARACTER, |(character, _)| character));
        }
        if !Self::ESCAPED {
            return;
        }
        for at in memmem::find_iter(self.bytes(), r"\u") {
            // An even number of backslashes are characters, and this is one more.
            let before = self.bytes().get(..at).unwrap_or_default();
            if before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0 {
                each(self.unit(at).map_or(char::REPLACEMENT_CHARACTER, |(character, _)| character));
            }
        }
    }
}

/// A text as it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain<'a>(pub(super) &'a str);

impl Units for Plain<'_> {
    const ESCAPED: bool = false;

    fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    #[inline]
    fn unit(&self, at: usize) -> Option<(char, usize)> {
        decode(self.bytes(), at)
    }
}

/// What stands between the quotes of a JSON string.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw<'a>(pub(super) &'a [u8]);

impl Units for Raw<'_> {
    const ESCAPED: bool = true;

    fn bytes(&self) -> &[u8] {
        self.0
    }

    #[inline]
    fn unit(&self, at: usize) -> Option<(char, usize)> {
        if self.0.get(at) != Some(&b'\\') {
            return decode(self.0, at);
        }
        let (character, end) = unescaped(self.0, at);
        Some((character.unwrap_or(char::REPLACEMENT_CHARACTER), end))
    }
}

/// A text as Unicode, and whether half a surrogate pair became U+FFFD.
pub(super) fn text_of(raw: &[u8]) -> (String, bool) {
    let mut lossy = false;
    let mut copy = Copying::of(raw, Vec::new(), 0);
    each_flagged(
        raw,
        |byte| byte == b'\\',
        |at| {
            let (character, end) = unescaped(raw, at);
            lossy |= character.is_none();
            copy.replace(at..end, character.unwrap_or(char::REPLACEMENT_CHARACTER).into());
            end
        },
    );
    // What is no JSON may be no text either.
    String::from_utf8(copy.end("")).map_or_else(|_| unit_by_unit(raw), |text| (text, lossy))
}

pub(super) fn unit_by_unit(raw: &[u8]) -> (String, bool) {
    let mut text = String::with_capacity(raw.len());
    let (mut at, mut lossy) = (0, false);
    while let Some((character, end)) = Raw(raw).unit(at) {
        text.push(character);
        lossy |= raw.get(at) == Some(&b'\\') && unescaped(raw, at).0.is_none();
        at = end;
    }
    (text, lossy)
}

/// Decodes UTF-8. What is none is U+FFFD byte by byte, so that no offset is ever lost.
#[inline]
fn decode(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let lead = *bytes.get(at)?;
    let trail = |behind| bytes.get(at + behind).filter(|byte| **byte & 0xC0 == 0x80).map(|byte| u32::from(byte & 0x3F));
    let (bits, length) = match lead {
        0x00..=0x7F => return Some((char::from(lead), at + 1)),
        0xC0..=0xDF => (trail(1).map(|a| u32::from(lead & 0x1F) << 6 | a), 2),
        0xE0..=0xEF => (trail(1).zip(trail(2)).map(|(a, b)| u32::from(lead & 0x0F) << 12 | a << 6 | b), 3),
        _ => (
            trail(1).zip(trail(2)).zip(trail(3)).map(|((a, b), c)| u32::from(lead & 0x07) << 18 | a << 12 | b << 6 | c),
            4,
        ),
    };
    let known = bits.and_then(char::from_u32).map(|character| (character, at + length));
    Some(known.unwrap_or((char::REPLACEMENT_CHARACTER, at + 1)))
}
