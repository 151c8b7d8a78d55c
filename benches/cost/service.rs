//! The inner service: it counts the bytes that reach it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Empty;
use tower_service::Service;

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
