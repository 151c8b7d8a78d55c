//! Whose content is trusted, as people write it down.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::owner::{ToolContentTrust, ToolOwner};
use super::written::Written;

/// Which MCP servers and tools bring content that can be trusted.
///
/// All ways in, from code and from any serde format, go through the same checks: unknown fields and entries that are
/// not text, or blank, are refused; white space around an entry is dropped. Entries are compared byte for byte: `*`
/// is a character like any other.
///
/// # Example
///
/// ```
/// use tower_toolgate::trust::ContentTrustConfig;
///
/// let config: ContentTrustConfig = serde_json::from_str(r#"{"trusted_mcp_servers": ["kg"]}"#)?;
/// assert_eq!(Ok(config), ContentTrustConfig::new(["kg"], [], []));
///
/// let typo = serde_json::json!({"trusted_servers": ["kg"]});
/// let error = ContentTrustConfig::from_json_value(&typo).unwrap_err();
/// assert_eq!(error.to_string(), "unsupported content_trust fields: trusted_servers");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct ContentTrustConfig {
    trusted_mcp_servers: Vec<String>,
    untrusted_tools: Vec<String>,
    trusted_tools: Vec<String>,
}

/// The tools of the web: no configuration can make them trusted.
pub(crate) const WEB_TOOLS: [&str; 4] = ["web_search", "web_fetch", "fetch", "http_request"];

const FIELDS: [&str; 3] = ["trusted_mcp_servers", "untrusted_tools", "trusted_tools"];

impl ContentTrustConfig {
    /// The three lists, from code.
    ///
    /// # Errors
    ///
    /// An entry is blank.
    pub fn new<T: Into<String>>(
        trusted_mcp_servers: impl IntoIterator<Item = T>,
        untrusted_tools: impl IntoIterator<Item = T>,
        trusted_tools: impl IntoIterator<Item = T>,
    ) -> Result<Self, ContentTrustError> {
        let lists = [
            Vec::from_iter(trusted_mcp_servers.into_iter().map(|entry| Value::String(entry.into()))),
            Vec::from_iter(untrusted_tools.into_iter().map(|entry| Value::String(entry.into()))),
            Vec::from_iter(trusted_tools.into_iter().map(|entry| Value::String(entry.into()))),
        ];
        Self::from_fields(&FIELDS.into_iter().map(str::to_owned).zip(lists.map(Value::Array)).collect())
    }

    /// The three lists, from JSON. Each may be absent; `null` is not absent.
    ///
    /// # Errors
    ///
    /// The value is not an object, has other fields, or a list is not one of texts that are not blank. The first of
    /// these, and of the lists the first in the order of the accessors.
    pub fn from_json_value(value: &Value) -> Result<Self, ContentTrustError> {
        Self::from_fields(value.as_object().ok_or(ContentTrustError::NotAnObject)?)
    }

    pub(super) fn from_fields(fields: &Map<String, Value>) -> Result<Self, ContentTrustError> {
        let unsupported = fields.keys().filter(|field| !FIELDS.contains(&field.as_str()));
        let mut unsupported = Vec::from_iter(unsupported.cloned());
        if !unsupported.is_empty() {
            // Whether a map keeps the order in which it was written is a feature that any crate may turn on.
            unsupported.sort();
            return Err(ContentTrustError::UnsupportedFields(unsupported));
        }
        let [servers, untrusted, trusted] = FIELDS.map(|field| list(field, fields.get(field)));
        Ok(Self { trusted_mcp_servers: servers?, untrusted_tools: untrusted?, trusted_tools: trusted? })
    }

    /// The servers whose tools are trusted.
    #[must_use]
    pub fn trusted_mcp_servers(&self) -> &[String] {
        &self.trusted_mcp_servers
    }

    /// The tools that are not trusted, whoever brings them.
    #[must_use]
    pub fn untrusted_tools(&self) -> &[String] {
        &self.untrusted_tools
    }

    /// The tools that are trusted, whoever brings them.
    #[must_use]
    pub fn trusted_tools(&self) -> &[String] {
        &self.trusted_tools
    }

    /// Whether a tool's content is trusted, by the tool's name alone: `mcp__SERVER__TOOL`, or a plain name.
    ///
    /// The first that applies: one of the web's tools `web_search`, `web_fetch`, `fetch` and `http_request` is not;
    /// what `untrusted_tools` lists is not; what `trusted_tools` lists is; a tool of an MCP server is if
    /// `trusted_mcp_servers` lists the server; anything else is. In the last the layers differ, and everything that
    /// reads a name: to a [`Classifier`](super::Classifier) what is unknown is external, and only a route says whose
    /// a tool is.
    ///
    /// # Example
    ///
    /// ```
    /// use tower_toolgate::trust::ContentTrustConfig;
    ///
    /// let config = ContentTrustConfig::new(["kg"], [], [])?;
    /// assert!(config.classify_tool("mcp__kg__query").is_trusted());
    /// let other = config.classify_tool("mcp__other__search");
    /// assert_eq!(other.source(), Some("MCP server 'other' (tool 'mcp__other__search')"));
    /// assert!(config.classify_tool("shell").is_trusted());
    /// # Ok::<(), tower_toolgate::trust::ContentTrustError>(())
    /// ```
    pub fn classify_tool(&self, name: &str) -> ToolContentTrust {
        self.classify_tool_with_provenance(name, None)
    }

    /// The same where the host knows the tool's owner: an MCP server counts instead of the one that the name tells of.
    ///
    /// As in [`classify_tool`](Self::classify_tool), a tool of no MCP server that no list names is trusted here, and
    /// external to a [`Classifier`](super::Classifier).
    ///
    /// # Example
    ///
    /// ```
    /// use tower_toolgate::trust::{ContentTrustConfig, ToolOwner};
    ///
    /// let config = ContentTrustConfig::new(["kg"], [], [])?;
    /// let evil = ToolOwner::mcp("evil");
    /// assert!(!config.classify_tool_with_provenance("mcp__kg__query", Some(&evil)).is_trusted());
    /// # Ok::<(), tower_toolgate::trust::ContentTrustError>(())
    /// ```
    pub fn classify_tool_with_provenance(&self, name: &str, owner: Option<&ToolOwner>) -> ToolContentTrust {
        let lists = |list: &[String], text: &str| list.iter().any(|entry| entry == text);
        if WEB_TOOLS.contains(&name) {
            return ToolContentTrust::Untrusted { source: format!("web tool '{name}'") };
        }
        if lists(&self.untrusted_tools, name) {
            return ToolContentTrust::Untrusted { source: format!("configured untrusted tool '{name}'") };
        }
        let server = owner.and_then(ToolOwner::server).or_else(|| server_in(name));
        match server {
            Some(server) if !lists(&self.trusted_tools, name) && !lists(&self.trusted_mcp_servers, server) => {
                ToolContentTrust::Untrusted { source: format!("MCP server '{server}' (tool '{name}')") }
            }
            Some(_) | None => ToolContentTrust::Trusted,
        }
    }
}

/// The server that a name tells of.
fn server_in(name: &str) -> Option<&str> {
    let qualified = name.strip_prefix("mcp__")?;
    Some(qualified.split_once("__").map_or(qualified, |(server, _)| server))
}

fn list(field: &'static str, value: Option<&Value>) -> Result<Vec<String>, ContentTrustError> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let entries = value.as_array().ok_or(ContentTrustError::NotAnArray(field))?;
    let text = |entry: &Value| entry.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let texts = entries.iter().map(text).collect::<Option<_>>();
    texts.ok_or(ContentTrustError::NotText(field))
}

/// A mistake in a [`ContentTrustConfig`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContentTrustError {
    /// A field is written twice.
    DuplicateField(String),
    /// This field is no list.
    NotAnArray(&'static str),
    /// Neither a map nor an object.
    NotAnObject,
    /// An entry of this field is no text, or blank.
    NotText(&'static str),
    /// Fields that there are not, sorted.
    UnsupportedFields(Vec<String>),
}

impl fmt::Display for ContentTrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateField(field) => write!(f, "duplicate content_trust field: {field}"),
            Self::NotAnArray(field) => write!(f, "content_trust.{field} must be an array"),
            Self::NotAnObject => f.write_str("content_trust must be an object"),
            Self::NotText(field) => write!(f, "content_trust.{field} entries must be non-empty strings"),
            Self::UnsupportedFields(fields) => write!(f, "unsupported content_trust fields: {}", fields.join(", ")),
        }
    }
}

impl std::error::Error for ContentTrustError {}

#[cfg(test)]
mod tests;
