//! The bodies that an inner service receives and that a layer answers with.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::Reservation;

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
        Buffered { data: Option<Bytes>, trailers: Option<HeaderMap>, hold: Option<Arc<Reservation>> },
        Unread { #[pin] body: B },
    }
}

impl<B> RequestBody<B> {
    pub(crate) fn buffered(data: Bytes, trailers: Option<HeaderMap>, hold: Option<Arc<Reservation>>) -> Self {
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
                let trailers = || trailers.take().map(Frame::trailers);
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
            RequestKind::Buffered { data, trailers, .. } => hint(data.as_ref(), trailers.is_some()),
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
        Inner { #[pin] body: R },
    }
}

impl<R> ResponseBody<R> {
    pub(crate) fn answer(data: Bytes) -> Self {
        Self { kind: ResponseKind::Answer { data: Some(data).filter(|data| !data.is_empty()) } }
    }

    pub(crate) fn inner(body: R) -> Self {
        Self { kind: ResponseKind::Inner { body } }
    }
}

impl<R: Body<Data = Bytes>> Body for ResponseBody<R> {
    type Data = Bytes;
    type Error = R::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, R::Error>>> {
        match self.project().kind.project() {
            ResponseProjection::Answer { data } => Poll::Ready(data.take().map(Frame::data).map(Ok)),
            ResponseProjection::Inner { body } => body.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            ResponseKind::Answer { data } => data.is_none(),
            ResponseKind::Inner { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            ResponseKind::Answer { data } => hint(data.as_ref(), false),
            ResponseKind::Inner { body } => body.size_hint(),
        }
    }
}

/// The size of what is left. While trailers are to come it is no exact one: an HTTP/1 sender would announce a
/// length and leave them out.
fn hint(data: Option<&Bytes>, trailers: bool) -> SizeHint {
    let length = data.map_or(0, |data| data.len() as u64);
    if !trailers {
        return SizeHint::with_exact(length);
    }
    let mut hint = SizeHint::new();
    hint.set_lower(length);
    hint
}
