//! May this role see this in a list? It may if it could use it: if some call that is about it passes.

use std::iter;

use super::compile::{ArgumentRule, Policy, Role, ToolRules};
use super::constraint::Allowed;
use super::glob::{Glob, GlobSet};
use super::uri;
use crate::json::{folds_onto, has_control};
use crate::message::Call;

/// Something in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed<'a> {
    /// By its name.
    Prompt(&'a str),
    /// By its URI.
    Resource(&'a str),
    /// By its URI template.
    ResourceTemplate(&'a str),
    /// By its name.
    Tool(&'a str),
}

impl Policy {
    /// Whether one role may see something in a list, on the server that lists it, where the gate knows it.
    pub(crate) fn lists(&self, role: &str, server: Option<&str>, listed: Listed<'_>) -> bool {
        match listed {
            Listed::Prompt(name) => self.lists_prompt(role, server, name),
            Listed::Resource(uri) => self.lists_resource(role, server, uri),
            Listed::ResourceTemplate(template) => self.lists_resource_template(role, server, template),
            Listed::Tool(name) => self.lists_tool(role, server, name),
        }
    }

    /// Whether one of several roles may see something in a list.
    pub(crate) fn lists_any<'a>(
        &self,
        roles: impl IntoIterator<Item = &'a str>,
        server: Option<&str>,
        listed: Listed<'_>,
    ) -> bool {
        roles.into_iter().any(|role| self.lists(role, server, listed))
    }

    /// Whether there are arguments with which a role may call a tool.
    ///
    /// The fewest are the best: all that an argument does beyond being there is to break a rule.
    pub(crate) fn lists_tool(&self, role: &str, server: Option<&str>, tool: &str) -> bool {
        let Some(role) = self.reachable(role, server) else { return false };
        if self.compiled().global_deny.matches(tool) || role.deny.matches(tool) || !role.allow.matches(tool) {
            return false;
        }
        let Some(rules) = role.rules.of(tool) else { return true };
        *rules.satisfiable.get_or_init(|| rules.are_satisfiable(role.hosts.as_ref()))
    }

    /// Whether a role may get a prompt.
    pub(crate) fn lists_prompt(&self, role: &str, server: Option<&str>, prompt: &str) -> bool {
        self.check(role, server, &Call::Prompt { name: prompt.into() }).is_allow()
    }

    /// Whether a role may read a resource.
    pub(crate) fn lists_resource(&self, role: &str, server: Option<&str>, uri: &str) -> bool {
        self.check(role, server, &Call::Resource { uri: uri.into() }).is_allow()
    }

    /// Whether a role may read some resource that an RFC 6570 template could stand for.
    ///
    /// The text around the expressions is compared, and an expression stands for any text: `file:///{path}` is
    /// listed where `file:///srv/*` may be read, since clients differ in what they put in. It is not listed where all
    /// that is known is that nothing contradicts: there is a URI that the template, the role and the rules on
    /// [canonical URIs](uri::is_canonical) permit. Literal text that no such URI has, such as dot segments, hides
    /// the template; so does an escape of which the template has but the first bytes, and a length that no URI has.
    pub(crate) fn lists_resource_template(&self, role: &str, server: Option<&str>, template: &str) -> bool {
        if template.len() > MAX_TEMPLATE_BYTES {
            return false;
        }
        let Some(expansions) = expansions(template) else { return self.lists_resource(role, server, template) };
        let Some(role) = self.reachable(role, server) else { return false };
        role.resources.names().any(|name| expansions.matches(name))
            || role.resources.globs().any(|glob| {
                let uri = expansions.common(&glob, FILLER);
                uri.is_some_and(|uri| uri::is_canonical(&uri))
            })
    }

    fn reachable(&self, role: &str, server: Option<&str>) -> Option<&Role> {
        let role = self.compiled().roles.get(role)?;
        server.is_none_or(|server| role.servers.matches(server)).then_some(role)
    }
}

/// What a URI template may have in bytes to be looked at.
const MAX_TEMPLATE_BYTES: usize = 64 << 10;

/// A text that makes nothing of its neighbours: neither a dot segment nor an escape.
const FILLER: &str = "x";

/// What a URI template expands to, or more than that; `None` if it has no expression. One that is not closed is one to
/// the end.
fn expansions(template: &str) -> Option<Glob> {
    let (prefix, mut rest) = template.split_once('{')?;
    let mut literals = Vec::new();
    while let Some((_, behind)) = rest.split_once('}') {
        let (literal, next) = behind.split_once('{').map_or((behind, None), |(literal, next)| (literal, Some(next)));
        let Some(next) = next else { return Some(Glob::of_parts(prefix, &literals, literal)) };
        literals.push(literal);
        rest = next;
    }
    Some(Glob::of_parts(prefix, &literals, ""))
}

impl ToolRules {
    /// Whether some arguments satisfy all rules, of which the hosts are those of the role.
    fn are_satisfiable(&self, hosts: Option<&GlobSet>) -> bool {
        let mut required = self.arguments.iter().filter(|(_, rule)| rule.required);
        required.all(|(name, rule)| match hosts {
            Some(hosts) if **name == *"host" => rule.has_host(hosts),
            // Beside `hosts` no argument may resemble `host`.
            Some(_) if folds_onto(name, "host") => false,
            _ => rule.has_value(),
        })
    }
}

impl ArgumentRule {
    /// Whether there is a string that satisfies the rule. Every word can be quoted, and none has a control character.
    fn has_value(&self) -> bool {
        self.allowed.is_empty() || Allowed::common(&self.allowed).next().is_some()
    }

    /// Whether there is a string that satisfies the rule and is one of the hosts, of which case is ignored.
    fn has_host(&self, hosts: &GlobSet) -> bool {
        if self.allowed.is_empty() {
            return !hosts.is_empty();
        }
        let words: Vec<_> = Allowed::common(&self.allowed).map(str::to_ascii_lowercase).collect();
        let allowed = Allowed::new(&words);
        let permits = |value: &str| allowed.permits(value) && !(self.reject_control_chars && has_control(value));
        hosts.names().any(permits)
            || words.iter().any(|word| hosts.matches(word) && permits(word))
            || hosts.globs().any(|glob| {
                let (prefix, rest) = glob.parts();
                words.iter().any(|word| spellings(prefix, word, &rest).any(|value| permits(&value)))
            })
    }
}

/// What is put behind a text so that the shell is not within quotes, an escape or a comment any more.
const ENDS: &[&str] = &["", "'", "\"", "\\", "\\\"", "\n", "\n\""];

/// Values that begin with `prefix` and have the parts of `rest` in order: whatever the shell makes of the prefix, one of
/// these has `word`, or a word of which it is the basename, for its first word, if any such value has.
fn spellings(prefix: &str, word: &str, rest: &str) -> impl Iterator<Item = String> {
    let whole = iter::once(format!("/{word}"));
    let tails = word.char_indices().map(|(at, _)| at).chain([word.len()]).filter_map(|at| word.get(at..));
    whole.chain(tails.map(str::to_owned)).flat_map(move |tail| {
        let mut characters = tail.chars();
        // An escape that is open takes the first character as it is.
        let escaped = characters.next().map(|first| (first, characters.as_str().to_owned()));
        let escaped = escaped
            .into_iter()
            .flat_map(|(first, tail)| [(first.to_string(), tail.clone()), (format!("{first}\""), tail)]);
        let ends = ENDS.iter().map(|end| ((*end).to_owned(), tail.clone())).collect::<Vec<_>>();
        // What follows is a comment: it needs no balance.
        escaped.chain(ends).map(move |(end, tail)| format!("{prefix}{end}{} #{rest}", quoted(&tail)))
    })
}

/// A text as the shell reads it within a word.
fn quoted(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests;
