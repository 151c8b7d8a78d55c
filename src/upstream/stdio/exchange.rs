//! A request of a client's: answered from here, or by the child.

use std::error::Error;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use tokio::time::{Instant, timeout_at};

use super::answering::{Answering, Next};
use super::keep::{Shared, State, Up};
use super::link::{Asked, replaced};
use crate::Principal;
use crate::answer::{Addressee, Client, Denial, DenialKind, Negotiate, Requester, RespondToDenial, UpstreamFault};
use crate::http::{BodyLimits, Collect, Collected, Lost, accepts_events};
use crate::message::{self, Era, IdSalvage, Inspection, Mcp, Message, MessageKind, Mirror, ReadError, Revision};
use crate::upstream::UpstreamBody;

type Reply = Response<UpstreamBody>;

impl Shared {
    pub(super) async fn handle<B>(&self, request: Request<B>) -> Reply
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        match head.method {
            Method::POST => self.post(&head, body).await.unwrap_or_else(|denial| refused(&denial)),
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
        match self.hub.open() {
            Some(events) => stream(UpstreamBody::news(events)),
            None => refused(&Requester::of(head).denial(UpstreamFault::Unavailable)),
        }
    }

    async fn post<B>(&self, head: &Parts, body: B) -> Result<Reply, Denial>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let deadline = Instant::now() + self.config.timeout;
        let limits =
            BodyLimits { bytes: self.config.max_message_bytes, budget: None, taken: None, timed_out: |_| false };
        let collected = Collect::new(body, limits).await.map_err(|lost| denial_of_lost(head, lost))?;
        let inspection = read(head, &collected)?;
        let streamable = Requester::of(head).is_streamable() || inspection.era() == Era::Modern;
        let requester = Requester::new(Some(inspection.clone()), streamable);
        let batch = DenialKind::Message(message::Fault::BatchNotAllowed);
        let message = inspection.messages().next().filter(|_| !inspection.is_batch());
        let message = message.ok_or_else(|| requester.refusal(batch))?;
        let told = match message.kind() {
            MessageKind::Notification => self.notification(head, &inspection, &message, deadline).await,
            MessageKind::Reply => Ok(empty(StatusCode::ACCEPTED)),
            MessageKind::Request => self.request(head, &inspection, &message, &requester, deadline).await,
        };
        told.map_err(|fault| {
            tracing::warn!(server.name = %self.config.name, upstream.fault = fault.reason(), "no answer");
            requester.denial(fault)
        })
    }

    async fn notification(
        &self,
        head: &Parts,
        inspection: &Inspection,
        message: &Message<'_>,
        deadline: Instant,
    ) -> Result<Reply, UpstreamFault> {
        match &*message.method().unwrap_or_default() {
            // The child has been greeted by us, asks nobody but us, and has the operator's roots.
            "notifications/initialized" | "notifications/progress" | "notifications/roots/list_changed" => {}
            "notifications/cancelled" => self.cancelled(head, inspection, message),
            _ => self.up_by(deadline).await?.link.say(inspection.bytes().clone())?,
        }
        Ok(empty(StatusCode::ACCEPTED))
    }

    /// Cancels a request of the same principal's. That nothing is cancelled is no fault: it may have been answered.
    fn cancelled(&self, head: &Parts, inspection: &Inspection, message: &Message<'_>) {
        let State::Up(up) = &*self.state.borrow() else { return };
        let Some(id) = message.params().get("requestId") else { return };
        let raw = str::from_utf8(id.raw()).unwrap_or_default();
        if let Some(number) = up.link.number_of(raw, head.extensions.get::<Principal>()) {
            let text = replaced(inspection.bytes(), id.place(), &number.to_string());
            // A child that does not read this will not read much else.
            _ = up.link.say(text);
        }
    }

    async fn request(
        &self,
        head: &Parts,
        inspection: &Inspection,
        message: &Message<'_>,
        requester: &Requester,
        deadline: Instant,
    ) -> Result<Reply, UpstreamFault> {
        let id = message.id().unwrap_or("null");
        match &*message.method().unwrap_or_default() {
            "initialize" => Ok(json(self.up_by(deadline).await?.welcome.answer(id))),
            "ping" => Ok(json(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).into())),
            method => {
                let up = self.up_by(deadline).await?;
                let asked = self.asked(head, inspection, message, method == "subscriptions/listen");
                let ticket = up.link.ask(&asked)?;
                answer(Answering::new(ticket, requester.clone(), self.config.timeout, deadline)).await
            }
        }
    }

    fn asked(&self, head: &Parts, inspection: &Inspection, message: &Message<'_>, subscribes: bool) -> Asked {
        let token = message.meta().get("progressToken").map(|token| token.place());
        let listens = (token.is_some() || subscribes) && accepts_events(&head.headers);
        Asked {
            text: inspection.bytes().clone(),
            id: message.id_place().unwrap_or_default(),
            token,
            owner: head.extensions.get::<Principal>().cloned(),
            events: listens.then_some(self.config.events),
        }
    }

    async fn up_by(&self, deadline: Instant) -> Result<Up, UpstreamFault> {
        timeout_at(deadline, self.up()).await.unwrap_or(Err(UpstreamFault::TimedOut))
    }

    /// The child. While one is being started it is waited for; once that has failed nobody waits.
    pub(super) async fn up(&self) -> Result<Up, UpstreamFault> {
        let mut state = self.state.subscribe();
        let settled = state.wait_for(|state| !matches!(state, State::Starting)).await;
        match &*settled.map_err(|_| UpstreamFault::Unavailable)? {
            State::Up(up) => Ok(up.clone()),
            State::Down(fault) => Err(*fault),
            State::Starting => Err(UpstreamFault::Unavailable),
        }
    }
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

fn refused(denial: &Denial) -> Reply {
    let mut response = Negotiate.respond(denial).map(UpstreamBody::complete);
    response.extensions_mut().insert(denial.clone());
    response
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
