//! The service that sends a request on.

use std::convert::Infallible;
use std::error::Error as _;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt, Collected, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::Instant;
use tower::Service;
use tower_toolgate::answer::{Negotiate, Requester, RespondToDenial, UpstreamFault};
use tower_toolgate::trust::SessionTaint;

use super::body::{self, UpstreamBody};
use super::{headers, reply};
use crate::config::HttpUrl;
use crate::edge::SESSION;
use crate::metrics::Metrics;

/// The bytes that an answer in JSON may have; streams of events are not held back and have no bound.
const MAX_REPLY_BYTES: usize = 64 << 20;
/// How long an idle connection is kept.
const POOL_IDLE: Duration = Duration::from_secs(3);
/// How long a server may take to be connected to, within its time for the answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A server that is reached over HTTP.
#[derive(Clone, Debug)]
pub struct HttpUpstream(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: String,
    uri: Uri,
    timeout: Duration,
    client: Client<HttpConnector, Body>,
    metrics: Metrics,
}

impl HttpUpstream {
    /// The server of an id at an address, with the time that it has for an answer.
    #[must_use]
    pub fn new(id: &str, url: &HttpUrl, timeout: Duration, metrics: Metrics) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT.min(timeout)));
        // Many servers close idle connections after five seconds; a request must not meet that moment.
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(POOL_IDLE)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Self(Arc::new(Inner { id: id.to_owned(), uri: url.uri().clone(), timeout, client, metrics }))
    }
}

type BoxFuture = Pin<Box<dyn Future<Output = Result<Response<UpstreamBody>, Infallible>> + Send>>;

impl Service<Request<Body>> for HttpUpstream {
    type Response = Response<UpstreamBody>;
    type Error = Infallible;
    type Future = BoxFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> BoxFuture {
        let upstream = Arc::clone(&self.0);
        Box::pin(async move { Ok(upstream.answer(request).await) })
    }
}

impl Inner {
    /// The server's answer, or one that says why there is none.
    async fn answer(&self, request: Request<Body>) -> Response<UpstreamBody> {
        let (mut head, body) = request.into_parts();
        let requester = Requester::of(&head);
        head.uri = self.uri.clone();
        // Over a connection of our own it is said anew; what the body's length is, its size hint knows.
        head.version = http::Version::HTTP_11;
        if let Some(authority) = self.uri.authority() {
            headers::for_server(&mut head.headers, authority);
        }
        if let Some(session) = SessionTaint::of(&head.extensions) {
            let state = if session.is_tainted() { "tainted" } else { "clean" };
            head.headers.insert(SESSION, HeaderValue::from_static(state));
        }
        let deadline = Instant::now() + self.timeout;
        match self.exchange(Request::from_parts(head, body), &requester, deadline).await {
            Ok(response) => response,
            Err(fault) => {
                tracing::warn!(server.id = self.id, upstream.fault = fault.reason(), "no valid answer");
                self.metrics.count_fault(&self.id, fault);
                Negotiate.respond(&requester.denial(fault)).map(body::complete)
            }
        }
    }

    async fn exchange(
        &self,
        request: Request<Body>,
        requester: &Requester,
        deadline: Instant,
    ) -> Result<Response<UpstreamBody>, UpstreamFault> {
        let sent = tokio::time::timeout_at(deadline, self.client.request(request)).await;
        let mut response = sent.map_err(|_| UpstreamFault::TimedOut)?.map_err(|error| fault(&error))?;
        *response.version_mut() = http::Version::HTTP_11;
        headers::for_client(response.headers_mut());
        let asked = requester.inspection().filter(|asked| asked.messages().any(|message| message.id().is_some()));
        match asked {
            Some(_) if is(response.headers(), "text/event-stream") => Ok(response.map(body::streaming)),
            // What a server refuses is said by its status; it may say more, in JSON or not.
            Some(asked) if response.status().is_client_error() || is(response.headers(), "application/json") => {
                let (head, body) = response.into_parts();
                let received = tokio::time::timeout_at(deadline, receive(body)).await;
                let bytes = received.map_err(|_| UpstreamFault::TimedOut)??;
                checked(Response::from_parts(head, bytes), asked)
            }
            // A reply is accepted without a word, like a notification.
            Some(asked) if asked.messages().all(|message| message.method().is_err()) => {
                Ok(response.map(body::streaming))
            }
            Some(_) => Err(UpstreamFault::InvalidAnswer),
            None => Ok(response.map(body::streaming)),
        }
    }
}

/// Makes sure that what is no refusal is an answer.
fn checked(
    mut response: Response<Bytes>,
    asked: &tower_toolgate::message::Inspection,
) -> Result<Response<UpstreamBody>, UpstreamFault> {
    let replied = asked.messages().all(|message| message.method().is_err());
    let refused = response.status().is_client_error();
    if !refused && !replied && !reply::answers(response.body(), asked) {
        return Err(UpstreamFault::InvalidAnswer);
    }
    let length = response.body().len().into();
    response.headers_mut().insert(CONTENT_LENGTH, length);
    Ok(response.map(body::complete))
}

async fn receive(body: Incoming) -> Result<Bytes, UpstreamFault> {
    let collected = Limited::new(body, MAX_REPLY_BYTES).collect().await;
    collected.map(Collected::to_bytes).map_err(|_| UpstreamFault::InvalidAnswer)
}

fn fault(error: &legacy::Error) -> UpstreamFault {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    let mut kinds = causes.filter_map(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
    match kinds.find(|kind| *kind == std::io::ErrorKind::TimedOut) {
        Some(_) => UpstreamFault::TimedOut,
        _ if error.is_connect() => UpstreamFault::Unreachable,
        _ => UpstreamFault::InvalidAnswer,
    }
}

fn is(headers: &HeaderMap, media: &str) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(media)
}
