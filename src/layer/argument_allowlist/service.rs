//! The service.

use std::error::Error;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::future::ResponseFuture;
use super::gate::Gate;
use crate::http::{RequestBody, ResponseBody};
use crate::layer::exchange::Exchange;

/// What [`ArgumentAllowlistLayer`](super::ArgumentAllowlistLayer) makes of a service.
#[derive(Clone, Debug)]
pub struct ArgumentAllowlistService<S> {
    inner: S,
    gate: Arc<Gate>,
}

impl<S> ArgumentAllowlistService<S> {
    pub(super) fn new(inner: S, gate: Arc<Gate>) -> Self {
        Self { inner, gate }
    }

    /// The inner service.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The inner service.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// The inner service.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, B, R> Service<Request<B>> for ArgumentAllowlistService<S>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>> + Clone,
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    R: Body<Data = Bytes>,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, B, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The future calls the service that was polled ready; what stays behind has to be polled anew.
        let next = self.inner.clone();
        let ready = std::mem::replace(&mut self.inner, next);
        ResponseFuture::new(Exchange::new(Arc::clone(&self.gate), ready, request))
    }
}
