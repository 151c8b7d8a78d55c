//! What a tool's content is, from all that the operator says.

mod compile;
mod config;
mod entry;
mod error;
mod lint;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use self::compile::{Compiled, Source, Tool};
pub use self::config::{ClassifierConfig, DeclaredServer, DeclaredTool, DelegationTool, ServerTrust};
pub use self::error::{ClassifierError, ClassifierProblem};
pub use self::lint::{Lint, LintKind};
use super::origin::ToolContentOrigin;
use super::verdict::{Ruling, Step, Verdict};

/// What an operator says of servers and tools, compiled: immutable, cheap to clone. A verdict costs a few look-ups
/// and no allocation, and depends on nothing but the configuration, the route's server and the name.
///
/// The first that applies decides:
///
/// 1. The tool, or what follows some `__` in its name, is one of the web's tools: external.
/// 2. `untrusted_tools` lists it: its name, what follows some `__` in it, or `mcp__SERVER__TOOL` with the route's
///    server: external.
/// 3. `trusted_tools` lists it: exactly `mcp__SERVER__TOOL` with the route's server; or, where at most one server is
///    declared, its name, of that server or of none: local.
/// 4. The operator declares its origin: that.
/// 5. The operator declares its server: local if trusted, there or in `trusted_mcp_servers`, and nowhere untrusted or
///    sandboxed; else external.
/// 6. Its server is the gateway's own: local.
/// 7. Anything else: external. So is a tool without a name, whosever it is; such a call should be refused.
///
/// A server is what the route names; a tool's name tells nothing of its server. What a server says of its content can
/// only raise the class afterwards.
///
/// # Example
///
/// ```
/// use tower_toolgate::trust::{Classifier, ClassifierConfig, ContentTrustConfig, DeclaredServer, ToolContentOrigin};
///
/// let classifier = Classifier::new(
///     &ClassifierConfig::new()
///         .with_content_trust(ContentTrustConfig::new(["kg"], [], ["mcp__shop__price"])?)
///         .with_server(DeclaredServer::new("kg"))
///         .with_server(DeclaredServer::new("shop")),
/// )?;
/// let class = |owner, tool| classifier.classify(Some(owner), tool).class();
/// assert_eq!(class("kg", "query"), ToolContentOrigin::Local);
/// assert_eq!(class("kg", "web_fetch"), ToolContentOrigin::External);
/// assert_eq!(class("shop", "price"), ToolContentOrigin::Local);
/// assert_eq!(class("shop", "mcp__kg__query"), ToolContentOrigin::External);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Classifier(Arc<Compiled>);

impl Classifier {
    /// Compiles what the operator says.
    ///
    /// # Errors
    ///
    /// The first mistake, with its place: a name that is blank or has control characters, a server's id that makes
    /// qualified names ambiguous, a second entry for a server or tool, an origin that is none.
    pub fn new(config: &ClassifierConfig) -> Result<Self, ClassifierError> {
        Compiled::new(config).map(|compiled| Self(Arc::new(compiled)))
    }

    /// What is doubtful in the configuration, though not wrong.
    #[must_use]
    pub fn lints(&self) -> &[Lint] {
        &self.0.lints
    }

    /// What a tool brings; `owner` is the server that the route names. For a tool that starts other agents, of a
    /// type that is not known.
    pub fn classify<'a>(&self, owner: Option<&'a str>, tool: &'a str) -> Verdict<'a> {
        self.classify_call(owner, tool, None)
    }

    /// What a call brings, whose argument [`delegation_argument`](Self::delegation_argument) names this type of
    /// agent. For other tools the type says nothing.
    ///
    /// # Example
    ///
    /// ```
    /// use tower_toolgate::trust::{Classifier, ClassifierConfig, DeclaredServer, DelegationTool, Face, PoolTool, Step};
    ///
    /// let delegate = DelegationTool::new(Some("agents"), "delegate", "agent_type")
    ///     .with_faces([Face::new("researcher"), Face::new("reader").with_allow_tools(["read"])])
    ///     .with_pool([PoolTool::new("web_fetch"), PoolTool::new("read").with_owner("files")]);
    /// let classifier = Classifier::new(
    ///     &ClassifierConfig::new()
    ///         .with_server(DeclaredServer::own("agents"))
    ///         .with_server(DeclaredServer::own("files"))
    ///         .with_delegation(delegate),
    /// )?;
    /// assert_eq!(classifier.delegation_argument(Some("agents"), "delegate"), Some("agent_type"));
    /// let step = |agent| classifier.classify_call(Some("agents"), "delegate", agent).step();
    /// assert_eq!(step(Some("reader")), Step::Own);
    /// assert_eq!(step(Some("researcher")), Step::Delegated);
    /// assert_eq!(step(None), Step::Delegated);
    /// # Ok::<(), tower_toolgate::trust::ClassifierError>(())
    /// ```
    pub fn classify_call<'a>(
        &self,
        owner: Option<&'a str>,
        tool: &'a str,
        delegated_type: Option<&str>,
    ) -> Verdict<'a> {
        self.classify_with(owner, tool, |_| delegated_type.map(Cow::Borrowed))
    }

    /// What a call brings, of whose arguments `argument` gives the one that names the type of agent.
    pub(crate) fn classify_with<'a, 'b>(
        &self,
        owner: Option<&'a str>,
        tool: &'a str,
        argument: impl FnOnce(&str) -> Option<Cow<'b, str>>,
    ) -> Verdict<'a> {
        let source = self.0.source(owner);
        let entry = source.and_then(|source| source.tools.get(tool));
        let verdict = Ruling::new(self.0.decide_of(source, entry, tool), self.0.strict).of(owner, Some(tool.into()));
        match entry.and_then(|entry| entry.delegates.as_ref()) {
            Some(delegates) if delegates.is_external(argument(&delegates.argument).as_deref()) => {
                verdict.external(Step::Delegated)
            }
            Some(_) | None => verdict,
        }
    }

    /// What a server brings that no tool does: resources, prompts, streams.
    pub fn classify_server<'a>(&self, owner: Option<&'a str>) -> Verdict<'a> {
        let decided = self.0.source(owner).and_then(|source| source.decided);
        let decided = decided.unwrap_or((Step::Unknown, ToolContentOrigin::External));
        Ruling::new(decided, self.0.strict).of(owner, None)
    }

    /// The argument that names the type of agent, if the tool starts others.
    #[must_use]
    pub fn delegation_argument(&self, owner: Option<&str>, tool: &str) -> Option<&str> {
        let delegates = self.0.source(owner)?.tools.get(tool)?.delegates.as_ref();
        delegates.map(|delegates| &*delegates.argument)
    }
}

impl Compiled {
    /// The source that the route names.
    fn source(&self, owner: Option<&str>) -> Option<&Source> {
        owner.map_or(Some(&self.nobody), |owner| self.sources.get(owner))
    }

    fn decide(&self, owner: Option<&str>, tool: &str) -> (Step, ToolContentOrigin) {
        let source = self.source(owner);
        self.decide_of(source, source.and_then(|source| source.tools.get(tool)), tool)
    }

    /// The same once its source and its entry there have been looked up.
    fn decide_of(&self, source: Option<&Source>, entry: Option<&Tool>, tool: &str) -> (Step, ToolContentOrigin) {
        if tool.is_empty() {
            return (Step::Nameless, ToolContentOrigin::External);
        }
        let anywhere = self.distrusted(tool).map(|step| (step, ToolContentOrigin::External));
        let named = entry.and_then(|entry| entry.decided);
        let server = source.and_then(|source| source.decided);
        // Steps are ordered, so that the least is the first that applies.
        let first = [anywhere, named, server].into_iter().flatten().min();
        first.unwrap_or((Step::Unknown, ToolContentOrigin::External))
    }

    /// The step that distrusts a tool by its name, or by what follows some `__` in it, whoever brings it.
    fn distrusted(&self, tool: &str) -> Option<Step> {
        // What follows must be the name of an entry: nothing longer is looked at.
        let start = tool.len().saturating_sub(self.anywhere.longest() + SEPARATOR.len());
        let end = tool.as_bytes().get(start..).unwrap_or_default();
        let separators = end.windows(SEPARATOR.len()).enumerate().filter(|(_, window)| *window == SEPARATOR);
        let parts = separators.filter_map(|(at, _)| tool.get(start + at + SEPARATOR.len()..));
        parts.chain([tool]).filter_map(|part| self.anywhere.get(part)).min().copied()
    }
}

const SEPARATOR: &[u8] = b"__";

impl fmt::Debug for Classifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Classifier").field("strict", &self.0.strict).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
