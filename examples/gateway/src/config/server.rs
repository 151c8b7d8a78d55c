//! The section `mcp`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::{HttpUrl, Secret, duration};

/// The servers behind the gateway.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpConfig {
    /// At least one.
    pub servers: Vec<ServerConfig>,
}

/// One server, reached at `/mcp/ID`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    /// Its name in paths and in the policy.
    pub id: String,
    /// How it is reached.
    pub transport: Transport,
    /// How long an answer may take to begin. An http server's must be written.
    #[serde(default = "timeout", deserialize_with = "duration::deserialize")]
    pub timeout: Duration,
    /// How far it is trusted; see [`ServerConfig::trust_level`].
    pub trust_level: Option<TrustLevel>,
    /// The tools of it that are exposed.
    pub tool_allowlist: Option<Vec<String>>,
    /// Whether an untrusted server without an allowlist exposes all its tools.
    #[serde(default)]
    pub allow_untrusted_without_allowlist: bool,
    /// The tools that the operator has seen. Empty: it is not compared.
    #[serde(default)]
    pub expected_tools: Vec<String>,
    /// The roots that it is told of.
    #[serde(default)]
    pub roots: Vec<Root>,
    /// What the operator knows of its tools, by name.
    #[serde(default)]
    pub tool_metadata: BTreeMap<String, ToolMetadata>,
    /// Whether it may ask the user.
    #[serde(default)]
    pub elicitation_enabled: bool,
    /// How long the user may take to answer.
    #[serde(default = "elicitation_timeout_secs")]
    pub elicitation_timeout_secs: u64,
    /// Whether its process starts with an empty environment.
    pub env_isolation: Option<bool>,
    /// Whether images and sound from it pass.
    #[serde(default)]
    pub media_passthrough: bool,
}

impl ServerConfig {
    /// How far the server is trusted: not, unless the operator says so.
    #[must_use]
    pub fn trust_level(&self) -> TrustLevel {
        self.trust_level.unwrap_or_default()
    }
}

/// How a server is reached.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Transport {
    /// It is part of the gateway.
    Builtin(Builtin),
    /// Over the network.
    Http {
        /// Its address.
        url: HttpUrl,
    },
    /// As a child process.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Vec<String>,
        /// Its environment.
        #[serde(default)]
        env: BTreeMap<String, Secret>,
    },
}

/// A demo server that is part of the gateway.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Builtin {
    /// A few files of the operator's own.
    Files,
    /// Pages from outside.
    Web,
}

/// How far a server is trusted.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum TrustLevel {
    /// Less than not.
    Sandboxed,
    /// As the operator's own.
    Trusted,
    /// Not.
    #[default]
    Untrusted,
}

impl TrustLevel {
    /// The level as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sandboxed => "sandboxed",
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
        }
    }
}

/// A root that a server is told of.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Root {
    /// Where it is.
    pub uri: String,
    /// For people.
    pub name: Option<String>,
}

/// What the operator knows of a tool.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct ToolMetadata {
    /// How much harm it can do.
    pub data_sensitivity: Option<Sensitivity>,
    /// What it can do.
    pub capabilities: Vec<String>,
}

/// How much harm a tool can do.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Sensitivity {
    /// Much.
    High,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// None.
    None,
}

/// Ids stand in paths and, joined by `__`, in the names of tools.
pub(super) fn check_id(id: &str) -> Result<(), String> {
    let why = match id {
        "" => "it is empty",
        id if id.chars().count() > 64 => "it is longer than 64 characters",
        id if !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)) => {
            "it holds more than ascii letters, digits, `_` and `-`"
        }
        id if id.contains("__") => "it holds `__`",
        id if id.starts_with('_') || id.ends_with('_') => "it begins or ends with `_`",
        _ => return Ok(()),
    };
    Err(format!("`{id}` is no server id: {why}"))
}

/// No process starts with such a name in its environment.
pub(super) fn check_env_name(name: &str) -> Result<(), String> {
    if name.trim().is_empty() || name.contains(['=', '\0']) {
        return Err(format!("`{}` is no name of an environment variable", name.escape_debug()));
    }
    Ok(())
}

/// The message must not hold the value.
pub(super) fn check_env_value(value: &str) -> Result<(), String> {
    if value.contains('\0') {
        return Err("no environment variable holds the character U+0000".to_owned());
    }
    Ok(())
}

fn timeout() -> Duration {
    Duration::from_secs(30)
}

fn elicitation_timeout_secs() -> u64 {
    120
}
