//! What people see of a message.

use std::borrow::Cow;
use std::fmt;

use super::dialect::{Name, Target, ToolArguments};
use super::method::MethodRow;
use super::read::{Params, Record};
use super::{Fault, Inspection};
use crate::json::{Arguments, Member, Scope};

/// What kind of message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MessageKind {
    /// A method without an id.
    Notification,
    /// A result or an error: an answer to what the other side asked.
    Reply,
    /// A method with an id.
    Request,
}

/// One message of a body.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    bytes: &'a [u8],
    members: &'a [Member],
    record: &'a Record,
}

impl<'a> Message<'a> {
    pub(super) fn new(bytes: &'a [u8], members: &'a [Member], record: &'a Record) -> Self {
        let members = members.get(record.members.clone()).unwrap_or_default();
        Self { bytes, members, record }
    }

    /// What kind of message it is.
    #[must_use]
    pub fn kind(&self) -> MessageKind {
        self.record.kind
    }

    /// The id as it was written, quotes included.
    #[must_use]
    pub fn id(&self) -> Option<&'a str> {
        self.record.id.map(|span| str::from_utf8(span.of(self.bytes)).unwrap_or_default())
    }

    /// Where the id stands in the body, quotes included.
    #[cfg(feature = "upstream")]
    pub(crate) fn id_place(&self) -> Option<std::ops::Range<usize>> {
        self.record.id.map(|span| span.start()..span.end())
    }

    /// The place in the batch, from 0; 0 for a message on its own.
    #[must_use]
    pub fn position(&self) -> usize {
        self.record.position
    }

    /// The method; replies have none.
    ///
    /// # Errors
    ///
    /// [`Fault::MethodMissing`] for a reply.
    pub fn method(&self) -> Result<Cow<'a, str>, Fault> {
        if let Some(row) = self.record.row {
            return Ok(Cow::Borrowed(row.method));
        }
        let text = self.record.method.ok_or(Fault::MethodMissing)?;
        text.decode(self.bytes).map_err(|_| Fault::LoneSurrogate)
    }

    /// The method's row in the table.
    pub(super) fn row(&self) -> Option<&'static MethodRow> {
        self.record.row
    }

    /// The method, as a name for a [`Target`].
    #[must_use]
    pub fn method_name(&self) -> Option<Name> {
        self.record.method.map(Name::at)
    }

    /// The members of `params`.
    #[must_use]
    pub fn params(&self) -> Arguments<'a> {
        match self.record.params {
            Params::Absent => Arguments::ABSENT,
            Params::Named => Arguments::named(self.bytes, self.members, Scope::Params),
            Params::Positional => Arguments::POSITIONAL,
        }
    }

    /// The string in a member of `params`, as a name for a [`Target`] that costs no copy.
    ///
    /// # Errors
    ///
    /// There is no such member, it is no string, it is empty, or it has half a surrogate pair.
    pub fn param_name(&self, member: &str) -> Result<Name, Fault> {
        let named = |other: &&Member| other.scope == Scope::Params && other.name.is(self.bytes, member);
        let member = self.members.iter().find(named).ok_or(Fault::NameMissing)?;
        Name::of_member(self.bytes, member.value)
    }

    /// The members of `params._meta`, under the transport of MCP.
    #[must_use]
    pub fn meta(&self) -> Arguments<'a> {
        Arguments::named(self.bytes, self.members, Scope::Meta)
    }

    /// What the message asks for: at least one call.
    pub fn calls(&self) -> impl Iterator<Item = Call<'a>> + Clone + use<'a> {
        let (this, record) = (*self, self.record);
        let targets = match &record.target {
            Target::Several(targets) if targets.is_empty() => &[Target::Method],
            Target::Several(targets) => targets.as_slice(),
            target @ (Target::Method
            | Target::Plumbing
            | Target::Prompt(_)
            | Target::Resource(_)
            | Target::Task(_)
            | Target::Tool { .. }) => std::slice::from_ref(target),
        };
        targets.iter().map(move |target| this.call(target))
    }

    fn call(&self, target: &'a Target) -> Call<'a> {
        if self.record.kind == MessageKind::Reply {
            return Call::Reply;
        }
        let method = self.method().unwrap_or_default();
        match target {
            Target::Plumbing => Call::Plumbing { method },
            Target::Prompt(name) => Call::Prompt { name: name.resolve(self.bytes) },
            Target::Resource(uri) => Call::Resource { uri: uri.resolve(self.bytes) },
            Target::Task(id) => Call::Task { id: id.resolve(self.bytes), method },
            Target::Tool { name, arguments } => {
                Call::Tool { name: name.resolve(self.bytes), arguments: self.arguments(*arguments) }
            }
            // Targets do not nest: several within several are nobody's, and only `methods` can name them.
            Target::Method | Target::Several(_) => Call::Method { method },
        }
    }

    fn arguments(&self, place: ToolArguments) -> Arguments<'a> {
        match place {
            ToolArguments::Absent => Arguments::ABSENT,
            ToolArguments::Nested if self.record.nested => Arguments::named(self.bytes, self.members, Scope::Arguments),
            ToolArguments::Nested => Arguments::POSITIONAL,
            ToolArguments::Params => self.params(),
        }
    }
}

impl fmt::Debug for Message<'_> {
    /// What is asked for, never with which values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls: Vec<_> = self.calls().collect();
        f.debug_struct("Message").field("kind", &self.kind()).field("calls", &calls).finish_non_exhaustive()
    }
}

/// What a rule is about.
#[derive(Clone)]
pub enum Call<'a> {
    /// A use of a method that only the role's `methods` can permit.
    Method {
        /// The method.
        method: Cow<'a, str>,
    },
    /// The protocol's own plumbing.
    Plumbing {
        /// The method.
        method: Cow<'a, str>,
    },
    /// A prompt.
    Prompt {
        /// Its name.
        name: Cow<'a, str>,
    },
    /// An answer to what the server asked.
    Reply,
    /// A read of a resource.
    Resource {
        /// Its URI.
        uri: Cow<'a, str>,
    },
    /// A use of a task.
    Task {
        /// Its id.
        id: Cow<'a, str>,
        /// The method.
        method: Cow<'a, str>,
    },
    /// A call of a tool.
    Tool {
        /// Its name.
        name: Cow<'a, str>,
        /// Its arguments.
        arguments: Arguments<'a>,
    },
}

impl fmt::Debug for Call<'_> {
    /// Names, but not that of a task: whoever holds it can use the task.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method { method } => f.debug_struct("Method").field("method", method).finish(),
            Self::Plumbing { method } => f.debug_struct("Plumbing").field("method", method).finish(),
            Self::Prompt { name } => f.debug_struct("Prompt").field("name", name).finish(),
            Self::Reply => f.write_str("Reply"),
            Self::Resource { uri } => f.debug_struct("Resource").field("uri", uri).finish(),
            Self::Task { method, .. } => f.debug_struct("Task").field("method", method).finish_non_exhaustive(),
            Self::Tool { name, arguments } => {
                f.debug_struct("Tool").field("name", name).field("arguments", arguments).finish()
            }
        }
    }
}

impl Inspection {
    /// The messages, in the order of the body.
    #[must_use]
    pub fn messages(&self) -> impl ExactSizeIterator<Item = Message<'_>> {
        let (bytes, members) = (self.bytes().as_ref(), self.members());
        self.records().iter().map(move |record| Message::new(bytes, members, record))
    }
}
