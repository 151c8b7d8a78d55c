//! A child process that is spoken to over its standard input and output.

mod answering;
mod config;
mod environment;
mod exchange;
mod handshake;
mod hub;
mod keep;
mod lines;
mod link;
mod listen;
mod process;
mod queue;
mod tasks;

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tower_service::Service;

pub(super) use self::answering::Answering;
pub use self::config::StdioConfig;
use self::exchange::NotUp;
use self::keep::{Shared, keep};
pub(super) use self::queue::Receiver;
use super::{UpstreamBody, UpstreamFuture};
use crate::answer::UpstreamFault;

/// An MCP server that runs as a child process.
///
/// Its clones share one child, or [one of each era](StdioConfig::with_child_per_era), which is started when the service is
/// made, greeted once, and started anew when it ends.
/// It is killed, with all that it has started, when the last clone is dropped. See the [module](super) for what is
/// passed on to it, and what is not.
///
/// # Example
///
/// ```no_run
/// use bytes::Bytes;
/// use http::Request;
/// use http_body_util::{BodyExt, Full};
/// use tower::ServiceExt;
/// use tower_toolgate::upstream::{StdioConfig, StdioUpstream};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = StdioUpstream::start(StdioConfig::new("mcp-server-files").with_args(["/srv/files"]))?;
/// server.started().await?;
///
/// let body = r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#;
/// let request = Request::post("/mcp").header("accept", "application/json, text/event-stream");
/// let response = server.oneshot(request.body(Full::new(Bytes::from(body)))?).await?;
/// println!("{:?}", response.into_body().collect().await?.to_bytes());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct StdioUpstream(Arc<Running>);

/// Ends the child with the last clone.
#[derive(Debug)]
pub(super) struct Running {
    shared: Arc<Shared>,
    _stop: watch::Sender<()>,
}

impl StdioUpstream {
    /// Starts the child, in the background. It is looked after on the runtime that this is called on.
    ///
    /// # Errors
    ///
    /// There is no tokio runtime. A child that does not start is told to whoever asks for something.
    pub fn start(config: StdioConfig) -> Result<Self, NoRuntime> {
        let runtime = Handle::try_current().map_err(|_| NoRuntime)?;
        let shared = Shared::of(config);
        let (stop, stopped) = watch::channel(());
        for child in shared.modern.iter().chain([&shared]) {
            runtime.spawn(keep(Arc::clone(child), stopped.clone()));
        }
        Ok(Self(Arc::new(Running { shared, _stop: stop })))
    }

    /// Waits until the child has been greeted.
    ///
    /// # Errors
    ///
    /// It could not be started, or has ended; it will be tried again.
    pub async fn started(&self) -> Result<(), UpstreamFault> {
        self.0.shared.up().await.map(drop).map_err(NotUp::fault)
    }
}

impl<B> Service<Request<B>> for StdioUpstream
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<UpstreamBody>;
    type Error = Infallible;
    type Future = UpstreamFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> UpstreamFuture {
        let running = Arc::clone(&self.0);
        UpstreamFuture::new(async move { running.shared.handle(request).await })
    }
}

/// A service that works in the background was made where there is no tokio runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoRuntime;

impl fmt::Display for NoRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no tokio runtime")
    }
}

impl Error for NoRuntime {}
