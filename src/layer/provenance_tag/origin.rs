//! Where what a call brings back comes from, as far as that is known before it comes.

use http::request::Parts;

use super::tagger::Tagger;
use crate::message::{Call, Inspection, Message, MessageKind};
use crate::provenance::{Provenance, ToolLabels};
use crate::trust::{Claims, Ruling, Rulings, Step};

/// Where something comes from, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) provenance: Provenance,
    pub(super) class: &'static str,
    pub(super) rule: &'static str,
    /// It is content, and no news of the protocol.
    pub(super) is_content: bool,
}

impl Origin {
    /// Nobody says anything of it.
    const UNKNOWN: Self =
        Self { provenance: Provenance::External, class: "external", rule: "unknown", is_content: true };

    fn of_ruling(ruling: Ruling) -> Self {
        let provenance = if ruling.pollutes() { Provenance::External } else { Provenance::Internal };
        Self { provenance, class: ruling.class().as_str(), rule: ruling.step().as_str(), is_content: true }
    }

    fn of(provenance: Provenance, rule: &'static str) -> Self {
        Self { provenance, class: provenance.as_str(), rule, is_content: true }
    }

    /// Of two, the one from outside.
    pub(super) fn join(self, other: Self) -> Self {
        let worse = if self.provenance.is_external() { self } else { other };
        Self { is_content: self.is_content || other.is_content, ..worse }
    }

    /// The same once it is known what the server says of it.
    pub(super) fn raise(self, claims: Claims) -> Self {
        match Step::of_claims(claims) {
            Some(step) if self.provenance == Provenance::Internal => {
                Self { provenance: Provenance::External, class: "external", rule: step.as_str(), ..self }
            }
            Some(_) | None => self,
        }
    }
}

/// Where several answers come from, by the places of the messages. Nearly always there is one.
#[derive(Debug, Default)]
pub(super) struct Origins {
    first: Option<Origin>,
    others: Vec<Origin>,
}

impl Origins {
    fn of(mut origins: impl Iterator<Item = Origin>) -> Self {
        Self { first: origins.next(), others: origins.collect() }
    }

    pub(super) fn get(&self, position: usize) -> Option<&Origin> {
        self.iter().nth(position)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Origin> {
        self.first.iter().chain(&self.others)
    }
}

impl Tagger {
    /// Where the answers to the messages of a body come from, by their places.
    pub(super) fn origins(&self, head: &Parts, inspection: &Inspection, rulings: Rulings) -> Origins {
        Origins::of(inspection.messages().map(|message| self.origin_of_message(head, &message, rulings)))
    }

    /// Of answers that were not asked for here: nobody knows to which tool they belong.
    pub(super) fn origin_of_others(&self, head: &Parts, rulings: Rulings) -> Origin {
        self.origin(head, &plumbing(head), rulings.server.filter(|ruling| ruling.pollutes()))
    }

    /// Of what comes beside the answers: it may be about anything that was asked.
    pub(super) fn origin_beside(&self, head: &Parts, origins: &Origins, rulings: Rulings) -> Origin {
        let own = self.origin(head, &plumbing(head), rulings.server);
        origins.iter().filter(|origin| origin.is_content).fold(own, |known, other| known.join(*other))
    }

    fn origin_of_message(&self, head: &Parts, message: &Message<'_>, rulings: Rulings) -> Origin {
        let origins = message.calls().map(|call| {
            let ruling = match call {
                Call::Plumbing { .. } => rulings.server,
                // Nobody remembers which tool has made it: only what is foreign anyway is known.
                Call::Task { .. } => rulings.calls.filter(|ruling| ruling.pollutes()),
                _ => rulings.calls.or(rulings.server),
            };
            let is_content = self.is_content(message, &call);
            Origin { is_content, ..self.origin(head, &call, ruling) }
        });
        origins.reduce(Origin::join).unwrap_or(Origin::UNKNOWN)
    }

    /// What the operator says in several ways is joined: one that says external is enough.
    fn origin(&self, head: &Parts, call: &Call<'_>, ruling: Option<Ruling>) -> Origin {
        let label = match (call, &self.labels) {
            (Call::Tool { name, .. }, Some(labels)) => said_of(labels, name).map(|label| Origin::of(label, "label")),
            _ => None,
        };
        let derived = self.derive.as_ref().and_then(|derive| derive.provenance(head, call));
        let said = [ruling.map(Origin::of_ruling), label, derived.map(|derived| Origin::of(derived, "operator"))];
        said.into_iter().flatten().reduce(Origin::join).unwrap_or(Origin::UNKNOWN)
    }

    /// Whether the answer to a call is content. Lists and instructions are if the operator wants them marked.
    fn is_content(&self, message: &Message<'_>, call: &Call<'_>) -> bool {
        match call {
            Call::Plumbing { method } => self.style.descriptions && method != "ping",
            Call::Reply => false,
            Call::Method { .. }
            | Call::Prompt { .. }
            | Call::Resource { .. }
            | Call::Task { .. }
            | Call::Tool { .. } => message.kind() == MessageKind::Request,
        }
    }
}

/// What stands for a request of which no call is known.
fn plumbing(head: &Parts) -> Call<'_> {
    Call::Plumbing { method: head.method.as_str().into() }
}

/// What labels say of a tool. A label that is built in vouches for nobody: any server may name a tool like that.
fn said_of(labels: &ToolLabels, tool: &str) -> Option<Provenance> {
    let vouched = ToolLabels::builtin().get(tool).is_none();
    labels.provenance(tool).filter(|label| label.is_external() || vouched)
}
