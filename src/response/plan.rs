//! What is to be done with a response.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::ingest::{Ingest, Ingests};
use super::lists::{Asked, Entry, ListKind, Unreadable, filter};
use super::rewrite::{Origin, Rewrite, Rewrites};
use crate::identity::{Roles, Server};
#[cfg(feature = "server-trust")]
use crate::json::Edits;
use crate::json::join;
use crate::message::{Era, Inspection, Message};
use crate::policy::{Listed, Policy};

/// What a list is cut down to.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "server-trust"), allow(dead_code, reason = "nothing is said of servers"))]
pub(crate) enum ListRule {
    /// The tools that a server exposes.
    Exposed(Arc<dyn Expose>),
    /// What somebody may use.
    Permitted(Permissions),
}

/// Says which tools are exposed.
pub(crate) trait Expose: fmt::Debug + Send + Sync {
    /// Whether a tool is.
    fn exposes(&self, tool: &str) -> bool;

    /// The tools in a message, as it came from the server, that are hidden for the sake of what else it says of them.
    fn quarantined(&self, message: &[u8]) -> Result<HashSet<String>, Unreadable>;
}

impl ListRule {
    fn permits(&self, entry: &Entry<'_>) -> bool {
        match self {
            Self::Exposed(server) => entry.kind != ListKind::Tools || server.exposes(entry.name),
            Self::Permitted(permissions) => permissions.permit(entry),
        }
    }

    /// What changes in a message, alone or as one of a stream, of which nobody asked for a list: one that is there all the
    /// same loses what any other one does.
    #[cfg(feature = "server-trust")]
    pub(crate) fn edits(&self, message: &Bytes) -> Result<Edits, Unreadable> {
        let hidden = self.quarantined(message)?;
        let asked = Asked { streamed: true, ..Asked::default() };
        filter(message, asked, &mut |entry: &Entry<'_>| !entry.is_hidden(&hidden) && self.permits(entry))
    }

    /// The tools that are hidden, whatever their names.
    fn quarantined(&self, message: &[u8]) -> Result<HashSet<String>, Unreadable> {
        match self {
            Self::Exposed(server) => server.quarantined(message),
            Self::Permitted(_) => Ok(HashSet::new()),
        }
    }
}

/// Whose permissions a list is cut down to.
#[derive(Clone, Debug)]
pub(crate) struct Permissions {
    pub(crate) policy: Policy,
    pub(crate) roles: Roles,
    pub(crate) server: Option<Server>,
}

impl Permissions {
    /// Whether one of the roles may use what an entry names, in some way.
    fn permit(&self, entry: &Entry<'_>) -> bool {
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

/// What is done with a response.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stages {
    /// Lists are cut down.
    pub(crate) lists: Vec<ListRule>,
    /// What comes is looked at before it goes.
    pub(crate) ingests: Ingests,
    /// What comes is changed before it goes.
    pub(crate) rewrites: Rewrites,
}

/// One of them.
#[cfg_attr(
    not(all(feature = "content-trust", feature = "provenance")),
    allow(dead_code, reason = "nobody looks at content, or changes it")
)]
pub(crate) enum Stage {
    Ingest(Arc<dyn Ingest>),
    List(ListRule),
    Rewrite(Arc<dyn Rewrite>),
}

impl Stages {
    pub(crate) fn push(&mut self, stage: Stage) {
        match stage {
            Stage::Ingest(ingest) => self.ingests.push(ingest),
            Stage::List(rule) => self.lists.push(rule),
            Stage::Rewrite(rewrite) => self.rewrites.push(rewrite),
        }
    }

    /// Whether nothing is done.
    pub(crate) fn is_empty(&self) -> bool {
        self.change_nothing() && self.ingests.is_empty()
    }

    /// Whether messages are handed on as they come.
    pub(crate) fn change_nothing(&self) -> bool {
        self.lists.is_empty() && self.rewrites.is_empty()
    }

    /// Whether an answer in JSON has to be held.
    pub(crate) fn hold_answers(&self) -> bool {
        !self.lists.is_empty() || !self.ingests.is_empty() || self.rewrites.hold_answers()
    }

    /// Whether nothing may be handed on that cannot be read.
    pub(crate) fn are_exact(&self) -> bool {
        !self.lists.is_empty() || self.rewrites.are_exact()
    }

    /// A message as it may be handed on.
    pub(crate) fn apply(&self, watch: Watch, message: &Bytes, mut of: Origin<'_>) -> Result<Vec<Bytes>, Unreadable> {
        let mut hidden = HashSet::new();
        for rule in &self.lists {
            hidden.extend(rule.quarantined(message)?);
        }
        let pieces = self.rewrites.apply(message, &mut of)?;
        let pieces = match self.lists.is_empty() {
            true => pieces,
            false => {
                let permits = &mut |entry: &Entry<'_>| {
                    !entry.is_hidden(&hidden) && self.lists.iter().all(|rule| rule.permits(entry))
                };
                watch.apply(&join(pieces), matches!(of, Origin::Stream), permits)?
            }
        };
        Ok(self.rewrites.seal(pieces))
    }
}

/// What the layers of a chain want done, in the order in which the request met them.
#[derive(Debug)]
pub(crate) struct Plan(Mutex<Option<Stages>>);

impl Default for Plan {
    fn default() -> Self {
        Self(Mutex::new(Some(Stages::default())))
    }
}

impl Plan {
    /// Adds a stage; gives it back if the plan is being carried out already.
    pub(crate) fn register(&self, stage: Stage) -> Result<(), Stage> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(stages) => {
                stages.push(stage);
                Ok(())
            }
            None => Err(stage),
        }
    }

    /// What is to be done; from now on nothing can be added.
    pub(crate) fn take(&self) -> Stages {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }
}

/// What a request asks for.
enum Asks {
    List(ListKind),
    /// What is in a directory of resources, of which the answer's shape is not settled.
    Directory,
}

impl Asks {
    fn of_method(method: &str) -> Option<Self> {
        match method {
            "resources/directory/read" => Some(Self::Directory),
            method => ListKind::of_method(method).map(Self::List),
        }
    }
}

/// What is looked for in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Answers, some of which may be lists, by their shape: what cannot be read is no answer.
    Answers,
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
        let asks = |message: Message<'_>| Asks::of_method(&message.method().ok()?);
        let modern = inspection.era() == Era::Modern;
        match inspection.messages().find_map(asks) {
            None => Self::Nothing,
            Some(_) if inspection.is_batch() => Self::Answers,
            Some(Asks::List(kind)) => Self::List { kind, modern },
            Some(Asks::Directory) => Self::Answers,
        }
    }

    /// A message as it may be handed on, alone or as one of a stream.
    fn apply(
        self,
        text: &Bytes,
        streamed: bool,
        permits: &mut dyn FnMut(&Entry<'_>) -> bool,
    ) -> Result<Vec<Bytes>, Unreadable> {
        let asked = match self {
            Self::List { kind, modern } => Asked { list: Some(kind), modern, streamed },
            Self::Answers | Self::Nothing | Self::Shapes => Asked { streamed, ..Asked::default() },
        };
        let edits = filter(text, asked, permits)?;
        if edits.is_empty() {
            return Ok(vec![text.clone()]);
        }
        Ok(edits.pieces(text))
    }
}
