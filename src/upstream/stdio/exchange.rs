//! A request of a client's: answered from here, or by the child.

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::answering::{Answering, Caller, Next, Patience};
use super::keep::{Shared, State, Up};
use super::link::{Asked, replaced};
use crate::Principal;
use crate::answer::{Addressee, Client, Denial, DenialKind, Requester, UpstreamFault};
use crate::http::{BodyLimits, Collect, Collected, Lost, accepts_events};
use crate::message::{self, Era, IdSalvage, Inspection, Mcp, Message, MessageKind, Mirror, ReadError, Revision};
use crate::upstream::UpstreamBody;
use crate::upstream::envelope::text_at;
use crate::upstream::future::after;
use crate::upstream::replies::reply;

type Reply = Response<UpstreamBody>;

impl Shared {
    pub(super) async fn handle<B>(&self, request: Request<B>) -> Reply
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        match head.method {
            Method::POST => self.post(head, body).await.unwrap_or_else(UpstreamBody::refusing),
            Method::GET => self.get(&head),
            _ => not_allowed(),
        }
    }

    /// Opens a stream of what the child says to nobody in particular.
    fn get(&self, head: &Parts) -> Reply {
        let revision = head.headers.get("mcp-protocol-version").and_then(|revision| revision.to_str().ok());
        if revision.is_some_and(|revision| Revision::parse(revision).era() == Era::Modern) {
            return not_allowed();
        }
        if !accepts_events(&head.headers) {
            return empty(StatusCode::NOT_ACCEPTABLE);
        }
        match self.hub.open(owner(head)) {
            Some(events) => stream(UpstreamBody::news(events)),
            None => UpstreamBody::refusing(Requester::of(head).denial(UpstreamFault::Unavailable)),
        }
    }

    async fn post<B>(&self, head: Parts, body: B) -> Result<Reply, Denial>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let deadline = after(self.config.timeout);
        let limits =
            BodyLimits { bytes: self.config.max_message_bytes, budget: None, taken: None, timed_out: |_| false };
        let collected = Collect::new(body, limits).await.map_err(|lost| denial_of_lost(&head, lost))?;
        let inspection = read(&head, &collected)?;
        let (caller, plan) = (Caller::of(&head, &inspection), Plan::of(&head, &inspection)?);
        // While the answer is waited for nothing is kept of the request, nor of what a gate has set aside for it.
        let (child, revision) = (self.child(&inspection), revision(&inspection));
        drop((collected, inspection, head));
        child.act(plan, &caller, deadline).await.or_else(|not_up| match not_up {
            NotUp::OtherEra => Ok(caller.id().map_or_else(
                || empty(StatusCode::ACCEPTED),
                |id| json(unsupported(id, &child.config.revision, revision.as_deref())),
            )),
            NotUp::Fault(fault) => {
                tracing::warn!(server.name = %self.config.name, upstream.fault = fault.reason(), "no answer");
                Err(caller.denial(fault))
            }
        })
    }

    /// The child that a request is for.
    fn child(&self, inspection: &Inspection) -> &Self {
        match (&self.modern, inspection.era()) {
            (Some(modern), Era::Modern) => modern,
            (Some(_), Era::Legacy) | (None, Era::Legacy | Era::Modern) => self,
        }
    }

    async fn act(&self, plan: Plan, caller: &Caller, deadline: Instant) -> Result<Reply, NotUp> {
        match plan {
            Plan::Accept => {}
            Plan::Cancel(cancellation) => self.cancel(&cancellation),
            Plan::Tell(text) => self.admit(deadline).await?.0.link.say(text)?,
            Plan::Greet(id) => return Ok(json(self.admit(deadline).await?.0.welcome.answer(&id))),
            Plan::Pong(id) => return Ok(json(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).into())),
            Plan::Ask(asked, endless) => {
                let (up, permit) = self.admit(deadline).await?;
                let ticket = up.link.ask(&asked, self.config.events())?;
                drop(asked);
                let patience = Patience { deadline, more: self.config.timeout, endless };
                return Ok(answer(Answering::new(ticket, permit, caller.clone(), patience)).await?);
            }
        }
        Ok(empty(StatusCode::ACCEPTED))
    }

    /// Cancels a request of the same principal's. That nothing is cancelled is no fault: it may have been answered.
    fn cancel(&self, cancellation: &Cancellation) {
        let State::Up(up) = &*self.state.borrow() else { return };
        let Cancellation { text, id, owner } = cancellation;
        if let Some(number) = up.link.number_of(text_at(text, id.clone()), owner.as_ref()) {
            // A child that does not read this will not read much else.
            _ = up.link.say(replaced(text, id.clone(), &number.to_string()));
        }
    }

    /// The child, and a place among those who may wait for it.
    async fn admit(&self, deadline: Instant) -> Result<(Up, OwnedSemaphorePermit), NotUp> {
        let permit = Arc::clone(&self.places).try_acquire_owned().map_err(|_| UpstreamFault::Unavailable)?;
        let up = timeout_at(deadline, self.up()).await.unwrap_or(Err(UpstreamFault::TimedOut.into()))?;
        Ok((up, permit))
    }

    /// The child. While one is being started it is waited for; once that has failed nobody waits.
    pub(super) async fn up(&self) -> Result<Up, NotUp> {
        self.wanted.notify_one();
        let mut state = self.state.subscribe();
        let settled = state.wait_for(|state| !matches!(state, State::Starting)).await;
        match &*settled.map_err(|_| UpstreamFault::Unavailable)? {
            State::Up(up) => Ok(up.clone()),
            State::Down(fault) => Err(NotUp::Fault(*fault)),
            State::OtherEra | State::Doubtful => Err(NotUp::OtherEra),
            State::Starting => Err(NotUp::Fault(UpstreamFault::Unavailable)),
        }
    }
}

/// Why there is no child for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotUp {
    Fault(UpstreamFault),
    /// It does not know the era of the request.
    OtherEra,
}

impl NotUp {
    /// The same for who has asked for nothing of one era.
    pub(super) fn fault(self) -> UpstreamFault {
        match self {
            Self::Fault(fault) => fault,
            Self::OtherEra => UpstreamFault::Unavailable,
        }
    }
}

impl From<UpstreamFault> for NotUp {
    fn from(fault: UpstreamFault) -> Self {
        Self::Fault(fault)
    }
}

/// The revision that a request names, as it is written.
fn revision(inspection: &Inspection) -> Option<Box<str>> {
    let message = inspection.messages().next().filter(|_| inspection.era() == Era::Modern)?;
    let value = message.meta().get("io.modelcontextprotocol/protocolVersion")?;
    Some(text_at(inspection.bytes(), value.place()).into())
}

/// By what clients that know both eras learn that there is only the other one: `UnsupportedProtocolVersionError` of
/// 2026-07-28.
fn unsupported(id: &str, known: &str, requested: Option<&str>) -> Bytes {
    let (known, requested) = (serde_json::json!([known]), requested.unwrap_or("null"));
    let data = format!(r#"{{"supported":{known},"requested":{requested}}}"#);
    reply(id, &format!(r#""error":{{"code":-32022,"message":"Unsupported protocol version","data":{data}}}"#))
}

/// What is to be done with a message, when the rest of its request is no longer there.
enum Plan {
    Accept,
    Ask(Asked, bool),
    Cancel(Cancellation),
    Greet(Box<str>),
    Pong(Box<str>),
    Tell(Bytes),
}

struct Cancellation {
    text: Bytes,
    id: Range<usize>,
    owner: Option<Principal>,
}

impl Plan {
    fn of(head: &Parts, inspection: &Inspection) -> Result<Self, Denial> {
        let message = inspection.messages().next().filter(|_| !inspection.is_batch());
        let Some(message) = message else {
            let kind = DenialKind::Message(message::Fault::BatchNotAllowed);
            return Err(Requester::new(Some(inspection.clone()), is_streamable(head, inspection)).refusal(kind));
        };
        Ok(match message.kind() {
            MessageKind::Notification => Self::of_notification(head, inspection, &message),
            MessageKind::Reply => Self::Accept,
            MessageKind::Request => Self::of_request(head, inspection, &message),
        })
    }

    fn of_notification(head: &Parts, inspection: &Inspection, message: &Message<'_>) -> Self {
        let text = inspection.bytes().clone();
        match (&*message.method().unwrap_or_default(), message.params().get("requestId")) {
            // The child has been greeted by us, asks nobody but us, and has the operator's roots.
            ("notifications/initialized" | "notifications/progress" | "notifications/roots/list_changed", _)
            | ("notifications/cancelled", None) => Self::Accept,
            ("notifications/cancelled", Some(id)) => {
                Self::Cancel(Cancellation { text, id: id.place(), owner: owner(head) })
            }
            _ => Self::Tell(text),
        }
    }

    fn of_request(head: &Parts, inspection: &Inspection, message: &Message<'_>) -> Self {
        let id = Box::from(message.id().unwrap_or("null"));
        let method = message.method().unwrap_or_default();
        let subscribes = method == "subscriptions/listen";
        match &*method {
            "initialize" => Self::Greet(id),
            "ping" => Self::Pong(id),
            _ => {
                let token = message.meta().get("progressToken").map(|token| token.place());
                let listens = (token.is_some() || subscribes) && accepts_events(&head.headers);
                let (text, place) = (inspection.bytes().clone(), message.id_place().unwrap_or_default());
                Self::Ask(Asked { text, id: place, token, owner: owner(head), listens }, subscribes)
            }
        }
    }
}

fn owner(head: &Parts) -> Option<Principal> {
    head.extensions.get::<Principal>().cloned()
}

fn is_streamable(head: &Parts, inspection: &Inspection) -> bool {
    Requester::of(head).is_streamable() || inspection.era() == Era::Modern
}

/// Waits for what comes first: a plain answer, or the beginning of a stream.
async fn answer(mut answering: Answering) -> Result<Reply, UpstreamFault> {
    match answering.next().await {
        Next::Answer(answer) => answer.map(json),
        Next::Notice(notice) => Ok(stream(UpstreamBody::answering(answering.beginning_with(notice)))),
    }
}

/// Reads a body, anew: what a gate has read of it may have been changed since, or have been read as another dialect.
fn read(head: &Parts, collected: &Collected) -> Result<Inspection, Denial> {
    let trailers = collected.trailers.as_deref().map_or(Ok(()), Mirror::check_trailers);
    let mirror = trailers.and_then(|()| Mirror::read(&head.headers)).map_err(ReadError::Mirror);
    let read = mirror.and_then(|mirror| Inspection::read(collected.bytes.clone(), &Mcp::new(), &mirror));
    read.map_err(|error| denial(head, error.into(), IdSalvage::of(&collected.bytes)))
}

fn denial_of_lost(head: &Parts, lost: Lost) -> Denial {
    denial(head, DenialKind::Body(lost.fault), lost.id)
}

fn denial(head: &Parts, kind: DenialKind, id: Option<String>) -> Denial {
    let addressee = id.map_or(Addressee::Unknown, |id| Addressee::Id(id.into()));
    Denial::new(kind, addressee, Client::of(head, Era::Legacy))
}

fn json(text: Bytes) -> Reply {
    typed("application/json", UpstreamBody::complete(text))
}

fn stream(body: UpstreamBody) -> Reply {
    let mut response = typed("text/event-stream", body);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn typed(media: &'static str, body: UpstreamBody) -> Reply {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

fn not_allowed() -> Reply {
    let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST"));
    response
}

fn empty(status: StatusCode) -> Reply {
    let mut response = Response::new(UpstreamBody::complete(Bytes::new()));
    *response.status_mut() = status;
    response
}
