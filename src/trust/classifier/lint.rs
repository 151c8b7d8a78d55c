//! What is doubtful in what an operator says, though not wrong.

use std::fmt;

use super::config::{ClassifierConfig, DeclaredServer, ServerTrust};
use super::entry::Entry;
use crate::json::fold;
use crate::names::{NameMap, NameSet};
use crate::placed::placed;
use crate::trust::config::{ContentTrustConfig, WEB_TOOLS};

placed! {
    /// Something doubtful: what, and where.
    Lint { kind: LintKind }
    /// What is doubtful.
    such as "content_trust.trusted_tools[0]"
}

/// The kinds of doubt. Each holds what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LintKind {
    /// With several servers a plain name in `trusted_tools` says nothing: it has to name the server.
    BareAmongServers(String),
    /// `untrusted_tools` lists it too, and wins.
    Contradicts(String),
    /// The server is declared as not trusted, which wins.
    DistrustWins(String),
    /// `*` is a character like any other here.
    Glob(String),
    /// A qualified name without a tool, or with what is no server's id, trusts nothing.
    Incomplete(String),
    /// No such server is declared, only one that lenient readers take for it.
    Resembles(String),
    /// No such server is declared.
    UnknownServer(String),
    /// The web's tools cannot be trusted.
    WebTool(String),
}

impl fmt::Display for LintKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BareAmongServers(tool) => {
                write!(f, "{tool:?} trusts nothing: of several servers name one, as in mcp__SERVER__{tool}")
            }
            Self::Contradicts(tool) => write!(f, "{tool:?} is in untrusted_tools too, which wins"),
            Self::DistrustWins(id) => write!(f, "server {id:?} is declared as not trusted, which wins"),
            Self::Glob(text) => write!(f, "in {text:?} `*` is a character like any other"),
            Self::Incomplete(text) => write!(f, "{text:?} trusts nothing: a qualified name is mcp__SERVER__TOOL"),
            Self::Resembles(id) => write!(f, "server {id:?} differs only by case or control characters from another"),
            Self::UnknownServer(id) => write!(f, "no server {id:?} is declared"),
            Self::WebTool(tool) => write!(f, "{tool:?} stays untrusted: it is one of the web's tools"),
        }
    }
}

/// All doubts, in the order of the configuration.
pub(super) fn lints(config: &ClassifierConfig) -> Vec<Lint> {
    let ClassifierConfig { content_trust, exec_is_external: _, servers, content_origins, delegations } = config;
    let mut lints = Lints::new(servers);
    lints.trusted_servers(content_trust.trusted_mcp_servers());
    for (at, tool) in content_trust.untrusted_tools().iter().enumerate() {
        lints.name(&format!("content_trust.untrusted_tools[{at}]"), tool, Entry::new(tool).server());
    }
    lints.trusted_tools(content_trust);
    lints.servers(servers);
    for (at, tool) in content_origins.iter().enumerate() {
        lints.server(&format!("content_origins[{at}].owner"), tool.owner.as_deref());
    }
    for (at, tool) in delegations.iter().enumerate() {
        lints.server(&format!("delegations[{at}].owner"), tool.owner.as_deref());
    }
    lints.found
}

struct Lints<'a> {
    declared: NameMap<&'a str, Option<ServerTrust>>,
    /// The ids of all servers, as lenient readers fold them.
    folded: NameSet<Box<str>>,
    found: Vec<Lint>,
}

impl<'a> Lints<'a> {
    fn new(servers: &'a [DeclaredServer]) -> Self {
        let declared = servers.iter().map(|server| (server.id.as_str(), server.trust)).collect();
        Self { declared, folded: servers.iter().map(|server| fold(&server.id)).collect(), found: Vec::new() }
    }

    fn push(&mut self, place: &str, kind: LintKind) {
        self.found.push(Lint::new(place.to_owned(), kind));
    }

    fn servers(&mut self, servers: &[DeclaredServer]) {
        let mut seen = NameSet::default();
        for (at, server) in servers.iter().enumerate() {
            if !seen.insert(fold(&server.id)) {
                self.push(&format!("servers[{at}].id"), LintKind::Resembles(server.id.clone()));
            }
        }
    }

    fn trusted_servers(&mut self, ids: &[String]) {
        for (at, id) in ids.iter().enumerate() {
            let place = format!("content_trust.trusted_mcp_servers[{at}]");
            self.name(&place, id, Some(id));
            let trust = self.declared.get(id.as_str()).copied().flatten();
            if matches!(trust, Some(ServerTrust::Untrusted | ServerTrust::Sandboxed)) {
                self.push(&place, LintKind::DistrustWins(id.clone()));
            }
        }
    }

    fn trusted_tools(&mut self, lists: &ContentTrustConfig) {
        let untrusted: NameSet<&String> = lists.untrusted_tools().iter().collect();
        for (at, tool) in lists.trusted_tools().iter().enumerate() {
            let place = format!("content_trust.trusted_tools[{at}]");
            let entry = Entry::new(tool);
            self.name(&place, tool, entry.server());
            if untrusted.contains(tool) {
                self.push(&place, LintKind::Contradicts(tool.clone()));
            }
            match entry {
                Entry::Bare(name) | Entry::Qualified { tool: name, .. } if WEB_TOOLS.contains(&name) => {
                    self.push(&place, LintKind::WebTool(tool.clone()));
                }
                Entry::Bare(_) if self.declared.len() > 1 => {
                    self.push(&place, LintKind::BareAmongServers(tool.clone()));
                }
                Entry::Incomplete => self.push(&place, LintKind::Incomplete(tool.clone())),
                Entry::Bare(_) | Entry::Qualified { .. } => {}
            }
        }
    }

    /// A name in a list, and the server that it names.
    fn name(&mut self, place: &str, name: &str, server: Option<&str>) {
        if name.contains('*') {
            self.push(place, LintKind::Glob(name.to_owned()));
        } else {
            self.server(place, server);
        }
    }

    fn server(&mut self, place: &str, id: Option<&str>) {
        // Where no server is declared, routes may name any.
        let declared = |id: &str| self.declared.is_empty() || self.declared.contains_key(id);
        let Some(id) = id.filter(|id| !declared(id)) else { return };
        let kind = if self.folded.contains(&fold(id)) { LintKind::Resembles } else { LintKind::UnknownServer };
        self.push(place, kind(id.to_owned()));
    }
}
