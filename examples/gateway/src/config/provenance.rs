//! The section `provenance`.

use std::collections::BTreeMap;

use http::HeaderName;
use serde::Deserialize;
use tower_toolgate::provenance::{FenceMode, MediaPolicy, MetaKey, SigningKey, StructuredContent, ToolLabel};

use super::Secret;

/// How results are marked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProvenanceConfig {
    /// Whether outside text gets marks around it, and which. No model reads base64 in passing, and not every model reads
    /// it when it should.
    pub fence: FenceMode,
    /// What happens to structured content from outside.
    pub structured_content: StructuredContent,
    /// The name of the tag in `_meta`, instead of the library's.
    pub key: Option<String>,
    /// The response header that says what the tag does, instead of the library's.
    pub header: Option<String>,
    /// Whether `io.modelcontextprotocol/trust-annotations` are written as well.
    pub trust_annotations: bool,
    /// Whether `ifc` is written as well.
    pub ifc: bool,
    /// What happens to images, sounds and other blobs from outside.
    pub media: MediaPolicy,
    /// Whether lists and instructions of servers are marked as well.
    pub descriptions: bool,
    /// The schemes that links from outside may have. Absent: any.
    pub link_schemes: Option<Vec<String>>,
    /// What tags are signed with. Absent: they are not.
    pub signing_key: Option<Secret>,
    /// Keys that have signed tags before. The gateway verifies none: they are for whoever does, from the same file.
    pub previous_signing_keys: Vec<Secret>,
    /// What the operator says of tools, by their names.
    pub labels: BTreeMap<String, ToolLabel>,
}

/// What HTTP, MCP and pages read, and what only the gateway tells servers.
const TAKEN: &[&str] = &[
    "age",
    "allow",
    "alt-svc",
    "authorization",
    "cache-control",
    "connection",
    "cookie",
    "date",
    "etag",
    "expect",
    "expires",
    "forwarded",
    "from",
    "host",
    "keep-alive",
    "last-event-id",
    "last-modified",
    "link",
    "location",
    "max-forwards",
    "origin",
    "pragma",
    "range",
    "referer",
    "retry-after",
    "server",
    "set-cookie",
    "strict-transport-security",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "x-request-id",
    "x-toolgate-principal",
    "x-toolgate-role",
    "x-toolgate-session",
];
const TAKEN_FAMILIES: &[&str] = &["accept", "access-control-", "content-", "if-", "mcp-", "proxy-", "sec-"];

pub(super) fn check_header(text: &str) -> Result<(), String> {
    let name = text.parse::<HeaderName>().map_err(|_| format!("`{}` is no name of a header", text.escape_debug()))?;
    let is_taken =
        TAKEN.contains(&name.as_str()) || TAKEN_FAMILIES.iter().any(|family| name.as_str().starts_with(family));
    if is_taken { Err(format!("`{name}` has a meaning already; take a name of your own")) } else { Ok(()) }
}

pub(super) fn check_meta_key(text: &str) -> Result<(), String> {
    MetaKey::new(text).map(drop).map_err(|error| error.to_string())
}

/// RFC 3986, section 3.1.
pub(super) fn check_scheme(text: &str) -> Result<(), String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    if text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(is_part) {
        return Ok(());
    }
    Err(format!("`{}` is no scheme, such as `https`", text.escape_debug()))
}

/// The message must not hold the key.
pub(super) fn check_signing_key(text: &str) -> Result<(), String> {
    SigningKey::new(text).map(drop).map_err(|error| error.to_string())
}
