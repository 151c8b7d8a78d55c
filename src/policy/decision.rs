//! The answer of a policy.

use std::fmt;

use crate::json::Kind;

/// Whether a call may be made. There is no third answer: what could not be decided is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Decision {
    /// It may.
    Allow,
    /// It may not, for this reason.
    Deny(Denied),
}

impl Decision {
    /// Whether the call may be made.
    #[must_use]
    pub fn is_allow(&self) -> bool {
        matches!(self, Self::Allow)
    }
}

/// Why a call may not be made. Names tools and arguments, never a value.
///
/// Not `#[non_exhaustive]`: whoever maps reasons to answers should look again when one is added.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "`argument` is the argument's name, `kind` the kind of the value that was given")]
pub enum Denied {
    /// An argument's name resembles a ruled one: case, folding or control characters.
    ArgumentAmbiguous { argument: Box<str> },
    /// The value has a control character.
    ArgumentControl { argument: Box<str> },
    /// The value must be a string.
    ArgumentNotString { argument: Box<str>, kind: Kind },
    /// The value has half a surrogate pair, so that its text is not what the tool will see.
    ArgumentNotUnicode { argument: Box<str> },
    /// The argument must be there.
    ArgumentRequired { argument: Box<str> },
    /// The value must be neither array nor object.
    ArgumentStructured { argument: Box<str>, kind: Kind },
    /// No entry names the argument.
    ArgumentUnknown { argument: Box<str> },
    /// The value's first word is not listed, or a shell could not read the value.
    ArgumentValue { argument: Box<str> },
    /// No `hosts` matches the call's host.
    HostNotAllowed,
    /// The call's host must be a string.
    HostNotString { kind: Kind },
    /// No `methods` matches the method.
    MethodNotAllowed,
    /// Arguments without names, where names matter.
    PositionalArguments,
    /// No `prompts` matches the prompt.
    PromptNotAllowed,
    /// No `resources` matches the URI.
    ResourceNotAllowed,
    /// The request carries no role.
    RoleMissing,
    /// The policy has no such role.
    RoleUnknown,
    /// No `servers` matches the server.
    ServerNotAllowed,
    /// Nobody vouches for the task's owner, and no `methods` matches.
    TaskNotAllowed,
    /// A `deny` of the role matches the tool.
    ToolDenied,
    /// A `global_deny` matches the tool.
    ToolGloballyDenied,
    /// No `allow` matches the tool.
    ToolNotAllowed,
    /// The URI can be read as another one.
    UriNotCanonical,
}

impl Denied {
    /// A stable name, for logs and for the `reason` of an answer.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::ArgumentAmbiguous { .. } => "policy.argument_ambiguous",
            Self::ArgumentControl { .. } => "policy.argument_control",
            Self::ArgumentNotString { .. } => "policy.argument_not_string",
            Self::ArgumentNotUnicode { .. } => "policy.argument_not_unicode",
            Self::ArgumentRequired { .. } => "policy.argument_required",
            Self::ArgumentStructured { .. } => "policy.argument_structured",
            Self::ArgumentUnknown { .. } => "policy.argument_unknown",
            Self::ArgumentValue { .. } => "policy.argument_value",
            Self::HostNotAllowed => "policy.host_not_allowed",
            Self::HostNotString { .. } => "policy.host_not_string",
            Self::MethodNotAllowed => "policy.method_not_allowed",
            Self::PositionalArguments => "policy.positional_arguments",
            Self::PromptNotAllowed => "policy.prompt_not_allowed",
            Self::ResourceNotAllowed => "policy.resource_not_allowed",
            Self::RoleMissing => "policy.role_missing",
            Self::RoleUnknown => "policy.role_unknown",
            Self::ServerNotAllowed => "policy.server_not_allowed",
            Self::TaskNotAllowed => "policy.task_not_allowed",
            Self::ToolDenied => "policy.tool_denied",
            Self::ToolGloballyDenied => "policy.tool_globally_denied",
            Self::ToolNotAllowed => "policy.tool_not_allowed",
            Self::UriNotCanonical => "policy.uri_not_canonical",
        }
    }

    /// The argument that it is about.
    #[must_use]
    pub fn argument(&self) -> Option<&str> {
        match self {
            Self::ArgumentAmbiguous { argument }
            | Self::ArgumentControl { argument }
            | Self::ArgumentNotString { argument, .. }
            | Self::ArgumentNotUnicode { argument }
            | Self::ArgumentRequired { argument }
            | Self::ArgumentStructured { argument, .. }
            | Self::ArgumentUnknown { argument }
            | Self::ArgumentValue { argument } => Some(argument),
            Self::HostNotAllowed | Self::HostNotString { .. } => Some("host"),
            Self::MethodNotAllowed
            | Self::PositionalArguments
            | Self::PromptNotAllowed
            | Self::ResourceNotAllowed
            | Self::RoleMissing
            | Self::RoleUnknown
            | Self::ServerNotAllowed
            | Self::TaskNotAllowed
            | Self::ToolDenied
            | Self::ToolGloballyDenied
            | Self::ToolNotAllowed
            | Self::UriNotCanonical => None,
        }
    }

    /// How far the check had come: of several roles, the denial of the one that came farthest is told.
    pub(super) fn stage(&self) -> u8 {
        match self {
            Self::RoleMissing | Self::RoleUnknown => 0,
            Self::ServerNotAllowed => 1,
            Self::HostNotString { .. } => 2,
            Self::MethodNotAllowed
            | Self::PromptNotAllowed
            | Self::ResourceNotAllowed
            | Self::TaskNotAllowed
            | Self::ToolDenied
            | Self::ToolGloballyDenied
            | Self::ToolNotAllowed
            | Self::UriNotCanonical => 3,
            Self::HostNotAllowed => 4,
            Self::ArgumentAmbiguous { .. }
            | Self::ArgumentControl { .. }
            | Self::ArgumentNotString { .. }
            | Self::ArgumentNotUnicode { .. }
            | Self::ArgumentStructured { .. }
            | Self::ArgumentUnknown { .. }
            | Self::ArgumentValue { .. }
            | Self::PositionalArguments => 5,
            Self::ArgumentRequired { .. } => 6,
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The caller chose the name: in a log it must not begin a line of its own.
        let argument = self.argument().unwrap_or_default().escape_debug();
        match self {
            Self::ArgumentAmbiguous { .. } => write!(f, "argument '{argument}' resembles a ruled one"),
            Self::ArgumentControl { .. } => write!(f, "argument '{argument}' has a control character"),
            Self::ArgumentNotString { kind, .. } => {
                write!(f, "argument '{argument}' must be a string, not {}", kind.name())
            }
            Self::ArgumentNotUnicode { .. } => write!(f, "argument '{argument}' has a lone surrogate"),
            Self::ArgumentRequired { .. } => write!(f, "argument '{argument}' is required"),
            Self::ArgumentStructured { kind, .. } => {
                write!(f, "argument '{argument}' must not be an {}", kind.name())
            }
            Self::ArgumentUnknown { .. } => write!(f, "argument '{argument}' is not permitted"),
            Self::ArgumentValue { .. } => write!(f, "value of argument '{argument}' is not in the allowlist"),
            Self::HostNotAllowed => f.write_str("argument 'host' is not among the permitted hosts"),
            Self::HostNotString { kind } => write!(f, "argument 'host' must be a string, not {}", kind.name()),
            Self::MethodNotAllowed => f.write_str("method is not permitted"),
            Self::PositionalArguments => f.write_str("arguments must be named"),
            Self::PromptNotAllowed => f.write_str("prompt is not permitted"),
            Self::ResourceNotAllowed => f.write_str("resource is not permitted"),
            Self::RoleMissing => f.write_str("no role"),
            Self::RoleUnknown => f.write_str("unknown role"),
            Self::ServerNotAllowed => f.write_str("server is not permitted"),
            Self::TaskNotAllowed => f.write_str("task is not permitted"),
            Self::ToolDenied | Self::ToolGloballyDenied | Self::ToolNotAllowed => f.write_str("tool is not permitted"),
            Self::UriNotCanonical => f.write_str("URI is not canonical"),
        }
    }
}

impl std::error::Error for Denied {}

/// The beginning of a name that the caller chose.
pub(crate) fn short(name: &str) -> Box<str> {
    Short(name).to_string().into()
}

/// A name that the caller chose, of which the beginning is shown.
pub(crate) struct Short<'a>(pub(crate) &'a str);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 128;
        match self.0.char_indices().nth(LONGEST) {
            Some((at, _)) => write!(f, "{}…", self.0.get(..at).unwrap_or_default()),
            None => f.write_str(self.0),
        }
    }
}
