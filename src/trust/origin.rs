//! Where a tool's content comes from, in three classes.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where the content that a tool brings comes from. What is greater is further from what can be trusted.
///
/// # Example
///
/// ```
/// use tower_toolgate::trust::ToolContentOrigin;
///
/// assert!(ToolContentOrigin::Local < ToolContentOrigin::Execution);
/// assert!(ToolContentOrigin::Execution < ToolContentOrigin::External);
/// assert_eq!(serde_json::from_str::<ToolContentOrigin>(r#""local""#)?, ToolContentOrigin::Local);
/// assert!(serde_json::from_str::<ToolContentOrigin>(r#""Local""#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum ToolContentOrigin {
    /// From within: the deployment's own processes, by whatever way they are reached.
    Local,
    /// From what code prints that the agent runs.
    Execution,
    /// From outside the trust boundary, however near: somebody else's service on a loopback address too.
    External,
}

/// The three classes, in the order in which messages name them.
pub const TOOL_CONTENT_ORIGINS: [ToolContentOrigin; 3] =
    [ToolContentOrigin::External, ToolContentOrigin::Execution, ToolContentOrigin::Local];

/// The member of a tool's definition that declares the origin.
const MEMBER: &str = "contentOrigin";

impl ToolContentOrigin {
    /// The name: `external`, `execution` or `local`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Execution => "execution",
            Self::External => "external",
        }
    }

    /// The class of exactly this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        TOOL_CONTENT_ORIGINS.into_iter().find(|origin| origin.as_str() == name)
    }

    /// The class that a value is the name of.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        value.as_str().and_then(Self::from_name)
    }
}

impl fmt::Display for ToolContentOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<ToolContentOrigin> for String {
    fn from(origin: ToolContentOrigin) -> Self {
        origin.as_str().to_owned()
    }
}

impl TryFrom<String> for ToolContentOrigin {
    type Error = UnknownContentOrigin;

    fn try_from(name: String) -> Result<Self, UnknownContentOrigin> {
        Self::from_name(&name).ok_or(UnknownContentOrigin(name))
    }
}

/// What is the name of no class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownContentOrigin(String);

impl fmt::Display for UnknownContentOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = TOOL_CONTENT_ORIGINS.map(ToolContentOrigin::as_str).join(", ");
        write!(f, "{:?} is no content origin: one of {names}", self.0)
    }
}

impl std::error::Error for UnknownContentOrigin {}

/// Whether a value is the name of a class.
///
/// # Example
///
/// ```
/// use serde_json::json;
/// use tower_toolgate::trust::is_tool_content_origin;
///
/// assert!(is_tool_content_origin(&json!("external")));
/// assert!(!is_tool_content_origin(&json!("External")));
/// assert!(!is_tool_content_origin(&json!(["external"])));
/// ```
#[must_use]
pub fn is_tool_content_origin(value: &Value) -> bool {
    ToolContentOrigin::from_value(value).is_some()
}

/// The class of a tool, from what its definition declares and who brings it.
///
/// A declared class counts, whoever brings the tool; what is declared and is none is external. Without a declaration
/// a tool that comes over a protocol is external, one that the caller brings is external unless `trusted` exempts it,
/// and the host's own is local. `declared` is the operator's word: what a server says of itself can only raise a class.
///
/// # Example
///
/// ```
/// use serde_json::json;
/// use tower_toolgate::trust::{ToolContentOrigin, classify_tool_content_origin};
///
/// let declared = json!("execution");
/// assert_eq!(classify_tool_content_origin(Some(&declared), true, false, false), ToolContentOrigin::Execution);
/// assert_eq!(classify_tool_content_origin(None, true, false, false), ToolContentOrigin::External);
/// assert_eq!(classify_tool_content_origin(None, false, false, false), ToolContentOrigin::Local);
/// ```
#[must_use]
pub fn classify_tool_content_origin(
    declared: Option<&Value>,
    is_protocol_tool: bool,
    is_caller_tool: bool,
    trusted: bool,
) -> ToolContentOrigin {
    match declared {
        Some(value) => ToolContentOrigin::from_value(value).unwrap_or(ToolContentOrigin::External),
        None if is_protocol_tool || (is_caller_tool && !trusted) => ToolContentOrigin::External,
        None => ToolContentOrigin::Local,
    }
}

/// Whether content of a class marks a session; `None` stands for a value that is the name of no class, and does.
///
/// `strict` is the deployment's answer on what code prints that the agent runs.
///
/// # Example
///
/// ```
/// use serde_json::json;
/// use tower_toolgate::trust::{ToolContentOrigin, content_origin_pollutes};
///
/// assert!(content_origin_pollutes(ToolContentOrigin::External, false));
/// assert!(!content_origin_pollutes(ToolContentOrigin::Execution, false));
/// assert!(content_origin_pollutes(ToolContentOrigin::Execution, true));
/// assert!(content_origin_pollutes(ToolContentOrigin::from_value(&json!("trusted")), false));
/// ```
#[must_use]
pub fn content_origin_pollutes(origin: impl Into<Option<ToolContentOrigin>>, strict: bool) -> bool {
    match origin.into() {
        Some(ToolContentOrigin::Local) => false,
        Some(ToolContentOrigin::Execution) => strict,
        Some(ToolContentOrigin::External) | None => true,
    }
}

/// A tool's definition with its origin declared, from anything that serialises to one: a raw object, or a typed tool
/// of any crate. What it declared before is replaced.
///
/// # Errors
///
/// What serialises to no object.
///
/// # Example
///
/// ```
/// use serde::Serialize;
/// use serde_json::json;
/// use tower_toolgate::trust::{ToolContentOrigin, declared_content_origin, with_content_origin};
///
/// #[derive(Serialize)]
/// struct Tool {
///     name: &'static str,
/// }
///
/// let typed = with_content_origin(&Tool { name: "ask" }, ToolContentOrigin::Local)?;
/// let raw = with_content_origin(&json!({"name": "ask"}), ToolContentOrigin::Local)?;
/// assert_eq!(typed, raw);
/// assert_eq!(declared_content_origin(&raw), Some(&json!("local")));
/// # Ok::<(), tower_toolgate::trust::NoToolDefinition>(())
/// ```
pub fn with_content_origin<T: Serialize + ?Sized>(
    tool: &T,
    origin: ToolContentOrigin,
) -> Result<Map<String, Value>, NoToolDefinition> {
    match serde_json::to_value(tool) {
        Ok(Value::Object(mut definition)) => {
            definition.insert(MEMBER.to_owned(), origin.as_str().into());
            Ok(definition)
        }
        Ok(_) | Err(_) => Err(NoToolDefinition),
    }
}

/// What a tool's definition declares: the input of [`classify_tool_content_origin`].
#[must_use]
pub fn declared_content_origin(definition: &Map<String, Value>) -> Option<&Value> {
    definition.get(MEMBER)
}

/// What serialises to no object is no tool's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoToolDefinition;

impl fmt::Display for NoToolDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tool's definition must serialise to an object")
    }
}

impl std::error::Error for NoToolDefinition {}

#[cfg(test)]
mod tests;
