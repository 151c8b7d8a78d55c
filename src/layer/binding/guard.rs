//! The way in: what a request names must be its caller's.

use std::future::Ready;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::Method;
use http::header::{HeaderName, HeaderValue};
use http::request::Parts;

use super::ids::{BoundIds, SESSION};
use crate::answer::{Client, Denial, DenialKind};
use crate::binding::{Binder, BindingFault, BindingKey, UnboundRequest, VerifiedSession};
use crate::http::{Admission, Collected, Context, Lost, names_in_query};
use crate::identity::{Principal, Server};
use crate::layer::exchange::{Decided, Front, Guard, Passage, Step, Work, ask_for_plain, measure};
use crate::message::{Era, Inspection, Mirror, TaskPlace, mentions_task};
use crate::response::{Plan, Stage, Watch};

static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// What every clone of the service shares.
#[derive(Clone, Debug)]
pub(crate) struct BindingGuard {
    pub(super) front: Front,
    pub(super) anonymous: bool,
    pub(super) url_sessions: bool,
    pub(super) max_session_age: Option<Duration>,
    key: BindingKey,
}

impl Guard for BindingGuard {
    type Deciding = Ready<Decided>;

    fn front(&self) -> &Front {
        &self.front
    }

    fn decide(
        guard: &Arc<Self>,
        head: Parts,
        received: Result<Collected, Lost>,
        admission: Admission,
    ) -> Step<Self::Deciding> {
        Step::Done(guard.verify(head, received, admission))
    }
}

impl BindingGuard {
    pub(super) fn new(key: BindingKey) -> Self {
        Self { front: Front::default(), anonymous: false, url_sessions: false, max_session_age: None, key }
    }

    fn verify(&self, mut head: Parts, received: Result<Collected, Lost>, admission: Admission) -> Decided {
        let mut collected = received.map_err(|lost| self.front.lost(&head, lost, admission))?;
        let passage = match admission {
            Admission::Preflight => {
                let named = self.check_query(&head);
                named.map_err(|unbound| self.front.refuse(&head, DenialKind::Binding(unbound), None))?;
                // It has no session, nor anybody to whom one could belong.
                head.headers.remove(&SESSION);
                head.extensions.remove::<VerifiedSession>();
                Passage::new(&head, None, Client::default())
            }
            Admission::Bodiless => self.verify_head(&mut head, &collected)?,
            Admission::Read => self.verify_body(&mut head, &mut collected)?,
        };
        Ok((head, collected, passage))
    }

    fn verify_head(&self, head: &mut Parts, collected: &Collected) -> Result<Passage, Denial> {
        self.front.check_bodiless(head, collected)?;
        let ids = self.session(head);
        let ids = ids.map_err(|unbound| self.front.refuse(head, DenialKind::Binding(unbound), None))?;
        let streams = head.method == Method::GET;
        if streams {
            ask_for_plain(&mut head.headers);
        }
        let plan = self.front.stream_plan(head);
        let passage = Passage::new(head, None, self.front.caller(head, Era::Legacy).client());
        Ok(self.rewrite(passage, if streams { Watch::Shapes } else { Watch::Nothing }, ids, plan))
    }

    fn verify_body(&self, head: &mut Parts, collected: &mut Collected) -> Result<Passage, Denial> {
        let mut context = self.front.read(head, collected)?;
        let ids = self.session(head);
        let refuse =
            |head: &Parts, context: &Context, at, kind| self.front.refuse_body(head, context.inspection(), at, kind);
        let mut ids = ids.map_err(|unbound| refuse(head, &context, None, DenialKind::Binding(unbound)))?;
        let edited = ids.unbind(context.inspection());
        let edited = edited.map_err(|(at, kind)| refuse(head, &context, Some(at), kind))?;
        if let Some(bytes) = edited {
            measure(&mut head.headers, bytes.len());
            correct_name(head, &ids);
            context = self.front.reread(&context, head, &bytes)?;
            collected.bytes = bytes;
        }
        let inspection = context.inspection();
        ids.holds_answers = may_bring_tasks(inspection.bytes());
        if ids.holds_answers {
            ask_for_plain(&mut head.headers);
        }
        let passage = Passage::new(head, Some(inspection), self.front.caller(head, inspection.era()).client());
        Ok(self.rewrite(passage, Watch::of(inspection), ids, context.plan().cloned()))
    }

    /// Sees to it that what comes back is bound. What is looked for in it is what joined layers look for.
    fn rewrite(&self, passage: Passage, watch: Watch, ids: BoundIds, plan: Option<Arc<Plan>>) -> Passage {
        passage.with_work(watch, Work::of(Some(Stage::Rewrite(Arc::new(ids))), plan, self.front.place))
    }

    /// Verifies the session that a head names, and gives the head the server's own id.
    fn session(&self, head: &mut Parts) -> Result<BoundIds, UnboundRequest> {
        // Whatever is there was not verified here.
        head.extensions.remove::<VerifiedSession>();
        let binder = self.binder(head)?;
        self.check_query(head)?;
        let mut values = head.headers.get_all(&SESSION).iter();
        let presented = match (values.next(), values.next()) {
            // No repeated header of this family gets as far as here.
            (Some(_), Some(_)) => return Err(UnboundRequest::SessionUnknown(BindingFault::Malformed)),
            (presented, _) => presented.cloned(),
        };
        let Some(presented) = presented else {
            let resumes = head.method == Method::GET && head.headers.contains_key(&LAST_EVENT_ID);
            return if resumes { Err(UnboundRequest::SessionMissing) } else { Ok(BoundIds::new(binder, None)) };
        };
        let bound = presented.to_str().map_err(|_| BindingFault::Malformed);
        let session = bound.and_then(|bound| self.fresh(binder.verify_session(bound)?));
        let session = session.map_err(UnboundRequest::SessionUnknown)?;
        let own = HeaderValue::from_str(session.id());
        let mut own = own.map_err(|_| UnboundRequest::SessionUnknown(BindingFault::Malformed))?;
        // Whoever logs headers does not show it.
        own.set_sensitive(true);
        head.headers.insert(&SESSION, own);
        head.extensions.insert(session.clone());
        Ok(BoundIds::new(binder, Some((session, presented))))
    }

    /// The transport of 2024-11-05 names its session in the URL, where no id is bound.
    fn check_query(&self, head: &Parts) -> Result<(), UnboundRequest> {
        let named = || names_in_query(&head.uri, &["sessionId", "session_id"]);
        if !self.url_sessions && named() { Err(UnboundRequest::SessionInUrl) } else { Ok(()) }
    }

    fn fresh(&self, session: VerifiedSession) -> Result<VerifiedSession, BindingFault> {
        let Some(max_age) = self.max_session_age else { return Ok(session) };
        // A clock that was set back makes no session old.
        let age = SystemTime::now().duration_since(session.minted()).unwrap_or_default();
        if age > max_age { Err(BindingFault::Expired) } else { Ok(session) }
    }

    fn binder(&self, head: &Parts) -> Result<Binder, UnboundRequest> {
        let principal = head.extensions.get::<Principal>();
        if principal.is_none() && !self.anonymous {
            return Err(UnboundRequest::PrincipalMissing);
        }
        let server = self.front.server.as_ref().or_else(|| head.extensions.get());
        Ok(Binder::new(&self.key, server.map(Server::as_str), principal))
    }
}

/// Makes the name that a head mirrors fit a body in which ids were replaced.
fn correct_name(head: &mut Parts, ids: &BoundIds) {
    if let Some((presented, own)) = ids.replaced(TaskPlace::Params) {
        Mirror::correct_name(&mut head.headers, presented, own);
    }
}

/// Whether the answer to a body may name tasks: those that are about tasks say so, and so does who can take one for an
/// answer.
fn may_bring_tasks(body: &Bytes) -> bool {
    mentions_task(body)
}

impl BoundIds {
    /// The body with the server's own ids; none if it names no task. Else which message is at fault.
    fn unbind(&mut self, inspection: &Inspection) -> Result<Option<Bytes>, (usize, DenialKind)> {
        for message in inspection.messages() {
            // It lists everybody's, and does not say whose they are.
            if message.method().is_ok_and(|method| method == "tasks/list") {
                return Err((message.position(), DenialKind::Binding(UnboundRequest::TaskList)));
            }
        }
        let gone = |at: usize| {
            let method = inspection.messages().nth(at).and_then(|message| message.method().ok());
            inspection.era() == Era::Modern && method.is_some_and(|method| method == "tasks/result")
        };
        let edits = self.unbind_tasks(inspection.bytes()).map_err(|(at, kind)| match kind {
            // A server that has no such method says so, whatever the id.
            DenialKind::Binding(UnboundRequest::TaskUnknown(_)) if gone(at) => {
                (at, DenialKind::Binding(UnboundRequest::MethodGone))
            }
            kind => (at, kind),
        })?;
        Ok((!edits.is_empty()).then(|| edits.apply(inspection.bytes()).collect::<Vec<_>>().concat().into()))
    }
}
