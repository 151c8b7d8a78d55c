//! Telling the observer.

use http::request::Parts;

use super::gate::Gate;
use crate::answer::{Client, Denial, DenialKind, Requester, is_streamable};
use crate::identity::{Roles, Server};
use crate::message::{Era, Inspection, Message};
use crate::observe::{DecisionEvent, Outcome};

/// Who calls whom.
pub(super) struct Caller<'a> {
    pub(super) head: Option<&'a Parts>,
    pub(super) roles: Roles,
    pub(super) server: Option<&'a Server>,
    pub(super) era: Era,
}

impl Caller<'_> {
    /// How the caller reads answers: asked only where there is something to be told.
    #[cold]
    pub(super) fn client(&self) -> Client {
        let streamable = self.era == Era::Modern || self.head.is_some_and(is_streamable);
        Client { streamable, era: self.era }
    }
}

impl Gate {
    /// What becomes of what the policy denies.
    pub(super) fn outcome(&self) -> Outcome {
        if self.shadow { Outcome::ShadowDeny } else { Outcome::Deny }
    }

    /// Tells of every message of a body; `denial` is that of the whole body.
    pub(super) fn tell_messages(&self, caller: &Caller<'_>, inspection: &Inspection, denial: Option<&Denial>) {
        if self.observer.is_none() {
            return;
        }
        for message in inspection.messages() {
            match denial {
                None => self.tell(caller, Some(message), Outcome::Allow, None),
                Some(denial) if !inspection.is_batch() => {
                    self.tell(caller, Some(message), self.outcome(), Some(denial));
                }
                Some(denial) => self.tell_of_batch(caller, message, denial),
            }
        }
    }

    /// Each message of a batch has a reason of its own, or is refused for the sake of another.
    fn tell_of_batch(&self, caller: &Caller<'_>, message: Message<'_>, denial: &Denial) {
        match self.denial(caller, &message) {
            Some(own) => self.tell(caller, Some(message), self.outcome(), Some(&own)),
            None if self.shadow => self.tell(caller, Some(message), Outcome::Allow, None),
            None => {
                let others = Denial::new(DenialKind::Batch, denial.addressee().clone(), caller.client());
                self.tell(caller, Some(message), Outcome::Deny, Some(&others));
            }
        }
    }

    /// Refuses, and tells of, a response. The request's head is the inner service's.
    pub(super) fn refuse_response(&self, requester: &Requester, kind: DenialKind) -> Denial {
        let denial = requester.refusal(kind);
        let caller = Caller { head: None, roles: Roles::NONE, server: self.server.as_ref(), era: Era::Legacy };
        let message = requester.inspection().and_then(|inspection| inspection.messages().next());
        self.tell(&caller, message, Outcome::Deny, Some(&denial));
        denial
    }

    pub(super) fn tell(
        &self,
        caller: &Caller<'_>,
        message: Option<Message<'_>>,
        outcome: Outcome,
        denial: Option<&Denial>,
    ) {
        let Some(observer) = &self.observer else { return };
        observer.on_decision(&DecisionEvent {
            outcome,
            denial,
            message,
            head: caller.head,
            roles: &caller.roles,
            server: caller.server.map(Server::as_str),
            #[cfg(feature = "digest")]
            policy: &self.policy,
            #[cfg(feature = "digest")]
            key: self.digest_key.as_ref(),
        });
    }
}
