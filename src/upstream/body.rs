//! The body of an answer.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::http::{Broken, Watched, headers_for_client};
use super::stdio::{Answering, Receiver};
use crate::answer::{Denial, Negotiate, RespondToDenial};

/// The body of an answer: complete, or a stream of a server's. Dropping it tells the server that nobody waits any more.
#[derive(Debug)]
pub struct UpstreamBody {
    kind: Kind,
    /// Of a server as trusted as the operator's own.
    trusted: bool,
}

#[derive(Debug)]
enum Kind {
    Answering(Box<Answering>),
    Complete(Option<Bytes>),
    Incoming(Incoming),
    News(Receiver),
    Watched(Box<Watched<Incoming>>),
}

impl UpstreamBody {
    /// Says what went wrong, so that the caller can read it.
    pub(super) fn refusing(denial: Denial) -> Response<Self> {
        let mut response = Negotiate.respond(&denial).map(Self::complete);
        response.extensions_mut().insert(denial);
        response
    }

    pub(super) fn complete(bytes: Bytes) -> Self {
        Self::of(Kind::Complete(Some(bytes).filter(|bytes| !bytes.is_empty())))
    }

    /// Events until the answer.
    pub(super) fn answering(answering: Answering) -> Self {
        Self::of(Kind::Answering(Box::new(answering)))
    }

    /// Events until their sender is gone.
    pub(super) fn news(events: Receiver) -> Self {
        Self::of(Kind::News(events))
    }

    pub(super) fn incoming(body: Incoming) -> Self {
        Self::of(Kind::Incoming(body))
    }

    /// Events of a server that is answered from here.
    pub(super) fn watched(body: Watched<Incoming>) -> Self {
        Self::of(Kind::Watched(Box::new(body)))
    }

    fn of(kind: Kind) -> Self {
        Self { kind, trusted: false }
    }

    /// Of a server that is trusted or not; what passes of its trailers is what passes of its headers.
    pub(super) fn with_trust(self, trusted: bool) -> Self {
        Self { trusted, ..self }
    }

    fn poll_kind(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, UpstreamBodyError>>> {
        let data = match &mut self.kind {
            Kind::Answering(answering) => ready!(answering.poll_event(cx)),
            Kind::Complete(bytes) => bytes.take(),
            Kind::News(events) => ready!(events.poll_recv(cx)),
            Kind::Incoming(body) => {
                let frame = ready!(Pin::new(body).poll_frame(cx));
                return Poll::Ready(frame.map(|frame| frame.map_err(|error| UpstreamBodyError(Broken::Body(error)))));
            }
            Kind::Watched(body) => {
                return Poll::Ready(ready!(body.poll_frame(cx)).map(|frame| frame.map_err(UpstreamBodyError)));
            }
        };
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }
}

impl Body for UpstreamBody {
    type Data = Bytes;
    type Error = UpstreamBodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UpstreamBodyError>>> {
        let mut frame = ready!(self.poll_kind(cx));
        if let Some(Ok(frame)) = &mut frame
            && let Some(trailers) = frame.trailers_mut()
        {
            headers_for_client(trailers, self.trusted);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Answering(_) | Kind::News(_) => false,
            Kind::Complete(bytes) => bytes.is_none(),
            Kind::Incoming(body) => body.is_end_stream(),
            Kind::Watched(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Answering(_) | Kind::News(_) | Kind::Watched(_) => SizeHint::new(),
            Kind::Complete(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Kind::Incoming(body) => body.size_hint(),
        }
    }
}

/// The connection to the server ended before its answer did, or was ended because an event was too long.
#[derive(Debug)]
pub struct UpstreamBodyError(Broken<hyper::Error>);

impl fmt::Display for UpstreamBodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Broken::Body(_) => "the server's answer ended early",
            Broken::TooLong => "an event of the server's is too long",
        })
    }
}

impl Error for UpstreamBodyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Broken::Body(error) => Some(error),
            Broken::TooLong => None,
        }
    }
}
