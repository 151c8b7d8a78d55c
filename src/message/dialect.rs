//! How messages map to calls.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;

use super::{Fault, Message};
use crate::json::{Argument, LoneSurrogate, Text, Value};

/// How the messages of a kind of JSON-RPC map to the calls that a policy is about.
///
/// A gate has one dialect for good; no header chooses it. [`Mcp`](super::Mcp) and
/// [`PlainJsonRpc`](super::PlainJsonRpc) are shipped.
///
/// # Example
///
/// Methods of the form `call:TOOL`:
///
/// ```
/// use tower_toolgate::message::{Dialect, DialectRules, Fault, Message, Target, ToolArguments};
///
/// #[derive(Debug)]
/// struct Prefixed;
///
/// impl Dialect for Prefixed {
///     fn rules(&self) -> DialectRules {
///         DialectRules::PLAIN
///     }
///
///     fn target(&self, message: &Message<'_>) -> Result<Target, Fault> {
///         match message.method()?.strip_prefix("call:") {
///             Some("") => Err(Fault::NameEmpty),
///             Some(tool) => Ok(Target::Tool { name: tool.to_owned().into(), arguments: ToolArguments::Params }),
///             None => Ok(Target::Method),
///         }
///     }
/// }
/// ```
pub trait Dialect: Any + fmt::Debug + Send + Sync {
    /// How bodies of this dialect are read.
    fn rules(&self) -> DialectRules;

    /// What a request or notification asks for. Responses are not asked about.
    ///
    /// # Errors
    ///
    /// The message is not what its method requires.
    fn target(&self, message: &Message<'_>) -> Result<Target, Fault>;
}

/// How bodies of a dialect are read.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DialectRules {
    /// Where batches are legal.
    pub batches: Batches,
    /// The media types of bodies.
    pub media_types: &'static [&'static str],
    /// Whether bodies, headers and HTTP methods follow the transport of MCP: bodiless GET and DELETE pass,
    /// `Mcp-*` headers mirror the body, calls need an id, responses come from clients.
    pub mcp_transport: bool,
    /// Whether `params` may be an array.
    pub positional_params: bool,
    /// Names in `params` that nothing else in it may resemble.
    pub reserved_params: &'static [&'static str],
}

impl DialectRules {
    /// JSON-RPC 2.0 as its specification has it.
    pub const PLAIN: Self = Self {
        batches: Batches::Accept,
        media_types: &["application/json", "application/json-rpc"],
        mcp_transport: false,
        positional_params: true,
        reserved_params: &[],
    };
}

/// Where batches are legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Batches {
    /// Everywhere.
    Accept,
    /// Where no revision of MCP newer than 2025-03-26 is named, in the header or in a message.
    AcceptUpTo20250326,
    /// Nowhere.
    Refuse,
}

/// What a message asks for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Target {
    /// What the role's `methods` must name.
    Method,
    /// The protocol's own plumbing.
    Plumbing,
    /// A prompt.
    Prompt(Name),
    /// A resource.
    Resource(Name),
    /// Several of the others; all must be permitted. With none in it, the same as [`Method`](Self::Method).
    Several(Vec<Target>),
    /// A task.
    Task(Name),
    /// A tool.
    Tool {
        /// Its name.
        name: Name,
        /// Where its arguments are.
        arguments: ToolArguments,
    },
}

/// Where a tool's arguments are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolArguments {
    /// Nowhere: there are none.
    Absent,
    /// In `params.arguments`, which is read under [`DialectRules::mcp_transport`] only; elsewhere they count as
    /// arguments without names, which satisfy no rule.
    Nested,
    /// `params` itself.
    Params,
}

/// A name or URI: a place in the body, or a text of the dialect's own.
#[derive(Clone)]
pub struct Name(Inner);

#[derive(Clone)]
enum Inner {
    At(Text),
    Owned(Box<str>),
}

impl Name {
    pub(super) fn at(text: Text) -> Self {
        Self(Inner::At(text))
    }

    /// The string that a member of the body itself is, as a place: what is read of a nested value has other offsets.
    pub(super) fn of_member(bytes: &[u8], value: Value) -> Result<Self, Fault> {
        let text = value.as_text().ok_or(Fault::NameNotString)?;
        match text.decode(bytes) {
            Ok(name) if name.is_empty() => Err(Fault::NameEmpty),
            Ok(_) => Ok(Self::at(text)),
            Err(LoneSurrogate) => Err(Fault::LoneSurrogate),
        }
    }

    pub(super) fn resolve<'a>(&'a self, bytes: &'a [u8]) -> Cow<'a, str> {
        match &self.0 {
            // A name is made from a text only after it was decoded once.
            Inner::At(text) => text.decode(bytes).unwrap_or_default(),
            Inner::Owned(name) => Cow::Borrowed(name),
        }
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Self(Inner::Owned(name.into()))
    }
}

impl TryFrom<Argument<'_>> for Name {
    type Error = Fault;

    /// The string that a member is.
    fn try_from(member: Argument<'_>) -> Result<Self, Fault> {
        match member.as_str() {
            Some(Ok(name)) if name.is_empty() => Err(Fault::NameEmpty),
            Some(Ok(name)) => Ok(Self::from(name.into_owned())),
            Some(Err(LoneSurrogate)) => Err(Fault::LoneSurrogate),
            None => Err(Fault::NameNotString),
        }
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::At(text) => f.debug_tuple("At").field(text).finish(),
            Inner::Owned(name) => fmt::Debug::fmt(name, f),
        }
    }
}
