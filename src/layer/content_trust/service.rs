//! The service.

use std::error::Error;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::future::ResponseFuture;
use super::guard::Trust;
use crate::http::{RequestBody, ResponseBody};
use crate::layer::exchange::Exchange;
use crate::store::TaintStore;

/// What [`ContentTrustLayer`](super::ContentTrustLayer) makes of a service.
#[derive(Debug)]
pub struct ContentTrustService<S, T> {
    inner: S,
    trust: Arc<Trust<T>>,
}

impl<S, T> ContentTrustService<S, T> {
    pub(super) fn new(inner: S, trust: Arc<Trust<T>>) -> Self {
        Self { inner, trust }
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

impl<S: Clone, T> Clone for ContentTrustService<S, T> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), trust: Arc::clone(&self.trust) }
    }
}

impl<S, T, B, R> Service<Request<B>> for ContentTrustService<S, T>
where
    T: TaintStore,
    S: Service<Request<RequestBody<B>>, Response = Response<R>> + Clone,
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    R: Body<Data = Bytes>,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, T, B, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The future calls the service that was polled ready; what stays behind has to be polled anew.
        let next = self.inner.clone();
        let ready = std::mem::replace(&mut self.inner, next);
        ResponseFuture::new(Exchange::new(Arc::clone(&self.trust), ready, request))
    }
}
