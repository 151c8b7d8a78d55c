//! What a name in a list of tools is about.

/// A name in a list of tools.
pub(super) enum Entry<'a> {
    /// A tool's name.
    Bare(&'a str),
    /// A server's tool.
    Qualified { server: &'a str, tool: &'a str },
    /// A qualified name without a tool, or with what is no server's id.
    Incomplete,
}

impl<'a> Entry<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let Some(qualified) = text.strip_prefix("mcp__") else { return Self::Bare(text) };
        match qualified.split_once("__") {
            Some((server, tool)) if is_server_id(server) && !tool.is_empty() => Self::Qualified { server, tool },
            Some(_) | None => Self::Incomplete,
        }
    }

    pub(super) fn server(&self) -> Option<&'a str> {
        match self {
            Self::Qualified { server, .. } => Some(server),
            Self::Bare(_) | Self::Incomplete => None,
        }
    }
}

/// Whether only one server and tool can have a qualified name with this id.
pub(super) fn is_server_id(id: &str) -> bool {
    !id.is_empty() && !id.contains("__") && !id.starts_with('_') && !id.ends_with('_')
}
