//! Settings that are read and checked, and that this release does not act on.

use super::places::element;
use super::{Config, Problem, ServerConfig, Store, StoreConfig, Transport, TrustLevel};

impl Config {
    /// What the configuration asks for and this release would not do.
    ///
    /// To start all the same would be to look safer than it is, so each of these keeps the gateway from
    /// starting. [`Parsed::not_yet`](super::Parsed::not_yet) adds lines and columns.
    #[must_use]
    pub fn not_yet(&self) -> Vec<Problem> {
        let servers = self.mcp.servers.iter().enumerate();
        let store = self.content_trust.as_ref().and_then(|trust| store(&trust.store));
        store
            .into_iter()
            .chain(servers.flat_map(|(index, server)| of_server(&element("mcp.servers", index), server)))
            .collect()
    }
}

/// The client of Redis is built without TLS, and would say only that this is no address.
fn store(config: &StoreConfig) -> Option<Problem> {
    match &config.store {
        Store::Redis { url } if url.expose().starts_with("rediss://") => {
            let message = "TLS to Redis is not spoken by this release; use `redis://` over a network that is your own";
            Some(Problem::new("content_trust.store.url", message))
        }
        Store::File { .. } | Store::Memory | Store::Redis { .. } => None,
    }
}

fn of_server(place: &str, server: &ServerConfig) -> Vec<Problem> {
    let mut problems: Vec<_> = transport(place, server).into_iter().chain(trust_level(place, server)).collect();
    let settings = [
        ("tool_allowlist", server.tool_allowlist.is_some()),
        ("allow_untrusted_without_allowlist", server.allow_untrusted_without_allowlist),
        ("expected_tools", !server.expected_tools.is_empty()),
        ("roots", !server.roots.is_empty()),
        ("tool_metadata", !server.tool_metadata.is_empty()),
        ("elicitation_enabled", server.elicitation_enabled),
        ("env_isolation", server.env_isolation.is_some()),
        ("media_passthrough", server.media_passthrough),
    ];
    let set = settings.into_iter().filter(|(_, is_set)| *is_set);
    problems.extend(set.map(|(name, _)| Problem::new(format!("{place}.{name}"), not_enforced(name))));
    problems
}

fn transport(place: &str, server: &ServerConfig) -> Option<Problem> {
    let message = "the transport `stdio` is not served by this release; remove the server to start";
    match server.transport {
        Transport::Stdio { .. } => Some(Problem::new(format!("{place}.transport.stdio"), message)),
        Transport::Builtin(_) | Transport::Http { .. } => None,
    }
}

/// A builtin is the gateway's own, so its level is asked for only when somebody wrote one.
fn trust_level(place: &str, server: &ServerConfig) -> Option<Problem> {
    let is_own = matches!(server.transport, Transport::Builtin(_)) && server.trust_level.is_none();
    let level = server.trust_level();
    if is_own || level == TrustLevel::Trusted {
        return None;
    }
    let origin = if server.trust_level.is_none() { ", the default," } else { "" };
    let message = format!(
        "the trust level `{}`{origin} is not enforced by this release; write `trust_level = \"trusted\"` if that is what is meant",
        level.as_str(),
    );
    Some(Problem::new(format!("{place}.trust_level"), message))
}

fn not_enforced(name: &str) -> String {
    format!("`{name}` is not enforced by this release; remove it to start")
}
