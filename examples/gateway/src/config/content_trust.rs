//! The section `content_trust`.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use tower_toolgate::trust::{DelegationTool, Face, PoolTool, ToolContentOrigin};

use super::{Secret, duration};

/// What kind of content tools bring back, and what a session that has received outside content may do.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContentTrustConfig {
    /// Servers whose content is the operator's own.
    #[serde(default)]
    pub trusted_mcp_servers: Vec<String>,
    /// Tools whose content comes from outside, whatever their server.
    #[serde(default)]
    pub untrusted_tools: Vec<String>,
    /// Tools whose content is the operator's own, whatever their server.
    #[serde(default)]
    pub trusted_tools: Vec<String>,
    /// Whether the output of commands counts as outside content.
    #[serde(default)]
    pub exec_is_external: bool,
    /// Tools that write, send or remember.
    #[serde(default)]
    pub sinks: Vec<String>,
    /// What happens to a sink in a tainted session.
    #[serde(default)]
    pub on_tainted_sink: OnTaintedSink,
    /// Tools whose effects cannot be undone.
    #[serde(default)]
    pub irreversible: Vec<String>,
    /// Tools that read what is private.
    #[serde(default)]
    pub private_reads: Vec<String>,
    /// Tools that send what is refused after private data and outside content.
    #[serde(default)]
    pub egress: Vec<String>,
    /// Sequences of tools of which the last is refused after all others.
    #[serde(default)]
    pub forbidden_sequences: Vec<Vec<String>>,
    /// How long outside content is remembered.
    #[serde(default)]
    pub window: Window,
    /// Headers, or members of `_meta`, that name a conversation, believed.
    #[serde(default)]
    pub conversation: Vec<String>,
    /// Tools that start other agents, and what those can reach.
    #[serde(default)]
    pub delegation: Vec<DelegationConfig>,
    /// Where it is remembered.
    #[serde(default)]
    pub store: StoreConfig,
}

/// A tool that starts other agents: `[[content_trust.delegation]]`. A call of it brings outside content if the agent
/// that it starts could reach some. What is not known of an agent counts as outside.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegationConfig {
    /// The server that has it.
    pub server: String,
    /// Its name.
    pub tool: String,
    /// The argument that names the type of agent.
    pub argument: String,
    /// The types of agents, and which tools of the pool each may use.
    pub faces: Option<Vec<Face>>,
    /// The tools that the agents draw from.
    pub pool: Option<Vec<PoolToolConfig>>,
}

impl DelegationConfig {
    /// As the library has it.
    #[must_use]
    pub fn tool(&self) -> DelegationTool {
        let mut tool = DelegationTool::new(Some(&self.server), &self.tool, &self.argument);
        if let Some(faces) = &self.faces {
            tool = tool.with_faces(faces.iter().cloned());
        }
        match &self.pool {
            Some(pool) => tool.with_pool(pool.iter().map(PoolToolConfig::tool)),
            None => tool,
        }
    }
}

/// A tool that started agents draw from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolToolConfig {
    /// Its name.
    pub name: String,
    /// Other names for it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The server that has it, if one does.
    pub server: Option<String>,
    /// What its content is, where its server does not say enough.
    pub content_origin: Option<ToolContentOrigin>,
}

impl PoolToolConfig {
    fn tool(&self) -> PoolTool {
        let mut tool = self.aliases.iter().fold(PoolTool::new(&self.name), PoolTool::with_alias);
        if let Some(server) = &self.server {
            tool = tool.with_owner(server);
        }
        match self.content_origin {
            Some(origin) => tool.with_content_origin(origin),
            None => tool,
        }
    }
}

/// What happens to a sink in a tainted session.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum OnTaintedSink {
    /// The call is refused.
    #[default]
    Deny,
    /// The call passes and is recorded.
    Flag,
}

/// How long outside content is remembered.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub enum Window {
    /// Until the principal's epoch ends.
    #[default]
    Forever,
    /// Until this long without outside content.
    For(Duration),
}

impl TryFrom<String> for Window {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "forever" => Ok(Self::Forever),
            text => duration::parse(text).map(Self::For).map_err(|error| format!("{error}, nor `forever`")),
        }
    }
}

pub(super) fn check_window(text: &str) -> Result<(), String> {
    Window::try_from(text.to_owned()).map(drop)
}

/// The memory of sessions.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "StoreFields")]
pub struct StoreConfig {
    /// What it is.
    pub store: Store,
    /// How many sessions it tells apart.
    pub capacity: usize,
    /// How long Redis may take for an answer.
    pub timeout: Duration,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self { store: Store::Memory, capacity: capacity(), timeout: timeout() }
    }
}

impl TryFrom<StoreFields> for StoreConfig {
    type Error = &'static str;

    fn try_from(fields: StoreFields) -> Result<Self, Self::Error> {
        let store = match (fields.kind, fields.url, fields.path) {
            (Kind::File, None, Some(path)) => Store::File { path },
            (Kind::Memory, None, None) => Store::Memory,
            (Kind::Redis, Some(url), None) => Store::Redis { url },
            _ => {
                return Err("a store of kind `redis` has a `url`, of kind `file` a `path`, of kind `memory` neither");
            }
        };
        Ok(Self { store, capacity: fields.capacity, timeout: fields.timeout })
    }
}

/// Where the memory of sessions is kept.
#[derive(Clone, Debug)]
pub enum Store {
    /// In memory and in an append-only journal.
    File {
        /// The journal.
        path: PathBuf,
    },
    /// In memory; forgets at a restart.
    Memory,
    /// In Redis.
    Redis {
        /// Its address, which may hold a password.
        url: Secret,
    },
}

/// The message must not hold the address: it may have a password in it.
pub(super) fn check_redis(text: &str) -> Result<(), String> {
    let known = ["redis://", "rediss://", "unix://"].into_iter();
    let rest = known.filter_map(|scheme| text.strip_prefix(scheme)).next();
    match rest {
        Some(rest) if !rest.trim().is_empty() => Ok(()),
        _ => Err("not an address such as `redis://127.0.0.1:6379/0`".to_owned()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoreFields {
    #[serde(default)]
    kind: Kind,
    #[serde(default = "capacity")]
    capacity: usize,
    #[serde(default = "timeout", deserialize_with = "duration::deserialize")]
    timeout: Duration,
    url: Option<Secret>,
    path: Option<PathBuf>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    File,
    #[default]
    Memory,
    Redis,
}

fn capacity() -> usize {
    100_000
}

fn timeout() -> Duration {
    Duration::from_millis(50)
}
