//! The bodies that an inner service receives and that a layer answers with.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::Reservation;
use crate::response::EventBody;

pin_project! {
    /// The body of a request that a layer hands on: the very bytes that were judged.
    ///
    /// For an inner service that wants another body type, such as axum's `from_fn` within one
    /// `ServiceBuilder`, convert it with `map_request_body(axum::body::Body::new)`.
    #[derive(Debug)]
    pub struct RequestBody<B> {
        #[pin]
        kind: RequestKind<B>,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = RequestProjection]
    enum RequestKind<B> {
        Buffered { data: Option<Bytes>, trailers: Option<Box<HeaderMap>>, hold: Option<Arc<Reservation>> },
        Unread { #[pin] body: B },
    }
}

impl<B> RequestBody<B> {
    pub(crate) fn buffered(data: Bytes, trailers: Option<Box<HeaderMap>>, hold: Option<Arc<Reservation>>) -> Self {
        let data = Some(data).filter(|data| !data.is_empty());
        Self { kind: RequestKind::Buffered { data, trailers, hold } }
    }

    pub(crate) fn unread(body: B) -> Self {
        Self { kind: RequestKind::Unread { body } }
    }
}

impl<B: Body<Data = Bytes>> Body for RequestBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.project().kind.project() {
            RequestProjection::Buffered { data, trailers, hold: _ } => {
                let trailers = || trailers.take().map(|trailers| Frame::trailers(*trailers));
                Poll::Ready(data.take().map(Frame::data).or_else(trailers).map(Ok))
            }
            RequestProjection::Unread { body } => body.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            RequestKind::Buffered { data, trailers, .. } => data.is_none() && trailers.is_none(),
            RequestKind::Unread { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            RequestKind::Buffered { data, trailers, .. } => hint(data, trailers.is_some()),
            RequestKind::Unread { body } => body.size_hint(),
        }
    }
}

pin_project! {
    /// The body of a response: the inner service's, or an answer of the layer's own.
    #[derive(Debug)]
    pub struct ResponseBody<R> {
        #[pin]
        kind: ResponseKind<R>,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = ResponseProjection]
    enum ResponseKind<R> {
        Answer { data: Option<Bytes> },
        Events { #[pin] body: EventBody<R> },
        Inner { #[pin] body: R },
        Pieces { pieces: VecDeque<Bytes>, trailers: Option<HeaderMap>, hold: Option<Reservation> },
    }
}

impl<R> ResponseBody<R> {
    pub(crate) fn answer(data: Bytes) -> Self {
        Self { kind: ResponseKind::Answer { data: Some(data).filter(|data| !data.is_empty()) } }
    }

    pub(crate) fn events(body: EventBody<R>) -> Self {
        Self { kind: ResponseKind::Events { body } }
    }

    pub(crate) fn inner(body: R) -> Self {
        Self { kind: ResponseKind::Inner { body } }
    }

    pub(crate) fn pieces(pieces: Vec<Bytes>, trailers: Option<HeaderMap>, hold: Option<Reservation>) -> Self {
        let pieces = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        Self { kind: ResponseKind::Pieces { pieces, trailers, hold } }
    }
}

impl<R: Body<Data = Bytes>> Body for ResponseBody<R> {
    type Data = Bytes;
    type Error = R::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, R::Error>>> {
        match self.project().kind.project() {
            ResponseProjection::Answer { data } => Poll::Ready(data.take().map(Frame::data).map(Ok)),
            ResponseProjection::Events { body } => body.poll_frame(cx),
            ResponseProjection::Inner { body } => body.poll_frame(cx),
            ResponseProjection::Pieces { pieces, trailers, hold: _ } => {
                let trailers = || trailers.take().map(Frame::trailers);
                Poll::Ready(pieces.pop_front().map(Frame::data).or_else(trailers).map(Ok))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            ResponseKind::Answer { data } => data.is_none(),
            ResponseKind::Events { body } => body.is_end_stream(),
            ResponseKind::Inner { body } => body.is_end_stream(),
            ResponseKind::Pieces { pieces, trailers, .. } => pieces.is_empty() && trailers.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            ResponseKind::Answer { data } => hint(data, false),
            // What is left out or put in is known only when it comes.
            ResponseKind::Events { .. } => SizeHint::new(),
            ResponseKind::Inner { body } => body.size_hint(),
            ResponseKind::Pieces { pieces, trailers, .. } => hint(pieces, trailers.is_some()),
        }
    }
}

/// The size of what is left. While trailers are to come it is no exact one: an HTTP/1 sender would announce a
/// length and leave them out.
fn hint<'a>(data: impl IntoIterator<Item = &'a Bytes>, trailers: bool) -> SizeHint {
    let length = data.into_iter().map(|data| data.len() as u64).sum();
    if !trailers {
        return SizeHint::with_exact(length);
    }
    let mut hint = SizeHint::new();
    hint.set_lower(length);
    hint
}
