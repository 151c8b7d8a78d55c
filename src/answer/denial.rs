//! A decision not to forward.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;

use super::UpstreamFault;
use super::requester::is_streamable;
use crate::binding::UnboundRequest;
use crate::http::{BodyFault, HeadFault};
use crate::json;
use crate::message::{self, Call, Era, HeaderMismatch, Inspection, Message, MessageKind};
use crate::policy::{Denied, short};
#[cfg(feature = "server-trust")]
use crate::server::ServerRefusal;
use crate::trust::TrustFault;

/// A decision not to forward. Holds names, never values. Cheap to clone.
///
/// It is in the extensions of the response that a gate answers with.
#[derive(Clone, Debug)]
pub struct Denial(Arc<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    kind: DenialKind,
    subject: Subject,
    addressee: Addressee,
    client: Client,
}

/// Why nothing was forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DenialKind {
    /// Another message of the same batch was refused.
    Batch,
    /// The ids that it names, or nobody to whom they could belong.
    Binding(UnboundRequest),
    /// The body did not arrive.
    Body(BodyFault),
    /// The request's head.
    Head(HeadFault),
    /// A header that mirrors the body and cannot be believed.
    Header(HeaderMismatch),
    /// The body is no JSON, or no JSON that everybody reads alike.
    Json(json::Error),
    /// The body is no message, or none that everybody reads alike.
    Message(message::Fault),
    /// The policy.
    Policy(Denied),
    /// What is declared of the server.
    #[cfg(feature = "server-trust")]
    #[cfg_attr(docsrs, doc(cfg(feature = "server-trust")))]
    Server(ServerRefusal),
    /// What the session has received.
    Trust(TrustFault),
    /// The service behind the gate.
    Upstream(UpstreamFault),
}

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// Some other use of a method.
    Method(Box<str>),
    /// A prompt.
    Prompt(Box<str>),
    /// A resource.
    Resource(Box<str>),
    /// A tool.
    Tool(Box<str>),
    /// It could not be read.
    #[default]
    Unknown,
}

/// Who waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Addressee {
    /// The senders of these ids of a batch, each with whether it was the one that was refused.
    Batch(Vec<(Box<str>, bool)>),
    /// The sender of one id, as it was written.
    Id(Box<str>),
    /// Nobody.
    Nobody,
    /// Somebody whose id could not be read.
    Unknown,
}

/// What kind of client it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) streamable: bool,
    pub(crate) era: Era,
}

impl Client {
    /// The one that has sent a head, in an era.
    pub(crate) fn of(head: &Parts, era: Era) -> Self {
        Self { streamable: era == Era::Modern || is_streamable(head), era }
    }
}

impl DenialKind {
    /// Whether a rule on who may do what refuses it, and not what is wrong with it.
    pub(super) fn is_of_rules(&self) -> bool {
        match self {
            Self::Batch | Self::Policy(_) | Self::Trust(TrustFault::Refused(_)) => true,
            _ => self.is_of_server(),
        }
    }

    /// Whether what is asked for is not there, as far as the caller may know.
    pub(super) fn hides(&self) -> bool {
        matches!(self, Self::Policy(_)) || self.is_of_server()
    }

    #[cfg(feature = "server-trust")]
    fn is_of_server(&self) -> bool {
        matches!(self, Self::Server(refusal) if refusal.is_of_request())
    }

    #[cfg(not(feature = "server-trust"))]
    fn is_of_server(&self) -> bool {
        false
    }
}

impl Denial {
    pub(crate) fn new(kind: DenialKind, addressee: Addressee, client: Client) -> Self {
        let addressee = match (&kind, addressee) {
            // What asks for no answer gets none.
            (DenialKind::Message(message::Fault::CallWithoutId), Addressee::Unknown) => Addressee::Nobody,
            (_, addressee) => addressee,
        };
        Self(Arc::new(Inner { kind, subject: Subject::default(), addressee, client }))
    }

    /// A denial of one message, alone in its body.
    pub(crate) fn of_message(kind: DenialKind, message: &Message<'_>, subject: Subject, client: Client) -> Self {
        let addressee = match (message.kind(), message.id()) {
            (MessageKind::Request, Some(id)) => Addressee::Id(id.into()),
            // An answer to the server that is refused has nobody waiting for a word about it.
            (MessageKind::Notification | MessageKind::Reply, _) | (MessageKind::Request, None) => Addressee::Nobody,
        };
        Self(Arc::new(Inner { kind, subject, addressee, client }))
    }

    /// The same for all of a batch, of which this message is the one that is refused.
    pub(crate) fn of_batch(self, inspection: &Inspection, at: usize) -> Self {
        if !inspection.is_batch() {
            return self;
        }
        let requests = inspection.messages().filter(|message| message.kind() == MessageKind::Request);
        let ids = requests.filter_map(|message| Some((Box::from(message.id()?), message.position() == at)));
        self.with_addressee(Addressee::Batch(ids.collect()))
    }

    /// A policy's denial of a request that was judged by its head.
    pub(crate) fn of_head(denied: Denied, subject: Subject, client: Client) -> Self {
        let (kind, addressee) = (DenialKind::Policy(denied), Addressee::Unknown);
        Self(Arc::new(Inner { kind, subject, addressee, client }))
    }

    /// A denial of a tool for which nobody waits.
    #[cfg(feature = "server-trust")]
    pub(crate) fn of_tool(kind: DenialKind, tool: &str) -> Self {
        let (subject, client) = (Subject::Tool(short(tool)), Client::default());
        Self(Arc::new(Inner { kind, subject, addressee: Addressee::Nobody, client }))
    }

    pub(crate) fn with_addressee(&self, addressee: Addressee) -> Self {
        Self(Arc::new(Inner { addressee, ..(*self.0).clone() }))
    }

    /// Why nothing was forwarded.
    #[must_use]
    pub fn kind(&self) -> &DenialKind {
        &self.0.kind
    }

    /// What was asked for.
    #[must_use]
    pub fn subject(&self) -> &Subject {
        &self.0.subject
    }

    /// The argument that it is about.
    #[must_use]
    pub fn argument(&self) -> Option<&str> {
        match &self.0.kind {
            DenialKind::Policy(denied) => denied.argument(),
            _ => None,
        }
    }

    /// A stable name of the reason, such as `policy.argument_value`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match &self.0.kind {
            DenialKind::Batch => "batch.refused",
            DenialKind::Binding(unbound) => unbound.reason(),
            DenialKind::Body(fault) => fault.reason(),
            DenialKind::Head(fault) => fault.reason(),
            DenialKind::Header(mismatch) => mismatch.reason(),
            DenialKind::Json(error) => error.fault().reason(),
            DenialKind::Message(fault) => fault.reason(),
            DenialKind::Policy(denied) => denied.reason(),
            #[cfg(feature = "server-trust")]
            DenialKind::Server(refusal) => refusal.reason(),
            DenialKind::Trust(fault) => fault.reason(),
            DenialKind::Upstream(fault) => fault.reason(),
        }
    }

    /// The HTTP status for clients that read no answers in band.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match &self.0.kind {
            DenialKind::Binding(UnboundRequest::SessionUnknown(_)) => StatusCode::NOT_FOUND,
            DenialKind::Binding(UnboundRequest::SessionInUrl | UnboundRequest::SessionMissing) => {
                StatusCode::BAD_REQUEST
            }
            DenialKind::Binding(_) => StatusCode::FORBIDDEN,
            DenialKind::Body(BodyFault::BudgetExhausted) => StatusCode::SERVICE_UNAVAILABLE,
            DenialKind::Body(BodyFault::Failed) => StatusCode::BAD_REQUEST,
            DenialKind::Body(BodyFault::TimedOut) => StatusCode::REQUEST_TIMEOUT,
            DenialKind::Body(BodyFault::TooLarge) => StatusCode::PAYLOAD_TOO_LARGE,
            DenialKind::Head(fault) => fault.status(),
            DenialKind::Header(_) | DenialKind::Json(_) | DenialKind::Message(_) => StatusCode::BAD_REQUEST,
            DenialKind::Policy(Denied::ArgumentNotUnicode { .. }) => StatusCode::BAD_REQUEST,
            DenialKind::Batch | DenialKind::Policy(_) => StatusCode::FORBIDDEN,
            #[cfg(feature = "server-trust")]
            DenialKind::Server(refusal) if !refusal.is_of_request() => StatusCode::BAD_GATEWAY,
            #[cfg(feature = "server-trust")]
            DenialKind::Server(_) => StatusCode::FORBIDDEN,
            DenialKind::Trust(TrustFault::ConversationAmbiguous) => StatusCode::BAD_REQUEST,
            DenialKind::Trust(TrustFault::StoreUnavailable | TrustFault::Withheld) => StatusCode::SERVICE_UNAVAILABLE,
            DenialKind::Trust(TrustFault::Refused(_)) => StatusCode::FORBIDDEN,
            DenialKind::Upstream(fault) => fault.status(),
        }
    }

    /// The code of the JSON-RPC error.
    #[must_use]
    pub fn code(&self) -> i32 {
        match &self.0.kind {
            DenialKind::Binding(UnboundRequest::SessionInUrl | UnboundRequest::SessionMissing) => -32600,
            DenialKind::Binding(UnboundRequest::MethodGone | UnboundRequest::TaskList) => -32601,
            DenialKind::Binding(UnboundRequest::TaskUnknown(_)) => -32602,
            DenialKind::Header(_) => -32020,
            DenialKind::Json(error) if !error.fault().is_ambiguity() => -32700,
            DenialKind::Json(_) | DenialKind::Message(_) => -32600,
            DenialKind::Policy(Denied::ArgumentNotUnicode { .. })
            | DenialKind::Trust(TrustFault::ConversationAmbiguous) => -32600,
            DenialKind::Batch
            | DenialKind::Binding(UnboundRequest::PrincipalMissing | UnboundRequest::SessionUnknown(_))
            | DenialKind::Body(_)
            | DenialKind::Head(_)
            | DenialKind::Policy(_)
            | DenialKind::Trust(_)
            | DenialKind::Upstream(_) => i32::from(self.status().as_u16()),
            #[cfg(feature = "server-trust")]
            DenialKind::Server(_) => i32::from(self.status().as_u16()),
        }
    }

    /// The id that waits for an answer, as it was written; `None` for a batch, a notification, and what could not be
    /// read.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        match &self.0.addressee {
            Addressee::Id(id) => Some(id),
            Addressee::Batch(_) | Addressee::Nobody | Addressee::Unknown => None,
        }
    }

    /// Whether somebody waits for an answer who can be named.
    pub(crate) fn is_awaited(&self) -> bool {
        matches!(self.0.addressee, Addressee::Id(_) | Addressee::Batch(_))
    }

    /// Whether the client announced the streamable transport, and so reads answers in band.
    #[must_use]
    pub fn is_streamable(&self) -> bool {
        self.0.client.streamable
    }

    /// The era of MCP that the request spoke.
    #[must_use]
    pub fn era(&self) -> Era {
        self.0.client.era
    }

    pub(crate) fn addressee(&self) -> &Addressee {
        &self.0.addressee
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            DenialKind::Batch => f.write_str("another message of the batch was refused"),
            DenialKind::Binding(unbound) => unbound.fmt(f),
            DenialKind::Body(fault) => fault.fmt(f),
            DenialKind::Head(fault) => fault.fmt(f),
            DenialKind::Header(mismatch) => mismatch.fmt(f),
            DenialKind::Json(error) => error.fmt(f),
            DenialKind::Message(fault) => fault.fmt(f),
            DenialKind::Policy(denied) => write_denied(f, denied, &self.0.subject),
            #[cfg(feature = "server-trust")]
            DenialKind::Server(refusal) if refusal.is_of_request() => write!(f, "{}: {refusal}", self.0.subject),
            #[cfg(feature = "server-trust")]
            DenialKind::Server(refusal) => refusal.fmt(f),
            DenialKind::Trust(fault @ TrustFault::Refused(_)) => write!(f, "{}: {fault}", self.0.subject),
            DenialKind::Trust(fault) => fault.fmt(f),
            DenialKind::Upstream(fault) => fault.fmt(f),
        }
    }
}

impl Error for Denial {}

impl Subject {
    pub(crate) fn of(call: &Call<'_>) -> Self {
        match call {
            Call::Method { method } | Call::Plumbing { method } | Call::Task { method, .. } => {
                Self::Method(short(method))
            }
            Call::Prompt { name } => Self::Prompt(short(name)),
            Call::Reply => Self::Unknown,
            Call::Resource { uri } => Self::Resource(short(uri)),
            Call::Tool { name, .. } => Self::Tool(short(name)),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method(name) => write!(f, "method '{}'", name.escape_debug()),
            Self::Prompt(name) => write!(f, "prompt '{}'", name.escape_debug()),
            Self::Resource(uri) => write!(f, "resource '{}'", uri.escape_debug()),
            Self::Tool(name) => write!(f, "tool '{}'", name.escape_debug()),
            Self::Unknown => f.write_str("this"),
        }
    }
}

/// A policy's reason together with what it is about.
fn write_denied(f: &mut fmt::Formatter<'_>, denied: &Denied, subject: &Subject) -> fmt::Result {
    match denied {
        Denied::MethodNotAllowed
        | Denied::PromptNotAllowed
        | Denied::ResourceNotAllowed
        | Denied::TaskNotAllowed
        | Denied::ToolDenied
        | Denied::ToolGloballyDenied
        | Denied::ToolNotAllowed => write!(f, "{subject} is not permitted"),
        Denied::RoleMissing | Denied::RoleUnknown | Denied::ServerNotAllowed => write!(f, "{denied}"),
        Denied::ArgumentAmbiguous { .. }
        | Denied::ArgumentControl { .. }
        | Denied::ArgumentNotString { .. }
        | Denied::ArgumentNotUnicode { .. }
        | Denied::ArgumentRequired { .. }
        | Denied::ArgumentStructured { .. }
        | Denied::ArgumentUnknown { .. }
        | Denied::ArgumentValue { .. }
        | Denied::HostNotAllowed
        | Denied::HostNotString { .. }
        | Denied::PositionalArguments
        | Denied::UriNotCanonical => write!(f, "{denied} for {subject}"),
    }
}
