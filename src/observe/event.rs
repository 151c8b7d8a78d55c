//! One decision, as an observer sees it.

use std::fmt;

use crate::answer::Denial;
use crate::identity::{Principal, Roles};
use crate::message::{Call, Message};
#[cfg(feature = "digest")]
use crate::policy::Policy;

/// What became of a request, or of one message of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It was forwarded.
    Allow,
    /// It was not.
    Deny,
    /// It was forwarded although the policy denies it, since the gate only watches.
    ShadowDeny,
}

impl Outcome {
    /// A stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::ShadowDeny => "shadow_deny",
        }
    }
}

/// Sees every decision of a gate: one for each message that could be read, one for each request that could not.
///
/// Closures over [`DecisionEvent`] implement it. It is called on the path of the request, and so should be quick.
pub trait OnDecision: Send + Sync + 'static {
    /// A decision was taken.
    fn on_decision(&self, event: &DecisionEvent<'_>);
}

impl<F> OnDecision for F
where
    F: Fn(&DecisionEvent<'_>) + Send + Sync + 'static,
{
    fn on_decision(&self, event: &DecisionEvent<'_>) {
        self(event);
    }
}

/// One decision. What it borrows is gone when the call returns.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct DecisionEvent<'a> {
    /// What became of it.
    pub outcome: Outcome,
    /// Why it was denied.
    pub denial: Option<&'a Denial>,
    /// The message, if one could be read.
    pub message: Option<Message<'a>>,
    /// The request's head, extensions included; `None` where the service behind the gate has it already.
    pub head: Option<&'a http::request::Parts>,
    /// The caller's roles.
    pub roles: &'a Roles,
    /// The server that owns what is called, where the gate knows it.
    pub server: Option<&'a str>,
    #[cfg(feature = "digest")]
    pub(crate) digests: &'a Digests,
}

/// Which values are digested, and how.
#[cfg(feature = "digest")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Digests {
    /// Whose rules say which.
    pub(crate) policy: Option<Policy>,
    pub(crate) key: Option<super::DigestKey>,
}

impl<'a> DecisionEvent<'a> {
    /// Who is behind the request, if authentication says so.
    #[must_use]
    pub fn principal(&self) -> Option<&'a Principal> {
        self.head?.extensions.get()
    }

    /// The tool that is called, if one is.
    #[must_use]
    pub fn tool(&self) -> Option<std::borrow::Cow<'a, str>> {
        self.message?.calls().find_map(|call| match call {
            Call::Tool { name, .. } => Some(name),
            _ => None,
        })
    }

    /// The values that rules are about, or that were denied, as keyed digests: the same value gives the same digest,
    /// and nobody without the key finds it. Computed when asked for; none where no key is configured and the operating
    /// system has no randomness to draw one from.
    #[cfg(feature = "digest")]
    pub fn ruled_values(&self) -> impl Iterator<Item = super::RuledValue<'a>> + use<'a> {
        let event = *self;
        let calls = self.message.into_iter().flat_map(|message| message.calls());
        calls.flat_map(move |call| match call {
            Call::Tool { name, arguments } => event.digests(&name, arguments),
            _ => Vec::new(),
        })
    }

    #[cfg(feature = "digest")]
    fn digests(&self, tool: &str, arguments: crate::json::Arguments<'a>) -> Vec<super::RuledValue<'a>> {
        let key = match &self.digests.key {
            Some(key) => Some(key),
            None => super::DigestKey::of_process(),
        };
        let Some(key) = key else { return Vec::new() };
        let policy = self.digests.policy.iter();
        let mut names: Vec<_> =
            policy.flat_map(|policy| self.roles.names().flat_map(|role| policy.ruled_arguments(role, tool))).collect();
        names.extend(self.denial.and_then(Denial::argument).map(Into::into));
        let ruled = arguments.iter().filter(|argument| names.contains(&argument.name()));
        ruled.map(|argument| super::RuledValue::new(key, argument)).collect()
    }
}

impl fmt::Debug for DecisionEvent<'_> {
    /// Names, never values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecisionEvent")
            .field("outcome", &self.outcome)
            .field("denial", &self.denial)
            .field("message", &self.message)
            .field("roles", &self.roles)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
