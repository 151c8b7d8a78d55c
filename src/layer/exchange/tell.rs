//! Telling the observer.

use http::request::Parts;

use super::front::Front;
use crate::answer::{Addressee, Client, Denial, DenialKind, Requester};
use crate::identity::{Roles, Server};
use crate::message::{Era, Message};
#[cfg(any(feature = "content-trust", feature = "provenance"))]
use crate::message::{Inspection, MessageKind};
use crate::observe::{DecisionEvent, Outcome};

/// Who calls whom.
pub(crate) struct Caller<'a> {
    pub(crate) head: Option<&'a Parts>,
    pub(crate) roles: Roles,
    pub(crate) server: Option<&'a Server>,
    pub(crate) era: Era,
}

impl Caller<'_> {
    /// How the caller reads answers: asked only where there is something to be told.
    #[cold]
    pub(crate) fn client(&self) -> Client {
        let era = self.era;
        self.head.map_or(Client { streamable: era == Era::Modern, era }, |head| Client::of(head, era))
    }
}

impl Front {
    pub(crate) fn caller<'a>(&'a self, head: &'a Parts, era: Era) -> Caller<'a> {
        Caller { head: Some(head), roles: self.roles.roles(head), server: self.server_of(head), era }
    }

    /// The server that owns what is called.
    pub(crate) fn server_of<'a>(&'a self, head: &'a Parts) -> Option<&'a Server> {
        self.server.as_ref().or_else(|| head.extensions.get())
    }

    /// Refuses what could not be read.
    pub(crate) fn refuse(&self, head: &Parts, kind: DenialKind, id: Option<String>) -> Denial {
        let caller = self.caller(head, Era::Legacy);
        let addressee = id.map_or(Addressee::Unknown, |id| Addressee::Id(id.into()));
        let denial = Denial::new(kind, addressee, caller.client());
        self.tell(&caller, None, Outcome::Deny, Some(&denial));
        denial
    }

    /// Refuses a body, for the sake of one of its messages or as a whole.
    #[cfg(any(feature = "content-trust", feature = "provenance"))]
    pub(crate) fn refuse_body(
        &self,
        head: &Parts,
        inspection: &Inspection,
        at: Option<usize>,
        kind: DenialKind,
    ) -> Denial {
        let caller = self.caller(head, inspection.era());
        let requests = inspection.messages().filter(|message| message.kind() == MessageKind::Request);
        let refused = |message: Message<'_>| at.is_none_or(|at| message.position() == at);
        let mut ids = requests.filter_map(|message| Some((Box::from(message.id()?), refused(message)))).peekable();
        let addressee = match ids.peek() {
            None if at.is_some() => Addressee::Nobody,
            // What concerns all of it is told all the same.
            None => Addressee::Unknown,
            Some(_) if inspection.is_batch() => Addressee::Batch(ids.collect()),
            Some((id, _)) => Addressee::Id(Box::clone(id)),
        };
        let denial = Denial::new(kind, addressee, caller.client());
        self.tell(&caller, inspection.messages().nth(at.unwrap_or(0)), Outcome::Deny, Some(&denial));
        denial
    }

    /// Refuses, and tells of, a response. The request's head is the inner service's.
    pub(crate) fn refuse_response(&self, requester: &Requester, kind: DenialKind) -> Denial {
        let denial = requester.refusal(kind);
        let caller = Caller { head: None, roles: Roles::NONE, server: self.server.as_ref(), era: Era::Legacy };
        let message = requester.inspection().and_then(|inspection| inspection.messages().next());
        self.tell(&caller, message, Outcome::Deny, Some(&denial));
        denial
    }

    pub(crate) fn tell(
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
            digests: &self.digests,
        });
    }
}
