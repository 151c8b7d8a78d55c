//! Where values stand in a text, and what strings say.

use std::borrow::Cow;
use std::fmt;

use super::scan::{Content, code_unit};

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
        if self.content.escaped { Cow::Owned(unescape_halves(raw)) } else { Cow::Borrowed(raw) }
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
    while let Some((plain, _)) = rest.split_once('\\') {
        text.push_str(plain);
        let (character, end) = unescaped(rest.as_bytes(), plain.len());
        text.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = rest.get(end..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// The same for what may have halves of pairs.
#[cfg(feature = "provenance")]
fn unescape_halves(raw: &[u8]) -> Vec<u8> {
    let (mut text, mut from) = (Vec::with_capacity(raw.len()), 0);
    while let Some(plain) = raw.get(from..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let at = from + plain;
        text.extend_from_slice(raw.get(from..at).unwrap_or_default());
        let (character, end) = unescaped(raw, at);
        match character {
            Some(character) => text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            // As UTF-8 would write it.
            None => {
                let [high, low] = (code_unit(raw, at).unwrap_or_default() as u16).to_be_bytes();
                text.extend_from_slice(&[0xE0 | high >> 4, 0x80 | (high & 0xF) << 2 | low >> 6, 0x80 | low & 0x3F]);
            }
        }
        from = end;
    }
    text.extend_from_slice(raw.get(from..).unwrap_or_default());
    text
}

/// The character that the escape at an offset stands for, `None` for half a surrogate pair, and the offset behind it.
pub(crate) fn unescaped(raw: &[u8], at: usize) -> (Option<char>, usize) {
    let character = match raw.get(at + 1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unescaped_unit(raw, at),
        Some(&byte) => char::from(byte),
        None => return (None, at + 1),
    };
    (Some(character), at + 2)
}

fn unescaped_unit(raw: &[u8], at: usize) -> (Option<char>, usize) {
    let unit = |at| code_unit(raw, at).ok();
    let Some(first) = unit(at) else { return (None, at + 2) };
    match (first, unit(at + 6)) {
        (0xD800..=0xDBFF, Some(low @ 0xDC00..=0xDFFF)) => {
            (char::from_u32(0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00)), at + 12)
        }
        _ => (char::from_u32(first), at + 6),
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
