//! The inner services: one counts the bytes that reach it, the other answers.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Empty};
use tower_service::Service;

use super::bodies::Frames;

#[derive(Clone, Copy)]
pub(crate) struct Bare {
    /// How many bytes a request must have to be answered with 200.
    pub(crate) expected: usize,
}

pub(crate) struct Count<B> {
    request: Request<B>,
    expected: usize,
    counted: usize,
}

impl<B: Body<Data = Bytes, Error = Infallible> + Unpin> Service<Request<B>> for Bare {
    type Response = Response<Empty<Bytes>>;
    type Error = Infallible;
    type Future = Count<B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Count<B> {
        Count { request, expected: self.expected, counted: 0 }
    }
}

impl<B: Body<Data = Bytes, Error = Infallible> + Unpin> Future for Count<B> {
    type Output = Result<Response<Empty<Bytes>>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        while let Some(frame) = ready!(Pin::new(self.request.body_mut()).poll_frame(cx)) {
            self.counted += frame?.data_ref().map_or(0, Bytes::len);
        }
        let mut response = Response::new(Empty::new());
        if self.counted != self.expected {
            *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
        }
        Poll::Ready(Ok(response))
    }
}

#[derive(Clone)]
pub(crate) struct Answers {
    pub(crate) media: &'static str,
    pub(crate) body: Bytes,
    /// How many bytes of it arrive at once.
    pub(crate) frame: usize,
}

impl<B> Service<Request<B>> for Answers {
    type Response = Response<Frames>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Frames>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        let mut response = Response::new(Frames::new(&self.body, self.frame));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.media));
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(self.body.len()));
        ready(Ok(response))
    }
}

/// What a body is written to. As with a socket's buffer, its bytes are copied, and soon there are others in their place.
pub(crate) struct Socket(Box<[u8]>);

impl Socket {
    pub(crate) fn new() -> Self {
        Self(vec![0; 64 << 10].into())
    }

    /// Writes a body, frame by frame: how many bytes it has.
    pub(crate) async fn write<B: Body<Data = Bytes>>(&mut self, body: B) -> Result<usize, B::Error> {
        let (mut body, mut written) = (pin!(body), 0);
        while let Some(frame) = body.frame().await {
            for piece in frame?.into_data().unwrap_or_default().chunks(self.0.len()) {
                if let Some(room) = self.0.get_mut(..piece.len()) {
                    room.copy_from_slice(piece);
                }
                black_box(&self.0);
                written += piece.len();
            }
        }
        Ok(written)
    }
}
