//! Trouble behind the gate, told to whoever waits.

use std::fmt;

use http::request::Parts;
use http::{HeaderName, StatusCode};

use super::denial::{Addressee, Client, Denial, DenialKind};
use crate::http::accepts_events;
use crate::message::{Era, Inspection, MessageKind};

// Parsed once: a look-up by `&str` would parse and fold the name anew.
static PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// What went wrong with the service behind the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UpstreamFault {
    /// It answered something that is no answer.
    InvalidAnswer,
    /// It switched protocols, which nobody had allowed.
    SwitchedProtocols,
    /// It did not answer in time.
    TimedOut,
    /// It answered with more than may be read.
    TooLarge,
    /// It takes no requests at the moment.
    Unavailable,
    /// It could not be reached.
    Unreachable,
}

impl UpstreamFault {
    /// A stable name, for logs and for the `reason` of an answer.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::InvalidAnswer => "upstream.invalid_answer",
            Self::SwitchedProtocols => "upstream.switched_protocols",
            Self::TimedOut => "upstream.timed_out",
            Self::TooLarge => "upstream.too_large",
            Self::Unavailable => "upstream.unavailable",
            Self::Unreachable => "upstream.unreachable",
        }
    }

    /// The HTTP status for clients that read no answers in band.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::InvalidAnswer | Self::SwitchedProtocols | Self::TooLarge | Self::Unreachable => {
                StatusCode::BAD_GATEWAY
            }
            Self::TimedOut => StatusCode::GATEWAY_TIMEOUT,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl fmt::Display for UpstreamFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidAnswer => "the server gave no valid answer",
            Self::SwitchedProtocols => "the server switched protocols",
            Self::TimedOut => "the server did not answer in time",
            Self::TooLarge => "the server's answer is too long",
            Self::Unavailable => "the server takes no requests at the moment",
            Self::Unreachable => "the server could not be reached",
        })
    }
}

impl std::error::Error for UpstreamFault {}

/// Who waits for the answer to a request that a gate has let pass.
///
/// A service behind a gate that cannot get an answer for it makes one that the client can read.
///
/// # Example
///
/// ```
/// use http::Request;
/// use tower_toolgate::answer::{Negotiate, Requester, RespondToDenial, UpstreamFault};
///
/// // In a proxy, before the request is sent on:
/// let (head, _body) = Request::new(()).into_parts();
/// let requester = Requester::of(&head);
/// // When nobody answers:
/// let response = Negotiate.respond(&requester.denial(UpstreamFault::TimedOut));
/// assert_eq!(response.status(), 504);
/// ```
#[derive(Clone, Debug)]
pub struct Requester {
    inspection: Option<Inspection>,
    streamable: bool,
}

impl Requester {
    pub(crate) fn new(inspection: Option<Inspection>, streamable: bool) -> Self {
        Self { inspection, streamable }
    }

    /// Who waits for the answer to a request with this head.
    #[must_use]
    pub fn of(head: &Parts) -> Self {
        let inspection = Inspection::of(&head.extensions).cloned();
        let modern = inspection.as_ref().is_some_and(|inspection| inspection.era() == Era::Modern);
        Self { inspection, streamable: is_streamable(head) || modern }
    }

    /// The inspection of the request, if a gate has read it.
    #[must_use]
    pub fn inspection(&self) -> Option<&Inspection> {
        self.inspection.as_ref()
    }

    /// What they are told.
    #[must_use]
    pub fn denial(&self, fault: UpstreamFault) -> Denial {
        self.refusal(DenialKind::Upstream(fault))
    }

    /// What they are told of a response that is not handed on.
    pub(crate) fn refusal(&self, kind: DenialKind) -> Denial {
        let era = self.inspection.as_ref().map_or(Era::Legacy, Inspection::era);
        let client = Client { streamable: self.streamable, era };
        Denial::new(kind, self.addressee(), client)
    }

    /// Whether they speak the streamable transport.
    pub(crate) fn is_streamable(&self) -> bool {
        self.streamable
    }

    fn addressee(&self) -> Addressee {
        let Some(inspection) = &self.inspection else { return Addressee::Unknown };
        let requests = inspection.messages().filter(|message| message.kind() == MessageKind::Request);
        let mut ids = requests.filter_map(|message| message.id().map(Box::from));
        if inspection.is_batch() {
            let ids: Vec<_> = ids.map(|id| (id, true)).collect();
            return if ids.is_empty() { Addressee::Unknown } else { Addressee::Batch(ids) };
        }
        ids.next().map_or(Addressee::Unknown, Addressee::Id)
    }
}

/// Whether a head announces the streamable transport.
pub(crate) fn is_streamable(head: &Parts) -> bool {
    head.headers.contains_key(&PROTOCOL_VERSION) || accepts_events(&head.headers)
}
