//! The wait for a response.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Response;
use tokio::time::Instant;

use super::UpstreamBody;

/// As long as for ever, for a process.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// When a time from now is over; there is an end to what a clock can count.
pub(super) fn after(time: Duration) -> Instant {
    Instant::now() + time.min(FOR_EVER)
}

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
