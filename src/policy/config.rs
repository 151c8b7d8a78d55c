//! Policies as people write them, before they are compiled.

use serde::{Deserialize, Serialize};

/// What every role may do: the input of [`Policy::new`](super::Policy::new).
///
/// Deserialises from any serde format; unknown fields are refused.
///
/// # Example
///
/// ```
/// use tower_toolgate::policy::{ArgumentAllowlist, PolicyConfig, RoleConfig};
///
/// let config = PolicyConfig::new().with_role(
///     RoleConfig::new("analyst")
///         .with_allow(["run_query", "search_*"])
///         .with_argument_allowlist(ArgumentAllowlist::new_required("run_query", "cmd", ["ls", "cat"])),
/// );
/// assert_eq!(config.roles[0].name, "analyst");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PolicyConfig {
    /// Globs over tool names that no role may call, whatever it allows.
    pub global_deny: Vec<String>,
    /// The roles. Two of one name are an error.
    pub roles: Vec<RoleConfig>,
}

impl PolicyConfig {
    /// A policy without roles: it denies everything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds globs over tool names that no role may call.
    #[must_use]
    pub fn with_global_deny<T: Into<String>>(mut self, globs: impl IntoIterator<Item = T>) -> Self {
        self.global_deny.extend(globs.into_iter().map(Into::into));
        self
    }

    /// Adds a role.
    #[must_use]
    pub fn with_role(mut self, role: RoleConfig) -> Self {
        self.roles.push(role);
        self
    }
}

/// What one role may do. What it does not name is denied.
///
/// In globs `*` is the only metacharacter: it stands for any bytes, none included. Everything else is
/// compared byte for byte, case included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RoleConfig {
    /// The name that authentication puts on a request.
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Globs over the servers that the role may reach. With none, only a gate that does not name
    /// its server lets the role pass.
    #[serde(default)]
    pub servers: Vec<String>,
    /// Globs over the tools that the role may call.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Globs over the tools that the role may not call although `allow` names them.
    #[serde(default)]
    pub deny: Vec<String>,
    /// Globs, ASCII case ignored, over the value of a call's `host` argument. Unless this is `["*"]`,
    /// the default, a `host` argument must be a string that one of them matches.
    #[serde(default = "any")]
    pub hosts: Vec<String>,
    /// Globs over the URIs of resources that the role may read, subscribe to and complete.
    #[serde(default)]
    pub resources: Vec<String>,
    /// Globs over the prompts that the role may get and complete.
    #[serde(default)]
    pub prompts: Vec<String>,
    /// Globs over the methods that the role may use beyond the protocol's own plumbing.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Rules on the arguments of the tools that the role may call.
    #[serde(default)]
    pub argument_allowlists: Vec<ArgumentAllowlist>,
}

fn any() -> Vec<String> {
    vec!["*".to_owned()]
}

impl RoleConfig {
    /// A role that may use the protocol's plumbing and nothing else.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: None,
            servers: Vec::new(),
            allow: Vec::new(),
            deny: Vec::new(),
            hosts: any(),
            resources: Vec::new(),
            prompts: Vec::new(),
            methods: Vec::new(),
            argument_allowlists: Vec::new(),
        }
    }

    /// Adds a description for people.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds globs over servers.
    #[must_use]
    pub fn with_servers<T: Into<String>>(mut self, globs: impl IntoIterator<Item = T>) -> Self {
        self.servers.extend(globs.into_iter().map(Into::into));
        self
    }

    /// Adds globs over tools that the role may call.
    #[must_use]
    pub fn with_allow<T: Into<String>>(mut self, globs: impl IntoIterator<Item = T>) -> Self {
        self.allow.extend(globs.into_iter().map(Into::into));
        self
    }

    /// Adds globs over tools that the role may not call.
    #[must_use]
    pub fn with_deny<T: Into<String>>(mut self, globs: impl IntoIterator<Item = T>) -> Self {
        self.deny.extend(globs.into_iter().map(Into::into));
        self
    }

    /// Replaces the globs over the `host` argument.
    #[must_use]
    pub fn with_hosts<T: Into<String>>(mut self, globs: impl IntoIterator<Item = T>) -> Self {
        self.hosts = globs.into_iter().map(Into::into).collect();
        self
    }

    /// Adds globs over resource URIs.
    #[must_use]
    pub fn with_resources<T: Into<String>>(mut self, globs: impl IntoIterator<Item = T>) -> Self {
        self.resources.extend(globs.into_iter().map(Into::into));
        self
    }

    /// Adds globs over prompts.
    #[must_use]
    pub fn with_prompts<T: Into<String>>(mut self, globs: impl IntoIterator<Item = T>) -> Self {
        self.prompts.extend(globs.into_iter().map(Into::into));
        self
    }

    /// Adds globs over methods.
    #[must_use]
    pub fn with_methods<T: Into<String>>(mut self, globs: impl IntoIterator<Item = T>) -> Self {
        self.methods.extend(globs.into_iter().map(Into::into));
        self
    }

    /// Adds a rule on an argument.
    #[must_use]
    pub fn with_argument_allowlist(mut self, entry: ArgumentAllowlist) -> Self {
        self.argument_allowlists.push(entry);
        self
    }
}

/// One rule on one argument of the tools that a selector names.
///
/// With a non-empty `allowed`, the argument's value must be a string whose first word, as a POSIX shell
/// reads words, or that word's `/`-basename is listed. Several entries on one argument must all hold.
///
/// **This is a coarse gate, not a sandbox.** Only the first word is looked at: `ls -la; id` passes where
/// `ls` is listed, and so does `/tmp/evil/ls`.
///
/// # Example
///
/// ```
/// use tower_toolgate::policy::ArgumentAllowlist;
///
/// let entry = ArgumentAllowlist::new("run", "cmd", ["ls"])
///     .with_required(true)
///     .with_deny_unknown_arguments(true);
/// assert_eq!(entry, ArgumentAllowlist::new_required("run", "cmd", ["ls"]).with_deny_unknown_arguments(true));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ArgumentAllowlist {
    /// A tool, or a glob over tools.
    pub tool: String,
    /// The argument's exact name, at the top level of the arguments.
    pub argument: String,
    /// The first words, or basenames of first words, that may be used. Empty: any value.
    #[serde(default)]
    pub allowed: Vec<String>,
    /// Whether the argument must be present, as a string.
    #[serde(default)]
    pub required: bool,
    /// Whether the tools that the selector names may have no arguments but those that some entry for
    /// them names; those may be neither arrays nor objects.
    #[serde(default)]
    pub deny_unknown_arguments: bool,
    /// Whether a value must be a string without control characters. A line feed separates words, so without
    /// this a second command line rides along behind an allowed first word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reject_control_chars: bool,
}

impl ArgumentAllowlist {
    /// A rule on an argument that may be left out: it then fails open, and [`Policy::lints`](super::Policy::lints)
    /// says so.
    #[must_use]
    pub fn new<T: Into<String>>(
        tool: impl Into<String>,
        argument: impl Into<String>,
        allowed: impl IntoIterator<Item = T>,
    ) -> Self {
        Self {
            tool: tool.into(),
            argument: argument.into(),
            allowed: allowed.into_iter().map(Into::into).collect(),
            required: false,
            deny_unknown_arguments: false,
            reject_control_chars: false,
        }
    }

    /// A rule on an argument that must be present.
    #[must_use]
    pub fn new_required<T: Into<String>>(
        tool: impl Into<String>,
        argument: impl Into<String>,
        allowed: impl IntoIterator<Item = T>,
    ) -> Self {
        Self::new(tool, argument, allowed).with_required(true)
    }

    /// Sets whether the argument must be present.
    #[must_use]
    pub fn with_required(mut self, required: bool) -> Self {
        self.required = required;
        self
    }

    /// Sets whether arguments that no entry names are refused.
    #[must_use]
    pub fn with_deny_unknown_arguments(mut self, deny: bool) -> Self {
        self.deny_unknown_arguments = deny;
        self
    }

    /// Sets whether values with control characters are refused.
    #[must_use]
    pub fn with_reject_control_chars(mut self, reject: bool) -> Self {
        self.reject_control_chars = reject;
        self
    }
}
