//! What an operator says of each MCP server, and what follows: which tools are exposed, and what the server may ask for
//! in return.
//!
//! Everything here is pure: no I/O, nothing asynchronous, no HTTP. A [`ServerEntry`] is what is written down; an
//! [`Exposure`] says what becomes of a tool, a [`ReachBack`] what the server may ask for, and a [`TrustScore`] how far it
//! is trusted after what it has done.

mod build;
mod collision;
mod duration;
mod entry;
mod error;
mod exposure;
mod level;
mod lint;
mod meta;
mod reach;
mod score;
mod secret;
mod transport;
mod url;
mod verdict;
mod written;

pub use self::collision::{Collision, collisions, sanitized_id};
pub use self::entry::{Root, ServerEntry, check_server_id, check_servers};
pub use self::error::{ServerError, ServerProblem};
pub use self::exposure::{Attestation, Exposure};
pub use self::level::{McpTrustLevel, UnknownTrustLevel};
pub use self::lint::{ServerLint, ServerLintKind};
pub use self::meta::{CapabilityClass, DataSensitivity, FlaggedParameter, ToolSecurityMeta};
pub use self::reach::ReachBack;
pub use self::score::TrustScore;
pub use self::secret::Secret;
pub use self::transport::McpTransport;
pub use self::url::ServerUrl;
pub use self::verdict::{ToolNote, ToolNotes, ToolRefusal, ToolVerdict};

#[cfg(test)]
mod tests;
