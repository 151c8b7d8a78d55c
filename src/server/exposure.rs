//! Which tools of a server are exposed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::entry::ServerEntry;
use super::error::ServerError;
use super::level::McpTrustLevel;
use super::lint::{self, ServerLint};
use super::meta::{DataSensitivity, ToolSecurityMeta};
use super::verdict::{ToolNote, ToolNotes, ToolRefusal, ToolVerdict};
use crate::names::NameSet;

/// Which tools of a server are exposed: immutable, cheap to clone.
///
/// The same verdict holds for lists and for calls. The first of these that refuses a tool is the reason:
///
/// 1. its name, which has 1 to 128 ascii letters, digits, `_`, `-` and `.`, and is compared byte for byte;
/// 2. what harm it can do: much is refused unless the server is trusted;
/// 3. the tools that the operator expects, if they are listed: others are refused unless the server is trusted. This
///    allows nothing by itself;
/// 4. the allowlist, unless the server is trusted.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use tower_toolgate::server::{Exposure, McpTransport, ServerEntry, ToolRefusal};
///
/// let entry = ServerEntry::new("files", McpTransport::stdio("mcp-files"), Duration::from_secs(30))
///     .with_tool_allowlist(["read_file", "run_shell"]);
/// let exposure = Exposure::new(&entry)?;
/// assert!(exposure.verdict("read_file").is_exposed());
/// assert_eq!(exposure.verdict("list_dir").refusal(), Some(ToolRefusal::NotListed));
/// // Listed, but too much for a server that nobody vouches for.
/// assert_eq!(exposure.verdict("run_shell").refusal(), Some(ToolRefusal::Sensitive));
/// # Ok::<(), tower_toolgate::server::ServerError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Exposure {
    level: McpTrustLevel,
    rules: Arc<Rules>,
}

#[derive(Debug)]
struct Rules {
    allowlist: Option<NameSet<Box<str>>>,
    without_allowlist: bool,
    /// `None`: they are not compared.
    expected: Option<NameSet<Box<str>>>,
    metadata: BTreeMap<String, ToolSecurityMeta>,
    lints: Vec<ServerLint>,
}

impl Exposure {
    /// What follows from an entry.
    ///
    /// # Errors
    ///
    /// Those of [`ServerEntry::check`].
    pub fn new(entry: &ServerEntry) -> Result<Self, ServerError> {
        entry.check()?;
        let set = |names: &Vec<String>| names.iter().map(|name| name.as_str().into()).collect();
        let rules = Rules {
            allowlist: entry.tool_allowlist.as_ref().map(set),
            without_allowlist: entry.allow_untrusted_without_allowlist,
            expected: Some(&entry.expected_tools).filter(|tools| !tools.is_empty()).map(set),
            metadata: entry.tool_metadata.clone(),
            lints: lint::lints(entry),
        };
        Ok(Self { level: entry.trust_level, rules: Arc::new(rules) })
    }

    /// How far the server is trusted.
    #[must_use]
    pub fn level(&self) -> McpTrustLevel {
        self.level
    }

    /// The same while the server is trusted no further than this; a level that is higher changes nothing.
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_toolgate::server::{Exposure, McpTransport, McpTrustLevel, ServerEntry};
    ///
    /// let entry = ServerEntry::new("files", McpTransport::stdio("mcp-files"), Duration::from_secs(30))
    ///     .with_trust_level(McpTrustLevel::Trusted);
    /// let exposure = Exposure::new(&entry)?;
    /// assert!(exposure.verdict("read_file").is_exposed());
    /// assert!(!exposure.demoted(McpTrustLevel::Sandboxed).verdict("read_file").is_exposed());
    /// # Ok::<(), tower_toolgate::server::ServerError>(())
    /// ```
    #[must_use]
    pub fn demoted(&self, to: McpTrustLevel) -> Self {
        Self { level: self.level.lower(to), rules: Arc::clone(&self.rules) }
    }

    /// What becomes of a tool, in lists and for calls.
    pub fn verdict(&self, tool: &str) -> ToolVerdict {
        let judged = check_name(tool).and_then(|()| {
            let notes = self.by_sensitivity(tool)?;
            let notes = self.by_expectation(tool, notes)?;
            self.by_allowlist(tool, notes)
        });
        judged.map_or_else(ToolVerdict::Refused, ToolVerdict::Exposed)
    }

    /// What is known of a tool: what the operator says, or all that its name lets one guess.
    #[must_use]
    pub fn meta(&self, tool: &str) -> Cow<'_, ToolSecurityMeta> {
        match self.rules.metadata.get(tool) {
            Some(meta) => Cow::Borrowed(meta),
            None => Cow::Owned(ToolSecurityMeta::infer(tool)),
        }
    }

    /// How the tools that a server offers compare with those that the operator expects. Fewer is no fault.
    ///
    /// # Example
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower_toolgate::server::{Attestation, Exposure, McpTransport, ServerEntry};
    ///
    /// let entry = ServerEntry::new("files", McpTransport::stdio("mcp-files"), Duration::from_secs(30))
    ///     .with_expected_tools(["a", "b"]);
    /// let exposure = Exposure::new(&entry)?;
    /// assert_eq!(exposure.attest(["a"]), Attestation::Verified);
    /// assert_eq!(exposure.attest(["a", "c"]), Attestation::Unexpected(vec!["c"]));
    /// # Ok::<(), tower_toolgate::server::ServerError>(())
    /// ```
    pub fn attest<'a>(&self, offered: impl IntoIterator<Item = &'a str>) -> Attestation<'a> {
        let Some(expected) = &self.rules.expected else { return Attestation::Unconfigured };
        let unexpected = Vec::from_iter(offered.into_iter().filter(|tool| !expected.contains(*tool)));
        if unexpected.is_empty() { Attestation::Verified } else { Attestation::Unexpected(unexpected) }
    }

    /// What is doubtful in the entry, in the order of its fields.
    #[must_use]
    pub fn lints(&self) -> &[ServerLint] {
        &self.rules.lints
    }

    fn by_sensitivity(&self, tool: &str) -> Result<ToolNotes, ToolRefusal> {
        // Not a match: one that is complete today would hide that what is added later has to be refused.
        let is = |level| self.level == level;
        match self.meta(tool).data_sensitivity {
            _ if is(McpTrustLevel::Trusted) => Ok(ToolNotes::default()),
            _ if !is(McpTrustLevel::Untrusted) && !is(McpTrustLevel::Sandboxed) => Err(ToolRefusal::UnknownLevel),
            DataSensitivity::High => Err(ToolRefusal::Sensitive),
            DataSensitivity::Medium if is(McpTrustLevel::Sandboxed) => {
                Ok(ToolNotes::default().and(ToolNote::Sensitive))
            }
            DataSensitivity::Medium | DataSensitivity::Low | DataSensitivity::None => Ok(ToolNotes::default()),
        }
    }

    fn by_expectation(&self, tool: &str, notes: ToolNotes) -> Result<ToolNotes, ToolRefusal> {
        match &self.rules.expected {
            Some(expected) if !expected.contains(tool) => match self.level {
                McpTrustLevel::Trusted => Ok(notes.and(ToolNote::Unexpected)),
                _ => Err(ToolRefusal::Unexpected),
            },
            Some(_) | None => Ok(notes),
        }
    }

    fn by_allowlist(&self, tool: &str, notes: ToolNotes) -> Result<ToolNotes, ToolRefusal> {
        if self.level == McpTrustLevel::Trusted {
            return Ok(notes);
        }
        match &self.rules.allowlist {
            Some(allowed) if allowed.contains(tool) => Ok(notes),
            Some(_) => Err(ToolRefusal::NotListed),
            None if self.rules.without_allowlist && self.level == McpTrustLevel::Untrusted => {
                Ok(notes.and(ToolNote::Unlisted))
            }
            None => Err(ToolRefusal::NoAllowlist),
        }
    }
}

/// The longest name that a tool may have.
const MAX_NAME: usize = 128;

/// Whether a tool may have this name: the characters of SEP-986.
pub(super) fn is_tool_name(name: &str) -> bool {
    let is_ordinary = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_ordinary)
}

fn check_name(name: &str) -> Result<(), ToolRefusal> {
    if is_tool_name(name) { Ok(()) } else { Err(ToolRefusal::Name) }
}

/// How the tools that a server offers compare with those that are expected.
///
/// # Example
///
/// ```
/// use tower_toolgate::server::Attestation;
///
/// assert_ne!(Attestation::Verified, Attestation::Unconfigured);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Attestation<'a> {
    /// None are listed: nothing is compared, and nothing is remembered of their definitions.
    Unconfigured,
    /// All that are offered are expected.
    Verified,
    /// These are offered besides, in the order of the offer.
    Unexpected(Vec<&'a str>),
}
