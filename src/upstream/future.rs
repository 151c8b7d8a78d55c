//! The wait for a response.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Response;

use super::UpstreamBody;

/// The future of a response. Dropping it tells the server that nobody waits any more.
pub struct UpstreamFuture(Pin<Box<dyn Future<Output = Response<UpstreamBody>> + Send>>);

impl UpstreamFuture {
    pub(super) fn new(future: impl Future<Output = Response<UpstreamBody>> + Send + 'static) -> Self {
        Self(Box::pin(future))
    }
}

impl Future for UpstreamFuture {
    type Output = Result<Response<UpstreamBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx).map(Ok)
    }
}

impl fmt::Debug for UpstreamFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamFuture").finish_non_exhaustive()
    }
}
