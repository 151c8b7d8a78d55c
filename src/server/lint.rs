//! What is doubtful in an entry, though not wrong.

use std::fmt;

use super::entry::ServerEntry;
use super::exposure::is_tool_name;
use super::level::McpTrustLevel;
use super::meta::{DataSensitivity, ToolSecurityMeta};
use super::transport::McpTransport;

/// Something doubtful in an entry: what, and where.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use tower_toolgate::server::{Exposure, McpTransport, ServerEntry};
///
/// let entry = ServerEntry::new("files", McpTransport::stdio("mcp-files"), Duration::from_secs(30))
///     .with_allow_untrusted_without_allowlist(true);
/// let exposure = Exposure::new(&entry)?;
/// assert_eq!(
///     exposure.lints()[0].to_string(),
///     "allow_untrusted_without_allowlist: all tools of a server are exposed that is not trusted"
/// );
/// # Ok::<(), tower_toolgate::server::ServerError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerLint {
    place: String,
    kind: ServerLintKind,
}

impl ServerLint {
    /// The place in the entry, such as `tool_allowlist[0]`.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What is doubtful.
    #[must_use]
    pub fn kind(&self) -> &ServerLintKind {
        &self.kind
    }
}

impl fmt::Display for ServerLint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.kind)
    }
}

/// The kinds of doubt. Each holds the tool or root that it is about, if it is about one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerLintKind {
    /// All tools of a server are exposed that is not trusted.
    ExposesAll,
    /// No tool of the server is exposed.
    ExposesNothing,
    /// A root is no `file://` URI, and the protocol has no others.
    ForeignRoot(String),
    /// The setting changes nothing for a server of this level, or of this transport.
    Ignored,
    /// The operator says of a tool that it does less harm than its name lets one guess.
    Lowered(String),
    /// A tool is listed that is refused all the same.
    RefusedAnyway(String),
    /// The process of a server in a sandbox sees the gateway's environment.
    SharesEnvironment,
    /// No tool can have this name.
    Unusable(String),
}

impl fmt::Display for ServerLintKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExposesAll => f.write_str("all tools of a server are exposed that is not trusted"),
            Self::ExposesNothing => f.write_str("no tool of the server is exposed"),
            Self::ForeignRoot(uri) => write!(f, "{uri:?} is no `file://` URI, as roots are"),
            Self::Ignored => f.write_str("has no effect on this server"),
            Self::Lowered(tool) => write!(f, "the name of {tool:?} lets one guess that it can do more harm"),
            Self::RefusedAnyway(tool) => write!(f, "{tool:?} is refused all the same: too sensitive, or not expected"),
            Self::SharesEnvironment => f.write_str("a server in a sandbox sees the environment of the gateway"),
            Self::Unusable(tool) => write!(f, "no tool can have the name {tool:?}"),
        }
    }
}

/// All doubts, in the order of the fields.
pub(super) fn lints(entry: &ServerEntry) -> Vec<ServerLint> {
    let mut lints = Lints(Vec::new());
    lints.allowlist(entry);
    lints.tools(entry);
    lints.roots(entry);
    lints.settings(entry);
    lints.0
}

struct Lints(Vec<ServerLint>);

impl Lints {
    fn push_if(&mut self, holds: bool, place: impl Into<String>, kind: ServerLintKind) {
        if holds {
            self.0.push(ServerLint { place: place.into(), kind });
        }
    }

    fn allowlist(&mut self, entry: &ServerEntry) {
        let (level, flag) = (entry.trust_level, entry.allow_untrusted_without_allowlist);
        let is_trusted = level == McpTrustLevel::Trusted;
        let list = entry.tool_allowlist.as_deref();
        let applies = flag && list.is_none() && level == McpTrustLevel::Untrusted;
        self.push_if(is_trusted && list.is_some(), "tool_allowlist", ServerLintKind::Ignored);
        let nothing = !is_trusted && !applies && list.unwrap_or_default().is_empty();
        self.push_if(nothing, "tool_allowlist", ServerLintKind::ExposesNothing);
        for (at, tool) in list.unwrap_or_default().iter().enumerate().filter(|_| !is_trusted) {
            let place = format!("tool_allowlist[{at}]");
            self.push_if(is_refused(entry, tool), place, ServerLintKind::RefusedAnyway(tool.clone()));
        }
        let place = "allow_untrusted_without_allowlist";
        self.push_if(applies, place, ServerLintKind::ExposesAll);
        self.push_if(flag && !applies, place, ServerLintKind::Ignored);
    }

    fn tools(&mut self, entry: &ServerEntry) {
        let allowed = entry.tool_allowlist.iter().flatten().enumerate();
        let expected = entry.expected_tools.iter().enumerate();
        let listed = allowed.map(|(at, tool)| (format!("tool_allowlist[{at}]"), tool));
        let listed = listed.chain(expected.map(|(at, tool)| (format!("expected_tools[{at}]"), tool)));
        for (place, tool) in listed {
            self.push_if(!is_tool_name(tool), place, ServerLintKind::Unusable(tool.clone()));
        }
        for (tool, meta) in &entry.tool_metadata {
            let place = format!("tool_metadata.{tool}");
            self.push_if(!is_tool_name(tool), place.as_str(), ServerLintKind::Unusable(tool.clone()));
            let is_lowered = meta.data_sensitivity < ToolSecurityMeta::infer(tool).data_sensitivity;
            let place = format!("{place}.data_sensitivity");
            self.push_if(is_lowered, place, ServerLintKind::Lowered(tool.clone()));
        }
    }

    fn roots(&mut self, entry: &ServerEntry) {
        for (at, root) in entry.roots.iter().enumerate() {
            let is_foreign = !root.uri.starts_with("file://");
            self.push_if(is_foreign, format!("roots[{at}].uri"), ServerLintKind::ForeignRoot(root.uri.clone()));
        }
    }

    fn settings(&mut self, entry: &ServerEntry) {
        let is_sandboxed = entry.trust_level == McpTrustLevel::Sandboxed;
        let is_process = matches!(entry.transport, McpTransport::Stdio { .. });
        self.push_if(is_sandboxed && !entry.roots.is_empty(), "roots", ServerLintKind::Ignored);
        self.push_if(is_sandboxed && entry.elicitation_enabled, "elicitation_enabled", ServerLintKind::Ignored);
        let isolation = entry.env_isolation;
        self.push_if(!is_process && isolation.is_some(), "env_isolation", ServerLintKind::Ignored);
        let shares = is_process && is_sandboxed && isolation == Some(false);
        self.push_if(shares, "env_isolation", ServerLintKind::SharesEnvironment);
        self.push_if(is_sandboxed && entry.media_passthrough, "media_passthrough", ServerLintKind::Ignored);
    }
}

/// Whether something other than the allowlist refuses a tool of a server that is not trusted.
fn is_refused(entry: &ServerEntry, tool: &str) -> bool {
    let known = entry.tool_metadata.get(tool).map(|meta| meta.data_sensitivity);
    let sensitivity = known.unwrap_or_else(|| ToolSecurityMeta::infer(tool).data_sensitivity);
    let is_unexpected = !entry.expected_tools.is_empty() && !entry.expected_tools.iter().any(|name| name == tool);
    sensitivity == DataSensitivity::High || is_unexpected
}
