//! What an operator says about servers and tools, before it is compiled.

use serde::{Deserialize, Serialize};

use crate::trust::config::ContentTrustConfig;
use crate::trust::delegation::{Face, PoolTool};

/// What the operator says about whose content is trusted: the input of [`Classifier::new`](super::Classifier::new).
///
/// # Example
///
/// ```
/// use tower_toolgate::trust::{ClassifierConfig, DeclaredServer, DeclaredTool, ServerTrust, ToolContentOrigin};
///
/// let config = ClassifierConfig::new()
///     .with_server(DeclaredServer::new("everything").with_trust(ServerTrust::Untrusted))
///     .with_content_origin(DeclaredTool::new(Some("everything"), "run", ToolContentOrigin::Execution));
/// assert_eq!(config.servers[0].id, "everything");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ClassifierConfig {
    /// The lists of servers and tools.
    pub content_trust: ContentTrustConfig,
    /// Whether what code prints that the agent runs counts as external.
    pub exec_is_external: bool,
    /// All servers that routes name.
    pub servers: Vec<DeclaredServer>,
    /// The origins of single tools.
    pub content_origins: Vec<DeclaredTool>,
    /// The tools that start other agents.
    pub delegations: Vec<DelegationTool>,
}

impl ClassifierConfig {
    /// Nothing is known, so that everything is external.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the lists.
    #[must_use]
    pub fn with_content_trust(mut self, lists: ContentTrustConfig) -> Self {
        self.content_trust = lists;
        self
    }

    /// Sets whether what code prints that the agent runs counts as external.
    #[must_use]
    pub fn with_exec_is_external(mut self, strict: bool) -> Self {
        self.exec_is_external = strict;
        self
    }

    /// Adds a server.
    #[must_use]
    pub fn with_server(mut self, server: DeclaredServer) -> Self {
        self.servers.push(server);
        self
    }

    /// Adds the origin of a tool.
    #[must_use]
    pub fn with_content_origin(mut self, tool: DeclaredTool) -> Self {
        self.content_origins.push(tool);
        self
    }

    /// Adds a tool that starts other agents.
    #[must_use]
    pub fn with_delegation(mut self, tool: DelegationTool) -> Self {
        self.delegations.push(tool);
        self
    }
}

/// How far a server is trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ServerTrust {
    /// Its content is local.
    Trusted,
    /// Its content is external.
    #[default]
    Untrusted,
    /// Its content is external, and it may do as little as possible.
    Sandboxed,
}

/// A server that routes name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DeclaredServer {
    /// The id.
    pub id: String,
    /// How far it is trusted. `None`: as far as the lists say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<ServerTrust>,
    /// Whether it is the gateway's own: then its content is local if nothing else is said.
    #[serde(default)]
    pub own: bool,
}

impl DeclaredServer {
    /// A server of which nothing is said: its content is external.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), trust: None, own: false }
    }

    /// One of the gateway's own.
    #[must_use]
    pub fn own(id: impl Into<String>) -> Self {
        Self { own: true, ..Self::new(id) }
    }

    /// Sets how far it is trusted.
    #[must_use]
    pub fn with_trust(mut self, trust: ServerTrust) -> Self {
        self.trust = Some(trust);
        self
    }
}

/// A tool whose origin the operator declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DeclaredTool {
    /// The server that brings it; `None` where routes name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Its name on the wire.
    pub tool: String,
    /// The name of a [`ToolContentOrigin`](crate::trust::ToolContentOrigin).
    pub content_origin: String,
}

impl DeclaredTool {
    /// A tool, and the name of its origin or the origin itself.
    #[must_use]
    pub fn new(owner: Option<&str>, tool: impl Into<String>, origin: impl Into<String>) -> Self {
        Self { owner: owner.map(str::to_owned), tool: tool.into(), content_origin: origin.into() }
    }
}

/// A tool that starts other agents. What is not known of them counts as external.
///
/// # Example
///
/// ```
/// use tower_toolgate::trust::{DelegationTool, Face, PoolTool};
///
/// let tool = DelegationTool::new(Some("agents"), "delegate", "agent_type")
///     .with_faces([Face::new("reader").with_allow_tools(["read"])])
///     .with_pool([PoolTool::new("read").with_owner("files")]);
/// assert_eq!(tool.argument, "agent_type");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DelegationTool {
    /// The server that brings it; `None` where routes name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Its name on the wire.
    pub tool: String,
    /// The argument that names the type of agent.
    pub argument: String,
    /// The types on offer, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faces: Option<Vec<Face>>,
    /// The tools that the agents draw from, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Vec<PoolTool>>,
}

impl DelegationTool {
    /// A tool of whose agents nothing is known.
    #[must_use]
    pub fn new(owner: Option<&str>, tool: impl Into<String>, argument: impl Into<String>) -> Self {
        let owner = owner.map(str::to_owned);
        Self { owner, tool: tool.into(), argument: argument.into(), faces: None, pool: None }
    }

    /// Adds to the types on offer.
    #[must_use]
    pub fn with_faces(mut self, faces: impl IntoIterator<Item = Face>) -> Self {
        self.faces.get_or_insert_default().extend(faces);
        self
    }

    /// Adds to the tools that the agents draw from.
    #[must_use]
    pub fn with_pool(mut self, tools: impl IntoIterator<Item = PoolTool>) -> Self {
        self.pool.get_or_insert_default().extend(tools);
        self
    }
}
