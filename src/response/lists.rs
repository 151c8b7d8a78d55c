//! Lists of tools, prompts and resources: what a caller may not use, it does not see.
//!
//! A list only discloses: every call is judged by itself. What stays is byte for byte what came, so that order,
//! cursors, numbers and members that nobody knows survive.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;

use crate::answer::{DenialKind, UpstreamFault};
use crate::json::{self, Cuts, Edits, Kind, Reader, Text, Value, folds_onto};
#[cfg(feature = "server-trust")]
use crate::server::ServerRefusal;

const CACHE_SCOPE: &str = "cacheScope";
const ERROR: &str = "error";
const METHOD: &str = "method";
const RESULT: &str = "result";

/// The lists that servers give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    Prompts,
    Resources,
    ResourceTemplates,
    Tools,
}

impl ListKind {
    const ALL: [Self; 4] = [Self::Prompts, Self::Resources, Self::ResourceTemplates, Self::Tools];

    /// The list that a method asks for.
    pub(crate) fn of_method(method: &str) -> Option<Self> {
        match method {
            "prompts/list" => Some(Self::Prompts),
            "resources/list" => Some(Self::Resources),
            "resources/templates/list" => Some(Self::ResourceTemplates),
            "tools/list" => Some(Self::Tools),
            _ => None,
        }
    }

    /// The member of a result that holds the list.
    fn member(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Tools => "tools",
        }
    }

    /// The member by which an entry is told from others.
    fn naming(self) -> &'static str {
        match self {
            Self::Prompts | Self::Tools => "name",
            Self::Resources => "uri",
            Self::ResourceTemplates => "uriTemplate",
        }
    }
}

/// One thing in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) kind: ListKind,
    /// The name of a tool or prompt, the URI of a resource, the URI template of resources; unescaped.
    pub(crate) name: &'a str,
}

impl Entry<'_> {
    /// Whether it is one of these tools.
    pub(crate) fn is_hidden(&self, tools: &HashSet<String>) -> bool {
        self.kind == ListKind::Tools && tools.contains(self.name)
    }
}

/// Why nobody can say what a text lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(all(feature = "content-trust", feature = "provenance")),
    allow(dead_code, reason = "nothing is bound or marked")
)]
pub(crate) enum Unreadable {
    /// Lenient readers take a member's name for another one.
    AmbiguousKey,
    /// An entry is no object with a string for a name.
    Entry,
    Json(json::Error),
    /// The list that was asked for is not there.
    NoList,
    /// The text is neither an object nor an array of objects.
    NotAMessage,
    /// It asks its client for something that it may not: whoever waits is told so.
    #[cfg(feature = "server-trust")]
    Refused(ServerRefusal),
    /// A result is an array.
    ResultArray,
    /// A result stands beside an error or a method.
    TwoOutcomes,
    /// An id that cannot be bound to the caller.
    Unbindable,
    /// Content that cannot be marked.
    Unmarkable,
    /// A request to the client that its server may not make: it goes, and what somebody waits for may still come.
    #[cfg(feature = "server-trust")]
    Unwanted(ServerRefusal),
}

impl From<json::Error> for Unreadable {
    fn from(error: json::Error) -> Self {
        Self::Json(error)
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AmbiguousKey => f.write_str("a key resembles another one"),
            Self::Entry => f.write_str("an entry of a list has no name"),
            Self::Json(error) => fmt::Display::fmt(error, f),
            Self::NoList => f.write_str("no list where one was asked for"),
            Self::NotAMessage => f.write_str("neither a message nor a batch"),
            #[cfg(feature = "server-trust")]
            Self::Refused(refusal) | Self::Unwanted(refusal) => refusal.fmt(f),
            Self::ResultArray => f.write_str("a result that is an array"),
            Self::TwoOutcomes => f.write_str("a result beside an error or a method"),
            Self::Unbindable => f.write_str("an id that cannot be bound"),
            Self::Unmarkable => f.write_str("content that cannot be marked"),
        }
    }
}

impl std::error::Error for Unreadable {}

impl Unreadable {
    /// Whether only the message goes.
    pub(crate) fn is_unwanted(self) -> bool {
        #[cfg(feature = "server-trust")]
        return matches!(self, Self::Unwanted(_));
        #[cfg(not(feature = "server-trust"))]
        false
    }
}

impl From<Unreadable> for DenialKind {
    fn from(unreadable: Unreadable) -> Self {
        match unreadable {
            #[cfg(feature = "server-trust")]
            Unreadable::Refused(refusal) | Unreadable::Unwanted(refusal) => Self::Server(refusal),
            _ => Self::Upstream(UpstreamFault::InvalidAnswer),
        }
    }
}

/// Reads one JSON-RPC response, or a batch of them, and says what must change so that only permitted entries are
/// listed.
///
/// Lists are known by their shape. A result that has one is for this caller alone, and says so in `cacheScope` if it
/// has that member, or is modern and should.
///
/// # Errors
///
/// What a list holds cannot be told exactly, or a result has not the list that was asked for: the text must not be
/// passed on.
pub(crate) fn filter(
    text: &Bytes,
    asked: Asked,
    permits: &mut dyn FnMut(&Entry<'_>) -> bool,
) -> Result<Edits, Unreadable> {
    let mut filter = Filter { text, reader: Reader::tolerant(text)?, asked, permits, edits: Edits::new() };
    if filter.reader.kind()? == Kind::Array {
        filter.reader.open_array()?;
        while filter.reader.element()? {
            filter.message()?;
        }
    } else {
        filter.message()?;
    }
    let Filter { reader, edits, .. } = filter;
    reader.end()?;
    Ok(edits)
}

/// What a text is an answer to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    /// The list that was asked for.
    pub(crate) list: Option<ListKind>,
    /// The request spoke a revision in which lists say who may keep them.
    pub(crate) modern: bool,
    /// The text is one of many: it may be no message at all, but a sign of life.
    pub(crate) streamed: bool,
}

struct Filter<'a> {
    text: &'a [u8],
    reader: Reader<'a, true>,
    asked: Asked,
    permits: &'a mut dyn FnMut(&Entry<'_>) -> bool,
    edits: Edits,
}

/// What a result has beside its lists.
#[derive(Default)]
struct Found {
    /// There is a list.
    any: bool,
    /// There is the one that was asked for.
    expected: bool,
    scope: Option<Value>,
    /// Some name resembles `cacheScope`.
    ambiguous_scope: bool,
}

impl Filter<'_> {
    fn message(&mut self) -> Result<(), Unreadable> {
        if self.reader.kind()? != Kind::Object {
            return Err(Unreadable::NotAMessage);
        }
        let (mut result, mut other) = (None, false);
        self.reader.open_object()?;
        while let Some(key) = self.reader.key()? {
            match &*self.decode(key) {
                RESULT => {
                    result = Some(self.result()?);
                    continue;
                }
                ERROR | METHOD => other = true,
                name if [ERROR, METHOD, RESULT].iter().any(|known| folds_onto(name, known)) => {
                    return Err(Unreadable::AmbiguousKey);
                }
                _ => {}
            }
            self.reader.value()?;
        }
        match (result, other) {
            (Some(_), true) => Err(Unreadable::TwoOutcomes),
            (None, true) | (Some(true), false) => Ok(()),
            (None, false) if self.asked.streamed => Ok(()),
            (Some(false) | None, false) if self.asked.list.is_none() => Ok(()),
            (Some(false) | None, false) => Err(Unreadable::NoList),
        }
    }

    /// Reads a result: whether it has the list that was asked for.
    fn result(&mut self) -> Result<bool, Unreadable> {
        match self.reader.kind()? {
            Kind::Object => {}
            // Some readers take the items of an array for the members of an object.
            Kind::Array => return Err(Unreadable::ResultArray),
            _ => {
                self.reader.value()?;
                return Ok(false);
            }
        }
        let start = self.reader.at();
        let mut found = Found::default();
        self.reader.open_object()?;
        while let Some(key) = self.reader.key()? {
            self.member(key, &mut found)?;
        }
        if found.any {
            self.scope(start, &found)?;
        }
        Ok(found.expected)
    }

    fn member(&mut self, key: Text, found: &mut Found) -> Result<(), Unreadable> {
        let name = self.decode(key);
        if self.reader.kind()? == Kind::Array {
            if let Some(kind) = ListKind::ALL.into_iter().find(|kind| name == kind.member()) {
                found.any = true;
                found.expected |= self.asked.list == Some(kind);
                return self.list(kind);
            }
            if ListKind::ALL.iter().any(|kind| folds_onto(&name, kind.member())) {
                return Err(Unreadable::AmbiguousKey);
            }
        }
        let value = self.reader.value()?;
        if name == CACHE_SCOPE {
            found.scope = Some(value);
        }
        found.ambiguous_scope |= folds_onto(&name, CACHE_SCOPE);
        Ok(())
    }

    /// Sees to it that a result with a list, which starts at an offset, is kept for this caller alone.
    fn scope(&mut self, start: usize, found: &Found) -> Result<(), Unreadable> {
        if found.ambiguous_scope {
            return Err(Unreadable::AmbiguousKey);
        }
        let private = |value: &Value| value.as_text().is_some_and(|text| text.is(self.text, "private"));
        match found.scope {
            Some(value) if !private(&value) => {
                let span = value.raw_span();
                self.edits.replace(span.start()..span.end(), Bytes::from_static(b"\"private\""));
            }
            // The object has a list at least, so that a comma is right.
            None if self.asked.modern => {
                let inside = start + 1;
                self.edits.replace(inside..inside, Bytes::from_static(b"\"cacheScope\":\"private\","));
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    /// Reads a list. What is not permitted goes.
    fn list(&mut self, kind: ListKind) -> Result<(), Unreadable> {
        self.reader.kind()?;
        let mut cuts = Cuts::within(self.reader.at());
        self.reader.open_array()?;
        while self.reader.element()? {
            if self.asked.list != Some(kind) && !matches!(self.reader.kind()?, Kind::Array | Kind::Object) {
                // Something else of the same name: no entry of a list is a text or a number.
                let other = self.reader.value()?.raw_span();
                cuts.keep(other.start()..other.end(), &mut self.edits);
                continue;
            }
            match self.entry(kind)? {
                (entry, true) => cuts.keep(entry, &mut self.edits),
                (entry, false) => cuts.cut(entry),
            }
        }
        cuts.close(&mut self.edits);
        Ok(())
    }

    /// Reads an entry: where it stands, and whether it is permitted.
    fn entry(&mut self, kind: ListKind) -> Result<(Range<usize>, bool), Unreadable> {
        if self.reader.kind()? != Kind::Object {
            return Err(Unreadable::Entry);
        }
        let (start, naming) = (self.reader.at(), kind.naming());
        let mut named = None;
        self.reader.open_object()?;
        while let Some(key) = self.reader.key()? {
            let value = self.reader.value()?;
            if key.is(self.text, naming) {
                named = value.as_text();
            } else if folds_onto(&self.decode(key), naming) {
                return Err(Unreadable::AmbiguousKey);
            }
        }
        let name = named.and_then(|text| text.decode(self.text).ok()).ok_or(Unreadable::Entry)?;
        Ok((start..self.reader.at(), (self.permits)(&Entry { kind, name: &name })))
    }
}

impl<'a> Filter<'a> {
    /// A member's name. The reader refuses those with lone surrogates.
    fn decode(&self, key: Text) -> Cow<'a, str> {
        key.decode(self.text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
