//! From a configuration to a policy that interprets no strings.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::config::{ArgumentAllowlist, PolicyConfig, RoleConfig};
use super::constraint::Allowed;
use super::error::{ConfigError, ConfigProblem};
use super::glob::{Glob, GlobSet};
use super::lint::{self, Lint};
use super::uri;
use crate::json::{fold, has_control};
use crate::names::{NameMap, NameSet};

/// A compiled policy: immutable, cheap to clone.
///
/// The cost of a decision grows neither with the number of roles nor, for tools that rules name exactly,
/// with the number of rules.
///
/// # Example
///
/// ```
/// use tower_toolgate::json::OwnedArguments;
/// use tower_toolgate::message::Call;
/// use tower_toolgate::policy::{ArgumentAllowlist, Policy, PolicyConfig, RoleConfig};
///
/// let policy = Policy::new(&PolicyConfig::new().with_role(
///     RoleConfig::new("analyst")
///         .with_allow(["run_*"])
///         .with_argument_allowlist(ArgumentAllowlist::new_required("run_query", "cmd", ["ls"])),
/// ))?;
///
/// let run = |tool: &'static str, arguments: &str| {
///     let owned = OwnedArguments::read(arguments).unwrap();
///     policy.check("analyst", None, &Call::Tool { name: tool.into(), arguments: owned.arguments() })
/// };
/// assert!(run("run_query", r#"{"cmd":"ls -la"}"#).is_allow());
/// assert!(!run("run_query", r#"{"cmd":"rm -rf /"}"#).is_allow());
/// assert!(!run("run_query", "{}").is_allow());
/// assert!(!run("drop_table", "{}").is_allow());
/// # Ok::<(), tower_toolgate::policy::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Policy(Arc<Compiled>);

pub(super) struct Compiled {
    pub(super) global_deny: GlobSet,
    pub(super) roles: NameMap<Box<str>, Role>,
    lints: Vec<Lint>,
}

#[derive(Debug)]
pub(super) struct Role {
    pub(super) servers: GlobSet,
    pub(super) allow: GlobSet,
    pub(super) deny: GlobSet,
    /// `None` where every host will do, and none is looked at.
    pub(super) hosts: Option<GlobSet>,
    pub(super) resources: GlobSet,
    pub(super) prompts: GlobSet,
    pub(super) methods: GlobSet,
    pub(super) rules: Rules,
}

/// The rules on arguments, by tool.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// For each tool that some entry names exactly: those entries, and those whose glob matches it.
    exact: NameMap<Box<str>, ToolRules>,
    /// The entries of each glob.
    globs: Vec<(Glob, ToolRules)>,
}

/// All that applies to one tool.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolRules {
    /// Some entry denies the arguments that none names.
    pub(super) strict: bool,
    pub(super) arguments: NameMap<Arc<str>, ArgumentRule>,
    /// The names of `arguments`, as lenient parsers fold them.
    folded: NameSet<Box<str>>,
    /// Some name of `arguments` is not its own folded form.
    unfolded: bool,
    /// The arguments that must be there, with the places of their entries, in the order of the configuration.
    pub(super) required: Vec<(usize, Arc<str>)>,
    /// Whether some arguments satisfy all of it, once somebody has asked.
    pub(super) satisfiable: OnceLock<bool>,
}

/// All that applies to one argument.
#[derive(Clone, Debug, Default)]
pub(super) struct ArgumentRule {
    /// Each must permit the value.
    pub(super) allowed: Vec<Allowed>,
    pub(super) required: bool,
    pub(super) reject_control_chars: bool,
}

impl Policy {
    /// Compiles a configuration.
    ///
    /// # Errors
    ///
    /// The first mistake, with its place: a blank or unprintable name or pattern, two roles of one name, a
    /// pattern over URIs that nothing can match.
    pub fn new(config: &PolicyConfig) -> Result<Self, ConfigError> {
        let PolicyConfig { global_deny, roles } = config;
        let global_deny = patterns("global_deny", global_deny)?;
        let mut compiled = NameMap::with_capacity_and_hasher(roles.len(), Default::default());
        for (at, role) in roles.iter().enumerate() {
            let place = format!("roles[{at}]");
            check_text(format!("{place}.name"), &role.name)?;
            if compiled.insert(role.name.as_str().into(), Role::new(&place, role)?).is_some() {
                let problem = ConfigProblem::DuplicateRole(role.name.clone());
                return Err(ConfigError::new(format!("{place}.name"), problem));
            }
        }
        let lints = lint::lints(config);
        Ok(Self(Arc::new(Compiled { global_deny, roles: compiled, lints })))
    }

    /// What is doubtful in the configuration, though not wrong.
    #[must_use]
    pub fn lints(&self) -> &[Lint] {
        &self.0.lints
    }

    /// Whether the policy has a role.
    #[must_use]
    pub fn has_role(&self, name: &str) -> bool {
        self.0.roles.contains_key(name)
    }

    pub(super) fn compiled(&self) -> &Compiled {
        &self.0
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy").field("roles", &self.0.roles.len()).finish_non_exhaustive()
    }
}

impl Role {
    fn new(place: &str, config: &RoleConfig) -> Result<Self, ConfigError> {
        let RoleConfig {
            name: _,
            description: _,
            servers,
            allow,
            deny,
            hosts,
            resources,
            prompts,
            methods,
            argument_allowlists,
        } = config;
        let set = |field: &str, globs: &[String]| patterns(&format!("{place}.{field}"), globs);
        for (at, pattern) in resources.iter().enumerate() {
            if !uri::is_canonical(pattern) {
                let problem = ConfigProblem::UriNotCanonical(pattern.clone());
                return Err(ConfigError::new(format!("{place}.resources[{at}]"), problem));
            }
        }
        let lowered: Vec<_> = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        let any_host = hosts.iter().any(|host| host == "*");
        Ok(Self {
            servers: set("servers", servers)?,
            allow: set("allow", allow)?,
            deny: set("deny", deny)?,
            hosts: Some(set("hosts", &lowered)?).filter(|_| !any_host),
            resources: set("resources", resources)?,
            prompts: set("prompts", prompts)?,
            methods: set("methods", methods)?,
            rules: Rules::new(&format!("{place}.argument_allowlists"), argument_allowlists)?,
        })
    }
}

impl Rules {
    fn new(place: &str, entries: &[ArgumentAllowlist]) -> Result<Self, ConfigError> {
        let mut rules = Self::default();
        for (at, entry) in entries.iter().enumerate() {
            check_entry(&format!("{place}[{at}]"), entry)?;
        }
        let selectors: Vec<_> = entries.iter().map(Selector::new).collect();
        let mut seen = HashSet::new();
        for selector in selectors.iter().filter(|selector| seen.insert(selector.text)) {
            let tool = selector.text;
            if let Some(glob) = selector.glob.clone() {
                rules.globs.push((glob, ToolRules::new(entries, &selectors, |other| other.text == tool)));
            } else {
                rules.exact.insert(tool.into(), ToolRules::new(entries, &selectors, |other| other.selects(tool)));
            }
        }
        Ok(rules)
    }
}

/// Which tools an entry is about.
struct Selector<'a> {
    text: &'a str,
    glob: Option<Glob>,
}

impl<'a> Selector<'a> {
    fn new(entry: &'a ArgumentAllowlist) -> Self {
        Self { text: &entry.tool, glob: Glob::new(&entry.tool) }
    }

    fn selects(&self, tool: &str) -> bool {
        self.glob.as_ref().map_or(self.text == tool, |glob| glob.matches(tool))
    }
}

pub(super) fn selects(entry: &ArgumentAllowlist, tool: &str) -> bool {
    Selector::new(entry).selects(tool)
}

impl Rules {
    /// All that applies to a tool, if anything does.
    pub(super) fn of(&self, tool: &str) -> Option<Cow<'_, ToolRules>> {
        if let Some(rules) = self.exact.get(tool) {
            return Some(Cow::Borrowed(rules));
        }
        let mut matching = self.globs.iter().filter(|(glob, _)| glob.matches(tool)).map(|(_, rules)| rules);
        let first = matching.next()?;
        Some(matching.fold(Cow::Borrowed(first), |all, rules| Cow::Owned(all.into_owned().and(rules))))
    }
}

impl ToolRules {
    fn new(
        entries: &[ArgumentAllowlist],
        selectors: &[Selector<'_>],
        selected: impl Fn(&Selector<'_>) -> bool,
    ) -> Self {
        let mut rules = Self::default();
        let selected = selectors.iter().zip(entries).enumerate().filter(|(_, (selector, _))| selected(selector));
        for (place, (_, entry)) in selected {
            rules.strict |= entry.deny_unknown_arguments;
            let mut rule = ArgumentRule {
                allowed: Vec::new(),
                required: entry.required,
                reject_control_chars: entry.reject_control_chars,
            };
            if !entry.allowed.is_empty() {
                rule.allowed.push(Allowed::new(&entry.allowed));
            }
            let argument = Arc::from(entry.argument.as_str());
            rules.add(&argument, &rule);
            if entry.required {
                rules.require(place, argument);
            }
        }
        rules
    }

    fn and(mut self, other: &Self) -> Self {
        self.strict |= other.strict;
        other.arguments.iter().for_each(|(argument, rule)| self.add(argument, rule));
        other.required.iter().for_each(|(place, argument)| self.require(*place, Arc::clone(argument)));
        self
    }

    fn add(&mut self, argument: &Arc<str>, rule: &ArgumentRule) {
        self.satisfiable = OnceLock::new();
        let known = self.arguments.entry(Arc::clone(argument)).or_default();
        known.allowed.extend(rule.allowed.iter().cloned());
        known.required |= rule.required;
        known.reject_control_chars |= rule.reject_control_chars;
        let folded = fold(argument);
        self.unfolded |= *folded != **argument;
        self.folded.insert(folded);
    }

    fn require(&mut self, place: usize, argument: Arc<str>) {
        match self.required.iter_mut().find(|(_, known)| *known == argument) {
            Some((first, _)) => *first = place.min(*first),
            None => self.required.push((place, argument)),
        }
        self.required.sort_by_key(|(place, _)| *place);
    }

    /// Whether a name that no entry has is one that lenient parsers take for one that some entry has.
    pub(super) fn resembles_ruled(&self, name: &str) -> bool {
        // What is folded already could only be taken for a name that is not.
        let is_folded = || name.bytes().all(|byte| matches!(byte, b' '..=b'~') && !byte.is_ascii_uppercase());
        (self.unfolded || !is_folded()) && self.folded.contains(&fold(name))
    }
}

impl ArgumentRule {
    pub(super) fn needs_string(&self) -> bool {
        self.required || self.reject_control_chars || !self.allowed.is_empty()
    }
}

fn patterns(place: &str, globs: &[String]) -> Result<GlobSet, ConfigError> {
    for (at, glob) in globs.iter().enumerate() {
        check_text(format!("{place}[{at}]"), glob)?;
    }
    Ok(globs.iter().map(String::as_str).collect())
}

fn check_entry(place: &str, entry: &ArgumentAllowlist) -> Result<(), ConfigError> {
    check_text(format!("{place}.tool"), &entry.tool)?;
    check_text(format!("{place}.argument"), &entry.argument)?;
    let allowed = entry.allowed.iter().enumerate();
    allowed
        .map(|(at, word)| (format!("{place}.allowed[{at}]"), word))
        .try_for_each(|(place, word)| check_text(place, word))
}

fn check_text(place: String, text: &str) -> Result<(), ConfigError> {
    if text.trim().is_empty() {
        return Err(ConfigError::new(place, ConfigProblem::Blank));
    }
    if has_control(text) {
        return Err(ConfigError::new(place, ConfigProblem::ControlCharacter(text.to_owned())));
    }
    Ok(())
}
