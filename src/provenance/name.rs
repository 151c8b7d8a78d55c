//! The name that the tag has.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The bytes that a name may have.
const MAX_BYTES: usize = 128;
/// Whoever has one of these labels in the prefix speaks for MCP: revisions differ about which of the labels it is.
const RESERVED_LABELS: &[&str] = &["mcp", "modelcontextprotocol"];
/// Prefixes that others have, and that readers take for a statement of theirs.
const RESERVED_PREFIXES: &[&str] = &["com.github.ifc"];

/// The name of the tag in `_meta`: a key of one's own, under a domain of one's own.
///
/// The grammar is that of MCP for keys of `_meta` ("General fields", `_meta`), and stricter: a prefix of at least two
/// labels is mandatory, as is a name, and no label may be one that some revision reserves. It is compared byte by byte
/// and never needs an escape in JSON.
///
/// # Example
///
/// ```
/// use tower_toolgate::provenance::{InvalidMetaKey, MetaKey};
///
/// assert_eq!(MetaKey::default().as_str(), "org.tower-toolgate/provenance");
/// assert_eq!(MetaKey::new("com.example/origin")?.to_string(), "com.example/origin");
/// assert_eq!(MetaKey::new("progressToken"), Err(InvalidMetaKey::NoPrefix));
/// assert_eq!(MetaKey::new("com.mcp.tools/origin"), Err(InvalidMetaKey::Reserved));
/// # Ok::<(), InvalidMetaKey>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MetaKey(Arc<str>);

impl MetaKey {
    /// A name of one's own.
    ///
    /// # Errors
    ///
    /// It is not of the form `prefix/name`, or not one's own.
    pub fn new(key: &str) -> Result<Self, InvalidMetaKey> {
        if key.len() > MAX_BYTES {
            return Err(InvalidMetaKey::TooLong);
        }
        let (prefix, name) = key.split_once('/').ok_or(InvalidMetaKey::NoPrefix)?;
        check_prefix(prefix)?;
        if !is_name(name) {
            return Err(InvalidMetaKey::Name);
        }
        Ok(Self(key.into()))
    }

    /// The name, prefix included.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for MetaKey {
    fn default() -> Self {
        Self("org.tower-toolgate/provenance".into())
    }
}

impl fmt::Display for MetaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn check_prefix(prefix: &str) -> Result<(), InvalidMetaKey> {
    if prefix.is_empty() {
        return Err(InvalidMetaKey::NoPrefix);
    }
    if !prefix.split('.').all(is_label) {
        return Err(InvalidMetaKey::Label);
    }
    let is_one_of = |text: &str, list: &[&str]| list.iter().any(|reserved| text.eq_ignore_ascii_case(reserved));
    if prefix.split('.').any(|label| is_one_of(label, RESERVED_LABELS)) || is_one_of(prefix, RESERVED_PREFIXES) {
        return Err(InvalidMetaKey::Reserved);
    }
    if prefix.contains('.') { Ok(()) } else { Err(InvalidMetaKey::NoPrefix) }
}

fn is_label(label: &str) -> bool {
    label.starts_with(|first: char| first.is_ascii_alphabetic())
        && label.ends_with(|last: char| last.is_ascii_alphanumeric())
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.ends_with(|last: char| last.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Why a name is not one for the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InvalidMetaKey {
    /// A label of the prefix is not one.
    Label,
    /// What follows the prefix is not a name.
    Name,
    /// It has no prefix, or one of a single label.
    NoPrefix,
    /// Its prefix is MCP's or that of another party.
    Reserved,
    /// It is longer than 128 bytes.
    TooLong,
}

impl fmt::Display for InvalidMetaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Label => {
                "each label of the prefix must begin with a letter, end with a letter or digit, and have only letters, \
                 digits and hyphens"
            }
            Self::Name => {
                "behind the slash there must be a name that begins and ends with a letter or digit, and has only \
                 letters, digits, hyphens, underscores and dots"
            }
            Self::NoPrefix => "must begin with a prefix in reverse DNS notation, as `com.example/` is",
            Self::Reserved => "the prefix belongs to MCP or to another party; take a domain of your own",
            Self::TooLong => "must have at most 128 bytes",
        })
    }
}

impl Error for InvalidMetaKey {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ones_own_are_taken() {
        let longest = format!("com.example/{}", "x".repeat(116));
        for key in [
            "org.tower-toolgate/provenance",
            "com.example/origin",
            "com.example.gate-2/v1.origin_of-content",
            "Com.Example/Origin",
            "a.b/c",
            "a.b1/1",
            "com.example.mcp-gate/x",
            "com.example.amcp/x",
            "com.github.ifc.example/labels",
            "com.github/labels",
            &longest,
        ] {
            assert_eq!(MetaKey::new(key).map(|key| key.to_string()).as_deref(), Ok(key));
        }
        assert_eq!(MetaKey::new(MetaKey::default().as_str()), Ok(MetaKey::default()));
    }

    #[test]
    fn other_names_are_refused() {
        let long = format!("com.example/{}", "x".repeat(117));
        for (key, expected) in [
            ("", InvalidMetaKey::NoPrefix),
            ("/", InvalidMetaKey::NoPrefix),
            ("/name", InvalidMetaKey::NoPrefix),
            ("progressToken", InvalidMetaKey::NoPrefix),
            ("traceparent", InvalidMetaKey::NoPrefix),
            ("tracestate", InvalidMetaKey::NoPrefix),
            ("baggage", InvalidMetaKey::NoPrefix),
            ("ifc", InvalidMetaKey::NoPrefix),
            ("annotations", InvalidMetaKey::NoPrefix),
            ("com.example.provenance", InvalidMetaKey::NoPrefix),
            ("example/provenance", InvalidMetaKey::NoPrefix),
            ("com..example/x", InvalidMetaKey::Label),
            (".com.example/x", InvalidMetaKey::Label),
            ("com.example./x", InvalidMetaKey::Label),
            ("com.1example/x", InvalidMetaKey::Label),
            ("com.-example/x", InvalidMetaKey::Label),
            ("com.example-/x", InvalidMetaKey::Label),
            ("com.exam_ple/x", InvalidMetaKey::Label),
            ("com.exämple/x", InvalidMetaKey::Label),
            ("com.example /x", InvalidMetaKey::Label),
            (" com.example/x", InvalidMetaKey::Label),
            ("com.example\0/x", InvalidMetaKey::Label),
            ("com.example/", InvalidMetaKey::Name),
            ("com.example/-x", InvalidMetaKey::Name),
            ("com.example/x.", InvalidMetaKey::Name),
            ("com.example/x_", InvalidMetaKey::Name),
            ("com.example/x/y", InvalidMetaKey::Name),
            ("com.example/x y", InvalidMetaKey::Name),
            ("com.example/x\n", InvalidMetaKey::Name),
            ("com.example/x\"y", InvalidMetaKey::Name),
            ("com.example/é", InvalidMetaKey::Name),
            ("mcp/x", InvalidMetaKey::Reserved),
            ("mcp.dev/x", InvalidMetaKey::Reserved),
            ("dev.mcp/x", InvalidMetaKey::Reserved),
            ("dev.MCP/x", InvalidMetaKey::Reserved),
            ("com.example.mcp/x", InvalidMetaKey::Reserved),
            ("com.mcp.tools/x", InvalidMetaKey::Reserved),
            ("modelcontextprotocol.io/x", InvalidMetaKey::Reserved),
            ("io.modelcontextprotocol/trust-annotations", InvalidMetaKey::Reserved),
            ("io.ModelContextProtocol.example/x", InvalidMetaKey::Reserved),
            ("com.github.ifc/labels", InvalidMetaKey::Reserved),
            ("com.GitHub.IFC/other", InvalidMetaKey::Reserved),
            (&long, InvalidMetaKey::TooLong),
        ] {
            assert_eq!(MetaKey::new(key), Err(expected), "{key:?}");
        }
    }

    #[test]
    fn each_refusal_says_what_to_do() {
        let all = [
            InvalidMetaKey::Label,
            InvalidMetaKey::Name,
            InvalidMetaKey::NoPrefix,
            InvalidMetaKey::Reserved,
            InvalidMetaKey::TooLong,
        ];
        let texts: std::collections::HashSet<_> = all.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), all.len());
    }
}
