//! The address of a server.

use std::fmt;

use serde::{Serialize, Serializer};

use super::error::ServerProblem;
use super::secret::REDACTED;

/// An absolute address. What may be secret in it, user information and query, is shown neither by `Debug` nor by
/// `Serialize`.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::ServerUrl;
///
/// let url = ServerUrl::parse("https://agent:pa55@files.example/mcp?key=k")?;
/// assert_eq!(format!("{url:?}"), "https://<redacted>@files.example/mcp?<redacted>");
/// assert_eq!(url.expose(), "https://agent:pa55@files.example/mcp?key=k");
/// assert!(ServerUrl::parse("files.example/mcp").is_err());
/// # Ok::<(), tower_toolgate::server::ServerProblem>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl(String);

impl ServerUrl {
    /// Reads an address: `http://` or `https://`, a host, and whatever comes after it but a fragment.
    ///
    /// # Errors
    ///
    /// What keeps the text from being one; never the text, which may hold a password.
    pub fn parse(text: &str) -> Result<Self, ServerProblem> {
        if text.contains(REDACTED) {
            return Err(ServerProblem::Redacted);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>\"\\^`{|}#".contains(&byte)) {
            return Err(ServerProblem::Invalid("an address holds neither white space nor any of <>\"\\^`{|}#"));
        }
        let url = Self(text.to_owned());
        match url.parts() {
            None => Err(ServerProblem::Invalid("an address begins with `http://` or `https://`")),
            Some(parts) if !is_host(parts.host) => {
                Err(ServerProblem::Invalid("an address needs a host, and a port between 1 and 65535 if it names one"))
            }
            Some(_) => Ok(url),
        }
    }

    /// The address with all that is secret in it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    fn parts(&self) -> Option<Parts<'_>> {
        let scheme = ["http://", "https://"].into_iter().find(|scheme| self.0.starts_with(scheme))?;
        let rest = self.0.strip_prefix(scheme)?;
        let (authority, path) = rest.split_at_checked(rest.find(['/', '?']).unwrap_or(rest.len()))?;
        // Up to the last `@`: what is not encoded as it should be is secret as well.
        let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        Some(Parts { scheme, user, host, path, query })
    }

    fn shown(&self) -> String {
        let Some(Parts { scheme, user, host, path, query }) = self.parts() else { return REDACTED.to_owned() };
        let user = user.map(|_| format!("{REDACTED}@")).unwrap_or_default();
        let query = query.map(|_| format!("?{REDACTED}")).unwrap_or_default();
        format!("{scheme}{user}{host}{path}{query}")
    }
}

struct Parts<'a> {
    scheme: &'static str,
    user: Option<&'a str>,
    /// With the port.
    host: &'a str,
    path: &'a str,
    query: Option<&'a str>,
}

fn is_host(text: &str) -> bool {
    let port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    if let Some((address, after)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let after = after.is_empty() || after.strip_prefix(':').is_some_and(port);
        return after && address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let (host, is_port) = text.split_once(':').map_or((text, true), |(host, number)| (host, port(number)));
    is_port && !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte))
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl Serialize for ServerUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.shown())
    }
}
