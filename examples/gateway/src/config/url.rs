//! The address of an upstream server.

use http::Uri;
use http::uri::{Authority, Scheme};
use serde::Deserialize;

/// An absolute `http://` address: a host, perhaps a port and a path, and nothing else.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub struct HttpUrl {
    uri: Uri,
    authority: Authority,
}

impl HttpUrl {
    /// Reads an address.
    ///
    /// # Errors
    ///
    /// What keeps the text from being one. The text itself is not in the message: it may hold a
    /// password.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some((found, what)) = excess(text) {
            return Err(format!("a server's url has no {what}, but this one holds `{found}`"));
        }
        let uri: Uri = text.parse().map_err(|_| INVALID.to_owned())?;
        match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => {}
            Some(scheme) if *scheme == Scheme::HTTPS => return Err(HTTPS.to_owned()),
            _ => return Err("a server's url begins with `http://`".to_owned()),
        }
        match uri.authority().cloned() {
            Some(authority) if is_complete(&authority) => Ok(Self { uri, authority }),
            _ => Err("a server's url needs a host, and a port between 1 and 65535 if it names one".to_owned()),
        }
    }

    /// The address.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Host and port as they are written, which is what the upstream's `Host` says.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The host; an IPv6 address is in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        self.authority.host()
    }

    /// The port: 80 unless another is written.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.authority.port_u16().unwrap_or(80)
    }

    /// The path: `/` unless another is written.
    #[must_use]
    pub fn path(&self) -> &str {
        self.uri.path()
    }
}

impl TryFrom<String> for HttpUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

pub(super) fn check(text: &str) -> Result<(), String> {
    HttpUrl::parse(text).map(drop)
}

const INVALID: &str = "not a url such as `http://127.0.0.1:3001/mcp`";
const HTTPS: &str = "https comes with the `upstream` feature of a later release; this one speaks `http://`";

/// Looked for in the text, because `Uri` drops a fragment without a word.
fn excess(text: &str) -> Option<(char, &'static str)> {
    let parts = [('#', "fragment"), ('?', "query"), ('@', "user name or password")];
    parts.into_iter().find(|(mark, _)| text.contains(*mark))
}

/// `Uri` takes a port out of range, and a host that is empty, for granted.
fn is_complete(authority: &Authority) -> bool {
    let port = authority.as_str().strip_prefix(authority.host());
    let port = port.is_some_and(|port| port.is_empty() || authority.port_u16().is_some_and(|port| port > 0));
    port && !authority.host().is_empty()
}
