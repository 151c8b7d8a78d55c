//! The decisions about one request.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::UNIX_EPOCH;

use http::Method;
use http::request::Parts;
use pin_project_lite::pin_project;

use super::assess::{Assessment, Checked};
use super::conversation;
use super::guard::Trust;
use super::ingest::Ingestion;
use crate::answer::{Client, Denial, DenialKind, Requester, TrustFault};
use crate::binding::VerifiedSession;
use crate::http::{self as requests, Admission, Collected, Lost, StreamRuling};
use crate::identity::{Principal, Server};
use crate::layer::exchange::{Caller, Decided, Front, Guard, Passage, Step, Work, ask_for_plain};
use crate::message::{Era, Inspection};
use crate::observe::{Outcome, TrustEventKind};
use crate::response::{Plan, Stage, Watch};
use crate::store::{StoreError, TaintKey, TaintStore, Visit, Visited};
use crate::trust::{Cause, Facts, Found, SessionTaint};

impl<T: TaintStore> Guard for Trust<T> {
    type Deciding = Deciding<T>;

    fn front(&self) -> &Front {
        &self.front
    }

    fn decide(
        trust: &Arc<Self>,
        head: Parts,
        received: Result<Collected, Lost>,
        admission: Admission,
    ) -> Step<Self::Deciding> {
        match trust.prepare(head, received, admission) {
            Ok(Prepared::Passes(head, collected, passage)) => Step::Done(Ok((head, collected, passage))),
            Ok(Prepared::Visits(pending, visit)) => {
                let (visit, trust) = (trust.store.visit(visit), Arc::clone(trust));
                Step::Wait(Deciding { visit, trust, pending: Some(pending) })
            }
            Err(denial) => Step::Done(Err(denial)),
        }
    }
}

enum Prepared {
    Passes(Parts, Collected, Passage),
    Visits(Pending, Visit),
}

/// A request that waits for the store.
struct Pending {
    head: Parts,
    collected: Collected,
    inspection: Inspection,
    server: Option<Server>,
    assessment: Assessment,
    key: TaintKey,
    plan: Option<Arc<Plan>>,
}

pin_project! {
    /// A decision that waits for the store.
    pub(crate) struct Deciding<T>
    where
        T: TaintStore,
    {
        #[pin]
        visit: T::Visit,
        trust: Arc<Trust<T>>,
        pending: Option<Pending>,
    }
}

impl<T: TaintStore> Future for Deciding<T> {
    type Output = Decided;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Decided> {
        let this = self.project();
        let visited = ready!(this.visit.poll(cx));
        #[expect(clippy::expect_used, reason = "the contract of Future")]
        let pending = this.pending.take().expect("polled after completion");
        Poll::Ready(Trust::settle(this.trust, pending, visited))
    }
}

impl<T: TaintStore> Trust<T> {
    /// What there is to be asked before a request is sent on.
    fn prepare(
        self: &Arc<Self>,
        mut head: Parts,
        received: Result<Collected, Lost>,
        admission: Admission,
    ) -> Result<Prepared, Denial> {
        let collected = received.map_err(|lost| self.front.lost(&head, lost, admission))?;
        match admission {
            Admission::Preflight => {
                let passage = Passage::new(&head, None, Client::default());
                Ok(Prepared::Passes(head, collected, passage))
            }
            Admission::Bodiless => {
                self.front.check_bodiless(&head, &collected)?;
                let passage = self.watch_stream(&mut head)?;
                Ok(Prepared::Passes(head, collected, passage))
            }
            Admission::Read => self.prepare_body(head, collected),
        }
    }

    fn prepare_body(self: &Arc<Self>, mut head: Parts, collected: Collected) -> Result<Prepared, Denial> {
        let context = self.front.read(&mut head, &collected)?;
        let inspection = context.inspection().clone();
        let (key, server) = (self.key_of_body(&head, &inspection)?, self.front.server_of(&head).cloned());
        let epoch = head.extensions.get::<Principal>().is_some_and(|principal| principal.epoch().is_some());
        let mut assessment = self.assess(&inspection, server.as_ref(), epoch);
        if self.has_forgotten(&head, key) {
            assessment.assume(Cause::new("session from before the start of a memory that forgets"));
        }
        let (now, since) = self.times();
        let refuse = assessment.denying().map(|check| check.known).collect();
        let cause = assessment.cause.take();
        let visit = Visit { key, marks: assessment.marks, cause, refuse, now, since };
        let plan = context.into_plan();
        Ok(Prepared::Visits(Pending { head, collected, inspection, server, assessment, key, plan }, visit))
    }

    /// Whether a conversation is older than what the store remembers.
    fn has_forgotten(&self, head: &Parts, key: TaintKey) -> bool {
        if key.conversation.is_none() {
            return false;
        }
        let session =
            VerifiedSession::of(&head.extensions).filter(|session| key.conversation == Some(session.conversation()));
        let minted = session.and_then(|session| session.minted().duration_since(UNIX_EPOCH).ok());
        self.store.forgets_at_restart() && minted.is_some_and(|minted| minted.as_secs() < self.started)
    }

    /// Whoever asks with an id is answered by it.
    fn key_of_body(&self, head: &Parts, inspection: &Inspection) -> Result<TaintKey, Denial> {
        conversation::key(&self.conversations, head, Some(inspection)).map_err(|fault| {
            let caller = self.front.caller(head, inspection.era());
            let requester = Requester::new(Some(inspection.clone()), caller.client().streamable);
            let denial = requester.refusal(DenialKind::Trust(fault));
            self.front.tell(&caller, inspection.messages().next(), Outcome::Deny, Some(&denial));
            denial
        })
    }

    fn key(&self, head: &Parts) -> Result<TaintKey, Denial> {
        conversation::key(&self.conversations, head, None)
            .map_err(|fault| self.front.refuse(head, DenialKind::Trust(fault), None))
    }

    /// A stream that nobody asked a question for brings content when it comes.
    fn watch_stream(self: &Arc<Self>, head: &mut Parts) -> Result<Passage, Denial> {
        let caller = self.front.caller(head, Era::Legacy);
        let passage = Passage::new(head, None, caller.client());
        if head.method != Method::GET {
            return Ok(passage);
        }
        let (key, server) = (self.key(head)?, caller.server.cloned());
        let ruling = self.classifier.classify_server(server.as_ref().map(Server::as_str)).ruling();
        let ingestion = Ingestion::of_stream(self, head, key, server, ruling);
        head.extensions.insert(StreamRuling(ruling));
        let plan = self.front.stream_plan(head);
        ask_for_plain(&mut head.headers);
        Ok(passage.with_work(Watch::Shapes, Work::of(Some(Stage::Ingest(Arc::new(ingestion))), plan, self.front.place)))
    }

    /// What becomes of a request once it is known what its session has received.
    fn settle(trust: &Arc<Self>, pending: Pending, visited: Result<Visited, StoreError>) -> Decided {
        let session = match visited {
            Ok(Visited { refused: Some(at), before }) => return Err(trust.refuse_call(&pending, at, before)),
            Ok(Visited { refused: None, before }) if pending.assessment.assumed => SessionTaint::assumed_beside(before),
            Ok(Visited { refused: None, before }) => SessionTaint::known(before),
            Err(error) => trust.without_store(&pending, &error)?,
        };
        trust.tell_passed(&pending, &session);
        Ok(trust.forward(pending, session))
    }

    /// The response is looked at, here or further out, unless all that it brings is marked already.
    fn forward(self: &Arc<Self>, pending: Pending, session: SessionTaint) -> (Parts, Collected, Passage) {
        let Pending { mut head, collected, inspection, server, assessment, key, plan } = pending;
        let client = Client::of(&head, inspection.era());
        let (passage, watch) = (Passage::new(&head, Some(&inspection), client), self.front.watch(&inspection));
        let of_server = self.classifier.classify_server(server.as_ref().map(Server::as_str)).ruling();
        let found = Found::new(inspection, server, assessment.brought, of_server, session);
        let (found, stage) = Ingestion::of_body(self, &head, key, &assessment, found);
        if watch != Watch::Nothing || stage.is_some() {
            ask_for_plain(&mut head.headers);
        }
        requests::Context::keep(&mut head.extensions, found);
        (head, collected, passage.with_work(watch, Work::of(stage, plan, self.front.place)))
    }

    /// A call that a rule refuses in a session of which this is known.
    fn refuse_call(&self, pending: &Pending, at: usize, before: crate::trust::Taint) -> Denial {
        let Some(check) = pending.assessment.denying().nth(at) else {
            // A store that refuses by a rule that was not given to it is none to be relied upon.
            return self.deny(pending, None, TrustFault::StoreUnavailable);
        };
        let session = SessionTaint::known(before);
        self.tell(pending, TrustEventKind::Refused(check.kind), Some(&session));
        self.deny(pending, Some(check), TrustFault::Refused(check.kind))
    }

    /// What the store has to say is not known: what brings content is not sent, what writes is refused, and all else
    /// passes as in a session that has received everything.
    fn without_store(&self, pending: &Pending, error: &StoreError) -> Result<SessionTaint, Denial> {
        self.tell(pending, TrustEventKind::StoreFailed(error), None);
        let first = pending.assessment.denying().next();
        if first.is_some() || pending.assessment.marks != Facts::NONE {
            return Err(self.deny(pending, first, TrustFault::StoreUnavailable));
        }
        let session = SessionTaint::assumed();
        self.tell(pending, TrustEventKind::Assumed, Some(&session));
        Ok(session)
    }

    fn deny(&self, pending: &Pending, check: Option<&Checked>, fault: TrustFault) -> Denial {
        let caller: Caller<'_> = self.front.caller(&pending.head, pending.inspection.era());
        let at =
            check.map_or_else(|| pending.assessment.brought.map_or(0, |brought| brought.message), |check| check.at);
        let message = pending.inspection.messages().nth(at).or_else(|| pending.inspection.messages().next());
        let subject = check.map(|check| check.subject.clone()).unwrap_or_default();
        let kind = DenialKind::Trust(fault);
        let denial = match &message {
            Some(message) => Denial::of_message(kind, message, subject, caller.client()),
            None => Denial::new(kind, crate::answer::Addressee::Unknown, caller.client()),
        };
        let denial = denial.of_batch(&pending.inspection, at);
        self.front.tell(&caller, message, Outcome::Deny, Some(&denial));
        denial
    }

    fn tell_passed(&self, pending: &Pending, session: &SessionTaint) {
        if self.observer.is_none() {
            return;
        }
        let flags = pending.assessment.flagging().filter(|check| session.taint().facts.contains(check.known));
        flags.for_each(|check| self.tell(pending, TrustEventKind::Flagged(check.kind), Some(session)));
        if !session.is_assumed() && !pending.assessment.marks.is_none() {
            self.tell(pending, TrustEventKind::Marked, Some(session));
        }
    }

    fn tell(&self, pending: &Pending, kind: TrustEventKind<'_>, session: Option<&SessionTaint>) {
        if self.observer.is_none() {
            return;
        }
        let (principal, owner) = (pending.head.extensions.get(), pending.server.as_ref().map(Server::as_str));
        let verdict = pending.assessment.brought.map(|brought| brought.verdict(&pending.inspection, owner));
        self.on_trust(kind, pending.key, principal, verdict.as_ref(), session.map(SessionTaint::taint));
    }
}
