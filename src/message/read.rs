//! Reading a body: one envelope after another, each with the same function.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::dialect::{Batches, Dialect, DialectRules, Target};
use super::headers::Mirror;
use super::method::{MethodRow, method_row_of_bytes};
use super::view::{Message, MessageKind};
use super::{Era, Fault, Revision, id};
use crate::json::{self, Kind, Member, Reader, Scope, Span, Text, Value, folds_onto, has_control};

/// The messages that a batch may have.
const MAX_BATCH: usize = 100;
/// The members that an object of the protocol's own may have.
const MAX_MEMBERS: usize = 1000;
const ENVELOPE: &[&str] = &["error", "id", "jsonrpc", "method", "params", "result"];
pub(super) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The members of `_meta` that some decision depends on.
const META: &[&str] = &[
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/clientInfo",
    META_VERSION,
    "io.modelcontextprotocol/related-task",
    "progressToken",
];

/// One message, as places in the bytes.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) kind: MessageKind,
    pub(super) id: Option<Span>,
    pub(super) method: Option<Text>,
    /// The method's row, under the transport of MCP.
    pub(super) row: Option<&'static MethodRow>,
    pub(super) params: Params,
    /// Whether the members of `params.arguments` and `params._meta` were kept.
    pub(super) nested: bool,
    /// Which of the body's members are this message's.
    pub(super) members: Range<usize>,
    pub(super) position: usize,
    pub(super) target: Target,
}

/// The form of `params`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Params {
    Absent,
    Named,
    Positional,
}

/// What was read of a body.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) batch: bool,
    pub(super) records: Records,
    pub(super) members: Vec<Member>,
}

/// Nearly every body holds one message.
#[derive(Debug)]
pub(super) enum Records {
    One(Record),
    Many(Vec<Record>),
}

impl Records {
    pub(super) fn as_slice(&self) -> &[Record] {
        match self {
            Self::One(record) => std::slice::from_ref(record),
            Self::Many(records) => records,
        }
    }
}

/// Why a body was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Error {
    Json(json::Error),
    Message(Fault),
}

impl From<json::Error> for Error {
    fn from(error: json::Error) -> Self {
        Self::Json(error)
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Message(fault)
    }
}

/// Reads a body. `mirror` is what the request's head says of it.
pub(super) fn body(bytes: &[u8], dialect: &dyn Dialect, mirror: &Mirror) -> Result<Body, Error> {
    let rules = dialect.rules();
    let mut read = Read { bytes, reader: Reader::new(bytes)?, dialect, rules, members: Vec::with_capacity(8) };
    let batch = read.reader.kind()? == Kind::Array;
    let records = if batch { Records::Many(read.batch(mirror)?) } else { Records::One(read.message(0)?) };
    let Read { reader, members, .. } = read;
    reader.end()?;
    Ok(Body { batch, records, members })
}

struct Read<'a> {
    bytes: &'a [u8],
    reader: Reader<'a>,
    dialect: &'a dyn Dialect,
    rules: DialectRules,
    members: Vec<Member>,
}

/// The members of an envelope that matter.
#[derive(Default)]
struct Envelope {
    version: Option<Value>,
    id: Option<Value>,
    method: Option<Value>,
    params: Option<Params>,
    result: bool,
    error: bool,
}

impl Read<'_> {
    fn batch(&mut self, mirror: &Mirror) -> Result<Vec<Record>, Error> {
        let legal = match self.rules.batches {
            Batches::Accept => true,
            Batches::AcceptUpTo20250326 => mirror.revision().is_none_or(|revision| revision <= Revision::V2025_03_26),
            Batches::Refuse => false,
        };
        if !legal {
            return Err(Fault::BatchNotAllowed.into());
        }
        let mut records = Vec::new();
        self.reader.open_array()?;
        while self.reader.element()? {
            if records.len() == MAX_BATCH {
                return Err(Fault::BatchTooLong.into());
            }
            let record = self.message(records.len()).map_err(|error| match error {
                // Alone it is dropped without a word; here others wait for an answer.
                Error::Message(Fault::CallWithoutId) => Error::Message(Fault::BatchCallWithoutId),
                error @ (Error::Json(_) | Error::Message(_)) => error,
            })?;
            self.check_element(&record)?;
            records.push(record);
        }
        self.check_batch(&records)?;
        Ok(records)
    }

    fn check_element(&self, record: &Record) -> Result<(), Fault> {
        if !self.rules.mcp_transport {
            return Ok(());
        }
        let message = Message::new(self.bytes, &self.members, record);
        if message.method().is_ok_and(|method| method == "initialize") {
            return Err(Fault::BatchInitialize);
        }
        match claim(&message)? {
            Some(claim) if Revision::parse(&claim) > Revision::V2025_03_26 => Err(Fault::BatchNotAllowed),
            Some(_) | None => Ok(()),
        }
    }

    fn check_batch(&self, records: &[Record]) -> Result<(), Fault> {
        let replies = records.iter().filter(|record| record.kind == MessageKind::Reply).count();
        if records.is_empty() {
            return Err(Fault::BatchEmpty);
        }
        if replies != 0 && replies != records.len() {
            return Err(Fault::BatchMixed);
        }
        let mut ids = HashSet::new();
        let mut messages = records.iter().map(|record| Message::new(self.bytes, &self.members, record));
        let fresh = messages.all(|message| message.id().is_none_or(|raw| ids.insert(id::meaning(raw))));
        if fresh { Ok(()) } else { Err(Fault::DuplicateId) }
    }

    /// Reads one message: the only way to a record, alone or in a batch.
    fn message(&mut self, position: usize) -> Result<Record, Error> {
        if self.reader.kind()? != Kind::Object {
            self.reader.value()?;
            return Err(Fault::NotAnObject.into());
        }
        let first = self.members.len();
        let envelope = self.envelope()?;
        let method = envelope.method.and_then(Value::as_text);
        let mut record = Record {
            kind: envelope.kind(self.bytes)?,
            id: envelope.id.map(|value| id::id(self.bytes, value)).transpose()?,
            method,
            row: method.filter(|_| self.rules.mcp_transport).and_then(|text| row(text, self.bytes)),
            params: envelope.params.unwrap_or(Params::Absent),
            nested: self.rules.mcp_transport,
            members: first..self.members.len(),
            position,
            target: Target::Plumbing,
        };
        record.target = self.target(&record)?;
        Ok(record)
    }

    fn target(&self, record: &Record) -> Result<Target, Fault> {
        match record.kind {
            MessageKind::Reply if record.id.is_none() => Err(Fault::ReplyWithoutId),
            MessageKind::Reply if record.params != Params::Absent => Err(Fault::ReplyWithParams),
            // Plain JSON-RPC goes one way: nobody asked this client anything.
            MessageKind::Reply if !self.rules.mcp_transport => Err(Fault::MethodMissing),
            MessageKind::Reply => Ok(Target::Plumbing),
            MessageKind::Notification | MessageKind::Request => {
                if record.params == Params::Positional && !self.rules.positional_params {
                    return Err(Fault::PositionalParams);
                }
                self.dialect.target(&Message::new(self.bytes, &self.members, record))
            }
        }
    }

    fn envelope(&mut self) -> Result<Envelope, Error> {
        let mut envelope = Envelope::default();
        self.reader.open_object()?;
        for count in 0.. {
            let Some(key) = self.reader.key()? else { break };
            check_count(count)?;
            match self.name(key, ENVELOPE)? {
                Some("jsonrpc") => envelope.version = Some(self.reader.value()?),
                Some("id") => envelope.id = Some(self.reader.value()?),
                Some("method") => envelope.method = Some(self.reader.value()?),
                Some("params") => envelope.params = Some(self.params()?),
                Some(other) => {
                    envelope.result |= other == "result";
                    envelope.error |= other == "error";
                    self.reader.value()?;
                }
                None => {
                    self.reader.value()?;
                }
            }
        }
        Ok(envelope)
    }

    fn params(&mut self) -> Result<Params, Error> {
        match self.reader.kind()? {
            Kind::Object => {
                self.members(Scope::Params, self.rules.reserved_params)?;
                Ok(Params::Named)
            }
            Kind::Array => {
                self.reader.value()?;
                Ok(Params::Positional)
            }
            Kind::Null => {
                self.reader.value()?;
                Ok(Params::Absent)
            }
            Kind::Bool | Kind::Number | Kind::String => Err(Fault::ParamsNotStructured.into()),
        }
    }

    /// Reads an object whose members are kept, and of `params` also those of the two objects in it that are.
    fn members(&mut self, scope: Scope, reserved: &'static [&'static str]) -> Result<(), Error> {
        self.reader.open_object()?;
        for count in 0.. {
            let Some(name) = self.reader.key()? else { break };
            // What has reserved names belongs to the protocol, and has no more members than the protocol needs.
            check_count(if reserved.is_empty() { 0 } else { count })?;
            self.name(name, reserved)?;
            let nested = self.nests(scope, name);
            let value = match (nested, self.reader.kind()?) {
                (Some((scope, reserved)), Kind::Object) => self.nested(scope, reserved)?,
                (Some((Scope::Meta, _)), kind) if kind != Kind::Null => return Err(Fault::MetaNotObject.into()),
                _ => self.reader.value()?,
            };
            self.members.push(Member { scope, name, value });
        }
        Ok(())
    }

    /// Whether the members of a member of `params` are kept as well: as whose, and which names nothing in it may
    /// resemble.
    fn nests(&self, scope: Scope, name: Text) -> Option<(Scope, &'static [&'static str])> {
        if !self.rules.mcp_transport || scope != Scope::Params {
            return None;
        }
        if name.is(self.bytes, "arguments") {
            return Some((Scope::Arguments, &[]));
        }
        name.is(self.bytes, "_meta").then_some((Scope::Meta, META))
    }

    fn nested(&mut self, scope: Scope, reserved: &'static [&'static str]) -> Result<Value, Error> {
        let start = self.reader.at();
        self.members(scope, reserved)?;
        Ok(Value::object(start, self.reader.at()))
    }

    /// Which of the reserved names a key is; refused if it only resembles one.
    fn name(&self, key: Text, reserved: &'static [&'static str]) -> Result<Option<&'static str>, Fault> {
        if reserved.is_empty() {
            return Ok(None);
        }
        let known = reserved.iter().find(|reserved| key.is(self.bytes, reserved));
        if known.is_some() {
            return Ok(known.copied());
        }
        let name = key.decode(self.bytes).map_err(|_| Fault::LoneSurrogate)?;
        if has_control(&name) {
            return Err(Fault::ControlInKey);
        }
        let resembles = |reserved: &&&str| match name.is_ascii() {
            true => reserved.eq_ignore_ascii_case(&name),
            false => folds_onto(&name, reserved),
        };
        if reserved.iter().find(resembles).is_some() { Err(Fault::FoldedKey) } else { Ok(None) }
    }
}

fn row(method: Text, bytes: &[u8]) -> Option<&'static MethodRow> {
    if !method.is_escaped() {
        return method_row_of_bytes(method.span().of(bytes));
    }
    method.decode(bytes).ok().and_then(|method| method_row_of_bytes(method.as_bytes()))
}

/// Whether there are not too many members yet.
fn check_count(count: usize) -> Result<(), Fault> {
    if count < MAX_MEMBERS { Ok(()) } else { Err(Fault::TooManyMembers) }
}

impl Envelope {
    fn kind(&self, bytes: &[u8]) -> Result<MessageKind, Fault> {
        let version = self.version.and_then(Value::as_text);
        if !version.is_some_and(|version| version.is(bytes, "2.0")) {
            return Err(Fault::JsonrpcVersion);
        }
        match (self.method, self.result || self.error) {
            (Some(_), true) => return Err(Fault::MethodWithResult),
            (Some(method), false) => {
                let text = method.as_text().ok_or(Fault::MethodNotString)?;
                if text.is_lone() {
                    return Err(Fault::LoneSurrogate);
                }
            }
            (None, true) if self.result && self.error => return Err(Fault::ResultWithError),
            (None, true) => return Ok(MessageKind::Reply),
            (None, false) => return Err(Fault::MethodMissing),
        }
        Ok(if self.id.is_some() { MessageKind::Request } else { MessageKind::Notification })
    }
}

/// The revision that a message claims in its `_meta`.
pub(super) fn claim<'a>(message: &Message<'a>) -> Result<Option<Cow<'a, str>>, Fault> {
    match message.meta().get(META_VERSION).map(|claim| claim.as_str()) {
        None => Ok(None),
        Some(Some(Ok(claim))) => Ok(Some(claim)),
        Some(Some(Err(_)) | None) => Err(Fault::VersionNotString),
    }
}

/// Refuses what a revision does not have.
pub(super) fn check_era(records: &[Record], era: Era) -> Result<(), Fault> {
    let reply = records.iter().any(|record| record.kind == MessageKind::Reply);
    if reply && era == Era::Modern { Err(Fault::ReplyInModernEra) } else { Ok(()) }
}
