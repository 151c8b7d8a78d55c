//! What servers say of their content, read from messages.
//!
//! A claim only raises, and so nobody gains by hiding one: a message is searched for the words first, and read only if
//! it has them.

use memchr::memmem;

use super::Claims;
use crate::json::{Error, Kind, Reader, Text, Value, folds_onto};

const TRUST_ANNOTATIONS: &str = "io.modelcontextprotocol/trust-annotations";
const IFC: &str = "ifc";
const OPEN_WORLD: &str = "openWorldHint";

/// Notifications and requests of servers that bring nothing but the news that something has changed, or ask for
/// nothing that they have written.
const EMPTY: &[&str] = &[
    "notifications/elicitation/complete",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/subscriptions/acknowledged",
    "notifications/tools/list_changed",
    "ping",
    "roots/list",
];

/// What a message claims, anywhere in it. One that has the words and cannot be read claims all of it.
pub(crate) fn claims(message: &[u8]) -> Claims {
    // Behind the slash: some serialisers escape it.
    let words = ["trust-annotations", IFC, OPEN_WORLD];
    if !words.iter().any(|word| memmem::find(message, word.as_bytes()).is_some()) {
        return Claims::NONE;
    }
    let mut found = Found { text: message, claims: Claims::NONE };
    let read = Reader::tolerant(message).and_then(|mut reader| found.value(&mut reader, Inside::Nothing));
    read.map_or(Claims::OPEN_WORLD | Claims::UNTRUSTED | Claims::INTEGRITY_UNTRUSTED, |()| found.claims)
}

/// Which answers are content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answers {
    pub(crate) results: bool,
    /// And what has no result, nor says what it is.
    pub(crate) errors: bool,
}

/// Whether a message, or one of several in an array, brings content: all do but the ones that are known not to, and
/// answers if they are not what is looked for.
pub(crate) fn brings_content(message: &[u8], answers: Answers) -> bool {
    let read = || {
        let mut reader = Reader::tolerant(message)?;
        let mut brings = false;
        if reader.kind()? == Kind::Array {
            reader.open_array()?;
            while reader.element()? {
                brings |= message_brings_content(&mut reader, message, answers)?;
            }
        } else {
            brings = message_brings_content(&mut reader, message, answers)?;
        }
        reader.end()?;
        Ok::<_, Error>(brings)
    };
    read().unwrap_or(true)
}

/// Whether a message, or one of several in an array, is an answer, or cannot be read.
pub(crate) fn is_answer(message: &[u8]) -> bool {
    let read = || {
        let mut reader = Reader::tolerant(message)?;
        if reader.kind()? == Kind::Array {
            return Ok(true);
        }
        let mut answers = false;
        reader.open_object()?;
        while let Some(key) = reader.key()? {
            reader.value()?;
            answers |= ["result", "error"]
                .iter()
                .any(|known| key.is(message, known) || key.decode(message).is_ok_and(|key| folds_onto(&key, known)));
        }
        reader.end()?;
        Ok::<_, Error>(answers)
    };
    read().unwrap_or(true)
}

fn message_brings_content(reader: &mut Reader<'_, true>, text: &[u8], answers: Answers) -> Result<bool, Error> {
    let (mut says, mut empty, mut result) = (false, false, false);
    reader.open_object()?;
    while let Some(key) = reader.key()? {
        let value = reader.value()?;
        if key.is(text, "method") {
            empty = value.as_text().is_some_and(|method| EMPTY.iter().any(|empty| method.is(text, empty)));
            says |= !empty;
        }
        result |= key.is(text, "result");
        // Some readers take it for the method.
        says |= key.decode(text).is_ok_and(|key| folds_onto(&key, "method"));
    }
    Ok(says || if result { answers.results } else { answers.errors && !empty })
}

/// The tools of a list that say that they act on an open world; `None` if the list cannot be read.
pub(crate) fn open_world_tools(message: &[u8]) -> Option<Vec<String>> {
    if memmem::find(message, OPEN_WORLD.as_bytes()).is_none() {
        return Some(Vec::new());
    }
    let mut tools = Vec::new();
    let mut read = || {
        let mut reader = Reader::tolerant(message)?;
        if reader.kind()? != Kind::Array {
            return tools_of_list(&mut reader, message, &mut tools);
        }
        reader.open_array()?;
        while reader.element()? {
            tools_of_list(&mut reader, message, &mut tools)?;
        }
        Ok(())
    };
    read().ok()?;
    Some(tools)
}

/// The same of one answer.
fn tools_of_list(reader: &mut Reader<'_, true>, message: &[u8], tools: &mut Vec<String>) -> Result<(), Error> {
    in_member(reader, message, "result", &mut |reader| {
        in_member(reader, message, "tools", &mut |reader| {
            reader.open_array()?;
            while reader.element()? {
                tools.extend(open_world_tool(reader, message)?);
            }
            Ok(())
        })
    })
}

/// The name of a tool that says so.
fn open_world_tool(reader: &mut Reader<'_, true>, message: &[u8]) -> Result<Option<String>, Error> {
    let (mut name, start) = (None, reader.at());
    reader.open_object()?;
    while let Some(key) = reader.key()? {
        let value = reader.value()?;
        if key.is(message, "name") {
            name = value.as_text();
        }
    }
    let definition = message.get(start..reader.at()).unwrap_or_default();
    let name = name.and_then(|name| name.decode(message).ok());
    Ok(name.filter(|_| claims(definition).contains(Claims::OPEN_WORLD)).map(Into::into))
}

/// Reads an object, with something done about one member.
fn in_member(
    reader: &mut Reader<'_, true>,
    text: &[u8],
    name: &str,
    then: &mut dyn FnMut(&mut Reader<'_, true>) -> Result<(), Error>,
) -> Result<(), Error> {
    if reader.kind()? != Kind::Object {
        reader.value()?;
        return Ok(());
    }
    reader.open_object()?;
    while let Some(key) = reader.key()? {
        if key.is(text, name) {
            then(reader)?;
        } else {
            reader.value()?;
        }
    }
    Ok(())
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

    #[test]
    fn what_brings_nothing_is_known() {
        for (message, results, errors, expected) in [
            (r#"{"method":"notifications/tools/list_changed"}"#, true, true, false),
            (r#"{"method":"ping","id":1}"#, true, true, false),
            (r#"{"method":"notifications/message","params":{"data":"x"}}"#, false, false, true),
            (r#"{"method":"notifications/progress","params":{"message":"x"}}"#, false, false, true),
            (r#"{"method":"sampling/createMessage","id":1}"#, false, false, true),
            (r#"{"method":"notifications/somethingNew"}"#, false, false, true),
            (r#"{"method":"ping","method":"notifications/message"}"#, false, false, true),
            (r#"{"method":"ping","METHOD":"notifications/message"}"#, false, false, true),
            (r#"{"method":"sampling/createMessage","result":{}}"#, false, false, true),
            (r#"{"method":"ping","result":{}}"#, true, false, true),
            (r#"{"id":1,"result":{}}"#, false, true, false),
            (r#"{"id":1,"result":{}}"#, true, false, true),
            (r#"{"id":1,"error":{"message":"x"}}"#, false, true, true),
            (r#"{"id":1,"error":{"message":"x"}}"#, true, false, false),
            (r#"[{"method":"ping"},{"id":1,"result":{}}]"#, false, true, false),
            (r#"[{"method":"ping"},{"method":"notifications/message"}]"#, false, false, true),
            ("[[]]", false, false, true),
            ("junk", false, false, true),
        ] {
            assert_eq!(brings_content(message.as_bytes(), Answers { results, errors }), expected, "{message}");
        }
    }

    #[test]
    fn tools_that_act_on_an_open_world_are_known() {
        let list = r#"{"result":{"tools":[{"name":"a","annotations":{"openWorldHint":true}},{"name":"b","annotations":{"openWorldHint":false}},{"annotations":{"openWorldHint":true},"name":"c"},{"name":"d"}]}}"#;
        assert_eq!(open_world_tools(list.as_bytes()), Some(vec!["a".to_owned(), "c".to_owned()]));
        let lists = format!("[{{}},{list}]");
        assert_eq!(open_world_tools(lists.as_bytes()), Some(vec!["a".to_owned(), "c".to_owned()]));
        assert_eq!(open_world_tools(b"{}"), Some(Vec::new()));
        assert_eq!(open_world_tools(br#"{"result":{"tools":[{"openWorldHint"#), None);
    }
}
