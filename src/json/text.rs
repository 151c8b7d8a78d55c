//! Where values stand in a text, and what strings say.

use std::borrow::Cow;
use std::fmt;

use super::scan::Content;

/// The kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are RFC 8259's")]
pub enum Kind {
    Array,
    Bool,
    Null,
    Number,
    Object,
    String,
}

impl Kind {
    /// The kind's name, as RFC 8259 has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Bool => "boolean",
            Self::Null => "null",
            Self::Number => "number",
            Self::Object => "object",
            Self::String => "string",
        }
    }
}

/// A string that holds half a surrogate pair, and so is no Unicode text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoneSurrogate;

impl fmt::Display for LoneSurrogate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("lone surrogate in a string")
    }
}

impl std::error::Error for LoneSurrogate {}

/// A range of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// A range of a text that [`Reader`](super::Reader) accepted: its offsets fit.
    pub(super) fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    pub(crate) fn end(self) -> usize {
        self.end as usize
    }

    pub(crate) fn len(self) -> usize {
        self.end().saturating_sub(self.start())
    }

    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start()..self.end()).unwrap_or_default()
    }
}

/// A string: what stands between its quotes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Text {
    span: Span,
    content: Content,
}

impl Text {
    pub(super) fn new(span: Span, content: Content) -> Self {
        Self { span, content }
    }

    pub(crate) fn span(self) -> Span {
        self.span
    }

    pub(crate) fn is_escaped(self) -> bool {
        self.content.escaped
    }

    /// Whether it holds half a surrogate pair.
    pub(crate) fn is_lone(self) -> bool {
        self.content.lone
    }

    /// Whether the string, of the text that it was read from, is this one.
    #[inline]
    pub(crate) fn is(self, bytes: &[u8], name: &str) -> bool {
        if self.content.escaped {
            return self.decode(bytes).is_ok_and(|decoded| decoded == name);
        }
        self.span.of(bytes) == name.as_bytes()
    }

    /// The string, of the text that it was read from.
    pub(crate) fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, LoneSurrogate> {
        let raw = str::from_utf8(self.span.of(bytes)).unwrap_or_default();
        if self.content.lone {
            return Err(LoneSurrogate);
        }
        if !self.content.escaped {
            return Ok(Cow::Borrowed(raw));
        }
        Ok(Cow::Owned(unescape(raw)))
    }

    /// The string in WTF-8, where half a pair has bytes of its own: no two strings have the same.
    #[cfg(feature = "provenance")]
    pub(crate) fn wtf8(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        let raw = self.span.of(bytes);
        if !self.content.escaped {
            return Cow::Borrowed(raw);
        }
        let raw = str::from_utf8(raw).unwrap_or_default();
        Cow::Owned(if self.content.lone { unescape_halves(raw) } else { unescape(raw).into_bytes() })
    }
}

/// A value of any kind. A string's span is what stands between its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) kind: Kind,
    /// A number is written without fraction and exponent.
    pub(crate) integer: bool,
    text: Text,
}

impl Value {
    pub(super) fn new(kind: Kind, span: Span) -> Self {
        Self { kind, integer: false, text: Text::new(span, Content::default()) }
    }

    /// An object whose members were read one by one.
    pub(crate) fn object(start: usize, end: usize) -> Self {
        Self::new(Kind::Object, Span::new(start, end))
    }

    pub(super) fn string(text: Text) -> Self {
        Self { kind: Kind::String, integer: false, text }
    }

    pub(super) fn number(span: Span, integer: bool) -> Self {
        Self { integer, ..Self::new(Kind::Number, span) }
    }

    /// Where the value stands, quotes included.
    pub(crate) fn raw_span(self) -> Span {
        let Span { start, end } = self.text.span;
        match self.kind {
            Kind::String => Span { start: start.saturating_sub(1), end: end.saturating_add(1) },
            Kind::Array | Kind::Bool | Kind::Null | Kind::Number | Kind::Object => self.text.span,
        }
    }

    /// The value as it was written.
    pub(crate) fn raw(self, bytes: &[u8]) -> &[u8] {
        self.raw_span().of(bytes)
    }

    pub(crate) fn as_text(self) -> Option<Text> {
        (self.kind == Kind::String).then_some(self.text)
    }
}

/// Unescapes what the reader has accepted, pairs of surrogates joined.
fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((plain, escape)) = rest.split_once('\\') {
        text.push_str(plain);
        let (character, length) = unescaped(escape);
        text.push(character);
        rest = escape.get(length..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// The same for what has halves of pairs.
#[cfg(feature = "provenance")]
fn unescape_halves(raw: &str) -> Vec<u8> {
    let mut text = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((plain, escape)) = rest.split_once('\\') {
        text.extend_from_slice(plain.as_bytes());
        let length = if let Some(half) = half(escape) {
            text.extend_from_slice(&half);
            5
        } else {
            let (character, length) = unescaped(escape);
            text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            length
        };
        rest = escape.get(length..).unwrap_or_default();
    }
    text.extend_from_slice(rest.as_bytes());
    text
}

/// The half of a pair that an escape, given without its backslash, stands for, as UTF-8 would write it.
#[cfg(feature = "provenance")]
fn half(escape: &str) -> Option<[u8; 3]> {
    let unit = |escape: &str| u16::from_str_radix(escape.strip_prefix('u')?.get(..4)?, 16).ok();
    let next = || escape.get(5..)?.strip_prefix('\\').and_then(unit);
    match unit(escape)? {
        0xD800..=0xDBFF if matches!(next(), Some(0xDC00..=0xDFFF)) => None,
        half @ 0xD800..=0xDFFF => {
            let [high, low] = half.to_be_bytes();
            Some([0xE0 | high >> 4, 0x80 | (high & 0xF) << 2 | low >> 6, 0x80 | low & 0x3F])
        }
        _ => None,
    }
}

/// The character that an escape, given without its backslash, stands for, and the escape's length.
fn unescaped(escape: &str) -> (char, usize) {
    match escape.as_bytes().first() {
        Some(b'b') => ('\u{8}', 1),
        Some(b'f') => ('\u{c}', 1),
        Some(b'n') => ('\n', 1),
        Some(b'r') => ('\r', 1),
        Some(b't') => ('\t', 1),
        Some(b'u') => unescaped_unit(escape),
        Some(&byte) => (char::from(byte), 1),
        None => (char::REPLACEMENT_CHARACTER, 0),
    }
}

fn unescaped_unit(escape: &str) -> (char, usize) {
    let unit = |at: usize| {
        let digits = escape.get(at..at + 4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    match (unit(1), unit(7)) {
        (Some(high @ 0xD800..=0xDBFF), Some(low)) => {
            let scalar = 0x10000 + ((high - 0xD800) << 10) + (low.wrapping_sub(0xDC00) & 0x3FF);
            (char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER), 11)
        }
        (unit, _) => (unit.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER), 5),
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan;
    use super::*;

    #[test]
    fn escapes_are_decoded_as_every_parser_decodes_them() {
        for (raw, decoded) in [
            (r"plain", "plain"),
            (r"n\u0061me", "name"),
            (r"tools\/call", "tools/call"),
            (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r"\ud83d\ude00!", "\u{1F600}!"),
            (r"\uD83D\uDE00", "\u{1F600}"),
            (r"é\u00e9é", "ééé"),
        ] {
            let quoted = format!("{raw}\"");
            let (end, content) = scan::string(quoted.as_bytes(), 0).unwrap();
            let text = Text::new(Span::new(0, end), content);
            assert_eq!(text.decode(quoted.as_bytes()).unwrap(), decoded, "{raw}");
            assert_eq!(serde_json::from_str::<String>(&format!("\"{quoted}")).unwrap(), decoded, "{raw}");
        }
    }

    #[test]
    fn half_a_pair_is_no_text() {
        for raw in [r"\ud800", r"a\udc00b", r"\ud800\ud800", r"\ud800x", r"\udc00\ud800"] {
            let quoted = format!("{raw}\"");
            let (end, content) = scan::string(quoted.as_bytes(), 0).unwrap();
            let text = Text::new(Span::new(0, end), content);
            assert_eq!(text.decode(quoted.as_bytes()), Err(LoneSurrogate), "{raw}");
        }
    }

    #[cfg(feature = "provenance")]
    #[test]
    fn half_a_pair_has_bytes_of_its_own() {
        for (raw, wtf8) in [
            (r"plain", &b"plain"[..]),
            (r"n\u0061m\n", b"nam\n"),
            (r"\ud83d\ude00", b"\xF0\x9F\x98\x80"),
            (r"\ud800", b"\xED\xA0\x80"),
            (r"a\uDFFFb", b"a\xED\xBF\xBFb"),
            (r"\ud800\ud83d\ude00\udc00", b"\xED\xA0\x80\xF0\x9F\x98\x80\xED\xB0\x80"),
            (r"\udc00\ud800", b"\xED\xB0\x80\xED\xA0\x80"),
            (r"\ud800\n\udc00", b"\xED\xA0\x80\n\xED\xB0\x80"),
            (r"\ud800\\udc00", b"\xED\xA0\x80\\udc00"),
            (r"\\ud800\ud801", b"\\ud800\xED\xA0\x81"),
        ] {
            let quoted = format!("{raw}\"");
            let (end, content) = scan::string(quoted.as_bytes(), 0).unwrap();
            assert_eq!(Text::new(Span::new(0, end), content).wtf8(quoted.as_bytes()), wtf8, "{raw}");
        }
    }
}
