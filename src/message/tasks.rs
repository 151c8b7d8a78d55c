//! Where messages name tasks.

use std::borrow::Cow;

use memchr::memmem;

use crate::json::{self, Kind, Reader, Text, folds_onto, hides_letters};

const RELATED: &str = "io.modelcontextprotocol/related-task";
const TASK_ID: &str = "taskId";

/// A place in which a message names a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskPlace {
    /// `params.notifications.taskIds`.
    Filter,
    /// `params.taskId`.
    Params,
    /// `params._meta`: the task that a message has to do with.
    RelatedParams,
    /// `result._meta`, also that of the result of a task within.
    RelatedResult,
    /// `result.taskId`, beside a status.
    Result,
    /// `result.task.taskId`.
    ResultTask,
}

/// The tasks that one message names.
#[derive(Debug, Default)]
pub(crate) struct TaskMentions<'a> {
    pub(crate) method: Option<Cow<'a, str>>,
    /// None where it is not a string that names it.
    pub(crate) mentions: Vec<(TaskPlace, Option<Text>)>,
    /// Something stands where what matters is named, and lenient readers take it for that.
    pub(crate) ambiguous: bool,
    /// A name resembles one that matters.
    pub(crate) folded: bool,
}

impl<'a> TaskMentions<'a> {
    /// Whether a text may name a task at all: nearly none does, and those need not be read.
    pub(crate) fn may_be_in(text: &[u8]) -> bool {
        [&b"taskId"[..], b"/related-task"].iter().any(|sign| memmem::find(text, sign).is_some()) || hides_letters(text)
    }

    /// Reads a message, or each of a batch.
    ///
    /// # Errors
    ///
    /// It is no JSON, or one name is there twice where it matters.
    pub(crate) fn read(text: &'a [u8]) -> Result<Vec<Self>, json::Error> {
        let mut reader = Read { text, reader: Reader::tolerant(text)?, found: Self::default(), status: false };
        let mut messages = Vec::new();
        if reader.reader.kind()? == Kind::Array {
            reader.reader.open_array()?;
            while reader.reader.element()? {
                messages.push(reader.message()?);
            }
        } else {
            messages.push(reader.message()?);
        }
        reader.reader.end()?;
        Ok(messages)
    }
}

/// Whether a client's text may name a task to a server that ignores case.
#[cfg(feature = "content-trust")]
pub(crate) fn mentions_task(text: &[u8]) -> bool {
    let before = |at: usize| text.get(at.checked_sub(3)?..at);
    // The rarest letter of the word.
    let word = |at| before(at).is_some_and(|letters| letters.eq_ignore_ascii_case(b"tas"));
    memchr::memchr2_iter(b'k', b'K', text).any(word) || hides_letters(text)
}

struct Read<'a> {
    text: &'a [u8],
    reader: Reader<'a, true>,
    found: TaskMentions<'a>,
    /// The result has a status, as every task has.
    status: bool,
}

impl<'a> Read<'a> {
    fn message(&mut self) -> Result<TaskMentions<'a>, json::Error> {
        self.status = false;
        self.members(&mut |read, name| match name {
            "method" => {
                let method = read.reader.value()?.as_text();
                read.found.method = method.and_then(|method| method.decode(read.text).ok());
                Ok(())
            }
            "params" => read.params(),
            "result" => read.result(),
            _ => read.reader.value().map(drop),
        })?;
        let mut found = std::mem::take(&mut self.found);
        if !self.status {
            found.mentions.retain(|(place, _)| *place != TaskPlace::Result);
        }
        Ok(found)
    }

    fn params(&mut self) -> Result<(), json::Error> {
        self.members(&mut |read, name| match name {
            TASK_ID => read.mention(TaskPlace::Params),
            "_meta" => read.meta(TaskPlace::RelatedParams),
            "notifications" => read.members(&mut |read, name| match name {
                "taskIds" => read.elements(TaskPlace::Filter),
                _ => read.other(name, &["taskIds"]),
            }),
            _ => read.other(name, &[TASK_ID, "_meta", "notifications"]),
        })
    }

    fn result(&mut self) -> Result<(), json::Error> {
        self.members(&mut |read, name| match name {
            TASK_ID => read.mention(TaskPlace::Result),
            "_meta" => read.meta(TaskPlace::RelatedResult),
            "status" => {
                read.status |= read.reader.value()?.kind == Kind::String;
                Ok(())
            }
            "task" => read.members(&mut |read, name| match name {
                TASK_ID => read.mention(TaskPlace::ResultTask),
                _ => read.reader.value().map(drop),
            }),
            // What a task has come to.
            "result" => read.members(&mut |read, name| match name {
                "_meta" => read.meta(TaskPlace::RelatedResult),
                _ => read.other(name, &["_meta"]),
            }),
            _ => read.other(name, &["_meta"]),
        })
    }

    fn meta(&mut self, place: TaskPlace) -> Result<(), json::Error> {
        self.members(&mut |read, name| match name {
            RELATED => read.related(place),
            _ => read.other(name, &[RELATED]),
        })
    }

    fn related(&mut self, place: TaskPlace) -> Result<(), json::Error> {
        // Some readers take the items of an array for the members of an object.
        self.found.ambiguous |= !matches!(self.reader.kind()?, Kind::Null | Kind::Object);
        self.members(&mut |read, name| match name {
            TASK_ID => read.mention(place),
            _ => read.other(name, &[TASK_ID]),
        })
    }

    /// Passes over a member whose name is none of those that matter.
    fn other(&mut self, name: &str, known: &[&str]) -> Result<(), json::Error> {
        self.found.folded |= known.iter().any(|known| folds_onto(name, known));
        self.reader.value().map(drop)
    }

    /// Reads each member of an object with its name; of anything else nothing.
    fn members(&mut self, each: &mut dyn FnMut(&mut Self, &str) -> Result<(), json::Error>) -> Result<(), json::Error> {
        if self.reader.kind()? != Kind::Object {
            return self.reader.value().map(drop);
        }
        self.reader.open_object()?;
        while let Some(key) = self.reader.key()? {
            // The reader refuses names with lone surrogates.
            let name = key.decode(self.text).unwrap_or_default();
            each(self, &name)?;
        }
        Ok(())
    }

    fn elements(&mut self, place: TaskPlace) -> Result<(), json::Error> {
        if self.reader.kind()? != Kind::Array {
            return self.reader.value().map(drop);
        }
        self.reader.open_array()?;
        while self.reader.element()? {
            self.mention(place)?;
        }
        Ok(())
    }

    fn mention(&mut self, place: TaskPlace) -> Result<(), json::Error> {
        let text = self.reader.value()?.as_text();
        self.found.mentions.push((place, text));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(TaskPlace, String)> {
        let messages = TaskMentions::read(text.as_bytes()).unwrap();
        let mentions = messages.iter().flat_map(|message| &message.mentions);
        let id = |id: &Option<Text>| id.map_or("?".into(), |id| id.decode(text.as_bytes()).unwrap()).into_owned();
        mentions.map(|(place, named)| (*place, id(named))).collect()
    }

    #[test]
    fn tasks_are_named_in_their_places_only() {
        use TaskPlace::*;
        let related = r#"{"a":1,"io.modelcontextprotocol/related-task":{"taskId":"R"}}"#;
        let nested =
            format!(r#"{{"taskId":"T","status":"completed","result":{{"_meta":{related}}},"_meta":{related}}}"#);
        let (r, t) = (|place| (place, "R".to_owned()), |place| (place, "T".to_owned()));
        for (text, expected) in [
            (r#"{"params":{"taskId":"T"},"method":"tasks/get"}"#.to_owned(), vec![t(Params)]),
            (r#"{"params":{"notifications":{"taskIds":["T","T"],"x":[]}}}"#.to_owned(), vec![t(Filter), t(Filter)]),
            (format!(r#"{{"params":{{"_meta":{related}}}}}"#), vec![r(RelatedParams)]),
            (format!(r#"{{"result":{nested}}}"#), vec![t(Result), r(RelatedResult), r(RelatedResult)]),
            (r#"{"result":{"taskId":"T"}}"#.to_owned(), vec![]),
            (r#"{"result":{"task":{"taskId":"T"}}}"#.to_owned(), vec![t(ResultTask)]),
            (r#"[{"result":{"task":{"task\u0049d":"T"}}},{}]"#.to_owned(), vec![t(ResultTask)]),
            (r#"{"result":{"structuredContent":{"taskId":"T","status":"x"}}}"#.to_owned(), vec![]),
            (r#"{"params":{"arguments":{"taskId":"T"}},"taskId":"T"}"#.to_owned(), vec![]),
            (r#"{"params":[{"taskId":"T"}],"result":[]}"#.to_owned(), vec![]),
            (r#"{"result":{"taskId":7,"status":"x","task":"T"}}"#.to_owned(), vec![(Result, "?".to_owned())]),
        ] {
            assert_eq!(found(&text), expected, "{text}");
            assert!(expected.is_empty() || TaskMentions::may_be_in(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_resembles_a_name_is_told() {
        let related = |members: &str| format!(r#"{{"params":{{"_meta":{{"{RELATED}":{members}}}}}}}"#);
        let meta = |name: &str| format!(r#"{{"result":{{"result":{{"{name}":{{"{RELATED}":{{}}}}}}}}}}"#);
        for (text, ambiguous, folded) in [
            (related(r#"{"taskId":"T","ttl":1}"#), false, false),
            (related(r#"{"TaskId":"T"}"#), false, true),
            (related(r#"{"ta\u0000skId":"T"}"#), false, true),
            (related(r#"{"ta\u017fkId":"T"}"#), false, true),
            (related("{\"tas\u{212a}Id\":1}"), false, true),
            (related(r#"["T"]"#), true, false),
            (related("null"), false, false),
            (related("{}").replace("related-task", "Related-Task"), false, true),
            (related("{}").replace("_meta", "_Meta"), false, true),
            (meta("_meta"), false, false),
            (meta("_META"), false, true),
            (r#"{"result":{"_Meta":{"x":"task"}}}"#.to_owned(), false, true),
            (r#"{"params":{"taskid":"T"}}"#.to_owned(), false, true),
            (r#"{"params":{"notifications":{"TaskIds":[]}}}"#.to_owned(), false, true),
            (r#"{"params":{"arguments":{"TaskId":"T","_Meta":{}}}}"#.to_owned(), false, false),
        ] {
            let found = &TaskMentions::read(text.as_bytes()).unwrap()[0];
            assert_eq!((found.ambiguous, found.folded), (ambiguous, folded), "{text}");
            assert!(mentions_task(text.as_bytes()), "{text}");
        }
        assert!(TaskMentions::read(br#"{"result":{"task":{"taskId":"a","taskId":"b"}}}"#).is_err());
        for (text, expected) in [("task", true), ("TASK", true), ("xtAsK", true), ("ask", false), ("tas k", false)] {
            assert_eq!(mentions_task(text.as_bytes()), expected, "{text}");
        }
    }
}
