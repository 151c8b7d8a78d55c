//! A server that is reached over Streamable HTTP.

mod address;
mod asks;
mod config;
mod elicitations;
mod exchange;
mod headers;
mod late;
mod replier;
mod resolve;
mod watched;

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::Semaphore;
use tower_service::Service;

pub use self::config::{HttpConfig, InvalidHttpConfig};
use self::elicitations::Elicitations;
pub(super) use self::headers::{for_client as headers_for_client, is_of_a_connection};
use self::resolve::Guarded;
pub use self::resolve::{Resolution, Resolve};
pub(super) use self::watched::{Broken, Watched};
use super::{UpstreamBody, UpstreamFuture};

/// How long an idle connection is kept. Many servers close theirs after five seconds; a request must not meet that
/// moment.
const POOL_IDLE: Duration = Duration::from_secs(3);
/// Answers to what a server asks that are on their way at once. Until there is room for more its streams wait.
const MAX_ANSWERS: usize = 64;

type BoxError = Box<dyn Error + Send + Sync>;
type BoxBody = UnsyncBoxBody<Bytes, BoxError>;

/// An MCP server that is reached over Streamable HTTP.
///
/// Its clones share one pool of connections. See the [module](super) for what is passed on, and what is not.
///
/// # Example
///
/// ```no_run
/// use bytes::Bytes;
/// use http::Request;
/// use http_body_util::{BodyExt, Full};
/// use tower::ServiceExt;
/// use tower_toolgate::upstream::{HttpConfig, HttpUpstream};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = HttpUpstream::new(HttpConfig::new("https://mcp.example/mcp")?)?;
///
/// let body = r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#;
/// let request = Request::post("/mcp").header("accept", "application/json, text/event-stream");
/// let response = server.oneshot(request.body(Full::new(Bytes::from(body)))?).await?;
/// println!("{:?}", response.into_body().collect().await?.to_bytes());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HttpUpstream(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: HttpConfig,
    client: Client<HttpsConnector<HttpConnector<Guarded>>, BoxBody>,
    elicitations: Elicitations,
    /// Of answers to what the server asks, those that may be on their way at once.
    answers: Arc<Semaphore>,
}

impl HttpUpstream {
    /// A server. Nothing is connected to until something is asked for.
    ///
    /// # Errors
    ///
    /// One of the [root certificates](HttpConfig::with_root_certificate) is none.
    pub fn new(config: HttpConfig) -> Result<Self, InvalidHttpConfig> {
        let guarded = Guarded::new(Arc::clone(&config.resolve), config.trusted);
        Self::guarded(config, guarded)
    }

    fn guarded(config: HttpConfig, guarded: Guarded) -> Result<Self, InvalidHttpConfig> {
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls(&config)?).https_or_http().enable_http1();
        let connector = connector.wrap_connector(http_connector(guarded, &config));
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(POOL_IDLE)
            .pool_timer(TokioTimer::new())
            .build(connector);
        let answers = Arc::new(Semaphore::new(MAX_ANSWERS));
        Ok(Self(Arc::new(Inner { config, client, elicitations: Elicitations::default(), answers })))
    }
}

/// A body that is there.
fn whole(bytes: Bytes) -> BoxBody {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

fn http_connector(guarded: Guarded, config: &HttpConfig) -> HttpConnector<Guarded> {
    let mut connector = HttpConnector::new_with_resolver(guarded);
    // It makes the connections of TLS as well.
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(config.connect_timeout.min(config.timeout)));
    connector
}

fn tls(config: &HttpConfig) -> Result<ClientConfig, InvalidHttpConfig> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for der in &config.roots {
        let added = roots.add(CertificateDer::from(der.clone()));
        added.map_err(|_| InvalidHttpConfig("a root certificate is no certificate in DER"))?;
    }
    // The provider is named: a process may have installed none, or another.
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|_| InvalidHttpConfig("TLS has no protocol version"))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

impl<B> Service<Request<B>> for HttpUpstream
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<UpstreamBody>;
    type Error = Infallible;
    type Future = UpstreamFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> UpstreamFuture {
        let upstream = Arc::clone(&self.0);
        let request = request.map(|body| body.map_err(Into::into).boxed_unsync());
        UpstreamFuture::new(async move { upstream.answer(request).await })
    }
}

impl fmt::Debug for HttpUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpUpstream").field("config", &self.0.config).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
