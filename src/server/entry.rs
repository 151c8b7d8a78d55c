//! What an operator says of one server.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::duration;
use super::error::{ServerError, ServerProblem};
use super::level::McpTrustLevel;
use super::meta::ToolSecurityMeta;
use super::transport::McpTransport;
use super::written::{Spot, Table, through_spot};
use crate::json::fold;
use crate::names::NameSet;

/// What an operator says of one server: a table of `[[mcp.servers]]`.
///
/// All ways in go through the same checks: from any serde format when it is read, from code by
/// [`check`](Self::check), which everything that is compiled from an entry calls. Unknown fields, fields that are
/// written twice and arrays in the place of tables are refused. What is secret is shown neither by `Debug` nor by
/// `Serialize`, so that what is written out does not read in again.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use tower_toolgate::server::{McpTransport, McpTrustLevel, ServerEntry};
///
/// let entry: ServerEntry = serde_json::from_str(
///     r#"{
///         "id": "files",
///         "transport": {"stdio": {"command": "mcp-files", "args": ["/srv"]}},
///         "timeout": "30s",
///         "trust_level": "sandboxed",
///         "tool_allowlist": ["read_file"]
///     }"#,
/// )?;
/// let transport = McpTransport::stdio("mcp-files").with_args(["/srv"]);
/// let built = ServerEntry::new("files", transport, Duration::from_secs(30))
///     .with_trust_level(McpTrustLevel::Sandboxed)
///     .with_tool_allowlist(["read_file"]);
/// assert_eq!(entry, built);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ServerEntry {
    /// Its name in paths and in policies.
    pub id: String,
    /// How it is reached.
    pub transport: McpTransport,
    /// How long an answer may take to begin: as `30s`, or a number of seconds. It has to be written.
    #[serde(serialize_with = "duration::write")]
    pub timeout: Duration,
    /// How far it is trusted: not, unless this is written.
    pub trust_level: McpTrustLevel,
    /// The tools of it that are exposed. One that is trusted exposes all, whatever is listed; of any other that is
    /// neither given a list nor `allow_untrusted_without_allowlist`, none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_allowlist: Option<Vec<String>>,
    /// Whether an untrusted server without an allowlist exposes all its tools. Nothing else is changed by it.
    pub allow_untrusted_without_allowlist: bool,
    /// The tools that the operator has seen. Empty: they are not compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected_tools: Vec<String>,
    /// The roots that it is told of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<Root>,
    /// What the operator knows of its tools, by name. It replaces all that is guessed of such a tool.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_metadata: BTreeMap<String, ToolSecurityMeta>,
    /// Whether it may ask the user.
    pub elicitation_enabled: bool,
    /// How long the user may take to answer, in seconds: 120 unless this is written.
    pub elicitation_timeout_secs: u64,
    /// Whether its process sees nothing of the gateway's environment but what it cannot do without; see
    /// [`isolates_env`](Self::isolates_env).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_isolation: Option<bool>,
    /// Whether images, sound and other blobs from it pass, however far it is trusted: not, unless this is written, and
    /// never from a sandbox; see [`passes_media`](Self::passes_media).
    pub media_passthrough: bool,
}

/// A root that a server is told of.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::Root;
///
/// let root: Root = serde_json::from_str(r#"{"uri": "file:///srv", "name": "srv"}"#)?;
/// assert_eq!(root, Root::new("file:///srv").with_name("srv"));
/// assert!(serde_json::from_str::<Root>(r#"["file:///srv", "srv"]"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Root {
    /// Where it is.
    pub uri: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

through_spot!(ServerEntry);
through_spot!(Root);

impl Root {
    /// A root without a name.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None }
    }

    /// Names it.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    fn read(spot: &Spot<'_>) -> Result<Self, ServerError> {
        let table = spot.table(&["uri", "name"])?;
        let name = table.optional("name", |spot| spot.text().map(str::to_owned))?;
        Ok(Self { uri: table.required("uri")?.text()?.to_owned(), name })
    }
}

const FIELDS: [&str; 13] = [
    "id",
    "transport",
    "timeout",
    "trust_level",
    "tool_allowlist",
    "allow_untrusted_without_allowlist",
    "expected_tools",
    "roots",
    "tool_metadata",
    "elicitation_enabled",
    "elicitation_timeout_secs",
    "env_isolation",
    "media_passthrough",
];

const ELICITATION_TIMEOUT_SECS: u64 = 120;

impl ServerEntry {
    /// A server of which nothing else is said: it is not trusted, and exposes nothing.
    #[must_use]
    pub fn new(id: impl Into<String>, transport: McpTransport, timeout: Duration) -> Self {
        Self {
            id: id.into(),
            transport,
            timeout,
            trust_level: McpTrustLevel::default(),
            tool_allowlist: None,
            allow_untrusted_without_allowlist: false,
            expected_tools: Vec::new(),
            roots: Vec::new(),
            tool_metadata: BTreeMap::new(),
            elicitation_enabled: false,
            elicitation_timeout_secs: ELICITATION_TIMEOUT_SECS,
            env_isolation: None,
            media_passthrough: false,
        }
    }

    /// Whether its process sees nothing of the gateway's environment: as `env_isolation` says, and if it says
    /// nothing, unless the server is trusted.
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_toolgate::server::{McpTransport, McpTrustLevel, ServerEntry};
    ///
    /// let entry = ServerEntry::new("files", McpTransport::stdio("mcp-files"), Duration::from_secs(30));
    /// assert!(entry.isolates_env());
    /// assert!(!entry.clone().with_trust_level(McpTrustLevel::Trusted).isolates_env());
    /// assert!(!entry.with_env_isolation(false).isolates_env());
    /// ```
    #[must_use]
    pub fn isolates_env(&self) -> bool {
        self.env_isolation.unwrap_or(self.trust_level != McpTrustLevel::Trusted)
    }

    /// Whether images, sound and other blobs from it pass while it is trusted no further than this: only with
    /// `media_passthrough`, a server that is trusted as well, and never from a sandbox, be it the operator's word or a
    /// [demotion](super::TrustScore::effective). [`ServerTrustLayer`](crate::layer::server_trust::ServerTrustLayer) puts
    /// a text in the place of each that does not.
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_toolgate::server::{McpTransport, McpTrustLevel, ServerEntry};
    ///
    /// let entry = ServerEntry::new("draw", McpTransport::stdio("mcp-draw"), Duration::from_secs(30))
    ///     .with_media_passthrough(true);
    /// assert!(entry.passes_media(McpTrustLevel::Untrusted));
    /// assert!(!entry.passes_media(McpTrustLevel::Sandboxed));
    /// assert!(!entry.with_media_passthrough(false).passes_media(McpTrustLevel::Trusted));
    /// ```
    #[must_use]
    pub fn passes_media(&self, level: McpTrustLevel) -> bool {
        let level = level.lower(self.trust_level);
        self.media_passthrough && [McpTrustLevel::Trusted, McpTrustLevel::Untrusted].contains(&level)
    }

    fn read(spot: &Spot<'_>) -> Result<Self, ServerError> {
        let table = spot.table(&FIELDS)?;
        let id = table.required("id")?.text()?;
        let transport = McpTransport::read(&table.required("transport")?)?;
        let entry = Self::new(id, transport, duration::read(&table.required("timeout")?)?);
        let entry = entry.read_tools(&table)?.read_rest(&table)?;
        entry.check()?;
        Ok(entry)
    }

    fn read_tools(self, table: &Table<'_>) -> Result<Self, ServerError> {
        let metadata = |spot: &Spot<'_>| {
            spot.entries()?.map(|(name, meta)| Ok((name.to_owned(), ToolSecurityMeta::read(&meta)?))).collect()
        };
        Ok(Self {
            trust_level: table.optional("trust_level", level)?.unwrap_or_default(),
            tool_allowlist: table.optional("tool_allowlist", Spot::texts)?,
            allow_untrusted_without_allowlist: table.flag("allow_untrusted_without_allowlist")?,
            expected_tools: table.optional("expected_tools", Spot::texts)?.unwrap_or_default(),
            tool_metadata: table.optional("tool_metadata", metadata)?.unwrap_or_default(),
            ..self
        })
    }

    fn read_rest(self, table: &Table<'_>) -> Result<Self, ServerError> {
        let roots = |spot: &Spot<'_>| spot.list()?.map(|root| Root::read(&root)).collect();
        let secs = table.optional("elicitation_timeout_secs", Spot::count)?;
        Ok(Self {
            roots: table.optional("roots", roots)?.unwrap_or_default(),
            elicitation_enabled: table.flag("elicitation_enabled")?,
            elicitation_timeout_secs: secs.unwrap_or(ELICITATION_TIMEOUT_SECS),
            env_isolation: table.optional("env_isolation", Spot::flag)?,
            media_passthrough: table.flag("media_passthrough")?,
            ..self
        })
    }

    /// Makes sure that the entry is one that could have been read.
    ///
    /// # Errors
    ///
    /// The first mistake.
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_toolgate::server::{McpTransport, ServerEntry};
    ///
    /// let entry = ServerEntry::new("my__files", McpTransport::stdio("mcp-files"), Duration::from_secs(30));
    /// assert_eq!(entry.check().unwrap_err().to_string(), "id: a server id does not hold `__`");
    /// ```
    pub fn check(&self) -> Result<(), ServerError> {
        check_server_id(&self.id).map_err(|why| ServerError::new("id", ServerProblem::Invalid(why)))?;
        self.transport.check().map_err(|error| error.within("transport"))?;
        for (place, is_zero) in
            [("timeout", self.timeout.is_zero()), ("elicitation_timeout_secs", self.elicitation_timeout_secs == 0)]
        {
            if is_zero {
                return Err(ServerError::new(place, ServerProblem::Zero));
            }
        }
        let blank = |text: &str| text.trim().is_empty();
        match self.texts().find(|(_, text)| blank(text)) {
            Some((place, _)) => Err(ServerError::new(place, ServerProblem::Blank)),
            None => Ok(()),
        }
    }

    /// All that must not be blank, with its place.
    fn texts(&self) -> impl Iterator<Item = (String, &str)> {
        let allowed = self.tool_allowlist.iter().flatten().enumerate();
        let expected = self.expected_tools.iter().enumerate();
        let roots = self.roots.iter().enumerate();
        let allowed = allowed.map(|(at, tool)| (format!("tool_allowlist[{at}]"), tool.as_str()));
        let expected = expected.map(|(at, tool)| (format!("expected_tools[{at}]"), tool.as_str()));
        let roots = roots.map(|(at, root)| (format!("roots[{at}].uri"), root.uri.as_str()));
        let tools = self.tool_metadata.keys().map(|tool| (format!("tool_metadata.{tool}"), tool.as_str()));
        allowed.chain(expected).chain(roots).chain(tools)
    }
}

fn level(spot: &Spot<'_>) -> Result<McpTrustLevel, ServerError> {
    let found = spot.text()?;
    let known = "trusted, untrusted, sandboxed";
    found.parse().map_err(|_| spot.error(ServerProblem::UnknownWord { found: found.to_owned(), known }))
}

/// Ids stand in paths and, joined by `__`, in the names of tools. The reason why one cannot.
///
/// # Errors
///
/// The id is none.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::check_server_id;
///
/// assert_eq!(check_server_id("knowledge-graph"), Ok(()));
/// assert_eq!(check_server_id("kg_"), Err("a server id neither begins nor ends with `_`"));
/// ```
pub fn check_server_id(id: &str) -> Result<(), &'static str> {
    Err(match id {
        "" => "a server id is not empty",
        id if id.chars().count() > 64 => "a server id is no longer than 64 characters",
        id if !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)) => {
            "a server id holds nothing but ascii letters, digits, `_` and `-`"
        }
        id if id.contains("__") => "a server id does not hold `__`",
        id if id.starts_with('_') || id.ends_with('_') => "a server id neither begins nor ends with `_`",
        _ => return Ok(()),
    })
}

/// Checks all servers of a gateway: each of them, and that no two have one id, case ignored.
///
/// # Errors
///
/// The first mistake, its place within the list: `[1].id`.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use tower_toolgate::server::{McpTransport, ServerEntry, check_servers};
///
/// let entry = |id| ServerEntry::new(id, McpTransport::stdio("mcp-files"), Duration::from_secs(30));
/// assert!(check_servers(&[entry("files"), entry("web")]).is_ok());
/// let error = check_servers(&[entry("files"), entry("Files")]).unwrap_err();
/// assert_eq!(error.to_string(), "[1].id: is there twice");
/// ```
pub fn check_servers(entries: &[ServerEntry]) -> Result<(), ServerError> {
    let mut seen = NameSet::default();
    for (at, entry) in entries.iter().enumerate() {
        entry.check().map_err(|error| error.within(&format!("[{at}]")))?;
        if !seen.insert(fold(&entry.id)) {
            return Err(ServerError::new(format!("[{at}].id"), ServerProblem::Duplicate));
        }
    }
    Ok(())
}
