//! What a server said, as places in its bytes.

use std::borrow::Cow;
use std::ops::Range;

use crate::json::{Error, Kind, Reader, Text, Value};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

type Tolerant<'a> = Reader<'a, true>;

/// One message of a server's. What is passed on is read tolerantly: whoever judges it reads it on its own.
#[derive(Debug, Default)]
pub(super) struct Said {
    version: bool,
    pub(super) id: Option<Range<usize>>,
    method: Option<Text>,
    has_method: bool,
    pub(super) result: Option<Range<usize>>,
    pub(super) error: Option<Range<usize>>,
    /// `params.progressToken`.
    pub(super) token: Option<Range<usize>>,
    /// The subscription that `params._meta` names.
    pub(super) subscription: Option<Range<usize>>,
    error_is_object: bool,
}

/// What kind of message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Answer,
    Malformed,
    Notification,
    Request,
}

/// Reads one message, and nothing else.
pub(super) fn read(bytes: &[u8]) -> Option<Said> {
    let mut reader = Reader::tolerant(bytes).ok()?;
    let said = Said::read(&mut reader, bytes).ok()?;
    reader.end().ok()?;
    Some(said)
}

/// Reads a message, or several in an array.
pub(super) fn read_all(bytes: &[u8]) -> Option<Vec<Said>> {
    let mut reader = Reader::tolerant(bytes).ok()?;
    if reader.kind().ok()? != Kind::Array {
        return read(bytes).map(|said| vec![said]);
    }
    let mut all = Vec::new();
    reader.open_array().ok()?;
    while reader.element().ok()? {
        all.push(Said::read(&mut reader, bytes).ok()?);
    }
    reader.end().ok()?;
    Some(all)
}

/// The subscription that the `_meta` of an object names.
pub(super) fn subscription_of(bytes: &[u8], object: Range<usize>) -> Option<Range<usize>> {
    let mut reader = Reader::tolerant(bytes.get(object.clone())?).ok()?;
    let mut said = Said::default();
    said.params(&mut reader, bytes.get(object.clone())?).ok()?;
    said.subscription.map(|range| range.start + object.start..range.end + object.start)
}

impl Said {
    fn read(reader: &mut Tolerant<'_>, bytes: &[u8]) -> Result<Self, Error> {
        let mut said = Self::default();
        reader.open_object()?;
        while let Some(key) = reader.key()? {
            if key.is(bytes, "params") && reader.kind()? == Kind::Object {
                said.params(reader, bytes)?;
                continue;
            }
            let value = reader.value()?;
            said.member(&key.decode(bytes).unwrap_or_default(), value, bytes);
        }
        Ok(said)
    }

    fn member(&mut self, key: &str, value: Value, bytes: &[u8]) {
        match key {
            "jsonrpc" => self.version = value.as_text().is_some_and(|version| version.is(bytes, "2.0")),
            "id" => self.id = Some(place(value)),
            "method" => (self.has_method, self.method) = (true, value.as_text()),
            "result" => self.result = Some(place(value)),
            "error" => {
                self.error = Some(place(value));
                self.error_is_object = value.kind == Kind::Object;
            }
            _ => {}
        }
    }

    fn params(&mut self, reader: &mut Tolerant<'_>, bytes: &[u8]) -> Result<(), Error> {
        reader.open_object()?;
        while let Some(key) = reader.key()? {
            if key.is(bytes, "_meta") && reader.kind()? == Kind::Object {
                self.meta(reader, bytes)?;
                continue;
            }
            let value = reader.value()?;
            if key.is(bytes, "progressToken") {
                self.token = Some(place(value));
            }
        }
        Ok(())
    }

    fn meta(&mut self, reader: &mut Tolerant<'_>, bytes: &[u8]) -> Result<(), Error> {
        reader.open_object()?;
        while let Some(key) = reader.key()? {
            let value = reader.value()?;
            if key.is(bytes, SUBSCRIPTION) {
                self.subscription = Some(place(value));
            }
        }
        Ok(())
    }

    pub(super) fn sort(&self) -> Sort {
        let answers = self.result.is_some() || self.error.is_some();
        match (self.version, &self.method, &self.id) {
            (true, None, Some(_)) if answers && !self.has_method => Sort::Answer,
            (true, Some(_), Some(_)) if !answers => Sort::Request,
            (true, Some(_), None) if !answers => Sort::Notification,
            _ => Sort::Malformed,
        }
    }

    /// Whether an answer has one result or one error, which is an object.
    pub(super) fn is_well_formed(&self) -> bool {
        self.sort() == Sort::Answer
            && self.result.is_some() != self.error.is_some()
            && (self.error.is_none() || self.error_is_object)
    }

    pub(super) fn method<'a>(&self, bytes: &'a [u8]) -> Cow<'a, str> {
        self.method.and_then(|method| method.decode(bytes).ok()).unwrap_or_default()
    }
}

fn place(value: Value) -> Range<usize> {
    let span = value.raw_span();
    span.start()..span.end()
}

/// The text at a place.
pub(super) fn text_at(bytes: &[u8], place: Range<usize>) -> &str {
    bytes.get(place).and_then(|raw| str::from_utf8(raw).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_messages() {
        for (text, sort) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Some(Sort::Answer)),
            (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#, Some(Sort::Answer)),
            (r#"{"jsonrpc":"2.0","id":"1","method":"ping"}"#, Some(Sort::Request)),
            (r#"{"jsonrpc":"2.0","method":"a","params":{"x":[1]}}"#, Some(Sort::Notification)),
            (r#"{"jsonrpc":"2.0","method":"a","params":[1]}"#, Some(Sort::Notification)),
            (r#"{"jsonrpc":"1.0","id":1,"result":{}}"#, Some(Sort::Malformed)),
            (r#"{"jsonrpc":"2.0","id":1}"#, Some(Sort::Malformed)),
            (r#"{"jsonrpc":"2.0","id":1,"method":"a","result":1}"#, Some(Sort::Malformed)),
            (r#"{"jsonrpc":"2.0","id":1,"method":null,"result":1}"#, Some(Sort::Malformed)),
            (r#"{"jsonrpc":"2.0","result":{}}"#, Some(Sort::Malformed)),
            ("[]", None),
            ("hello", None),
            ("", None),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}} {}"#, None),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"result":{}}"#, None),
        ] {
            assert_eq!(read(text.as_bytes()).map(|said| said.sort()), sort, "{text}");
        }
    }

    #[test]
    fn answers_have_a_result_or_an_error() {
        for (rest, well_formed) in [
            (r#""result":null"#, true),
            (r#""error":{}"#, true),
            (r#""error":{},"result":1"#, false),
            (r#""error":"no""#, false),
            (r#""error":null"#, false),
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,{rest}}}"#);
            assert_eq!(read(text.as_bytes()).unwrap().is_well_formed(), well_formed, "{text}");
        }
    }

    #[test]
    fn places_of_what_is_edited() {
        let text = r#"{"jsonrpc":"2.0","method":"n\u002f","params":{"progressToken": 7 ,"_meta":{"io.modelcontextprotocol/subscriptionId":"8","x":1}}}"#;
        let said = read(text.as_bytes()).unwrap();
        assert_eq!(said.method(text.as_bytes()), "n/");
        assert_eq!(text_at(text.as_bytes(), said.token.unwrap()), "7");
        assert_eq!(text_at(text.as_bytes(), said.subscription.unwrap()), "\"8\"");
        let text = r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":9}}}"#;
        let result = read(text.as_bytes()).unwrap().result.unwrap();
        assert_eq!(text_at(text.as_bytes(), subscription_of(text.as_bytes(), result).unwrap()), "9");
    }
}
