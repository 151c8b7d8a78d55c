//! The future.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::guard::Trust;
use crate::http::{RequestBody, ResponseBody};
use crate::layer::exchange::Exchange;
use crate::store::TaintStore;

pin_project! {
    /// The future of [`ContentTrustService`](super::ContentTrustService).
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, T, B, R>
    where
        S: Service<Request<RequestBody<B>>>,
        T: TaintStore,
    {
        #[pin]
        exchange: Exchange<Trust<T>, S, B, R>,
    }
}

impl<S, T, B, R> ResponseFuture<S, T, B, R>
where
    S: Service<Request<RequestBody<B>>>,
    T: TaintStore,
{
    pub(super) fn new(exchange: Exchange<Trust<T>, S, B, R>) -> Self {
        Self { exchange }
    }
}

impl<S, T, B, R> Future for ResponseFuture<S, T, B, R>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>>,
    T: TaintStore,
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    R: Body<Data = Bytes>,
{
    type Output = Result<Response<ResponseBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().exchange.poll(cx)
    }
}
