//! Which messages bring content, and what lists say of tools.

use memchr::memmem;

use super::Claims;
use super::claimed::{OPEN_WORLD, claims};
use crate::json::{Error, Kind, Reader, folds_onto};
use crate::message::EMPTY;

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

#[cfg(test)]
mod tests {
    use super::*;

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
