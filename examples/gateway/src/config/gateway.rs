//! The section `gateway`.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::Deserialize;
use tower_toolgate::binding::BindingKey;

use super::{Secret, duration};

/// The gateway itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GatewayConfig {
    /// Where it listens. Port 0 picks a free one.
    pub listen: SocketAddr,
    /// The largest body that it reads.
    pub max_body_bytes: usize,
    /// How long a request's body may take to arrive.
    #[serde(deserialize_with = "duration::deserialize")]
    pub body_timeout: Duration,
    /// What a refusal looks like.
    pub denial: DenialShape,
    /// Whether it judges and records, and denies nothing.
    pub shadow: bool,
    /// Who may call. With none, nobody.
    pub api_keys: Vec<ApiKey>,
    /// Values of `Host` that are answered besides the loopback's names.
    pub allowed_hosts: Vec<String>,
    /// Values of `Origin` that are answered besides the loopback's.
    pub allowed_origins: Vec<String>,
    /// The operator's own address. Absent: there is none.
    pub admin: Option<AdminConfig>,
    /// What binds ids of sessions and tasks to who was given them. Absent: it is drawn at each start.
    pub binding_key: Option<Secret>,
    /// Keys that have bound ids before, and still count.
    pub previous_binding_keys: Vec<Secret>,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8970)),
            max_body_bytes: 4 * 1024 * 1024,
            body_timeout: Duration::from_secs(30),
            denial: DenialShape::default(),
            shadow: false,
            api_keys: Vec::new(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            admin: None,
            binding_key: None,
            previous_binding_keys: Vec::new(),
        }
    }
}

/// Where operators look at the memory of sessions, and clear it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminConfig {
    /// Where it listens. Port 0 picks a free one.
    pub listen: SocketAddr,
    /// The key of operators: `Authorization: Bearer KEY`.
    pub key: Secret,
}

/// One caller, known by `Authorization: Bearer KEY`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiKey {
    /// The key.
    pub key: Secret,
    /// Who holds it.
    pub subject: String,
    /// The holder's roles in the policy.
    pub roles: Vec<String>,
}

/// What a refusal looks like.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub enum DenialShape {
    /// HTTP 403, whoever asks.
    #[serde(rename = "http-403")]
    Http403,
    /// HTTP 200 with a JSON-RPC error, whoever asks.
    #[serde(rename = "json-rpc-error")]
    JsonRpcError,
    /// As if the tool did not exist.
    #[serde(rename = "masked")]
    Masked,
    /// What the client at hand survives.
    #[default]
    #[serde(rename = "negotiate")]
    Negotiate,
    /// A tool's result that says it failed.
    #[serde(rename = "tool-error")]
    ToolError,
}

pub(super) fn check_listen(text: &str) -> Result<(), String> {
    let invalid = |_| format!("`{text}` is no address with a port, such as `127.0.0.1:8970`");
    text.parse::<SocketAddr>().map(drop).map_err(invalid)
}

/// The message must not hold the key.
pub(super) fn check_key(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("must not be blank".to_owned());
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("holds what no `Authorization` header carries: a key is visible ascii without spaces".to_owned());
    }
    Ok(())
}

/// The message must not hold the key.
pub(super) fn check_binding_key(text: &str) -> Result<(), String> {
    BindingKey::new(text.as_bytes()).map(drop).map_err(|error| error.to_string())
}

pub(super) fn check_host(text: &str) -> Result<(), String> {
    if text.is_empty() || text.chars().any(is_no_host) {
        return Err(format!("`{text}` is no host, such as `gateway.example` or `gateway.example:8970`"));
    }
    Ok(())
}

/// Compared as a whole with what browsers send: a path, or only a slash at the end, would never match.
pub(super) fn check_origin(text: &str) -> Result<(), String> {
    match text.split_once("://") {
        Some((scheme, host)) if !scheme.is_empty() && check_host(host).is_ok() => Ok(()),
        _ => Err(format!("`{text}` is no origin, such as `https://app.example` or `http://localhost:5173`")),
    }
}

fn is_no_host(letter: char) -> bool {
    !letter.is_ascii_graphic() || "/\\?#@*,".contains(letter)
}
