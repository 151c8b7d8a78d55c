//! What an operator says of each MCP server, and what follows: which tools are exposed, what the server may ask for
//! in return, and which definitions were approved.
//!
//! Everything here is pure: no I/O, nothing asynchronous, no HTTP. A [`ServerEntry`] is what is written down; an
//! [`Exposure`] says what becomes of a tool, a [`ReachBack`] what the server may ask for, a [`TrustScore`] how far it
//! is trusted after what it has done, and [`Pins`] whether a tool is still the one that was looked at.
//!
//! # Example
//!
//! ```
//! use tower_toolgate::server::{Exposure, Pins, ServerEntry, definitions};
//!
//! let entry: ServerEntry = serde_json::from_str(
//!     r#"{"id": "web", "transport": {"http": {"url": "http://127.0.0.1:3001/mcp"}}, "timeout": 30,
//!         "tool_allowlist": ["search", "open"]}"#,
//! )?;
//! let exposure = Exposure::new(&entry)?;
//! let pins = Pins::new().with_required(["web"]);
//!
//! let answer = br#"{"tools":[{"name":"search","inputSchema":{"type":"object"}},{"name":"submit_form"}]}"#;
//! let found = definitions(answer)?;
//! let exposed = Vec::from_iter(found.iter().map(|tool| exposure.verdict(tool.name().unwrap_or("")).is_exposed()));
//! assert_eq!(exposed, [true, false]);
//! // Nobody has approved either of them.
//! assert!(pins.check_list(&entry.id, &found).iter().all(|verdict| verdict.is_quarantined()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod collision;
mod declared;
mod duration;
mod entry;
mod error;
mod exposure;
mod level;
mod lint;
mod media;
mod meta;
mod pin;
mod reach;
mod refusal;
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
pub(crate) use self::media::{Unremovable, may_hold_media, without_media};
pub use self::meta::{CapabilityClass, DataSensitivity, FlaggedParameter, ToolSecurityMeta};
pub use self::pin::{
    Definition, DefinitionFault, DefinitionHash, ListFault, NoHash, PinError, PinProblem, PinVerdict, Pins, definitions,
};
pub(crate) use self::pin::{MAX_TOOLS, Page, all_definitions, announces_tools};
pub(crate) use self::reach::{Asked, Unclear};
pub use self::reach::{Reach, ReachBack};
pub use self::refusal::ServerRefusal;
pub use self::score::TrustScore;
pub use self::secret::Secret;
pub use self::transport::McpTransport;
pub use self::url::ServerUrl;
pub use self::verdict::{ToolNote, ToolNotes, ToolRefusal, ToolVerdict};

#[cfg(test)]
mod tests;
