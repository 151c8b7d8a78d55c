//! Marking a session before content that nobody foresaw is handed on.

use std::sync::Arc;

use http::request::Parts;
use memchr::memchr2;

use super::assess::Assessment;
use super::guard::Trust;
use crate::identity::{Principal, Server};
use crate::observe::TrustEventKind;
use crate::response::{Carrier, Ingest, Marking, Stage, Unmarked};
use crate::store::{TaintKey, TaintStore, Visit};
use crate::trust::{
    Answers, Brought, Claims, Facts, Finding, Found, Ruling, Verdict, brings_content, claims, is_answer,
    open_world_tools,
};

/// What is looked for in a response, beside what is known of the request: both are kept until the response has come.
pub(super) struct Ingestion<T> {
    trust: Arc<Trust<T>>,
    key: TaintKey,
    /// Who is told of, where somebody is told.
    principal: Option<Principal>,
    of: Of,
    ruled: Ruled,
    looks_for: LooksFor,
}

/// Whose response it is.
enum Of {
    /// A body's.
    Body(Found),
    /// Nobody has asked a question for it.
    Stream(Option<Server>),
}

/// What is decided of the response as a whole, and of whom.
#[derive(Clone, Copy)]
enum Ruled {
    Call(Brought),
    Server(Ruling),
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

impl LooksFor {
    /// What would mark the session of a request; nothing if all that it brings is marked.
    fn of_body(assessment: &Assessment, of_server: Ruling) -> Option<(Ruled, Self)> {
        if assessment.is_marked() {
            return None;
        }
        let (of_server, foreign) = (Ruled::Server(of_server), of_server.pollutes());
        Some(match assessment.brought {
            // Claims of a foreign server are news only where a call of its batch is vouched for.
            brought if assessment.lists_tools => {
                (of_server, Self::Tools { content: foreign, claims: !foreign || brought.is_some() })
            }
            Some(brought) => (Ruled::Call(brought), Self::Claims { answers: false, content: foreign }),
            None if foreign => (of_server, Self::Content { answers: false }),
            None => (of_server, Self::Claims { answers: false, content: false }),
        })
    }
}

impl<T: TaintStore> Ingestion<T> {
    /// For the response to a body: what is kept with the request, and what is done with the response unless all that it
    /// brings is marked.
    pub(super) fn of_body(
        trust: &Arc<Trust<T>>,
        head: &Parts,
        key: TaintKey,
        assessment: &Assessment,
        found: Found,
    ) -> (Arc<dyn Finding>, Option<Stage>) {
        let Some((ruled, looks_for)) = LooksFor::of_body(assessment, found.of_server) else {
            return (Arc::new(found), None);
        };
        let ingestion = Arc::new(Self::new(trust, head, key, Of::Body(found), ruled, looks_for));
        (Arc::<Self>::clone(&ingestion), Some(Stage::Ingest(ingestion)))
    }

    /// For a stream that nobody asked a question for.
    pub(super) fn of_stream(
        trust: &Arc<Trust<T>>,
        head: &Parts,
        key: TaintKey,
        server: Option<Server>,
        ruling: Ruling,
    ) -> Self {
        let looks_for = if ruling.pollutes() {
            LooksFor::Content { answers: true }
        } else {
            // What is replayed may be of any tool.
            LooksFor::Claims { answers: true, content: false }
        };
        Self::new(trust, head, key, Of::Stream(server), Ruled::Server(ruling), looks_for)
    }

    fn new(trust: &Arc<Trust<T>>, head: &Parts, key: TaintKey, of: Of, ruled: Ruled, looks_for: LooksFor) -> Self {
        let principal = trust.observer.as_ref().and_then(|_| head.extensions.get().cloned());
        Self { trust: Arc::clone(trust), key, principal, of, ruled, looks_for }
    }

    fn server(&self) -> Option<&str> {
        let server = match &self.of {
            Of::Body(found) => &found.server,
            Of::Stream(server) => server,
        };
        server.as_ref().map(Server::as_str)
    }

    /// What is said of the response as a whole.
    fn verdict(&self) -> Verdict<'_> {
        match (self.ruled, &self.of) {
            (Ruled::Call(brought), Of::Body(found)) => brought.verdict(&found.inspection, self.server()),
            (Ruled::Call(Brought { ruling, .. }) | Ruled::Server(ruling), _) => ruling.of(self.server(), None),
        }
    }

    /// Whether a message marks the session, and what is then said of it.
    fn marks(&self, message: &[u8], carrier: Carrier) -> Option<Verdict<'_>> {
        match self.looks_for {
            LooksFor::Tools { .. } => {
                self.trust.learned.add(self.server(), open_world_tools(message));
            }
            LooksFor::Claims { .. } | LooksFor::Content { .. } => {}
        }
        let said = match self.looks_for {
            LooksFor::Claims { .. } => claims(message),
            // What a tool says of itself is about its later calls.
            LooksFor::Tools { claims: true, .. } => claims(message).without(Claims::OPEN_WORLD),
            LooksFor::Content { .. } | LooksFor::Tools { claims: false, .. } => Claims::NONE,
        };
        let claimed = self.verdict().raise(said);
        let marks = said != Claims::NONE || matches!(self.looks_for, LooksFor::Claims { .. });
        if marks && claimed.pollutes() {
            return Some(claimed);
        }
        self.brings_content(message, carrier).then(|| self.verdict().raise(self.unforeseen()))
    }

    /// What nobody vouches for, beside what is vouched for.
    fn unforeseen(&self) -> Claims {
        if self.verdict().pollutes() { Claims::NONE } else { Claims::UNTRUSTED }
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

    fn mark(&self, verdict: Verdict<'_>) -> Marking {
        let (now, _) = self.trust.times();
        let visit = self.trust.store.visit(Visit::mark(self.key, Facts::OUTSIDE, verdict.cause(), now));
        let (trust, key, principal, verdict) =
            (Arc::clone(&self.trust), self.key, self.principal.clone(), verdict.into_owned());
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
        self.marks(message, carrier).map(|verdict| self.mark(verdict))
    }

    fn unseen(&self) -> Marking {
        if let LooksFor::Tools { .. } = self.looks_for {
            self.trust.learned.add(self.server(), None);
        }
        self.mark(self.verdict())
    }
}

impl<T: TaintStore> Finding for Ingestion<T> {
    fn found(&self) -> Option<&Found> {
        match &self.of {
            Of::Body(found) => Some(found),
            Of::Stream(_) => None,
        }
    }
}
