//! Marking a session before content that nobody foresaw is handed on.

use std::sync::Arc;

use http::request::Parts;

use super::assess::Assessment;
use super::guard::Trust;
use crate::identity::{Principal, Server};
use crate::observe::TrustEventKind;
use crate::response::{Carrier, Ingest, Marking, Unmarked};
use crate::store::{TaintKey, TaintStore, Visit};
use crate::trust::{Facts, Verdict, brings_content, claims, open_world_tools};

/// What is looked for in a response.
pub(super) struct Ingestion<T> {
    trust: Arc<Trust<T>>,
    key: TaintKey,
    principal: Option<Principal>,
    server: Option<Server>,
    verdict: Verdict<'static>,
    looks_for: LooksFor,
}

/// What would mark the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LooksFor {
    /// A claim that what is said to be the operator's own is not.
    Claims,
    /// Any content in a stream of a server whose content is not the operator's own; `answers` are content, too.
    Content { answers: bool },
    /// What the tools of a list say of themselves, and content in its stream.
    Tools { content: bool },
}

impl<T: TaintStore> Ingestion<T> {
    /// For the response to a body; `None` if all that it brings is marked.
    pub(super) fn of_body(
        trust: &Arc<Trust<T>>,
        head: &Parts,
        key: TaintKey,
        assessment: &Assessment,
        server: Option<&Server>,
    ) -> Option<Self> {
        if assessment.is_marked() {
            return None;
        }
        let of_server = trust.classifier.classify_server(Trust::<T>::owner(server)).into_owned();
        let foreign = of_server.pollutes();
        let (verdict, looks_for) = match &assessment.verdict {
            _ if assessment.lists_tools => (of_server, LooksFor::Tools { content: foreign }),
            Some((_, verdict)) => (verdict.clone(), LooksFor::Claims),
            None if foreign => (of_server, LooksFor::Content { answers: false }),
            None => (of_server, LooksFor::Claims),
        };
        Some(Self::new(trust, head, key, server, verdict, looks_for))
    }

    /// For a stream that nobody asked a question for.
    pub(super) fn of_stream(trust: &Arc<Trust<T>>, head: &Parts, key: TaintKey, server: Option<&Server>) -> Self {
        let verdict = trust.classifier.classify_server(Trust::<T>::owner(server)).into_owned();
        let looks_for = if verdict.pollutes() { LooksFor::Content { answers: true } } else { LooksFor::Claims };
        Self::new(trust, head, key, server, verdict, looks_for)
    }

    fn new(
        trust: &Arc<Trust<T>>,
        head: &Parts,
        key: TaintKey,
        server: Option<&Server>,
        verdict: Verdict<'static>,
        looks_for: LooksFor,
    ) -> Self {
        let (trust, principal) = (Arc::clone(trust), head.extensions.get().cloned());
        Self { trust, key, principal, server: server.cloned(), verdict, looks_for }
    }

    /// Whether a message marks the session, and what is then said of it.
    fn marks(&self, message: &[u8], carrier: Carrier) -> Option<Verdict<'static>> {
        match self.looks_for {
            LooksFor::Tools { .. } => {
                self.trust.learned.add(self.server.as_ref().map(Server::as_str), open_world_tools(message));
            }
            LooksFor::Claims | LooksFor::Content { .. } => {}
        }
        match (self.looks_for, carrier) {
            (LooksFor::Claims, _) => {
                let raised = self.verdict.clone().raise(claims(message));
                raised.pollutes().then_some(raised)
            }
            (LooksFor::Content { answers }, Carrier::Stream) => {
                brings_content(message, answers).then(|| self.verdict.clone())
            }
            (LooksFor::Tools { content: true }, Carrier::Stream) => {
                brings_content(message, false).then(|| self.verdict.clone())
            }
            (LooksFor::Content { .. } | LooksFor::Tools { .. }, _) => None,
        }
    }

    fn mark(&self, verdict: &Verdict<'static>) -> Marking {
        let (now, _) = self.trust.times();
        let visit = self.trust.store.visit(Visit::mark(self.key, Facts::OUTSIDE, verdict.cause(), now));
        let (trust, key, principal, verdict) =
            (Arc::clone(&self.trust), self.key, self.principal.clone(), verdict.clone());
        Box::pin(async move {
            let visited = visit.await;
            let tell = |kind| trust.on_trust(kind, key, principal.as_ref(), Some(&verdict), None);
            match visited {
                Ok(_) => {
                    tell(TrustEventKind::Marked);
                    Ok(())
                }
                Err(error) => {
                    tell(TrustEventKind::StoreFailed(&error));
                    tell(TrustEventKind::Withheld);
                    Err(Unmarked)
                }
            }
        })
    }
}

impl<T: TaintStore> Ingest for Ingestion<T> {
    fn examine(&self, message: &[u8], carrier: Carrier) -> Option<Marking> {
        self.marks(message, carrier).map(|verdict| self.mark(&verdict))
    }

    fn unseen(&self, carrier: Carrier) -> Option<Marking> {
        let foreign = match self.looks_for {
            LooksFor::Claims => true,
            LooksFor::Content { .. } | LooksFor::Tools { content: true } => carrier == Carrier::Stream,
            LooksFor::Tools { content: false } => false,
        };
        foreign.then(|| self.mark(&self.verdict))
    }

    fn holds_answers(&self) -> bool {
        match self.looks_for {
            LooksFor::Claims | LooksFor::Tools { .. } => true,
            LooksFor::Content { .. } => false,
        }
    }
}
