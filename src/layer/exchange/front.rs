//! What layers share: how they read, and how they answer.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, CONNECTION, HeaderValue};
use http::request::Parts;
use http::{Response, StatusCode};

use crate::answer::{Denial, DenialKind, Negotiate, RespondToDenial, grpc_status};
use crate::http::{
    Admission, BodyFault, BodyLimits, Collected, Context, HeadFault, Lost, Place, Reading, StreamPlan, admit,
};
use crate::identity::{ExtractRoles, RolesFromExtensions, Server};
use crate::message::{IdSalvage, Inspection, Mcp, Mirror, ReadError};
use crate::observe::OnDecision;
use crate::response::{Plan, Watch};

const MAX_BODY_BYTES: usize = 4 << 20;
const MAX_LIST_BYTES: usize = 16 << 20;

/// What layers share: how they read, and how they answer.
#[derive(Clone)]
pub(crate) struct Front {
    pub(crate) protocol: Protocol,
    pub(crate) limits: BodyLimits,
    pub(crate) roles: Arc<dyn ExtractRoles>,
    pub(crate) server: Option<Server>,
    pub(crate) respond: Arc<dyn RespondToDenial>,
    pub(crate) observer: Option<Arc<dyn OnDecision>>,
    #[cfg(feature = "digest")]
    pub(crate) digests: crate::observe::Digests,
    pub(crate) upgrades: Vec<Box<str>>,
    pub(crate) place: Place,
    /// What a list, or an event that may be one, may have in bytes.
    pub(crate) max_list_bytes: usize,
}

/// What requests speak.
#[derive(Clone, Debug)]
pub(crate) enum Protocol {
    /// gRPC, of which only the path is read.
    Grpc,
    /// JSON-RPC of some dialect.
    JsonRpc(Reading),
}

impl Default for Front {
    fn default() -> Self {
        Self {
            protocol: Protocol::JsonRpc(Reading { dialect: Arc::new(Mcp::new()) }),
            limits: BodyLimits { bytes: MAX_BODY_BYTES, budget: None, taken: None, timed_out },
            roles: Arc::new(RolesFromExtensions::default()),
            server: None,
            respond: Arc::new(Negotiate),
            observer: None,
            #[cfg(feature = "digest")]
            digests: crate::observe::Digests::default(),
            upgrades: Vec::new(),
            place: Place::default(),
            max_list_bytes: MAX_LIST_BYTES,
        }
    }
}

impl Front {
    /// Whether, and how, the body of a request of JSON-RPC is to be received.
    pub(crate) fn admit(&self, head: &Parts) -> Result<Admission, Denial> {
        let Protocol::JsonRpc(reading) = &self.protocol else {
            return Err(self.refuse(head, DenialKind::Head(HeadFault::ContentTypeUnsupported), None));
        };
        if self.place.after && Context::is_read(head, reading) {
            return Ok(Admission::Read);
        }
        let admission = admit(head, &reading.dialect.rules(), &self.upgrades);
        admission.map_err(|fault| self.refuse(head, DenialKind::Head(fault), None))
    }

    pub(crate) fn limits(&self, head: &Parts, admission: Admission) -> BodyLimits {
        let mut limits = self.limits.clone();
        if admission != Admission::Read {
            limits.bytes = 0;
        }
        if let Some(budget) = &limits.budget {
            limits.taken = Context::taken(&head.extensions, budget);
        }
        limits
    }

    /// A body that has not arrived.
    pub(crate) fn lost(&self, head: &Parts, lost: Lost, admission: Admission) -> Denial {
        match (lost.fault, admission) {
            (BodyFault::TooLarge, Admission::Bodiless | Admission::Preflight) => {
                self.refuse(head, DenialKind::Head(HeadFault::BodyNotAllowed), None)
            }
            (fault, _) => self.refuse(head, DenialKind::Body(fault), lost.id),
        }
    }

    /// Refuses headers that mirror a body where there is none.
    pub(crate) fn check_bodiless(&self, head: &Parts, collected: &Collected) -> Result<(), Denial> {
        let trailers = collected.trailers.as_deref().map_or(Ok(()), Mirror::check_trailers);
        let checked = trailers.and_then(|()| Mirror::check_bodiless(&head.headers));
        checked.map_err(|error| self.refuse(head, DenialKind::Header(error), None))
    }

    /// Reads a body that has arrived.
    pub(crate) fn read(&self, head: &mut Parts, collected: &Collected) -> Result<Context, Denial> {
        let Collected { bytes, trailers, hold } = collected;
        let refuse = |head: &Parts, kind| Err(self.refuse(head, kind, IdSalvage::of(bytes)));
        let Protocol::JsonRpc(reading) = &self.protocol else {
            return refuse(head, DenialKind::Head(HeadFault::ContentTypeUnsupported));
        };
        let trailers = trailers.as_deref().filter(|_| reading.dialect.rules().mcp_transport);
        if let Some(Err(mismatch)) = trailers.map(Mirror::check_trailers) {
            return refuse(head, DenialKind::Header(mismatch));
        }
        Context::of(head, bytes, hold.as_ref(), reading, self.place).or_else(|error| refuse(head, error.into()))
    }

    /// Reads a body anew that this layer has changed.
    #[cfg(any(feature = "content-trust", feature = "provenance", feature = "server-trust"))]
    pub(crate) fn reread(&self, context: &Context, head: &mut Parts, bytes: &Bytes) -> Result<Context, Denial> {
        let read = context.reread(head, bytes);
        read.map_err(|error| self.refuse(head, error.into(), IdSalvage::of(bytes)))
    }

    /// The plan for the response to a request without a body.
    pub(crate) fn stream_plan(&self, head: &mut Parts) -> Option<Arc<Plan>> {
        StreamPlan::of(head, self.place)
    }

    /// The lists that the response to a body may be.
    pub(crate) fn watch(&self, inspection: &Inspection) -> Watch {
        if self.is_mcp() { Watch::of(inspection) } else { Watch::Nothing }
    }

    /// Whether requests speak MCP.
    pub(crate) fn is_mcp(&self) -> bool {
        matches!(&self.protocol, Protocol::JsonRpc(reading) if reading.dialect.rules().mcp_transport)
    }

    /// The response to a denial whose request's body may not have been read to its end.
    pub(crate) fn answer_unread(&self, denial: &Denial, unread: bool) -> Response<Bytes> {
        let mut response = self.answer(denial);
        if unread {
            // What is left of the body must not be taken for the next request.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// The response to a denial, which it carries.
    pub(crate) fn answer(&self, denial: &Denial) -> Response<Bytes> {
        let mut response = match &self.protocol {
            Protocol::Grpc => grpc_status(denial),
            Protocol::JsonRpc(_) => self.respond.respond(denial),
        };
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().entry(ALLOW).or_insert(HeaderValue::from_static(self.allowed_methods()));
        }
        response.extensions_mut().insert(denial.clone());
        response
    }

    fn allowed_methods(&self) -> &'static str {
        match &self.protocol {
            Protocol::Grpc => "POST",
            Protocol::JsonRpc(_) if self.is_mcp() => "DELETE, GET, OPTIONS, POST",
            Protocol::JsonRpc(_) => "OPTIONS, POST",
        }
    }
}

impl From<ReadError> for DenialKind {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Json(error) => Self::Json(error),
            ReadError::Message(fault) => Self::Message(fault),
            ReadError::Mirror(mismatch) => Self::Header(mismatch),
        }
    }
}

/// The default of what tells that the host's time for a body has passed.
fn timed_out(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::TimedOut)
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front")
            .field("protocol", &self.protocol)
            .field("limits", &self.limits)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
