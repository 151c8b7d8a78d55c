//! Where what a call brings back comes from, as far as that is known before it comes.

use http::request::Parts;

use super::tagger::Tagger;
use crate::message::{Call, Inspection, Message, MessageKind};
use crate::provenance::{Provenance, ToolLabels};
use crate::trust::{Claims, Step, Verdict};

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

    fn of_verdict(verdict: &Verdict<'_>) -> Self {
        let (class, rule) = (verdict.class().as_str(), verdict.step().as_str());
        Self { provenance: Provenance::from(verdict), class, rule, is_content: true }
    }

    fn of(provenance: Provenance, rule: &'static str) -> Self {
        Self { provenance, class: provenance.as_str(), rule, is_content: true }
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

impl Tagger {
    /// Where the answers to the messages of a body come from, by their places.
    pub(super) fn origins(&self, head: &Parts, inspection: &Inspection) -> Vec<Origin> {
        let verdict = Verdict::of(&head.extensions);
        inspection.messages().map(|message| self.origin_of_message(head, &message, verdict)).collect()
    }

    /// Of what comes in a stream that nobody asked a question for.
    pub(super) fn origin_of_stream(&self, head: &Parts) -> Origin {
        let method = Call::Plumbing { method: head.method.as_str().into() };
        self.origin(head, &method, Verdict::of(&head.extensions))
    }

    fn origin_of_message(&self, head: &Parts, message: &Message<'_>, verdict: Option<&Verdict<'_>>) -> Origin {
        let mut origins = message.calls().map(|call| {
            let is_content = self.is_content(message, &call);
            Origin { is_content, ..self.origin(head, &call, verdict) }
        });
        let first = origins.next().unwrap_or(Origin::UNKNOWN);
        origins.fold(first, |known, other| {
            let worse = if known.provenance == Provenance::External { known } else { other };
            Origin { is_content: known.is_content || other.is_content, ..worse }
        })
    }

    /// What the operator says in several ways is joined: one that says external is enough.
    fn origin(&self, head: &Parts, call: &Call<'_>, verdict: Option<&Verdict<'_>>) -> Origin {
        let label = match (call, &self.labels) {
            (Call::Tool { name, .. }, Some(labels)) => said_of(labels, name).map(|label| Origin::of(label, "label")),
            _ => None,
        };
        let derived = self.derive.as_ref().and_then(|derive| derive.provenance(head, call));
        let said = [verdict.map(Origin::of_verdict), label, derived.map(|derived| Origin::of(derived, "operator"))];
        let said = said.into_iter().flatten();
        said.reduce(|known, other| if known.provenance == Provenance::External { known } else { other })
            .map_or(Origin::UNKNOWN, |said| said)
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

/// What labels say of a tool. A label that is built in vouches for nobody: any server may name a tool like that.
fn said_of(labels: &ToolLabels, tool: &str) -> Option<Provenance> {
    let vouched = ToolLabels::builtin().get(tool).is_none();
    labels.provenance(tool).filter(|label| label.is_external() || vouched)
}
