//! What a classifier says.

use std::borrow::Cow;
use std::fmt::{self, Write};

use super::claims::Claims;
use super::origin::{ToolContentOrigin, content_origin_pollutes};
use super::taint::Cause;
use crate::policy::Short;

/// What decided on a class: first the steps in the order in which they are asked, then what may raise a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Step {
    /// The tool has no name. Such a call should be refused.
    Nameless,
    /// It is one of the web's tools.
    BuiltinWeb,
    /// `untrusted_tools` lists it.
    UntrustedTool,
    /// `trusted_tools` lists it.
    TrustedTool,
    /// The operator declares its origin.
    ToolOrigin,
    /// The operator declares its server.
    Server,
    /// Its server is the gateway's own.
    Own,
    /// Nothing is known of it.
    Unknown,
    /// The agent that it starts could reach what pollutes, or that is not known.
    Delegated,
    /// The server says so: [`Claims::UNTRUSTED`].
    ClaimUntrusted,
    /// The server says so: [`Claims::INTEGRITY_UNTRUSTED`].
    ClaimIntegrity,
    /// The server says so: [`Claims::OPEN_WORLD`].
    ClaimOpenWorld,
    /// Nobody can tell what the server says: [`Claims::MALFORMED`].
    ClaimMalformed,
}

impl Step {
    /// What the first of some claims is as a step.
    #[must_use]
    pub(crate) fn of_claims(claims: Claims) -> Option<Self> {
        let steps = [
            (Claims::UNTRUSTED, Self::ClaimUntrusted),
            (Claims::INTEGRITY_UNTRUSTED, Self::ClaimIntegrity),
            (Claims::OPEN_WORLD, Self::ClaimOpenWorld),
            (Claims::MALFORMED, Self::ClaimMalformed),
        ];
        steps.into_iter().find(|(claim, _)| claims.contains(*claim)).map(|(_, step)| step)
    }

    /// A stable name, for logs and tags.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nameless => "nameless",
            Self::BuiltinWeb => "builtin_web",
            Self::UntrustedTool => "untrusted_tool",
            Self::TrustedTool => "trusted_tool",
            Self::ToolOrigin => "tool_origin",
            Self::Server => "server",
            Self::Own => "own",
            Self::Unknown => "unknown",
            Self::Delegated => "delegated",
            Self::ClaimUntrusted => "claim_untrusted",
            Self::ClaimIntegrity => "claim_integrity",
            Self::ClaimOpenWorld => "claim_open_world",
            Self::ClaimMalformed => "claim_malformed",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The class of what a tool or a server brings, and what decided on it. Nothing makes the class lower again.
///
/// # Example
///
/// ```
/// use tower_toolgate::trust::{Claims, Classifier, ClassifierConfig, DeclaredServer, Step, ToolContentOrigin};
///
/// let classifier = Classifier::new(&ClassifierConfig::new().with_server(DeclaredServer::own("files")))?;
/// let verdict = classifier.classify(Some("files"), "read");
/// assert_eq!((verdict.class(), verdict.step()), (ToolContentOrigin::Local, Step::Own));
/// let raised = verdict.raise(Claims::UNTRUSTED);
/// assert_eq!((raised.class(), raised.step()), (ToolContentOrigin::External, Step::ClaimUntrusted));
/// # Ok::<(), tower_toolgate::trust::ClassifierError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Verdict<'a> {
    ruling: Ruling,
    owner: Option<Cow<'a, str>>,
    tool: Option<Cow<'a, str>>,
}

/// What is decided, without the names of those whom it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ruling {
    class: ToolContentOrigin,
    step: Step,
    strict: bool,
}

impl Ruling {
    pub(super) const fn new((step, class): (Step, ToolContentOrigin), strict: bool) -> Self {
        Self { class, step, strict }
    }

    #[cfg(any(feature = "content-trust", feature = "provenance"))]
    pub(crate) const fn class(self) -> ToolContentOrigin {
        self.class
    }

    #[cfg(feature = "provenance")]
    pub(crate) const fn step(self) -> Step {
        self.step
    }

    pub(crate) fn pollutes(self) -> bool {
        content_origin_pollutes(self.class, self.strict)
    }

    pub(crate) fn of<'a>(self, owner: Option<&'a str>, tool: Option<Cow<'a, str>>) -> Verdict<'a> {
        Verdict { ruling: self, owner: owner.map(Cow::Borrowed), tool }
    }
}

/// What a content trust layer has decided of the response to a request.
#[cfg(feature = "provenance")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rulings {
    /// Of what the calls bring, the most foreign.
    pub(crate) calls: Option<Ruling>,
    /// Of what else the server says.
    pub(crate) server: Option<Ruling>,
}

impl<'a> Verdict<'a> {
    /// What is decided.
    #[cfg(feature = "content-trust")]
    pub(crate) const fn ruling(&self) -> Ruling {
        self.ruling
    }

    /// The class.
    #[must_use]
    pub const fn class(&self) -> ToolContentOrigin {
        self.ruling.class
    }

    /// What decided.
    #[must_use]
    pub const fn step(&self) -> Step {
        self.ruling.step
    }

    /// Whether it marks a session.
    #[must_use]
    pub fn pollutes(&self) -> bool {
        self.ruling.pollutes()
    }

    /// The server, as the route names it.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// The tool's name on the wire; `None` for what no tool brings.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// Joins what the server says of its content. Any claim makes it external; none makes nothing better.
    pub fn raise(self, claims: Claims) -> Self {
        match Step::of_claims(claims) {
            Some(step) => self.external(step),
            None => self,
        }
    }

    pub(super) fn external(self, step: Step) -> Self {
        match self.ruling.class {
            ToolContentOrigin::External => self,
            ToolContentOrigin::Local | ToolContentOrigin::Execution => {
                let ruling = Ruling { class: ToolContentOrigin::External, step, ..self.ruling };
                Self { ruling, ..self }
            }
        }
    }

    /// The same with names of its own, for when the request is gone.
    pub fn into_owned(self) -> Verdict<'static> {
        let owned = |name: Option<Cow<'_, str>>| name.map(|name| Cow::Owned(name.into_owned()));
        Verdict { owner: owned(self.owner), tool: owned(self.tool), ..self }
    }

    /// Why, in words: names of tools and servers, long ones cut off, never values.
    #[must_use]
    pub fn cause(&self) -> Cause {
        let (tool, source) = (Short(self.tool().unwrap_or_default()), Source(self));
        let mut text = String::with_capacity(Cause::MAX_BYTES);
        _ = match self.step() {
            Step::Nameless => write!(text, "tool without a name, {source}"),
            Step::BuiltinWeb => write!(text, "web tool '{tool}'"),
            Step::UntrustedTool => write!(text, "configured untrusted tool '{tool}'"),
            Step::TrustedTool => write!(text, "configured trusted tool '{tool}'"),
            Step::ToolOrigin => write!(text, "{source} declared {}", self.class()),
            Step::Server | Step::Own | Step::Unknown => write!(text, "{source}"),
            Step::Delegated => write!(text, "agent started by {source}"),
            Step::ClaimUntrusted => write!(text, "{source} says that it is untrusted"),
            Step::ClaimIntegrity => write!(text, "{source} says that its integrity is untrusted"),
            Step::ClaimOpenWorld => write!(text, "{source} says that its world is open"),
            Step::ClaimMalformed => write!(text, "{source} says nothing readable of its trust"),
        };
        Cause::new(&text)
    }
}

/// Where what a verdict is about comes from, in words.
struct Source<'a>(&'a Verdict<'a>);

impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.owner().map(Short), self.0.tool().map(Short)) {
            (Some(owner), Some(tool)) => write!(f, "MCP server '{owner}' (tool '{tool}')"),
            (Some(owner), None) => write!(f, "MCP server '{owner}'"),
            (None, Some(tool)) => write!(f, "tool '{tool}'"),
            (None, None) => f.write_str("unknown server"),
        }
    }
}
