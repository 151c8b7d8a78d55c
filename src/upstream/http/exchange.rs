//! A request that is sent on, and what comes back.

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use tokio::time::{Instant, timeout_at};

use super::late::Reply;
use super::replier::Replier;
use super::watched::Watched;
use super::{BoxBody, Inner, headers};
use crate::answer::{DenialKind, Requester, UpstreamFault};
use crate::http::{BodyFault, BodyLimits, Collect, is_coded};
use crate::message::{Inspection, MessageKind, same_id};
use crate::upstream::UpstreamBody;
use crate::upstream::envelope::{Said, read, read_all, text_at};
use crate::upstream::future::after;

const EVENTS: &str = "text/event-stream";

type Fallible<T> = Result<T, UpstreamFault>;

impl Inner {
    /// The server's answer, or one that says why there is none.
    pub(super) async fn answer(self: &Arc<Self>, request: Request<BoxBody>) -> Response<UpstreamBody> {
        let (mut head, body) = request.into_parts();
        let requester = Requester::of(&head);
        let body = match self.in_time(&head, &requester, body).await {
            Reply::Late => return accepted(),
            Reply::Lost(fault) => return UpstreamBody::refusing(requester.refusal(DenialKind::Body(fault))),
            Reply::InTime(body) => body,
        };
        let replier = Replier::of(self, &head);
        head.uri = self.config.uri.clone();
        // Over a connection of our own it is said anew.
        head.version = Version::HTTP_11;
        headers::for_server(&mut head.headers, &self.config.host, &self.config.headers);
        let deadline = after(self.config.timeout);
        let exchanged = self.exchange(Request::from_parts(head, body), requester.inspection(), deadline, replier).await;
        exchanged.unwrap_or_else(|fault| {
            tracing::warn!(server.name = %self.config.name, upstream.fault = fault.reason(), "no valid answer");
            UpstreamBody::refusing(requester.denial(fault))
        })
    }

    async fn exchange(
        &self,
        request: Request<BoxBody>,
        asked: Option<&Inspection>,
        deadline: Instant,
        replier: Option<Replier>,
    ) -> Fallible<Response<UpstreamBody>> {
        let sent = timeout_at(deadline, self.client.request(request)).await;
        let mut response = sent.map_err(|_| UpstreamFault::TimedOut)?.map_err(|error| self.fault(&error))?;
        *response.version_mut() = Version::HTTP_11;
        self.check_status(response.status())?;
        headers::for_client(response.headers_mut(), self.config.trusted);
        match asked.filter(|asked| asked.messages().any(|message| message.id().is_some())) {
            Some(asked) => self.checked(response, asked, deadline, replier).await,
            None => Ok(self.streamed(response, replier)),
        }
    }

    /// A response that passes as it comes, but for what is answered from here.
    fn streamed(&self, mut response: Response<Incoming>, replier: Option<Replier>) -> Response<UpstreamBody> {
        let readable = is(response.headers(), EVENTS) && !is_coded(response.headers());
        let trusted = self.config.trusted;
        let Some(replier) = replier.filter(|_| readable) else {
            return response.map(|body| UpstreamBody::incoming(body).with_trust(trusted));
        };
        let replier = replier.in_session(response.headers());
        response.headers_mut().remove(CONTENT_LENGTH);
        response.map(|body| {
            UpstreamBody::watched(Watched::new(body, self.config.max_answer_bytes, replier)).with_trust(trusted)
        })
    }

    /// The response to what waits for an answer, if it is one.
    async fn checked(
        &self,
        response: Response<Incoming>,
        asked: &Inspection,
        deadline: Instant,
        replier: Option<Replier>,
    ) -> Fallible<Response<UpstreamBody>> {
        // A reply is accepted without a word, like a notification.
        let replied = asked.messages().all(|message| message.kind() == MessageKind::Reply);
        let (refused, json) = (response.status().is_client_error(), is(response.headers(), "application/json"));
        if is(response.headers(), EVENTS) || (replied && !refused && !json) {
            return Ok(self.streamed(response, replier));
        }
        // What a server refuses is said by its status; it may say more, in JSON or not.
        if !refused && !json {
            return Err(UpstreamFault::InvalidAnswer);
        }
        let mut response = self.receive(response, deadline).await?;
        if let Some(replier) = replier.filter(|_| json && !is_coded(response.headers())) {
            let replier = replier.in_session(response.headers());
            response = timeout_at(deadline, sieved(response, &replier)).await.map_err(|_| UpstreamFault::TimedOut)?;
        }
        let valid = refused || replied || answers(response.body(), asked);
        if valid { Ok(response.map(UpstreamBody::complete)) } else { Err(UpstreamFault::InvalidAnswer) }
    }

    /// Redirects are not followed; from a server that is not trusted clients do not hear of them.
    fn check_status(&self, status: StatusCode) -> Fallible<()> {
        match status {
            status if status.is_informational() => Err(UpstreamFault::SwitchedProtocols),
            status if status.is_redirection() && !self.config.trusted => Err(UpstreamFault::InvalidAnswer),
            _ => Ok(()),
        }
    }

    async fn receive(&self, response: Response<Incoming>, deadline: Instant) -> Fallible<Response<Bytes>> {
        let (mut head, body) = response.into_parts();
        let limits =
            BodyLimits { bytes: self.config.max_answer_bytes, budget: None, taken: None, timed_out: |_| false };
        let received = timeout_at(deadline, Collect::new(body, limits)).await.map_err(|_| UpstreamFault::TimedOut)?;
        let collected = received.map_err(|lost| match lost.fault {
            BodyFault::TooLarge => UpstreamFault::TooLarge,
            BodyFault::BudgetExhausted | BodyFault::Failed | BodyFault::TimedOut => UpstreamFault::InvalidAnswer,
        })?;
        head.headers.insert(CONTENT_LENGTH, collected.bytes.len().into());
        Ok(Response::from_parts(head, collected.bytes))
    }

    fn fault(&self, error: &legacy::Error) -> UpstreamFault {
        let causes = || std::iter::successors(error.source(), |cause| (*cause).source());
        let innermost = causes().last().map(ToString::to_string).unwrap_or_default();
        tracing::debug!(server.name = %self.config.name, %error, cause = %innermost, "a server was not reached");
        let mut kinds = causes().filter_map(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
        match kinds.find(|kind| *kind == std::io::ErrorKind::TimedOut) {
            Some(_) => UpstreamFault::TimedOut,
            None if error.is_connect() => UpstreamFault::Unreachable,
            None => UpstreamFault::InvalidAnswer,
        }
    }
}

/// An answer in JSON without what its server asks for among others.
async fn sieved(response: Response<Bytes>, replier: &Replier) -> Response<Bytes> {
    let (mut head, body) = response.into_parts();
    let is_batch = body.trim_ascii_start().first() == Some(&b'[');
    let left = if is_batch { replier.sieve_and_answer(&body).await } else { None };
    let left = left.unwrap_or(body);
    head.headers.insert(CONTENT_LENGTH, left.len().into());
    Response::from_parts(head, left)
}

fn accepted() -> Response<UpstreamBody> {
    let mut response = Response::new(UpstreamBody::complete(Bytes::new()));
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// Whether a body answers every request of another, each once.
fn answers(body: &[u8], asked: &Inspection) -> bool {
    let requests = asked.messages().filter(|message| message.kind() == MessageKind::Request);
    let ids: Vec<_> = requests.filter_map(|message| message.id()).collect();
    let all = if asked.is_batch() { read_all(body) } else { read(body).map(|said| vec![said]) };
    let all = all.unwrap_or_default();
    let answers = |said: &Said, id: &str| {
        said.is_well_formed() && said.id.clone().is_some_and(|place| is_id(text_at(body, place), id))
    };
    all.len() == ids.len() && ids.iter().all(|id| all.iter().any(|said| answers(said, id)))
}

/// Some readers take great numbers for each other; whoever waits need not be one of them.
fn is_id(said: &str, asked: &str) -> bool {
    let number = |id: &str| id.parse::<i128>();
    same_id(said, asked) && !matches!((number(said), number(asked)), (Ok(said), Ok(asked)) if said != asked)
}

fn is(headers: &HeaderMap, media: &str) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(media)
}
