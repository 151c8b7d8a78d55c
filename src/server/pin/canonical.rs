//! The canonical form of a JSON text: RFC 8785, the JSON Canonicalization Scheme.

use super::fault::DefinitionFault;
use super::number;
use crate::json::{Kind, Reader, Text, Value};

type Result<T> = std::result::Result<T, DefinitionFault>;

/// The canonical form: two texts have the same if, and only if, every reader reads the same from them.
///
/// What is not I-JSON (RFC 7493) has none.
pub(super) fn canonical(text: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut writer = Writer { text, reader: Reader::new(text)? };
    writer.value(&mut out)?;
    writer.reader.end()?;
    Ok(out)
}

struct Writer<'a> {
    text: &'a [u8],
    reader: Reader<'a>,
}

impl Writer<'_> {
    /// Recursive, as deep as [`MAX_DEPTH`](crate::json::MAX_DEPTH) lets a text be.
    fn value(&mut self, out: &mut Vec<u8>) -> Result<()> {
        match self.reader.kind()? {
            Kind::Object => self.object(out),
            Kind::Array => self.array(out),
            Kind::String | Kind::Number | Kind::Bool | Kind::Null => {
                let scalar = self.reader.value()?;
                self.scalar(scalar, out)
            }
        }
    }

    fn object(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let mut members = Vec::new();
        self.reader.open_object()?;
        while let Some(name) = self.reader.key()? {
            let mut value = Vec::new();
            self.value(&mut value)?;
            members.push((self.decode(name)?, value));
        }
        members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
        out.push(b'{');
        for (at, (name, value)) in members.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            string(name, out);
            out.push(b':');
            out.extend_from_slice(value);
        }
        out.push(b'}');
        Ok(())
    }

    fn array(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.reader.open_array()?;
        out.push(b'[');
        let mut is_first = true;
        while self.reader.element()? {
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            self.value(out)?;
        }
        out.push(b']');
        Ok(())
    }

    fn scalar(&self, scalar: Value, out: &mut Vec<u8>) -> Result<()> {
        let raw = scalar.raw(self.text);
        match (scalar.kind, scalar.as_text()) {
            (_, Some(text)) => string(&self.decode(text)?, out),
            (Kind::Number, None) => {
                let at = scalar.raw_span().start();
                out.extend_from_slice(canonical_number(raw, scalar.integer, at)?.as_bytes());
            }
            (_, None) => out.extend_from_slice(raw),
        }
        Ok(())
    }

    fn decode(&self, text: Text) -> Result<String> {
        let decoded = text.decode(self.text);
        let lone = |_| DefinitionFault::LoneSurrogate { offset: text.span().start() };
        decoded.map(std::borrow::Cow::into_owned).map_err(lone)
    }
}

fn canonical_number(raw: &[u8], is_integer: bool, offset: usize) -> Result<String> {
    // Infallible: the reader has accepted it, as text and as a number that is finite.
    let raw = str::from_utf8(raw).unwrap_or_default();
    if is_integer {
        return number::integer(raw).ok_or(DefinitionFault::UnsafeInteger { offset });
    }
    raw.parse().map(number::to_string).map_err(|_| DefinitionFault::UnsafeInteger { offset })
}

fn string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0x08 => out.extend_from_slice(br"\b"),
            b'\t' => out.extend_from_slice(br"\t"),
            b'\n' => out.extend_from_slice(br"\n"),
            0x0C => out.extend_from_slice(br"\f"),
            b'\r' => out.extend_from_slice(br"\r"),
            ..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}
