//! What a call that starts another agent may bring back.

use serde::{Deserialize, Serialize};

use super::origin::ToolContentOrigin;

/// A type of agent that a delegating tool offers, and what it may use.
///
/// # Example
///
/// ```
/// use tower_toolgate::trust::Face;
///
/// let reader = Face::new("reader").with_allow_tools(["read", "search"]).with_deny_tools(["search"]);
/// assert_eq!(reader.name, "reader");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Face {
    /// The type, as calls name it.
    pub name: String,
    /// The names or aliases of what it may use; `None` for the whole pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_tools: Option<Vec<String>>,
    /// The names or aliases of what it may not use, whatever `allow_tools` has.
    #[serde(default)]
    pub deny_tools: Vec<String>,
    /// Whether it may start other agents of the same pool: then what any of them reaches counts.
    #[serde(default)]
    pub can_redelegate: bool,
}

impl Face {
    /// A type that may use the whole pool, and may not start others.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), allow_tools: None, deny_tools: Vec::new(), can_redelegate: false }
    }

    /// Adds to what it may use; with nothing added it may use nothing.
    #[must_use]
    pub fn with_allow_tools<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.allow_tools.get_or_insert_default().extend(tools.into_iter().map(Into::into));
        self
    }

    /// Adds to what it may not use.
    #[must_use]
    pub fn with_deny_tools<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.deny_tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Sets whether it may start others.
    #[must_use]
    pub fn with_can_redelegate(mut self, can: bool) -> Self {
        self.can_redelegate = can;
        self
    }

    fn reaches(&self, tool: &PoolTool) -> bool {
        let allowed = self.allow_tools.as_ref().is_none_or(|allow| allow.iter().any(|name| tool.is_called(name)));
        allowed && !self.deny_tools.iter().any(|name| tool.is_called(name))
    }

    /// Whether it may use something that is not in the pool, and so is unknown.
    fn reaches_beyond(&self, pool: &[PoolTool]) -> bool {
        let mut allowed = self.allow_tools.iter().flatten().filter(|name| !self.deny_tools.contains(name));
        allowed.any(|name| !pool.iter().any(|tool| tool.is_called(name)))
    }
}

/// A tool of the pool that started agents draw from: the child's pool, not the one of who starts it.
///
/// # Example
///
/// ```
/// use tower_toolgate::trust::{PoolTool, ToolContentOrigin};
///
/// let tool = PoolTool::new("read").with_owner("files").with_alias("cat");
/// assert_eq!(tool.with_content_origin(ToolContentOrigin::Local).content_origin, Some(ToolContentOrigin::Local));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PoolTool {
    /// Its name on the wire.
    pub name: String,
    /// Other names for it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The server that brings it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The class that the operator declares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_origin: Option<ToolContentOrigin>,
}

impl PoolTool {
    /// A tool that nothing else is known of.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), aliases: Vec::new(), owner: None, content_origin: None }
    }

    /// Adds another name.
    #[must_use]
    pub fn with_alias(mut self, alias: impl Into<String>) -> Self {
        self.aliases.push(alias.into());
        self
    }

    /// Sets the server that brings it.
    #[must_use]
    pub fn with_owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// Declares its class.
    #[must_use]
    pub fn with_content_origin(mut self, origin: ToolContentOrigin) -> Self {
        self.content_origin = Some(origin);
        self
    }

    fn is_called(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name).chain(&self.aliases).map(String::as_str)
    }
}

/// Whether a call that starts an agent counts as external: whether the agent could reach a tool that pollutes.
///
/// It is a judgement before the fact: what the agent then does changes nothing. What is not known counts as external:
/// no type, no faces, a type that no face has, no pool, a tool that a face allows and the pool has not, a tool that
/// `is_polluting` fails on.
///
/// # Example
///
/// ```
/// use std::convert::Infallible;
/// use tower_toolgate::trust::{Face, PoolTool, ToolContentOrigin};
/// use tower_toolgate::trust::{content_origin_pollutes, delegation_call_is_external};
///
/// let faces = [Face::new("researcher"), Face::new("reader").with_allow_tools(["read"])];
/// let pool = [PoolTool::new("web_fetch"), PoolTool::new("read").with_content_origin(ToolContentOrigin::Local)];
/// let external = |requested| {
///     delegation_call_is_external(Some(requested), Some(&faces), Some(&pool), |tool| {
///         Ok::<_, Infallible>(content_origin_pollutes(tool.content_origin, false))
///     })
/// };
/// assert!(external("researcher"));
/// assert!(!external("reader"));
/// assert!(external("somebody"));
/// ```
#[must_use]
pub fn delegation_call_is_external<E>(
    requested_type: Option<&str>,
    faces: Option<&[Face]>,
    pool: Option<&[PoolTool]>,
    mut is_polluting: impl FnMut(&PoolTool) -> Result<bool, E>,
) -> bool {
    let (Some(requested), Some(faces), Some(pool)) = (requested_type, faces, pool) else { return true };
    let mut offered = faces.iter().filter(|face| face.name == requested).peekable();
    if offered.peek().is_none() {
        return true;
    }
    let mut is_external = |face: &Face| {
        let mut reached = pool.iter().filter(|tool| face.reaches(tool));
        face.reaches_beyond(pool) || reached.any(|tool| is_polluting(tool).unwrap_or(true))
    };
    // What a started agent may start in turn is bounded by its own face, not by this one's.
    offered.any(|face| if face.can_redelegate { faces.iter().any(&mut is_external) } else { is_external(face) })
}

#[cfg(test)]
mod tests;
