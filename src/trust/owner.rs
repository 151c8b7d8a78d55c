//! Who brings a tool, and what its content is worth.

use crate::Server;

/// The kind of component that a tool belongs to, where the host knows it by type and not from the tool's name.
///
/// # Example
///
/// ```
/// use tower_toolgate::trust::ToolOwner;
///
/// assert_eq!(ToolOwner::mcp("files").server(), Some("files"));
/// assert_eq!(ToolOwner::Shell.server(), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolOwner {
    /// The host's own tools.
    Builtin,
    /// Tools that the embedding program answers.
    Callback,
    /// Messages between agents.
    Comms,
    /// An MCP server.
    Mcp(Server),
    /// What an agent remembers.
    Memory,
    /// A group of agents.
    Mob,
    /// Tools that are compiled into the host.
    RustBundle,
    /// Timers.
    Schedule,
    /// Commands.
    Shell,
    /// The graph of work to do.
    WorkGraph,
}

impl ToolOwner {
    /// The MCP server of this id.
    #[must_use]
    pub fn mcp(id: &str) -> Self {
        Self::Mcp(Server::new(id))
    }

    /// The id, if it is an MCP server.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::Mcp(server) => Some(server.as_str()),
            Self::Builtin
            | Self::Callback
            | Self::Comms
            | Self::Memory
            | Self::Mob
            | Self::RustBundle
            | Self::Schedule
            | Self::Shell
            | Self::WorkGraph => None,
        }
    }
}

/// Whether what a tool brings back can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum ToolContentTrust {
    /// It can.
    Trusted,
    /// It cannot.
    Untrusted {
        /// Why, in words: names of tools and servers.
        source: String,
    },
}

impl ToolContentTrust {
    /// Whether it can be trusted.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        matches!(self, Self::Trusted)
    }

    /// Why it cannot be trusted.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        match self {
            Self::Trusted => None,
            Self::Untrusted { source } => Some(source),
        }
    }
}
