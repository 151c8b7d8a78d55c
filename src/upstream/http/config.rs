//! Where a server is, and how far it is trusted.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use super::resolve::{Resolve, system};
use crate::server::{Reach, ReachBack};
use crate::upstream::replies::Root;

/// Who is told that something was refused.
type Refused = Arc<dyn Fn(Reach) + Send + Sync>;

/// How an [`HttpUpstream`](super::HttpUpstream) reaches its server.
///
/// | setting | default |
/// |---|---|
/// | trusted | no |
/// | time for the head of an answer, and for an answer in JSON | 30 s |
/// | time to connect, within that | 10 s |
/// | longest answer in JSON | 64 MiB |
/// | roots of TLS | Mozilla's |
/// | what the server asks | passed on |
///
/// # Example
///
/// ```
/// use tower_toolgate::upstream::HttpConfig;
///
/// let config = HttpConfig::new("https://mcp.example/mcp")?;
/// assert!(HttpConfig::new("https://user:password@mcp.example/mcp").is_err());
/// # _ = config;
/// # Ok::<(), tower_toolgate::upstream::InvalidHttpConfig>(())
/// ```
#[derive(Clone)]
pub struct HttpConfig {
    pub(super) uri: Uri,
    pub(super) host: HeaderValue,
    pub(super) name: Box<str>,
    pub(super) trusted: bool,
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) max_answer_bytes: usize,
    pub(super) headers: HeaderMap,
    pub(super) roots: Vec<Vec<u8>>,
    pub(super) resolve: Arc<dyn Resolve>,
    pub(super) reach: Option<ReachBack>,
    pub(super) own_roots: Vec<Root>,
    pub(super) refused: Option<Refused>,
}

impl HttpConfig {
    /// A server at an absolute `http://` or `https://` address: a host, perhaps a port, a path and a query.
    ///
    /// # Errors
    ///
    /// The text is no such address. The text itself is not in the message: it may hold a password.
    pub fn new(url: &str) -> Result<Self, InvalidHttpConfig> {
        // `Uri` drops a fragment without a word.
        if url.contains('#') {
            return Err(InvalidHttpConfig("a server's url has no fragment"));
        }
        let uri: Uri = url.parse().map_err(|_| InvalidHttpConfig("this is no url"))?;
        if ![Some(&Scheme::HTTP), Some(&Scheme::HTTPS)].contains(&uri.scheme()) {
            return Err(InvalidHttpConfig("a server's url begins with `http://` or `https://`"));
        }
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(InvalidHttpConfig("a server's url has no user: credentials belong into a header"));
        }
        let authority = uri.authority().filter(|authority| is_complete(authority));
        let authority =
            authority.ok_or(InvalidHttpConfig("a server's url needs a host, and no port but 1 to 65535"))?;
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| InvalidHttpConfig("this is no host"))?;
        Ok(Self {
            name: authority.as_str().into(),
            uri,
            host,
            trusted: false,
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            max_answer_bytes: 64 << 20,
            headers: HeaderMap::new(),
            roots: Vec::new(),
            resolve: Arc::new(system()),
            reach: None,
            own_roots: Vec::new(),
            refused: None,
        })
    }

    /// What logs call it; host and port by default.
    #[must_use]
    pub fn with_name(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// Whether the server is as trusted as the operator's own: its name may lead to an address that is not public, and
    /// its redirects, cookies and challenges reach clients.
    #[must_use]
    pub fn with_trust(mut self, trusted: bool) -> Self {
        self.trusted = trusted;
        self
    }

    /// How long the head of an answer may take, and all of an answer in JSON.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How long a connection may take, within the time for the answer.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// The bytes that an answer in JSON may have, and an event of a server whose [reach](Self::with_reach) is known: one that
    /// is longer ends its stream. Streams have no bound.
    #[must_use]
    pub fn with_max_answer_bytes(mut self, bytes: usize) -> Self {
        self.max_answer_bytes = bytes;
        self
    }

    /// Adds a header to every request, in the place of the client's: the operator's credentials for this server.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        self.headers.append(name, value);
        self
    }

    /// Adds a certificate authority, in DER, to those that TLS trusts.
    #[must_use]
    pub fn with_root_certificate(mut self, der: impl Into<Vec<u8>>) -> Self {
        self.roots.push(der.into());
        self
    }

    /// Finds addresses otherwise than by the system's resolver. What it finds is judged as strictly.
    #[must_use]
    pub fn with_resolver(mut self, resolve: impl Resolve) -> Self {
        self.resolve = Arc::new(resolve);
        self
    }
}

/// # What the server asks
impl HttpConfig {
    /// What the server may ask of its clients. What it may not is answered from here, and so are requests for the roots, if
    /// the operator [has given](Self::with_root) any; users have [their time](ReachBack::elicitation). Without this, all
    /// that it asks is passed on.
    ///
    /// # Example
    ///
    /// ```
    /// use tower_toolgate::server::ReachBack;
    /// use tower_toolgate::upstream::HttpConfig;
    ///
    /// let config = HttpConfig::new("https://mcp.example/mcp")?.with_reach(ReachBack::NONE);
    /// # _ = config;
    /// # Ok::<(), tower_toolgate::upstream::InvalidHttpConfig>(())
    /// ```
    #[must_use]
    pub fn with_reach(mut self, reach: ReachBack) -> Self {
        self.reach = Some(reach);
        self
    }

    /// Adds a root that the server is told of when it asks, if its [reach](Self::with_reach) permits that.
    #[must_use]
    pub fn with_root(mut self, uri: impl Into<String>, name: Option<&str>) -> Self {
        self.own_roots.push((uri.into(), name.map(str::to_owned)));
        self
    }

    /// Calls this for each request of the server that its [reach](Self::with_reach) does not permit.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use tower_toolgate::server::ReachBack;
    /// use tower_toolgate::upstream::HttpConfig;
    ///
    /// let refused = Arc::new(AtomicU64::new(0));
    /// let counter = Arc::clone(&refused);
    /// let config = HttpConfig::new("https://mcp.example/mcp")?
    ///     .with_reach(ReachBack::NONE)
    ///     .on_refused(move |_| _ = counter.fetch_add(1, Ordering::Relaxed));
    /// # _ = config;
    /// # Ok::<(), tower_toolgate::upstream::InvalidHttpConfig>(())
    /// ```
    #[must_use]
    pub fn on_refused(mut self, refused: impl Fn(Reach) + Send + Sync + 'static) -> Self {
        self.refused = Some(Arc::new(refused));
        self
    }
}

/// `Uri` takes a port out of range, and a host that is empty, for granted.
fn is_complete(authority: &Authority) -> bool {
    let port = authority.as_str().strip_prefix(authority.host());
    let port = port.is_some_and(|port| port.is_empty() || authority.port_u16().is_some_and(|port| port > 0));
    port && !authority.host().is_empty()
}

/// Without the values of headers.
impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConfig")
            .field("name", &self.name)
            .field("trusted", &self.trusted)
            .field("timeout", &self.timeout)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// What a server cannot be reached by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidHttpConfig(pub(in crate::upstream) &'static str);

impl fmt::Display for InvalidHttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for InvalidHttpConfig {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_servers() {
        for good in ["http://a", "https://a.example:8443/mcp?x=1", "http://[::1]:80/mcp", "http://127.0.0.1:1/"] {
            assert!(HttpConfig::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "/mcp",
            "a.example",
            "ftp://a",
            "http://",
            "http://a#b",
            "http://u:p@a",
            "http://a:0",
            "http://a:99999",
        ] {
            assert!(HttpConfig::new(bad).is_err(), "{bad}");
        }
        let config = HttpConfig::new("https://a.example:8443/mcp").unwrap();
        let config = config.with_header(http::header::AUTHORIZATION, HeaderValue::from_static("Bearer secret"));
        assert!(!format!("{config:?}").contains("secret"));
    }
}
