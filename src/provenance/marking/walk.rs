//! The way through a message.

use std::borrow::Cow;

use bytes::Bytes;

use super::envelope::{Envelope, envelopes, may_resemble};
use super::meta::{IFC, Place, TRUST_ANNOTATIONS};
use super::texts::Texts;
use super::{Asked, Mark, Report, Style, Unmarkable};
use crate::json::{Cuts, Edits, Kind, Reader, Slot, Text, Value, folds_onto_any};
use crate::message::EMPTY;

pub(super) type Walked<T = ()> = Result<T, Unmarkable>;

/// The names by which parts of messages are known, each level's by itself: what resembles one is taken for it by lenient
/// readers.
const OF_MESSAGES: &[&str] = &["error", "id", "method", "params", "result"];
const OF_RESULTS: &[&str] = &[
    "_meta",
    "content",
    "contents",
    "error",
    "inputRequests",
    "messages",
    "result",
    "statusMessage",
    "structuredContent",
    "task",
    "tasks",
];
const OF_ERRORS: &[&str] = &["data", "message"];
const OF_PARAMS: &[&str] = &["_meta", "data", "inputRequests", "message", "messages", "result", "statusMessage"];

/// The way through a message, or a batch of them.
pub(super) struct Walk<'a> {
    pub(super) text: &'a Bytes,
    pub(super) reader: Reader<'a, true>,
    pub(super) style: &'a Style,
    asked: &'a dyn Asked,
    /// What the message on the way is marked with.
    pub(super) mark: Mark<'a>,
    pub(super) texts: Texts,
    pub(super) edits: Edits,
    pub(super) report: Report,
    /// What is in no place that is known is looked through for what is forged. Most messages have nothing there: the
    /// text is not searched before.
    searches: Option<bool>,
    /// What is being read is handed on as it is.
    verbatim: bool,
    /// It comes from a client, who may claim what it likes, but not in our name.
    pub(super) of_client: bool,
}

/// Nothing is asked by a server that would have to be marked.
struct Client;

impl Asked for Client {
    fn answer(&self, _: Option<&str>) -> Option<Mark<'_>> {
        Some(Mark::NONE)
    }

    fn sent(&self) -> Mark<'_> {
        Mark::NONE
    }
}

/// A member of an object that is on the way.
pub(super) struct Member<'a> {
    pub(super) name: Cow<'a, str>,
    /// Where it starts.
    pub(super) start: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(text: &'a Bytes, style: &'a Style, asked: &'a dyn Asked) -> Walked<Self> {
        let reader = Reader::tolerant(text)?;
        let (edits, report, mark) = (Edits::new(), Report::default(), asked.sent());
        Ok(Self {
            text,
            reader,
            style,
            asked,
            mark,
            texts: Texts::default(),
            edits,
            report,
            searches: None,
            verbatim: false,
            of_client: false,
        })
    }

    pub(super) fn of_client(text: &'a Bytes, style: &'a Style) -> Walked<Self> {
        let walk = Self::new(text, style, &Client)?;
        Ok(Self { searches: Some(true), of_client: true, ..walk })
    }

    pub(super) fn run(mut self) -> Walked<(Edits, Report)> {
        if self.reader.kind()? == Kind::Array {
            let mut known = envelopes(self.text)?.into_iter();
            self.reader.open_array()?;
            while self.reader.element()? {
                self.message(known.next())?;
            }
        } else {
            self.message(None)?;
        }
        let Self { reader, edits, report, .. } = self;
        reader.end()?;
        Ok((edits, report))
    }

    fn message(&mut self, mut known: Option<Envelope>) -> Walked {
        if self.reader.kind()? != Kind::Object {
            return Err(Unmarkable::NotAMessage);
        }
        self.mark = self.asked.sent();
        self.texts.next_message();
        let (mut id, mut method, mut outcomes) = (None, None, 0);
        self.members(&mut |walk, member| {
            match &*member.name {
                "id" => id = Some(walk.reader.value()?),
                "method" => {
                    outcomes += 1;
                    method = walk.reader.value()?.as_text();
                }
                "params" => {
                    let ahead = match method {
                        Some(method) => Some(method),
                        None => walk.ahead(&mut known)?.method,
                    };
                    walk.sent(ahead)?;
                }
                name @ ("error" | "result") => {
                    outcomes += 1;
                    let ahead = walk.id_ahead(id, &mut known)?;
                    walk.outcome(name, ahead)?;
                }
                name => walk.other(name, OF_MESSAGES)?,
            }
            Ok(())
        })?;
        if outcomes > 1 { Err(Unmarkable::TwoOutcomes) } else { Ok(()) }
    }

    /// What a message says of itself further on.
    fn ahead(&self, known: &mut Option<Envelope>) -> Walked<Envelope> {
        match *known {
            Some(envelope) => Ok(envelope),
            None => {
                let envelope = envelopes(self.text)?.into_iter().next().unwrap_or_default();
                Ok(*known.insert(envelope))
            }
        }
    }

    /// The id of an answer, which may come after what it brings.
    fn id_ahead(&self, read: Option<Value>, known: &mut Option<Envelope>) -> Walked<Option<&'a str>> {
        let id = match read {
            Some(id) => Some(id),
            None => self.ahead(known)?.id,
        };
        let text: &'a Bytes = self.text;
        Ok(id.filter(|id| id.kind != Kind::Null).map(|id| str::from_utf8(id.raw(text)).unwrap_or_default()))
    }

    /// What a server sends by itself.
    fn sent(&mut self, method: Option<Text>) -> Walked {
        self.mark = self.asked.sent();
        let empty = method.is_some_and(|method| EMPTY.iter().any(|empty| method.is(self.text, empty)));
        self.mark.is_content &= !empty;
        self.params()
    }

    fn outcome(&mut self, name: &str, id: Option<&str>) -> Walked {
        let asked = self.asked;
        let mark = match (name, id) {
            // It says that it could not tell what was asked.
            ("error", None) => Some(asked.answer(None).unwrap_or_else(|| asked.sent())),
            (_, id) => asked.answer(id),
        };
        self.mark = mark.ok_or(Unmarkable::Unasked)?;
        if name == "error" {
            // Whoever asked may hand its text on, whatever was asked.
            self.mark.is_content = !self.of_client;
        }
        self.texts.prepare(self.text, self.style, self.mark.is_external())?;
        if name == "error" { self.error(id) } else { self.result(id, true) }
    }

    /// A result; that within a task is no answer by itself.
    pub(super) fn result(&mut self, id: Option<&str>, outermost: bool) -> Walked {
        if self.reader.kind()? != Kind::Object {
            self.search()?;
            return if outermost && self.mark.is_content { Err(Unmarkable::Result) } else { Ok(()) };
        }
        let start = self.start()?;
        let mut parts = Parts::default();
        let slot = self.members_with(&mut |walk, member, cuts| walk.part_of_result(member, cuts, &mut parts))?;
        let slot = self.move_structured(&parts, slot)?;
        let place = parts.meta.unwrap_or(Place::Absent(slot));
        self.write_result(start, place, id.filter(|_| outermost))
    }

    fn part_of_result(&mut self, member: &Member<'_>, cuts: &mut Cuts, parts: &mut Parts) -> Walked {
        match &*member.name {
            "_meta" => parts.meta = Some(self.meta()?),
            "content" => parts.content = self.contents()?.map_or(Content::Alone, Content::Blocks),
            "contents" => self.each(&mut Self::resource)?,
            "messages" => self.each(&mut Self::prompt_message)?,
            "structuredContent" => return self.structured(member, cuts, parts),
            "result" => self.result(None, false)?,
            "error" if self.reader.kind()? == Kind::Object => self.error(None)?,
            "task" => self.task()?,
            "tasks" => self.each(&mut Self::task)?,
            "statusMessage" | "description" => self.text()?,
            "inputRequests" => self.members(&mut |walk, _| walk.input_request())?,
            "instructions" => self.described()?,
            "tools" | "prompts" | "resources" | "resourceTemplates" => self.list()?,
            name => self.other(name, OF_RESULTS)?,
        }
        cuts.keep(member.start..self.reader.at(), &mut self.edits);
        Ok(())
    }

    fn task(&mut self) -> Walked {
        self.members(&mut |walk, member| match &*member.name {
            "statusMessage" => walk.text(),
            name => walk.other(name, &["statusMessage"]),
        })
    }

    /// What is asked of the client in the middle of a call.
    fn input_request(&mut self) -> Walked {
        self.members(&mut |walk, member| match &*member.name {
            "params" => walk.params(),
            name => walk.other(name, &["params"]),
        })
    }

    fn params(&mut self) -> Walked {
        self.texts.prepare(self.text, self.style, self.mark.is_external())?;
        if self.reader.kind()? != Kind::Object {
            return self.search();
        }
        let (start, mut meta) = (self.start()?, None);
        let slot = self.members_with(&mut |walk, member, cuts| {
            match &*member.name {
                "_meta" => meta = Some(walk.meta()?),
                "message" | "reason" | "statusMessage" | "systemPrompt" => walk.text()?,
                "data" => walk.leaves()?,
                "messages" => walk.each(&mut Self::prompt_message)?,
                "result" => walk.result(None, false)?,
                "error" if walk.reader.kind()? == Kind::Object => walk.error(None)?,
                "inputRequests" => walk.members(&mut |walk, _| walk.input_request())?,
                // What a tool is called with is the client's, and was judged as it is.
                "arguments" => drop(walk.reader.value()?),
                name => walk.other(name, OF_PARAMS)?,
            }
            cuts.keep(member.start..walk.reader.at(), &mut walk.edits);
            Ok(())
        })?;
        self.write_params(start, meta.unwrap_or(Place::Absent(slot)))
    }

    fn error(&mut self, id: Option<&str>) -> Walked {
        if self.reader.kind()? != Kind::Object {
            return self.search();
        }
        let (start, mut data) = (self.start()?, None);
        let slot = self.members_with(&mut |walk, member, cuts| {
            match &*member.name {
                "message" => walk.error_message()?,
                "data" => data = Some(walk.error_data()?),
                name => walk.other(name, OF_ERRORS)?,
            }
            cuts.keep(member.start..walk.reader.at(), &mut walk.edits);
            Ok(())
        })?;
        self.write_error(start, data.unwrap_or(Place::Absent(slot)), id)
    }

    /// Where the value that comes next starts.
    pub(super) fn start(&mut self) -> Walked<usize> {
        self.reader.kind()?;
        Ok(self.reader.at())
    }

    /// Reads each member of an object. Anything else is a value of which nothing is known.
    pub(super) fn members(&mut self, each: &mut dyn FnMut(&mut Self, &Member<'a>) -> Walked) -> Walked {
        if self.reader.kind()? != Kind::Object {
            return self.search();
        }
        self.members_with(&mut |walk, member, cuts| {
            each(walk, member)?;
            cuts.keep(member.start..walk.reader.at(), &mut walk.edits);
            Ok(())
        })?;
        Ok(())
    }

    /// Reads each member of an object, some of which may go, as forged tags do: where another could be added.
    pub(super) fn members_with(
        &mut self,
        each: &mut dyn FnMut(&mut Self, &Member<'a>, &mut Cuts) -> Walked,
    ) -> Walked<Slot> {
        let mut cuts = Cuts::within(self.start()?);
        self.reader.open_object()?;
        while let Some(key) = self.reader.key()? {
            let member = self.member(key);
            if self.is_own(&member.name) {
                self.forged()?;
                cuts.cut(member.start..self.reader.at());
            } else {
                each(self, &member, &mut cuts)?;
            }
        }
        Ok(cuts.close(&mut self.edits))
    }

    /// Reads each item of an array; anything else is taken for an item of one, as lenient readers do.
    pub(super) fn each(&mut self, each: &mut dyn FnMut(&mut Self) -> Walked) -> Walked {
        if self.reader.kind()? != Kind::Array {
            return each(self);
        }
        self.reader.open_array()?;
        while self.reader.element()? {
            each(self)?;
        }
        Ok(())
    }

    fn member(&self, key: Text) -> Member<'a> {
        let text: &'a Bytes = self.text;
        // The reader refuses names with lone surrogates.
        Member { name: key.decode(text).unwrap_or_default(), start: key.span().start().saturating_sub(1) }
    }

    /// A member that is not known.
    pub(super) fn other(&mut self, name: &str, known: &[&str]) -> Walked {
        if self.mark.is_content && folds_onto_any(name, known) {
            return Err(Unmarkable::AmbiguousKey);
        }
        self.search()
    }

    pub(super) fn searches(&mut self) -> bool {
        let names = [self.style.key.as_str(), TRUST_ANNOTATIONS, IFC];
        !self.verbatim && *self.searches.get_or_insert_with(|| may_resemble(self.text, &names))
    }

    /// Reads a value of which nothing is known, looking for what is forged.
    pub(super) fn search(&mut self) -> Walked {
        match self.reader.kind()? {
            Kind::Array if self.searches() => self.each(&mut Self::search),
            Kind::Object if self.searches() => self.members(&mut |walk, member| match is_meta(&member.name) {
                true => walk.meta().map(drop),
                false => walk.search(),
            }),
            Kind::Array | Kind::Bool | Kind::Null | Kind::Number | Kind::Object | Kind::String => {
                self.reader.value()?;
                Ok(())
            }
        }
    }

    /// Reads a value that should not be nested; nothing if it is.
    pub(super) fn plain(&mut self) -> Walked<Option<Value>> {
        match self.reader.kind()? {
            Kind::Array | Kind::Object => self.search().map(|()| None),
            Kind::Bool | Kind::Null | Kind::Number | Kind::String => Ok(Some(self.reader.value()?)),
        }
    }

    /// Reads what hosts hand on as it is: nothing in it is taken for a tag.
    pub(super) fn verbatim(&mut self, read: impl FnOnce(&mut Self) -> Walked) -> Walked {
        let verbatim = std::mem::replace(&mut self.verbatim, true);
        let result = read(self);
        self.verbatim = verbatim;
        result
    }

    /// Whether a name is that of our tag, or what some reader takes for it.
    fn is_own(&self, name: &str) -> bool {
        let own = self.style.key.as_str();
        !self.verbatim && (name == own || folds_onto_any(name, &[own]))
    }

    /// Reads the value of what goes because it is not the other side's to write.
    pub(super) fn forged(&mut self) -> Walked {
        let is_object = self.reader.value()?.kind == Kind::Object;
        self.report.malformed += usize::from(!is_object);
        self.report.stripped += 1;
        Ok(())
    }
}

/// Whether a member is `_meta`, or what some reader takes for it.
pub(super) fn is_meta(name: &str) -> bool {
    name == "_meta" || folds_onto_any(name, &["_meta"])
}

/// What a result has for content.
#[derive(Clone, Copy, Default)]
pub(super) enum Content {
    #[default]
    Absent,
    /// A block without an array around it.
    Alone,
    /// Where a block could be added.
    Blocks(Slot),
}

/// What a result has.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) meta: Option<Place>,
    pub(super) content: Content,
    /// Where what is structured stands, if that is to become a block.
    pub(super) moved: Option<Value>,
}
