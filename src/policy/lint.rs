//! What is doubtful in a policy, though not wrong.

use std::fmt;

use super::compile::selects;
use super::config::{ArgumentAllowlist, PolicyConfig, RoleConfig};
use super::constraint::Allowed;
use super::glob::{Glob, GlobSet};
use crate::placed::placed;

placed! {
    /// Something doubtful: what, and where.
    Lint { kind: LintKind }
    /// What is doubtful.
    such as "roles[1].allow[0]"
}

/// The kinds of doubt. Each holds what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LintKind {
    /// No value has a first word that both this entry and an earlier one for the same argument list.
    Contradicts(String),
    /// Values are listed, but a call without the argument passes: the rule fails open when it is omitted.
    FailsOpen(String),
    /// A character that is a metacharacter elsewhere is an ordinary one here.
    ForeignSyntax(String),
    /// White space at an end of a name or pattern is compared like everything else.
    PaddedText(String),
    /// The role can use nothing but plumbing.
    PermitsNothing(String),
    /// `deny` or `global_deny` takes away what this names, so it never matters.
    Shadowed(String),
    /// No tool that the role may call is selected.
    SelectsNothing(String),
    /// A value that is this very text has another first word, so that only a quoted spelling of it passes.
    UnlikelyFirstWord(String),
}

impl fmt::Display for LintKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contradicts(argument) => {
                write!(f, "no value of argument {argument:?} satisfies this entry and an earlier one")
            }
            Self::FailsOpen(argument) => {
                write!(f, "the rule fails open when argument {argument:?} is omitted; set `required = true`")
            }
            Self::ForeignSyntax(pattern) => write!(f, "in {pattern:?} only `*` is a metacharacter"),
            Self::PaddedText(text) => write!(f, "white space at an end of {text:?} is compared like everything else"),
            Self::PermitsNothing(role) => write!(f, "role {role:?} permits nothing beyond plumbing"),
            Self::Shadowed(pattern) => write!(f, "{pattern:?} never matters: all of it is denied"),
            Self::SelectsNothing(selector) => write!(f, "{selector:?} selects no tool that the role may call"),
            Self::UnlikelyFirstWord(word) => write!(f, "a value {word:?} has another first word, and is denied"),
        }
    }
}

/// All doubts, in the order of the configuration.
pub(super) fn lints(config: &PolicyConfig) -> Vec<Lint> {
    let mut lints = Lints(Vec::new());
    lints.patterns("global_deny", &config.global_deny, true);
    for (at, role) in config.roles.iter().enumerate() {
        lints.role(&format!("roles[{at}]"), role, &config.global_deny);
    }
    lints.0
}

struct Lints(Vec<Lint>);

impl Lints {
    fn push(&mut self, place: String, kind: LintKind) {
        self.0.push(Lint::new(place, kind));
    }

    fn role(&mut self, place: &str, role: &RoleConfig, global_deny: &[String]) {
        self.padded(format!("{place}.name"), &role.name);
        if [&role.allow, &role.resources, &role.prompts, &role.methods].iter().all(|globs| globs.is_empty()) {
            self.push(place.to_owned(), LintKind::PermitsNothing(role.name.clone()));
        }
        let names = [("servers", &role.servers), ("allow", &role.allow), ("deny", &role.deny), ("hosts", &role.hosts)];
        names.iter().for_each(|(field, globs)| self.patterns(&format!("{place}.{field}"), globs, true));
        for (field, globs) in [("resources", &role.resources), ("prompts", &role.prompts), ("methods", &role.methods)] {
            self.patterns(&format!("{place}.{field}"), globs, false);
        }
        let denied = |pattern: &str| global_deny.iter().chain(&role.deny).any(|denied| covers(denied, pattern));
        for (at, pattern) in role.allow.iter().enumerate() {
            if denied(pattern) {
                self.push(format!("{place}.allow[{at}]"), LintKind::Shadowed(pattern.clone()));
            }
        }
        let allow = GlobSet::from_iter(role.allow.iter().map(String::as_str));
        for (at, entry) in role.argument_allowlists.iter().enumerate() {
            let place = format!("{place}.argument_allowlists[{at}]");
            self.entry(&place, entry);
            // Whether two globs have a name in common is not asked: only a plain name can be told to be none.
            let reachable = match Glob::new(&entry.tool) {
                Some(_) => !role.allow.is_empty(),
                None => allow.matches(&entry.tool),
            };
            if !reachable || denied(&entry.tool) {
                self.push(format!("{place}.tool"), LintKind::SelectsNothing(entry.tool.clone()));
            }
            let mut earlier = role.argument_allowlists.iter().take(at);
            if earlier.any(|earlier| contradict(earlier, entry)) {
                self.push(format!("{place}.allowed"), LintKind::Contradicts(entry.argument.clone()));
            }
        }
    }

    fn padded(&mut self, place: String, text: &str) {
        if text.trim() != text {
            self.push(place, LintKind::PaddedText(text.to_owned()));
        }
    }

    fn patterns(&mut self, place: &str, patterns: &[String], plain: bool) {
        for (at, pattern) in patterns.iter().enumerate() {
            self.pattern(format!("{place}[{at}]"), pattern, plain);
        }
    }

    fn pattern(&mut self, place: String, pattern: &str, plain: bool) {
        if plain && pattern.contains(['?', '[', '{', '\\', '|', '^', '$']) {
            self.push(place.clone(), LintKind::ForeignSyntax(pattern.to_owned()));
        }
        self.padded(place, pattern);
    }

    fn entry(&mut self, place: &str, entry: &ArgumentAllowlist) {
        self.pattern(format!("{place}.tool"), &entry.tool, true);
        self.padded(format!("{place}.argument"), &entry.argument);
        if !entry.allowed.is_empty() && !entry.required {
            self.push(place.to_owned(), LintKind::FailsOpen(entry.argument.clone()));
        }
        for (at, word) in entry.allowed.iter().enumerate() {
            if !Allowed::new(std::slice::from_ref(word)).permits(word) {
                self.push(format!("{place}.allowed[{at}]"), LintKind::UnlikelyFirstWord(word.clone()));
            }
        }
    }
}

/// Whether two entries are about one argument of one tool, and list no first word in common.
fn contradict(one: &ArgumentAllowlist, other: &ArgumentAllowlist) -> bool {
    let same = one.argument == other.argument && (one.tool == other.tool || selects(one, &other.tool));
    if !same || one.allowed.is_empty() || other.allowed.is_empty() {
        return false;
    }
    let (first, second) = (Allowed::new(&one.allowed), Allowed::new(&other.allowed));
    let both = |word: &String| first.lists_word(word) && second.lists_word(word);
    !one.allowed.iter().chain(&other.allowed).any(both)
}

/// Whether every name that `pattern` matches is matched by `glob`: what stands for any text is met only by what stands
/// for any text.
fn covers(glob: &str, pattern: &str) -> bool {
    GlobSet::from_iter([glob]).matches(&pattern.replace('*', "\0"))
}
