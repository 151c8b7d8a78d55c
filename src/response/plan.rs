//! What is to be done with a response.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::lists::{Entry, ListKind, Unreadable, filter};
use crate::identity::{Roles, Server};
use crate::message::{Era, Inspection};
use crate::policy::{Listed, Policy};

/// Whose permissions a list is cut down to.
#[derive(Clone, Debug)]
pub(crate) struct ListRule {
    pub(crate) policy: Policy,
    pub(crate) roles: Roles,
    pub(crate) server: Option<Server>,
}

impl ListRule {
    /// Whether one of the roles may use what an entry names, in some way.
    fn permits(&self, entry: &Entry<'_>) -> bool {
        let server = self.server.as_ref().map(Server::as_str);
        let listed = match entry.kind {
            ListKind::Prompts => Listed::Prompt(entry.name),
            ListKind::Resources => Listed::Resource(entry.name),
            ListKind::ResourceTemplates => Listed::ResourceTemplate(entry.name),
            ListKind::Tools => Listed::Tool(entry.name),
        };
        self.policy.lists_any(self.roles.names(), server, listed)
    }
}

/// What the layers of a stack want done, in the order in which the request met them.
#[derive(Debug)]
pub(crate) struct Plan(Mutex<Option<Vec<ListRule>>>);

impl Default for Plan {
    fn default() -> Self {
        Self(Mutex::new(Some(Vec::new())))
    }
}

impl Plan {
    /// Adds a rule; gives it back if the plan is being carried out already, as where a response has begun before the
    /// request was sent on.
    pub(crate) fn register(&self, rule: ListRule) -> Result<(), ListRule> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(rules) => {
                rules.push(rule);
                Ok(())
            }
            None => Err(rule),
        }
    }

    /// What is to be done; from now on nothing can be added.
    pub(crate) fn take(&self) -> Vec<ListRule> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }
}

/// What is looked for in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// The answers to a batch, some of which are lists, by their shape: what cannot be read is no answer.
    Batch,
    /// The list that was asked for: what is not one is no answer.
    List { kind: ListKind, modern: bool },
    /// Nothing: the response is not read.
    Nothing,
    /// Whatever has the shape of a list, since nobody says what was asked for.
    Shapes,
}

impl Watch {
    /// What is looked for in the response to a body.
    pub(crate) fn of(inspection: &Inspection) -> Self {
        let kind = |message: crate::message::Message<'_>| {
            message.method().ok().and_then(|method| ListKind::of_method(&method))
        };
        let modern = inspection.era() == Era::Modern;
        match inspection.messages().find_map(kind) {
            None => Self::Nothing,
            Some(_) if inspection.is_batch() => Self::Batch,
            Some(kind) => Self::List { kind, modern },
        }
    }

    /// A message as it may be handed on.
    pub(crate) fn apply(self, text: &Bytes, rules: &[ListRule]) -> Result<Vec<Bytes>, Unreadable> {
        let (expected, modern) = match self {
            Self::List { kind, modern } => (Some(kind), modern),
            Self::Batch | Self::Nothing | Self::Shapes => (None, false),
        };
        let edits = filter(text, expected, modern, &mut |entry| rules.iter().all(|rule| rule.permits(entry)))?;
        if edits.is_empty() { Ok(vec![text.clone()]) } else { Ok(edits.apply(text).collect()) }
    }
}
