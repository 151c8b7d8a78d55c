//! Receiving a response that has to be read as a whole.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use http_body::Body;
use pin_project_lite::pin_project;

use crate::http::Pieces;

/// How many frames are received before others have a turn.
const FRAMES_PER_POLL: usize = 256;

pin_project! {
    /// Receives a body of at most so many bytes.
    #[derive(Debug)]
    pub(crate) struct Gather<R> {
        #[pin]
        body: R,
        limit: usize,
        pieces: Pieces,
        trailers: Option<HeaderMap>,
    }
}

/// A body that has arrived.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub(crate) bytes: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

impl<R: Body<Data = Bytes>> Gather<R> {
    pub(crate) fn new(body: R, limit: usize) -> Self {
        Self { body, limit, pieces: Pieces::default(), trailers: None }
    }
}

impl<R: Body<Data = Bytes>> Future for Gather<R> {
    /// `None` if it is too long or does not arrive.
    type Output = Option<Gathered>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        for _ in 0..FRAMES_PER_POLL {
            let mut this = self.as_mut().project();
            let frame = match ready!(this.body.as_mut().poll_frame(cx)) {
                None => {
                    let (bytes, trailers) = (std::mem::take(this.pieces).join(), this.trailers.take());
                    return Poll::Ready(Some(Gathered { bytes, trailers }));
                }
                Some(Err(_)) => return Poll::Ready(None),
                Some(Ok(frame)) => frame,
            };
            match frame.into_data() {
                Ok(data) if data.len() > *this.limit - this.pieces.len() => return Poll::Ready(None),
                Ok(data) => this.pieces.push(data),
                Err(frame) => *this.trailers = frame.into_trailers().ok(),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
