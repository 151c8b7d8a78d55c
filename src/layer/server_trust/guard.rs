//! The way in: what is called must be exposed, and a server learns only what it may use.

use std::future::Ready;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use http::request::Parts;

use super::exposed::Exposed;
use super::reaching::Reaching;
use crate::answer::{Client, Denial, DenialKind, Subject};
use crate::http::{Admission, Collected, Lost};
use crate::identity::Server;
use crate::json::{fold, join};
use crate::layer::exchange::{Caller, Decided, Front, Guard, Passage, Step, Work, ask_for_plain, measure};
use crate::message::{Call, Era, Inspection, Message};
use crate::observe::Outcome;
use crate::response::{ListRule, Plan, Stage, Watch};
use crate::server::{Exposure, ReachBack, ServerEntry, ServerError, ServerRefusal};

/// What every clone of the service shares.
#[derive(Clone, Debug)]
pub(crate) struct ServerGuard {
    pub(super) front: Front,
    pub(super) server: Server,
    pub(super) exposed: Arc<Exposed>,
    /// What the server may ask of its clients.
    pub(super) reach: ReachBack,
}

impl Guard for ServerGuard {
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
        Step::Done(guard.judge(head, received, admission))
    }
}

impl ServerGuard {
    pub(super) fn new(entry: &ServerEntry) -> Result<Self, ServerError> {
        let exposed = Arc::new(Exposed::new(Exposure::new(entry)?));
        let server = Server::new(&*entry.id);
        let front = Front { server: Some(server.clone()), ..Front::default() };
        Ok(Self { front, server, exposed, reach: ReachBack::new(entry) })
    }

    fn judge(self: &Arc<Self>, mut head: Parts, received: Result<Collected, Lost>, admission: Admission) -> Decided {
        let mut collected = received.map_err(|lost| self.front.lost(&head, lost, admission))?;
        // The route decides whose request it is: whatever the request carries was put there by somebody else.
        head.extensions.insert(self.server.clone());
        let passage = match admission {
            Admission::Preflight => Passage::new(&head, None, Client::default()),
            Admission::Bodiless => {
                self.front.check_bodiless(&head, &collected)?;
                self.watch_stream(&mut head)
            }
            Admission::Read => self.judge_body(&mut head, &mut collected)?,
        };
        Ok((head, collected, passage))
    }

    /// On a stream that nobody asked a question for, lists are known by their shape.
    fn watch_stream(self: &Arc<Self>, head: &mut Parts) -> Passage {
        let passage = Passage::new(head, None, Client::of(head, Era::Legacy));
        if head.method != Method::GET {
            return passage;
        }
        let plan = self.front.stream_plan(head);
        self.watch(head, passage, Watch::Shapes, plan)
    }

    fn judge_body(self: &Arc<Self>, head: &mut Parts, collected: &mut Collected) -> Result<Passage, Denial> {
        let mut context = self.front.read(head, collected)?;
        if let Some(denial) = self.first_denial(head, context.inspection()) {
            return Err(denial);
        }
        if let Some(bytes) = self.withheld(head, context.inspection())? {
            measure(&mut head.headers, bytes.len());
            context = self.front.reread(&context, head, &bytes)?;
            collected.bytes = bytes;
        }
        let inspection = context.inspection();
        let passage = Passage::new(head, Some(inspection), Client::of(head, inspection.era()));
        let watch = self.front.watch(inspection);
        Ok(self.watch(head, passage, watch, context.plan().cloned()))
    }

    /// The denial of the first message that is refused, which is that of the whole body.
    fn first_denial(&self, head: &Parts, inspection: &Inspection) -> Option<Denial> {
        let refused = inspection.messages().find_map(|message| Some((message, self.refusal(&message)?)));
        let (message, (refusal, subject)) = refused?;
        let caller: Caller<'_> = self.front.caller(head, inspection.era());
        let denial = Denial::of_message(DenialKind::Server(refusal), &message, subject, caller.client());
        let denial = denial.of_batch(inspection, message.position());
        self.front.tell(&caller, Some(message), Outcome::Deny, Some(&denial));
        Some(denial)
    }

    fn refusal(&self, message: &Message<'_>) -> Option<(ServerRefusal, Subject)> {
        message.calls().find_map(|call| {
            let refusal = match &call {
                Call::Tool { name, .. } => self.exposed.refusal(name),
                Call::Method { .. } | Call::Plumbing { .. } | Call::Task { .. } => self.other(message),
                Call::Prompt { .. } | Call::Reply | Call::Resource { .. } => None,
            };
            Some((refusal?, Subject::of(&call)))
        })
    }

    /// What is none of the methods by which tools are reached, but may be one for a server that reads it otherwise.
    fn other(&self, message: &Message<'_>) -> Option<ServerRefusal> {
        let method = message.method().ok().filter(|_| self.front.is_mcp())?;
        let reaches = !["tools/list", "tools/call"].contains(&&*method) && fold(method.trim()).starts_with("tools/");
        reaches.then_some(ServerRefusal::Method)
    }

    /// The body of a client that declares nothing which the server may not ask for.
    fn withheld(&self, head: &Parts, inspection: &Inspection) -> Result<Option<Bytes>, Denial> {
        let declares = |message: Message<'_>| initializes(&message) || message.meta().iter().next().is_some();
        if !self.is_reaching() || !inspection.messages().any(declares) {
            return Ok(None);
        }
        let body = inspection.bytes();
        let initializes = |at| inspection.messages().nth(at).is_some_and(|message| initializes(&message));
        let edits = self.reach.withhold(body, &initializes);
        let edits = edits.map_err(|error| self.front.refuse(head, DenialKind::Json(error), None))?;
        Ok((!edits.is_empty()).then(|| join(edits.pieces(body))))
    }

    /// Whether the server may ask for less than there is.
    fn is_reaching(&self) -> bool {
        self.front.is_mcp() && !self.reach.permits_all()
    }

    /// Sees to what is to be done with a response: the layer that begins the chain does it.
    fn watch(self: &Arc<Self>, head: &mut Parts, passage: Passage, watch: Watch, plan: Option<Arc<Plan>>) -> Passage {
        let list = (watch != Watch::Nothing).then(|| Stage::List(ListRule::Exposed(self.exposed.clone())));
        let reaching = || Reaching { guard: Arc::clone(self), requester: passage.requester.clone() };
        let reach = self.is_reaching().then(|| Stage::Rewrite(Arc::new(reaching())));
        if list.is_some() || reach.is_some() {
            ask_for_plain(&mut head.headers);
        }
        passage.with_work(watch, Work::of(list.into_iter().chain(reach), plan, self.front.place))
    }
}

/// Whether some server takes a message for the one that begins a session.
fn initializes(message: &Message<'_>) -> bool {
    message.method().is_ok_and(|method| *fold(method.trim()) == *"initialize")
}
