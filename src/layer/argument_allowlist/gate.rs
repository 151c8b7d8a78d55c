//! What every clone of the service shares, and the decisions that it takes.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, HeaderValue};
use http::request::Parts;
use http::{Request, Response, StatusCode};

use crate::answer::{
    Addressee, Client, Denial, DenialKind, Negotiate, RespondToDenial, Subject, UpstreamFault, grpc_status,
    is_streamable,
};
use crate::http::{
    Admission, BodyFault, BodyLimits, Collected, Context, HeadFault, Lost, Reading, RequestBody, admit, admit_grpc,
};
use crate::identity::{ExtractRoles, Roles, RolesFromExtensions, Server};
use crate::json::Arguments;
use crate::message::{Call, Era, IdSalvage, Inspection, Mcp, Message, MessageKind, ReadError};
use crate::observe::{DecisionEvent, OnDecision, Outcome};
use crate::policy::{Decision, Policy};

const MAX_BODY_BYTES: usize = 4 << 20;

#[derive(Clone)]
pub(super) struct Gate {
    policy: Policy,
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
}

/// What requests speak.
#[derive(Clone, Debug)]
pub(super) enum Protocol {
    /// gRPC, of which only the path is read.
    Grpc,
    /// JSON-RPC of some dialect.
    JsonRpc(Reading),
}

/// What happens to a request whose head is accepted.
pub(super) enum Admitted {
    /// Its body has no part in the decision, which is taken.
    Forward,
    /// Its body is received.
    Receive(Admission),
}

/// Who calls whom.
struct Caller<'a> {
    roles: Roles,
    server: Option<&'a str>,
    client: Client,
}

impl Gate {
    pub(super) fn new(policy: Policy) -> Self {
        Self {
            policy,
            protocol: Protocol::JsonRpc(Reading { dialect: Arc::new(Mcp::new()) }),
            limits: BodyLimits { bytes: MAX_BODY_BYTES, budget: None, timed_out },
            roles: Arc::new(RolesFromExtensions::default()),
            server: None,
            respond: Arc::new(Negotiate),
            observer: None,
            #[cfg(feature = "digest")]
            digest_key: None,
            upgrades: Vec::new(),
            shadow: false,
        }
    }

    /// Looks at the head: whether, and how, the body is to be received.
    pub(super) fn admit(&self, head: &Parts) -> Result<Admitted, Denial> {
        let refuse = |fault| self.refuse(head, DenialKind::Head(fault), None);
        match &self.protocol {
            Protocol::Grpc => {
                let tool = admit_grpc(head).map_err(refuse)?;
                let call = Call::Tool { name: tool.into(), arguments: Arguments::ABSENT };
                self.judge_head(head, &call).map(|()| Admitted::Forward)
            }
            Protocol::JsonRpc(reading) => {
                let admission = admit(head, &reading.dialect.rules(), &self.upgrades).map_err(refuse)?;
                Ok(Admitted::Receive(admission))
            }
        }
    }

    pub(super) fn limits(&self, admission: Admission) -> BodyLimits {
        match admission {
            Admission::Read => self.limits.clone(),
            Admission::Bodiless | Admission::Preflight => BodyLimits { bytes: 0, ..self.limits.clone() },
        }
    }

    /// Decides about a request that has arrived: what the inner service gets, or what the caller gets instead.
    pub(super) fn decide<B>(
        &self,
        mut head: Parts,
        received: Result<Collected, Lost>,
        admission: Admission,
    ) -> Result<Request<RequestBody<B>>, Denial> {
        let Collected { bytes, trailers, hold } = received.map_err(|lost| self.lost(&head, lost, admission))?;
        match admission {
            Admission::Preflight => {}
            Admission::Bodiless => self.judge_head(&head, &Call::Plumbing { method: head.method.as_str().into() })?,
            Admission::Read => self.judge_body(&mut head, &bytes)?,
        }
        Ok(Request::from_parts(head, RequestBody::buffered(bytes, trailers, hold)))
    }

    fn lost(&self, head: &Parts, lost: Lost, admission: Admission) -> Denial {
        let kind = match (lost.fault, admission) {
            (BodyFault::TooLarge, Admission::Bodiless | Admission::Preflight) => {
                DenialKind::Head(HeadFault::BodyNotAllowed)
            }
            (fault, _) => DenialKind::Body(fault),
        };
        self.refuse(head, kind, lost.id)
    }

    /// A request whose body has no part in the decision is judged by who sends it, and to which server.
    fn judge_head(&self, head: &Parts, call: &Call<'_>) -> Result<(), Denial> {
        let caller = self.caller(head, Era::Legacy);
        let decision = self.policy.check_any(caller.roles.names(), caller.server, call);
        let Decision::Deny(denied) = decision else {
            self.tell(head, &caller, None, Outcome::Allow, None);
            return Ok(());
        };
        let denial = Denial::of_head(denied, Subject::of(call), caller.client);
        let outcome = if self.shadow { Outcome::ShadowDeny } else { Outcome::Deny };
        self.tell(head, &caller, None, outcome, Some(&denial));
        if self.shadow { Ok(()) } else { Err(denial) }
    }

    fn judge_body(&self, head: &mut Parts, bytes: &Bytes) -> Result<(), Denial> {
        let Protocol::JsonRpc(reading) = &self.protocol else { return Ok(()) };
        let context = Context::of(head, bytes, reading).map_err(|error| {
            let kind = match error {
                ReadError::Json(error) => DenialKind::Json(error),
                ReadError::Message(fault) => DenialKind::Message(fault),
                ReadError::Mirror(mismatch) => DenialKind::Header(mismatch),
            };
            self.refuse(head, kind, IdSalvage::of(bytes))
        })?;
        let inspection = context.inspection();
        let caller = self.caller(head, inspection.era());
        match self.first_denial(&caller, inspection) {
            None => {
                inspection.messages().for_each(|message| self.tell(head, &caller, Some(message), Outcome::Allow, None));
                Ok(())
            }
            Some((at, denial)) if self.shadow => {
                self.tell_all(head, &caller, inspection, at, &denial, Outcome::ShadowDeny);
                Ok(())
            }
            Some((at, denial)) => {
                self.tell_all(head, &caller, inspection, at, &denial, Outcome::Deny);
                Err(denial)
            }
        }
    }

    /// The first message that is denied, and the denial of the whole body that follows from it.
    fn first_denial(&self, caller: &Caller<'_>, inspection: &Inspection) -> Option<(usize, Denial)> {
        let (message, denied, subject) = inspection.messages().find_map(|message| {
            let permit = self.policy.permit(caller.roles.names(), caller.server, &message.calls());
            let (denied, at) = permit.err()?;
            let subject = message.calls().nth(at).map(|call| Subject::of(&call));
            Some((message, denied, subject.unwrap_or_default()))
        })?;
        let denial = Denial::of_message(denied, &message, subject, caller.client);
        let at = message.position();
        if !inspection.is_batch() {
            return Some((at, denial));
        }
        let requests = inspection.messages().filter(|message| message.kind() == MessageKind::Request);
        let ids = requests.filter_map(|message| Some((Box::from(message.id()?), message.position() == at)));
        Some((at, denial.with_addressee(Addressee::Batch(ids.collect()))))
    }

    fn caller<'a>(&'a self, head: &'a Parts, era: Era) -> Caller<'a> {
        let streamable = era == Era::Modern || is_streamable(head);
        let server = self.server.as_ref().or_else(|| head.extensions.get());
        Caller { roles: self.roles.roles(head), server: server.map(Server::as_str), client: Client { streamable, era } }
    }

    /// Refuses what could not be read.
    fn refuse(&self, head: &Parts, kind: DenialKind, id: Option<String>) -> Denial {
        let caller = self.caller(head, Era::Legacy);
        let addressee = id.map_or(Addressee::Unknown, |id| Addressee::Id(id.into()));
        let denial = Denial::new(kind, addressee, caller.client);
        self.tell(head, &caller, None, Outcome::Deny, Some(&denial));
        denial
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

    pub(super) fn allows_upgrades(&self) -> bool {
        !self.upgrades.is_empty()
    }

    pub(super) fn switched_protocols(&self) -> Response<Bytes> {
        self.answer(&Denial::new(
            DenialKind::Upstream(UpstreamFault::SwitchedProtocols),
            Addressee::Unknown,
            Client::default(),
        ))
    }

    /// Tells of every message of a body of which one is denied.
    fn tell_all(
        &self,
        head: &Parts,
        caller: &Caller<'_>,
        inspection: &Inspection,
        denied: usize,
        denial: &Denial,
        outcome: Outcome,
    ) {
        let others = Denial::new(DenialKind::Batch, denial.addressee().clone(), caller.client);
        for message in inspection.messages() {
            let denial = if message.position() == denied { denial } else { &others };
            self.tell(head, caller, Some(message), outcome, Some(denial));
        }
    }

    fn tell(
        &self,
        head: &Parts,
        caller: &Caller<'_>,
        message: Option<Message<'_>>,
        outcome: Outcome,
        denial: Option<&Denial>,
    ) {
        let Some(observer) = &self.observer else { return };
        observer.on_decision(&DecisionEvent {
            outcome,
            denial,
            message,
            head,
            roles: &caller.roles,
            server: caller.server,
            #[cfg(feature = "digest")]
            policy: &self.policy,
            #[cfg(feature = "digest")]
            key: self.digest_key.as_ref(),
        });
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
