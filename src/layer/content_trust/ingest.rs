//! Marking a session before content that nobody foresaw is handed on.

use std::sync::Arc;

use http::request::Parts;
use memchr::memchr2;

use super::assess::Assessment;
use super::guard::Trust;
use crate::identity::{Principal, Server};
use crate::observe::TrustEventKind;
use crate::response::{Carrier, Ingest, Marking, Unmarked};
use crate::store::{TaintKey, TaintStore, Visit};
use crate::trust::{Answers, Claims, Facts, Verdict, brings_content, claims, is_answer, open_world_tools};

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
    /// A claim that what is said to be the operator's own is not; in a stream also answers to what others have asked
    /// (`answers`), and what a foreign server says beside the answer of a tool that is vouched for (`content`).
    Claims { answers: bool, content: bool },
    /// Any content in a stream of a server whose content is not the operator's own; `answers` are content, too.
    Content { answers: bool },
    /// What the tools of a list say of themselves, and content and claims beside it.
    Tools { content: bool, claims: bool },
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
        let of_server = trust.classifier.classify_server(server.map(Server::as_str)).into_owned();
        let foreign = of_server.pollutes();
        let (verdict, looks_for) = match &assessment.verdict {
            // Claims of a foreign server are news only where a call of its batch is vouched for.
            verdict if assessment.lists_tools => {
                (of_server, LooksFor::Tools { content: foreign, claims: !foreign || verdict.is_some() })
            }
            Some((_, verdict)) => (verdict.clone(), LooksFor::Claims { answers: false, content: foreign }),
            None if foreign => (of_server, LooksFor::Content { answers: false }),
            None => (of_server, LooksFor::Claims { answers: false, content: false }),
        };
        Some(Self::new(trust, head, key, server, verdict, looks_for))
    }

    /// For a stream that nobody asked a question for.
    pub(super) fn of_stream(trust: &Arc<Trust<T>>, head: &Parts, key: TaintKey, server: Option<&Server>) -> Self {
        let verdict = trust.classifier.classify_server(server.map(Server::as_str)).into_owned();
        let looks_for = if verdict.pollutes() {
            LooksFor::Content { answers: true }
        } else {
            // What is replayed may be of any tool.
            LooksFor::Claims { answers: true, content: false }
        };
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
            LooksFor::Claims { .. } | LooksFor::Content { .. } => {}
        }
        let said = match self.looks_for {
            LooksFor::Claims { .. } => claims(message),
            // What a tool says of itself is about its later calls.
            LooksFor::Tools { claims: true, .. } => claims(message).without(Claims::OPEN_WORLD),
            LooksFor::Content { .. } | LooksFor::Tools { claims: false, .. } => Claims::NONE,
        };
        let claimed = self.verdict.clone().raise(said);
        let marks = said != Claims::NONE || matches!(self.looks_for, LooksFor::Claims { .. });
        if marks && claimed.pollutes() {
            return Some(claimed);
        }
        self.brings_content(message, carrier).then(|| self.verdict.clone().raise(self.unforeseen()))
    }

    /// What nobody vouches for, beside what is vouched for.
    fn unforeseen(&self) -> Claims {
        if self.verdict.pollutes() { Claims::NONE } else { Claims::UNTRUSTED }
    }

    /// Whether a message of a foreign server is more than an answer to the protocol's own requests.
    fn brings_content(&self, message: &[u8], carrier: Carrier) -> bool {
        let results = match self.looks_for {
            LooksFor::Content { answers } => answers,
            LooksFor::Tools { content: true, .. } => false,
            LooksFor::Claims { answers: true, .. } => return carrier == Carrier::Stream && is_answer(message),
            LooksFor::Claims { content: true, .. } if carrier == Carrier::Stream => {
                return !is_answer(message) && brings_content(message, Answers { results: false, errors: false });
            }
            LooksFor::Claims { .. } | LooksFor::Tools { content: false, .. } => return false,
        };
        match carrier {
            // Without a bracket there is no message in it; and that there is no stream is said by an error.
            Carrier::Answer => {
                memchr2(b'{', b'[', message).is_some() && brings_content(message, Answers { results, errors: false })
            }
            Carrier::Stream => brings_content(message, Answers { results, errors: true }),
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

    fn unseen(&self) -> Marking {
        if let LooksFor::Tools { .. } = self.looks_for {
            self.trust.learned.add(self.server.as_ref().map(Server::as_str), None);
        }
        self.mark(&self.verdict)
    }
}
