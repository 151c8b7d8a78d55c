//! What servers say of their content, read from messages.
//!
//! A claim only raises, and so nobody gains by hiding one: a message is searched for the words first, and read only if
//! it has them.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::Claims;
use crate::json::{Error, Kind, Reader, Text, Value};

const TRUST_ANNOTATIONS: &str = "io.modelcontextprotocol/trust-annotations";
const IFC: &str = "ifc";
pub(super) const OPEN_WORLD: &str = "openWorldHint";

/// What claims are known by. Behind the slash: some serialisers escape it.
static WORDS: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| ["trust-annotations", IFC, OPEN_WORLD].map(|word| Finder::new(word.as_bytes())));

/// What a message claims, anywhere in it. One that has the words and cannot be read claims all of it.
pub(crate) fn claims(message: &[u8]) -> Claims {
    if !WORDS.iter().any(|word| word.find(message).is_some()) {
        return Claims::NONE;
    }
    let mut found = Found { text: message, claims: Claims::NONE };
    let read = Reader::tolerant(message).and_then(|mut reader| found.value(&mut reader, Inside::Nothing));
    read.map_or(Claims::OPEN_WORLD | Claims::UNTRUSTED | Claims::INTEGRITY_UNTRUSTED, |()| found.claims)
}

/// Whose members are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Ifc,
    Meta,
    Nothing,
    TrustAnnotations,
}

struct Found<'a> {
    text: &'a [u8],
    claims: Claims,
}

impl Found<'_> {
    /// Reads a value and all that is in it.
    fn value(&mut self, reader: &mut Reader<'_, true>, inside: Inside) -> Result<(), Error> {
        match reader.kind()? {
            Kind::Array => {
                reader.open_array()?;
                while reader.element()? {
                    self.value(reader, Inside::Nothing)?;
                }
            }
            Kind::Object => {
                reader.open_object()?;
                while let Some(key) = reader.key()? {
                    self.member(reader, key, inside)?;
                }
            }
            _ => {
                reader.value()?;
            }
        }
        Ok(())
    }

    fn member(&mut self, reader: &mut Reader<'_, true>, key: Text, inside: Inside) -> Result<(), Error> {
        if matches!(reader.kind()?, Kind::Array | Kind::Object) {
            return self.container(reader, key, inside);
        }
        let value = reader.value()?;
        if self.is_malformed(key, value, inside) {
            self.claims |= Claims::MALFORMED;
        }
        let is_true = || value.raw(self.text) == b"true";
        if key.is(self.text, OPEN_WORLD) && is_true() {
            self.claims |= Claims::OPEN_WORLD;
        }
        if inside == Inside::TrustAnnotations && key.is(self.text, "untrusted") && is_true() {
            self.claims |= Claims::UNTRUSTED;
        }
        if inside == Inside::Ifc && key.is(self.text, "integrity") && is_text(value, self.text, "untrusted") {
            self.claims |= Claims::INTEGRITY_UNTRUSTED;
        }
        Ok(())
    }

    fn container(&mut self, reader: &mut Reader<'_, true>, key: Text, inside: Inside) -> Result<(), Error> {
        let array = reader.kind()? == Kind::Array;
        let within = match () {
            () if key.is(self.text, TRUST_ANNOTATIONS) => Inside::TrustAnnotations,
            () if key.is(self.text, IFC) => Inside::Ifc,
            () if key.is(self.text, "_meta") => Inside::Meta,
            () => Inside::Nothing,
        };
        if self.is_label(key, inside) && array || self.is_flag(key, inside) {
            self.claims |= Claims::MALFORMED;
        }
        self.value(reader, within)
    }

    /// Whether a value other than an array or an object has not the form that it must have.
    fn is_malformed(&self, key: Text, value: Value, inside: Inside) -> bool {
        let form = if inside == Inside::Ifc { Kind::String } else { Kind::Bool };
        self.is_label(key, inside) || self.is_flag(key, inside) && value.kind != form
    }

    /// Whether a member must be an object of claims.
    fn is_label(&self, key: Text, inside: Inside) -> bool {
        key.is(self.text, TRUST_ANNOTATIONS) || inside == Inside::Meta && key.is(self.text, IFC)
    }

    /// Whether a member is a claim.
    fn is_flag(&self, key: Text, inside: Inside) -> bool {
        match inside {
            Inside::Ifc => key.is(self.text, "integrity"),
            Inside::TrustAnnotations => ["untrusted", "sensitive"].iter().any(|claim| key.is(self.text, claim)),
            Inside::Meta | Inside::Nothing => false,
        }
    }
}

fn is_text(value: Value, text: &[u8], expected: &str) -> bool {
    value.as_text().is_some_and(|value| value.is(text, expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cc_08_claims_are_found_wherever_they_are() {
        let all = Claims::OPEN_WORLD | Claims::UNTRUSTED | Claims::INTEGRITY_UNTRUSTED;
        let annotations = r#""io.modelcontextprotocol/trust-annotations""#;
        for (message, expected) in [
            ("{}".to_owned(), Claims::NONE),
            (format!(r#"{{"result":{{"_meta":{{{annotations}:{{"untrusted":true}}}}}}}}"#), Claims::UNTRUSTED),
            (
                format!(r#"{{"result":{{"content":[{{"_meta":{{{annotations}:{{"untrusted":true}}}}}}]}}}}"#),
                Claims::UNTRUSTED,
            ),
            (format!(r#"[{{"params":{{"_meta":{{{annotations}:{{"untrusted":true}}}}}}}}]"#), Claims::UNTRUSTED),
            (
                format!(r#"{{"result":{{"_meta":{{{annotations}:{{"untrusted":false,"sensitive":true}}}}}}}}"#),
                Claims::NONE,
            ),
            (format!(r#"{{"result":{{"_meta":{{{annotations}:{{"untrusted":"true"}}}}}}}}"#), Claims::MALFORMED),
            (format!(r#"{{"result":{{"_meta":{{{annotations}:{{"sensitive":null}}}}}}}}"#), Claims::MALFORMED),
            (format!(r#"{{"result":{{"_meta":{{{annotations}:{{"untrusted":[true]}}}}}}}}"#), Claims::MALFORMED),
            (format!(r#"{{"result":{{"_meta":{{{annotations}:"untrusted"}}}}}}"#), Claims::MALFORMED),
            (format!(r#"{{"result":{{"_meta":{{{annotations}:[]}}}}}}"#), Claims::MALFORMED),
            (r#"{"result":{"_meta":{"ifc":"trusted"}}}"#.into(), Claims::MALFORMED),
            (r#"{"result":{"_meta":{"ifc":["trusted"]}}}"#.into(), Claims::MALFORMED),
            (r#"{"result":{"_meta":{"ifc":{"integrity":1}}}}"#.into(), Claims::MALFORMED),
            (r#"{"result":{"_meta":{"ifc":{"confidentiality":[1]}}}}"#.into(), Claims::NONE),
            (r#"{"result":{"structuredContent":{"ifc":"a bank"}}}"#.into(), Claims::NONE),
            (r#"{"result":{"_meta":{"ifc":{"integrity":"untrusted"}}}}"#.into(), Claims::INTEGRITY_UNTRUSTED),
            (r#"{"result":{"_meta":{"ifc":{"integrity":"trusted"}}}}"#.into(), Claims::NONE),
            (r#"{"error":{"data":{"_meta":{"ifc":{"integrity":"untrusted"}}}}}"#.into(), Claims::INTEGRITY_UNTRUSTED),
            (r#"{"result":{"_meta":{"annotations":{"openWorldHint":true}}}}"#.into(), Claims::OPEN_WORLD),
            (r#"{"result":{"untrusted":true,"integrity":"untrusted"}}"#.into(), Claims::NONE),
            (r#"{"result":{"content":[{"text":"\"ifc\":{\"integrity\":\"untrusted\"}"}]}}"#.into(), Claims::NONE),
            (
                format!(r#"{{"result":{{"_meta":{{{}:{{"untrusted":true}}}}}}}}"#, annotations.replace('/', "\\/")),
                Claims::UNTRUSTED,
            ),
            (r#"{"result":{"ifc":"#.into(), all),
        ] {
            assert_eq!(claims(message.as_bytes()), expected, "{message}");
        }
    }
}
