//! From what is declared of a server to a service that reaches it.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body::Body;
use tower_service::Service;

use super::{HttpConfig, HttpUpstream, NoRuntime, StdioConfig, StdioUpstream, UpstreamBody, UpstreamFuture};
use crate::answer::UpstreamFault;
use crate::server::{McpTransport, ReachBack, ServerEntry, ServerError};

/// # As a service
///
/// With the feature `upstream`.
impl ServerEntry {
    /// Reaches the server: over HTTP, where nothing is connected to until something is asked for, or as a child process,
    /// which is started in the background.
    ///
    /// Its time, its id as the name in logs, its headers, arguments and environment are those of the entry. Only of one that
    /// is [trusted](super::HttpConfig::with_trust) may the name lead to an address that is not public. The server is told of
    /// the roots if it [may ask](crate::server::ReachBack::roots) for them, and over HTTP what it may not ask for is answered
    /// [from here](super::HttpConfig::with_reach).
    ///
    /// # Errors
    ///
    /// Those of [`check_connect`](Self::check_connect), and for a child process that there is no tokio runtime.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use tower::Layer;
    /// use tower_toolgate::layer::server_trust::ServerTrustLayer;
    /// use tower_toolgate::server::{McpTransport, ServerEntry};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let transport = McpTransport::stdio("mcp-server-files").with_args(["/srv/files"]);
    /// let entry = ServerEntry::new("files", transport, Duration::from_secs(30)).with_tool_allowlist(["read_file"]);
    ///
    /// let upstream = entry.connect()?;
    /// upstream.started().await?;
    /// let files = ServerTrustLayer::new(&entry)?.layer(upstream);
    /// # _ = files;
    /// # Ok(())
    /// # }
    /// ```
    pub fn connect(&self) -> Result<Upstream, ConnectError> {
        self.upstream_config()?.connect()
    }

    /// Finds what [`connect`](Self::connect) would refuse, without connecting to or starting anything. No runtime is
    /// needed.
    ///
    /// # Errors
    ///
    /// Those of [`check`](Self::check), and a URL or header that cannot be sent.
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_toolgate::server::{McpTransport, ServerEntry};
    ///
    /// let transport = McpTransport::http("https://agent:pa55@files.example/mcp")?;
    /// let error = ServerEntry::new("files", transport, Duration::from_secs(30)).check_connect().unwrap_err();
    /// assert_eq!(error.place(), Some("transport.http.url"));
    /// assert!(error.to_string().ends_with("a server's url has no user: credentials belong into a header"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_connect(&self) -> Result<(), ConnectError> {
        self.upstream_config().map(drop)
    }

    /// How [`connect`](Self::connect) reaches the server, to be changed before.
    ///
    /// # Errors
    ///
    /// Those of [`check_connect`](Self::check_connect).
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_toolgate::server::{McpTransport, ServerEntry};
    /// use tower_toolgate::upstream::UpstreamConfig;
    ///
    /// let transport = McpTransport::http("https://files.example/mcp")?;
    /// let entry = ServerEntry::new("files", transport, Duration::from_secs(30));
    /// let upstream = match entry.upstream_config()? {
    ///     UpstreamConfig::Http(config) => UpstreamConfig::Http(config.with_max_answer_bytes(1 << 20)).connect()?,
    ///     other => other.connect()?,
    /// };
    /// # _ = upstream;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn upstream_config(&self) -> Result<UpstreamConfig, ConnectError> {
        self.check().map_err(ConnectError::Entry)?;
        match &self.transport {
            McpTransport::Http { url, headers } => {
                let config = HttpConfig::new(url.expose()).map_err(|error| unusable("transport.http.url", error.0))?;
                let mut config = self.over_http(config);
                for (name, value) in headers {
                    let (name, value) = header(name, value.expose())?;
                    config = config.with_header(name, value);
                }
                Ok(UpstreamConfig::Http(config))
            }
            McpTransport::Stdio { command, args, env } => {
                let config = env.iter().fold(StdioConfig::new(command).with_args(args), |config, (name, value)| {
                    config.with_env(name, value.expose())
                });
                Ok(UpstreamConfig::Stdio(self.over_stdio(config)))
            }
        }
    }

    fn over_http(&self, config: HttpConfig) -> HttpConfig {
        let config =
            config.with_name(&self.id).with_timeout(self.timeout).with_trust(self.trust_level.may_reach_private());
        let config = config.with_reach(ReachBack::new(self));
        self.roots.iter().fold(config, |config, root| config.with_root(&root.uri, root.name.as_deref()))
    }

    fn over_stdio(&self, config: StdioConfig) -> StdioConfig {
        let config = config.with_name(&self.id).with_timeout(self.timeout).with_env_isolation(self.isolates_env());
        // What it knows is not said by the entry.
        let config = config.with_child_per_era(true);
        // What a child asks is answered by its upstream: no layer in front sees that it may not be told.
        let roots = self.roots.iter().filter(|_| ReachBack::new(self).roots());
        roots.fold(config, |config, root| config.with_root(&root.uri, root.name.as_deref()))
    }
}

/// A header to be sent with each request.
fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), ConnectError> {
    let at = |problem| ConnectError::Unusable { place: format!("transport.http.headers.{name}"), problem };
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| at("no name of a header"))?;
    if super::http::is_of_a_connection(&parsed) {
        return Err(at("a header that is said for each connection"));
    }
    let value = HeaderValue::from_bytes(value.as_bytes());
    Ok((parsed, value.map_err(|_| at("the value of a header holds no control characters"))?))
}

fn unusable(place: &str, problem: &'static str) -> ConnectError {
    ConnectError::Unusable { place: place.to_owned(), problem }
}

/// How a server is reached.
///
/// See [`ServerEntry::upstream_config`] for an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum UpstreamConfig {
    /// Over HTTP.
    Http(HttpConfig),
    /// As a child process.
    Stdio(StdioConfig),
}

impl UpstreamConfig {
    /// A service that reaches it.
    ///
    /// # Errors
    ///
    /// A root certificate that is none; for a child process that there is no tokio runtime.
    pub fn connect(self) -> Result<Upstream, ConnectError> {
        match self {
            Self::Http(config) => {
                let upstream = HttpUpstream::new(config);
                upstream.map(Upstream::from).map_err(|error| unusable("transport.http", error.0))
            }
            Self::Stdio(config) => StdioUpstream::start(config).map(Upstream::from).map_err(ConnectError::NoRuntime),
        }
    }
}

/// A server that is reached in either way.
///
/// See [`ServerEntry::connect`] for an example. Its clones share one server.
#[derive(Clone, Debug)]
pub struct Upstream(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Http(HttpUpstream),
    Stdio(StdioUpstream),
}

impl Upstream {
    /// Waits until a child process [has been greeted](StdioUpstream::started). Over HTTP there is nothing to wait for.
    ///
    /// # Errors
    ///
    /// It could not be started, or has ended; it will be tried again.
    pub async fn started(&self) -> Result<(), UpstreamFault> {
        match &self.0 {
            Kind::Http(_) => Ok(()),
            Kind::Stdio(upstream) => upstream.started().await,
        }
    }
}

impl From<HttpUpstream> for Upstream {
    fn from(upstream: HttpUpstream) -> Self {
        Self(Kind::Http(upstream))
    }
}

impl From<StdioUpstream> for Upstream {
    fn from(upstream: StdioUpstream) -> Self {
        Self(Kind::Stdio(upstream))
    }
}

impl<B> Service<Request<B>> for Upstream
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<UpstreamBody>;
    type Error = Infallible;
    type Future = UpstreamFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        match &mut self.0 {
            Kind::Http(upstream) => Service::<Request<B>>::poll_ready(upstream, cx),
            Kind::Stdio(upstream) => Service::<Request<B>>::poll_ready(upstream, cx),
        }
    }

    fn call(&mut self, request: Request<B>) -> UpstreamFuture {
        match &mut self.0 {
            Kind::Http(upstream) => upstream.call(request),
            Kind::Stdio(upstream) => upstream.call(request),
        }
    }
}

/// Why a server that is declared cannot be reached. No value of the entry is in it.
///
/// See [`ServerEntry::check_connect`] for an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectError {
    /// The entry is none that could have been read.
    Entry(ServerError),
    /// What is at a place of the entry cannot be sent.
    Unusable {
        /// The place, such as `transport.http.url`.
        place: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A child process needs one to be looked after on.
    NoRuntime(NoRuntime),
}

impl ConnectError {
    /// The place in the entry, such as `transport.http.headers.Host`; none if the entry is not at fault.
    #[must_use]
    pub fn place(&self) -> Option<&str> {
        match self {
            Self::Entry(error) => Some(error.place()),
            Self::Unusable { place, .. } => Some(place),
            Self::NoRuntime(_) => None,
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(error) => error.fmt(f),
            Self::Unusable { place, problem } => write!(f, "{place}: {problem}"),
            Self::NoRuntime(error) => error.fmt(f),
        }
    }
}

impl Error for ConnectError {}
