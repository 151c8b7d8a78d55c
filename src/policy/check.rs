//! The check of one call, in the order that the module's page has.

use std::borrow::{Borrow, Cow};

use super::compile::{ArgumentRule, Policy, Role, ToolRules};
use super::decision::{Decision, Denied, short};
use super::glob::GlobSet;
use super::uri;
use crate::json::{Argument, Arguments, Kind, folds_onto, has_control};
use crate::message::Call;

type Verdict = Result<(), Denied>;

impl Policy {
    /// Whether one role may make a call, on the server that owns what is called, where the gate knows it.
    pub fn check(&self, role: &str, server: Option<&str>, call: &Call<'_>) -> Decision {
        match self.judge(role, server, call) {
            Ok(()) => Decision::Allow,
            Err(denied) => Decision::Deny(denied),
        }
    }

    /// Whether one of several roles may make a call. The denial is that of the role that came farthest.
    pub fn check_any<'a>(
        &self,
        roles: impl IntoIterator<Item = &'a str>,
        server: Option<&str>,
        call: &Call<'_>,
    ) -> Decision {
        match self.permit(roles, server, &std::iter::once(call)) {
            Ok(()) => Decision::Allow,
            Err((denied, _)) => Decision::Deny(denied),
        }
    }

    /// Whether one of several roles may make all of several calls: what one message asks for is permitted whole, by
    /// one role, or not at all. The denial is that of the role that came farthest, with the place of the call in
    /// question.
    pub(crate) fn permit<'a, 'c>(
        &self,
        roles: impl IntoIterator<Item = &'a str>,
        server: Option<&str>,
        calls: &(impl Iterator<Item: Borrow<Call<'c>>> + Clone),
    ) -> Result<(), (Denied, usize)> {
        let mut farthest = (Denied::RoleMissing, 0);
        for role in roles {
            let mut count = 0;
            let mut judged = calls.clone().inspect(|_| count += 1).map(|call| self.judge(role, server, call.borrow()));
            let (at, denied) = match judged.find_map(Result::err) {
                Some(denied) => (count - 1, denied),
                // What asks for nothing that is known is no permitted call.
                None if count == 0 => (0, Denied::MethodNotAllowed),
                None => return Ok(()),
            };
            let farther = (at, denied.stage()) > (farthest.1, farthest.0.stage());
            if farther || farthest.0 == Denied::RoleMissing {
                farthest = (denied, at);
            }
        }
        Err(farthest)
    }

    /// The names of the arguments of a tool that some rule of a role is about, whether or not it may call the tool.
    pub fn ruled_arguments<'a>(&'a self, role: &str, tool: &str) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
        let role = self.compiled().roles.get(role);
        let mut names: Vec<Cow<'a, str>> = match role.and_then(|role| role.rules.of(tool)) {
            Some(Cow::Borrowed(rules)) => rules.arguments.keys().map(|name| Cow::Borrowed(&**name)).collect(),
            Some(Cow::Owned(rules)) => rules.arguments.keys().map(|name| Cow::Owned(name.to_string())).collect(),
            None => Vec::new(),
        };
        if role.is_some_and(|role| role.hosts.is_some()) && !names.iter().any(|name| name == "host") {
            names.push(Cow::Borrowed("host"));
        }
        names.into_iter()
    }

    fn judge(&self, role: &str, server: Option<&str>, call: &Call<'_>) -> Verdict {
        let role = self.compiled().roles.get(role).ok_or(Denied::RoleUnknown)?;
        if server.is_some_and(|server| !role.servers.matches(server)) {
            return Err(Denied::ServerNotAllowed);
        }
        let named = |set: &GlobSet, name: &str, denied| if set.matches(name) { Ok(()) } else { Err(denied) };
        match call {
            Call::Method { method } => named(&role.methods, method, Denied::MethodNotAllowed),
            Call::Plumbing { .. } | Call::Reply => Ok(()),
            Call::Prompt { name } => named(&role.prompts, name, Denied::PromptNotAllowed),
            Call::Resource { uri } if !uri::is_canonical(uri) => Err(Denied::UriNotCanonical),
            Call::Resource { uri } => named(&role.resources, uri, Denied::ResourceNotAllowed),
            Call::Task { method, .. } => named(&role.methods, method, Denied::TaskNotAllowed),
            Call::Tool { name, arguments } => self.judge_tool(role, name, *arguments),
        }
    }

    fn judge_tool(&self, role: &Role, tool: &str, arguments: Arguments<'_>) -> Verdict {
        let host = role.hosts.as_ref().map_or(Ok(()), |hosts| host(hosts, arguments));
        if let Err(denied @ Denied::HostNotString { .. }) = host {
            return Err(denied);
        }
        if self.compiled().global_deny.matches(tool) {
            return Err(Denied::ToolGloballyDenied);
        }
        if role.deny.matches(tool) {
            return Err(Denied::ToolDenied);
        }
        if !role.allow.matches(tool) {
            return Err(Denied::ToolNotAllowed);
        }
        host?;
        match role.rules.of(tool) {
            Some(_) if arguments.is_positional() => Err(Denied::PositionalArguments),
            Some(rules) => rules.judge(arguments),
            None => Ok(()),
        }
    }
}

/// Whether the call's host, if it names one, is permitted. Nobody can opt out by another shape or spelling.
fn host(hosts: &GlobSet, arguments: Arguments<'_>) -> Verdict {
    if arguments.is_positional() {
        return Err(Denied::PositionalArguments);
    }
    let host = arguments.get("host");
    if let Some(host) = host.filter(|host| host.kind() != Kind::String) {
        return Err(Denied::HostNotString { kind: host.kind() });
    }
    if let Some(other) = arguments.iter().find(|argument| folds_onto(&argument.name(), "host")) {
        return Err(Denied::ArgumentAmbiguous { argument: short(&other.name()) });
    }
    match host.and_then(|host| host.as_str()) {
        Some(Ok(host)) if hosts.matches(&host.to_ascii_lowercase()) => Ok(()),
        Some(Ok(_)) => Err(Denied::HostNotAllowed),
        Some(Err(_)) => Err(Denied::ArgumentNotUnicode { argument: "host".into() }),
        None => Ok(()),
    }
}

impl ToolRules {
    fn judge(&self, arguments: Arguments<'_>) -> Verdict {
        let mut present = 0;
        for argument in arguments.iter() {
            let name = argument.name();
            match self.arguments.get(&*name) {
                Some(rule) => {
                    rule.judge(argument, self.strict)?;
                    present += usize::from(rule.required);
                }
                None if self.resembles_ruled(&name) => {
                    return Err(Denied::ArgumentAmbiguous { argument: short(&name) });
                }
                None if self.strict => return Err(Denied::ArgumentUnknown { argument: short(&name) }),
                None => {}
            }
        }
        // No name comes twice: as many as are required are all that are required.
        if present == self.required.len() {
            return Ok(());
        }
        let missing = self.required.iter().find(|(_, name)| arguments.get(name).is_none());
        Err(Denied::ArgumentRequired { argument: missing.map_or_else(Box::default, |(_, name)| (**name).into()) })
    }
}

impl ArgumentRule {
    fn judge(&self, argument: Argument<'_>, strict: bool) -> Verdict {
        let kind = argument.kind();
        let name = || short(&argument.name());
        if strict && matches!(kind, Kind::Array | Kind::Object) {
            return Err(Denied::ArgumentStructured { argument: name(), kind });
        }
        let Some(value) = argument.as_str() else {
            let denied = || Denied::ArgumentNotString { argument: name(), kind };
            return if self.needs_string() { Err(denied()) } else { Ok(()) };
        };
        if !self.needs_string() {
            return Ok(());
        }
        let value = value.map_err(|_| Denied::ArgumentNotUnicode { argument: name() })?;
        if self.reject_control_chars && has_control(&value) {
            return Err(Denied::ArgumentControl { argument: name() });
        }
        if !self.allowed.iter().all(|allowed| allowed.permits(&value)) {
            return Err(Denied::ArgumentValue { argument: name() });
        }
        Ok(())
    }
}
