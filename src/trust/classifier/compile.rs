//! From what an operator says to tables.

use super::config::{ClassifierConfig, DeclaredServer, DeclaredTool, DelegationTool, ServerTrust};
use super::entry::{Entry, is_server_id};
use super::error::{ClassifierError, ClassifierProblem};
use super::lint::{self, Lint};
use crate::json::has_control;
use crate::names::{NameSet, NameTable};
use crate::trust::config::{ContentTrustConfig, WEB_TOOLS};
use crate::trust::delegation::{PoolTool, delegation_call_is_external};
use crate::trust::origin::{ToolContentOrigin, content_origin_pollutes};
use crate::trust::verdict::Step;

pub(super) struct Compiled {
    pub(super) strict: bool,
    /// The steps that distrust a name, whoever brings the tool.
    pub(super) anywhere: NameTable<Step>,
    /// The tools of routes that name no server.
    pub(super) nobody: Source,
    pub(super) sources: NameTable<Source>,
    pub(super) lints: Vec<Lint>,
}

/// What is said of a server and its tools.
#[derive(Default)]
pub(super) struct Source {
    pub(super) decided: Option<(Step, ToolContentOrigin)>,
    pub(super) tools: NameTable<Tool>,
}

#[derive(Default)]
pub(super) struct Tool {
    pub(super) decided: Option<(Step, ToolContentOrigin)>,
    pub(super) delegates: Option<Delegates>,
}

/// What a tool that starts other agents brings.
pub(super) struct Delegates {
    pub(super) argument: Box<str>,
    /// Whether the types on offer are external.
    types: NameTable<bool>,
}

impl Delegates {
    pub(super) fn is_external(&self, requested: Option<&str>) -> bool {
        requested.and_then(|requested| self.types.get(requested)).copied().unwrap_or(true)
    }
}

impl Compiled {
    pub(super) fn new(config: &ClassifierConfig) -> Result<Self, ClassifierError> {
        let ClassifierConfig { content_trust, exec_is_external, servers, content_origins, delegations } = config;
        let mut compiled = Self {
            strict: *exec_is_external,
            anywhere: NameTable::default(),
            nobody: Source::default(),
            sources: NameTable::default(),
            lints: lint::lints(config),
        };
        compiled.add_servers(servers)?;
        compiled.add_trusted_servers(content_trust)?;
        compiled.add_untrusted_tools(content_trust);
        compiled.add_trusted_tools(content_trust, servers);
        compiled.add_origins(content_origins)?;
        compiled.add_delegations(delegations)?;
        Ok(compiled)
    }

    fn add_servers(&mut self, servers: &[DeclaredServer]) -> Result<(), ClassifierError> {
        let mut seen = NameSet::default();
        for (at, server) in servers.iter().enumerate() {
            let place = || format!("servers[{at}].id");
            check_server(place, &server.id)?;
            if !seen.insert(server.id.as_str()) {
                return Err(ClassifierError::new(place(), ClassifierProblem::DuplicateServer(server.id.clone())));
            }
            self.source_mut(Some(&server.id)).decided = match server.trust {
                Some(ServerTrust::Trusted) => Some((Step::Server, ToolContentOrigin::Local)),
                Some(ServerTrust::Untrusted | ServerTrust::Sandboxed) => {
                    Some((Step::Server, ToolContentOrigin::External))
                }
                None if server.own => Some((Step::Own, ToolContentOrigin::Local)),
                None => None,
            };
        }
        Ok(())
    }

    fn add_trusted_servers(&mut self, lists: &ContentTrustConfig) -> Result<(), ClassifierError> {
        for (at, id) in lists.trusted_mcp_servers().iter().enumerate() {
            check_server(|| format!("content_trust.trusted_mcp_servers[{at}]"), id)?;
            let decided = &mut self.source_mut(Some(id)).decided;
            // Of two words on one server the one that distrusts it counts.
            if *decided != Some((Step::Server, ToolContentOrigin::External)) {
                *decided = Some((Step::Server, ToolContentOrigin::Local));
            }
        }
        Ok(())
    }

    fn add_untrusted_tools(&mut self, lists: &ContentTrustConfig) {
        for name in WEB_TOOLS {
            self.anywhere.entry(name, || Step::BuiltinWeb);
        }
        for name in lists.untrusted_tools() {
            self.anywhere.entry(name, || Step::UntrustedTool);
            // Distrust is read generously: `SERVER__TOOL` will do.
            if let Some((server, tool)) = name.strip_prefix("mcp__").unwrap_or(name).split_once("__") {
                self.tool_mut(Some(server), tool).decide(Step::UntrustedTool, ToolContentOrigin::External);
            }
        }
    }

    fn add_trusted_tools(&mut self, lists: &ContentTrustConfig, servers: &[DeclaredServer]) {
        for name in lists.trusted_tools() {
            match (Entry::new(name), servers) {
                (Entry::Qualified { server, tool }, _) => self.trust(Some(server), tool),
                (Entry::Bare(tool), []) => self.trust(None, tool),
                (Entry::Bare(tool), [server]) => {
                    self.trust(None, tool);
                    self.trust(Some(&server.id), tool);
                }
                // The name alone does not say whose tool is meant.
                (Entry::Bare(_), [..]) | (Entry::Incomplete, _) => {}
            }
        }
    }

    fn trust(&mut self, owner: Option<&str>, tool: &str) {
        self.tool_mut(owner, tool).decide(Step::TrustedTool, ToolContentOrigin::Local);
    }

    fn add_origins(&mut self, tools: &[DeclaredTool]) -> Result<(), ClassifierError> {
        let mut seen = NameSet::default();
        for (at, tool) in tools.iter().enumerate() {
            let place = |field| format!("content_origins[{at}].{field}");
            let twice = !seen.insert((&tool.owner, &tool.tool));
            check_tool(place, tool.owner.as_deref(), &tool.tool, twice)?;
            let origin = ToolContentOrigin::try_from(tool.content_origin.clone());
            let unknown =
                |error| ClassifierError::new(place("content_origin"), ClassifierProblem::UnknownOrigin(error));
            self.tool_mut(tool.owner.as_deref(), &tool.tool).decide(Step::ToolOrigin, origin.map_err(unknown)?);
        }
        Ok(())
    }

    fn add_delegations(&mut self, tools: &[DelegationTool]) -> Result<(), ClassifierError> {
        let mut seen = NameSet::default();
        for (at, tool) in tools.iter().enumerate() {
            let place = |field| format!("delegations[{at}].{field}");
            let twice = !seen.insert((&tool.owner, &tool.tool));
            check_tool(place, tool.owner.as_deref(), &tool.tool, twice)?;
            check_text(|| place("argument"), &tool.argument)?;
            let delegates = self.delegates(tool, tools);
            self.tool_mut(tool.owner.as_deref(), &tool.tool).delegates = Some(delegates);
        }
        Ok(())
    }

    fn delegates(&self, tool: &DelegationTool, all: &[DelegationTool]) -> Delegates {
        let (faces, pool) = (tool.faces.as_deref(), tool.pool.as_deref());
        // An agent that starts others by this same tool has a face that says so.
        let starts_others = |row: &PoolTool| {
            all.iter().any(|other| {
                let same = (&other.owner, &other.tool) == (&tool.owner, &tool.tool);
                !same && other.owner == row.owner && row.names().any(|name| name == other.tool)
            })
        };
        let is_polluting = |row: &PoolTool| Ok::<_, std::convert::Infallible>(self.pollutes(row, starts_others(row)));
        let mut types = NameTable::default();
        for face in faces.unwrap_or_default() {
            let external = delegation_call_is_external(Some(&face.name), faces, pool, is_polluting);
            types.entry(&face.name, || external);
        }
        Delegates { argument: tool.argument.as_str().into(), types }
    }

    /// Whether what a tool of a pool brings marks the session of who started the agent.
    fn pollutes(&self, row: &PoolTool, starts_others: bool) -> bool {
        let decide = |name| self.decide(row.owner.as_deref(), name);
        let pollutes = |class| content_origin_pollutes(class, self.strict);
        // Nothing that a pool declares makes better what is said of one of the names.
        if row.names().map(decide).any(|(step, class)| step <= Step::ToolOrigin && pollutes(class)) {
            return true;
        }
        match row.content_origin {
            Some(origin) => pollutes(origin),
            None => starts_others || pollutes(decide(&row.name).1),
        }
    }

    fn source_mut(&mut self, owner: Option<&str>) -> &mut Source {
        match owner {
            Some(id) => self.sources.entry(id, Source::default),
            None => &mut self.nobody,
        }
    }

    fn tool_mut(&mut self, owner: Option<&str>, tool: &str) -> &mut Tool {
        self.source_mut(owner).tools.entry(tool, Tool::default)
    }
}

impl Tool {
    /// Keeps the first step that decides.
    fn decide(&mut self, step: Step, class: ToolContentOrigin) {
        let decided = (step, class);
        self.decided = Some(self.decided.map_or(decided, |before| before.min(decided)));
    }
}

fn check_server(place: impl Fn() -> String, id: &str) -> Result<(), ClassifierError> {
    check_text(&place, id)?;
    if is_server_id(id) {
        Ok(())
    } else {
        Err(ClassifierError::new(place(), ClassifierProblem::AmbiguousServerId(id.to_owned())))
    }
}

fn check_tool(
    place: impl Fn(&'static str) -> String,
    owner: Option<&str>,
    tool: &str,
    twice: bool,
) -> Result<(), ClassifierError> {
    owner.map_or(Ok(()), |id| check_server(|| place("owner"), id))?;
    check_text(|| place("tool"), tool)?;
    if twice {
        return Err(ClassifierError::new(place("tool"), ClassifierProblem::DuplicateTool(tool.to_owned())));
    }
    Ok(())
}

fn check_text(place: impl Fn() -> String, text: &str) -> Result<(), ClassifierError> {
    if text.trim().is_empty() {
        return Err(ClassifierError::new(place(), ClassifierProblem::Blank));
    }
    if has_control(text) {
        return Err(ClassifierError::new(place(), ClassifierProblem::ControlCharacter(text.to_owned())));
    }
    Ok(())
}
