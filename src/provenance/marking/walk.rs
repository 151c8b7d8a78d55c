//! The way through a message.

use std::borrow::Cow;

use bytes::Bytes;

use super::envelope::{Envelope, envelopes, may_resemble};
use super::meta::{IFC, TRUST_ANNOTATIONS};
use super::texts::Texts;
use super::{Asked, Mark, Report, Style, Unmarkable};
use crate::json::{Cuts, Edits, Kind, Reader, Slot, Text, Value, folds_onto_any};
use crate::message::EMPTY;

/// How many parts of a message may be tagged or fenced: what it grows by is bounded.
const MAX_PARTS: usize = 1 << 16;

pub(super) type Walked<T = ()> = Result<T, Unmarkable>;

/// The names by which parts of messages are known, each level's by itself: what resembles one is taken for it by lenient
/// readers.
const OF_MESSAGES: &[&str] = &["error", "id", "jsonrpc", "method", "params", "result"];

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
    /// What is being read is only searched: names may repeat there, as they may where it is not.
    lenient: bool,
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

/// What is known of the form of a message that is on the way.
#[derive(Default)]
struct Form {
    id: Option<Value>,
    method: Option<Text>,
    /// It is a message: the body of an error of HTTP need not be one.
    is_message: bool,
    /// How many there are of what a message has one of.
    outcomes: usize,
    /// Some part is of a kind that is not its own, and has no place for a tag.
    is_odd: bool,
}

impl Form {
    fn has(&mut self, name: &str, kind: Kind) {
        self.outcomes += usize::from(matches!(name, "error" | "method" | "result"));
        self.is_message |= matches!(name, "id" | "jsonrpc" | "method" | "result");
        self.is_odd |= match name {
            "error" => kind != Kind::Object,
            "method" => kind != Kind::String,
            "params" => !matches!(kind, Kind::Null | Kind::Object),
            _ => false,
        };
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
        let (edits, report, mark) = (Edits::new(), Report::default(), Mark::NONE);
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
            lenient: false,
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
        let mut form = Form::default();
        self.members(&mut |walk, member| walk.part_of_message(&member.name, &mut form, &mut known))?;
        let has_form = form.outcomes == 1 && !form.is_odd;
        match form.outcomes {
            2.. => Err(Unmarkable::TwoOutcomes),
            _ if form.is_message && !has_form && !self.of_client => Err(Unmarkable::NotAMessage),
            _ => Ok(()),
        }
    }

    fn part_of_message(&mut self, name: &str, form: &mut Form, known: &mut Option<Envelope>) -> Walked {
        form.has(name, self.reader.kind()?);
        match name {
            "id" => form.id = Some(self.reader.value()?),
            "jsonrpc" => self.search()?,
            "method" => form.method = self.reader.value()?.as_text(),
            "params" => {
                let method = if form.method.is_some() { form.method } else { self.ahead(known)?.method };
                self.sent(method)?;
            }
            "error" | "result" => {
                let id = self.id_ahead(form.id, known)?;
                self.outcome(name, id)?;
            }
            name => self.other(name, OF_MESSAGES)?,
        }
        Ok(())
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
        match name {
            "error" if self.reader.kind()? == Kind::Object => self.error(),
            "error" => self.search(),
            _ => self.result(true),
        }
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

    /// Reads each member of an object, or of each of an array's. Anything else is a text, where there should be none.
    pub(super) fn parts(&mut self, each: &mut dyn FnMut(&mut Self, &Member<'a>) -> Walked) -> Walked {
        match self.reader.kind()? {
            Kind::Array => self.each(&mut |walk| walk.parts(each)),
            Kind::Object => self.members(each),
            Kind::Bool | Kind::Null | Kind::Number | Kind::String => self.leaves(),
        }
    }

    /// Reads each member of an object, some of which may go, as forged tags do: where another could be added.
    pub(super) fn members_with(
        &mut self,
        each: &mut dyn FnMut(&mut Self, &Member<'a>, &mut Cuts) -> Walked,
    ) -> Walked<Slot> {
        let mut cuts = Cuts::within(self.start()?);
        let lenient = self.lenient;
        self.open(lenient)?;
        while let Some(key) = if lenient { self.reader.key_unjudged()? } else { self.reader.key()? } {
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

    fn open(&mut self, lenient: bool) -> Walked {
        Ok(if lenient { self.reader.open_unjudged() } else { self.reader.open_object() }?)
    }

    /// Reads each item of an array; anything else is taken for an item of one, as lenient readers do.
    pub(super) fn each(&mut self, each: &mut dyn FnMut(&mut Self) -> Walked) -> Walked {
        if self.reader.kind()? != Kind::Array {
            return each(self);
        }
        self.reader.open_array()?;
        while self.reader.element()? {
            self.check_parts()?;
            each(self)?;
        }
        Ok(())
    }

    /// Each part that is tagged or fenced grows.
    pub(super) fn check_parts(&self) -> Walked {
        if self.report.parts > MAX_PARTS { Err(Unmarkable::TooManyParts) } else { Ok(()) }
    }

    fn member(&self, key: Text) -> Member<'a> {
        let text: &'a Bytes = self.text;
        // No name that counts has lone surrogates.
        Member { name: key.decode(text).unwrap_or_default(), start: key.span().start().saturating_sub(1) }
    }

    /// A member that is not known.
    pub(super) fn other(&mut self, name: &str, known: &[&str]) -> Walked {
        self.check_name(name, known)?;
        self.search_member(name)
    }

    /// A member that is not known, of what hosts may print whole: what is a text in it is fenced.
    pub(super) fn printed(&mut self, name: &str, known: &[&str]) -> Walked {
        self.check_name(name, known)?;
        if is_meta(name) { self.search_member(name) } else { self.leaves() }
    }

    /// Of one that resembles another, some readers see what we do not.
    fn check_name(&self, name: &str, known: &[&str]) -> Walked {
        if !self.of_client && folds_onto_any(name, known) { Err(Unmarkable::AmbiguousKey) } else { Ok(()) }
    }

    pub(super) fn searches(&mut self) -> bool {
        let names = [self.style.key.as_str(), TRUST_ANNOTATIONS, IFC];
        !self.verbatim && *self.searches.get_or_insert_with(|| may_resemble(self.text, &names))
    }

    /// Reads a value of which nothing is known, looking for what is forged.
    pub(super) fn search(&mut self) -> Walked {
        self.search_member("")
    }

    /// The same for a member's. A `_meta` that is no object is none.
    fn search_member(&mut self, name: &str) -> Walked {
        let kind = self.reader.kind()?;
        if !matches!(kind, Kind::Array | Kind::Object) || !self.searches() {
            self.reader.value()?;
            return Ok(());
        }
        let lenient = std::mem::replace(&mut self.lenient, true);
        let result = match kind {
            Kind::Object if is_meta(name) => self.meta().map(drop),
            Kind::Object => self.members(&mut |walk, member| walk.search_member(&member.name)),
            _ => self.each(&mut Self::search),
        };
        self.lenient = lenient;
        result
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
