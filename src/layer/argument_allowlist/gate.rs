//! What every clone of the service shares.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, CONNECTION, HeaderValue};
use http::{Response, StatusCode};

use crate::answer::{Denial, Negotiate, RespondToDenial, grpc_status};
use crate::http::{BodyLimits, Place, Reading};
use crate::identity::{ExtractRoles, RolesFromExtensions, Server};
use crate::message::Mcp;
use crate::observe::OnDecision;
use crate::policy::Policy;

const MAX_BODY_BYTES: usize = 4 << 20;
const MAX_LIST_BYTES: usize = 16 << 20;

#[derive(Clone)]
pub(super) struct Gate {
    pub(super) policy: Policy,
    pub(super) protocol: Protocol,
    pub(super) limits: BodyLimits,
    pub(super) roles: Arc<dyn ExtractRoles>,
    pub(super) server: Option<Server>,
    pub(super) respond: Arc<dyn RespondToDenial>,
    pub(super) observer: Option<Arc<dyn OnDecision>>,
    #[cfg(feature = "digest")]
    pub(super) digest_key: Option<crate::observe::DigestKey>,
    pub(super) upgrades: Vec<Box<str>>,
    pub(super) shadow: bool,
    pub(super) place: Place,
    /// What a list, or an event that may be one, may have in bytes.
    pub(super) max_list_bytes: usize,
}

/// What requests speak.
#[derive(Clone, Debug)]
pub(super) enum Protocol {
    /// gRPC, of which only the path is read.
    Grpc,
    /// JSON-RPC of some dialect.
    JsonRpc(Reading),
}

impl Gate {
    pub(super) fn new(policy: Policy) -> Self {
        Self {
            policy,
            protocol: Protocol::JsonRpc(Reading { dialect: Arc::new(Mcp::new()) }),
            limits: BodyLimits { bytes: MAX_BODY_BYTES, budget: None, taken: None, timed_out },
            roles: Arc::new(RolesFromExtensions::default()),
            server: None,
            respond: Arc::new(Negotiate),
            observer: None,
            #[cfg(feature = "digest")]
            digest_key: None,
            upgrades: Vec::new(),
            shadow: false,
            place: Place::default(),
            max_list_bytes: MAX_LIST_BYTES,
        }
    }

    /// The response to a denial whose request's body may not have been read to its end.
    pub(super) fn answer_unread(&self, denial: &Denial, unread: bool) -> Response<Bytes> {
        let mut response = self.answer(denial);
        if unread {
            // What is left of the body must not be taken for the next request.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// The response to a denial, which it carries.
    pub(super) fn answer(&self, denial: &Denial) -> Response<Bytes> {
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
            Protocol::JsonRpc(reading) if reading.dialect.rules().mcp_transport => "DELETE, GET, OPTIONS, POST",
            Protocol::JsonRpc(_) => "OPTIONS, POST",
        }
    }
}

/// The default of [`with_timeout_errors`](super::ArgumentAllowlistLayer::with_timeout_errors).
fn timed_out(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::TimedOut)
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("policy", &self.policy)
            .field("protocol", &self.protocol)
            .field("limits", &self.limits)
            .field("server", &self.server)
            .field("shadow", &self.shadow)
            .finish_non_exhaustive()
    }
}
