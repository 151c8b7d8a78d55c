//! Judging one request.

use std::future::Ready;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use http::request::Parts;

use super::enquiry::ListEnquiry;
use super::guard::ServerGuard;
use super::listing::Listing;
use super::reaching::Reaching;
use super::shown::{Extent, Known};
use super::standing::Standing;
use crate::answer::{Client, Denial, DenialKind, Subject};
use crate::http::{Admission, Collected, Context};
use crate::json::{fold, join};
use crate::layer::exchange::{Caller, Decided, Passage, Step, Work, ask_for_plain, measure};
use crate::message::{Call, Era, Inspection, Message, MessageKind};
use crate::observe::Outcome;
use crate::response::{ListRule, Plan, Stage, Watch};
use crate::server::ServerRefusal;

/// Judges one request, and what comes back, by how far the server is trusted at its time.
#[derive(Clone)]
pub(super) struct Judge {
    pub(super) guard: Arc<ServerGuard>,
    pub(super) standing: Arc<Standing>,
}

/// What a call is judged by beside the entry.
#[derive(Clone, Copy)]
pub(super) enum Lists<'a> {
    Known(&'a Known),
    /// The server does not say which tools it has.
    Unavailable,
    /// The server is asked once all else permits the call.
    Unasked,
}

impl Judge {
    pub(super) fn judge_head(&self, mut head: Parts, collected: Collected, admission: Admission) -> Decided {
        let passage = match admission {
            Admission::Preflight => Passage::new(&head, None, Client::default()),
            Admission::Bodiless | Admission::Read => {
                self.guard.front.check_bodiless(&head, &collected)?;
                self.watch_stream(&mut head)
            }
        };
        Ok((head, collected, passage))
    }

    /// On a stream that nobody asked a question for, lists are known by their shape.
    fn watch_stream(&self, head: &mut Parts) -> Passage {
        let passage = Passage::new(head, None, Client::of(head, Era::Legacy));
        if head.method != Method::GET {
            return passage;
        }
        let plan = self.guard.front.stream_plan(head);
        self.watch(head, passage, Watch::Shapes, plan)
    }

    pub(super) fn judge_body(&self, mut head: Parts, mut collected: Collected) -> Result<Step<Ready<Decided>>, Denial> {
        let mut context = self.guard.front.read(&mut head, &collected)?;
        let known = self.guard.shown.as_ref().map(|shown| shown.known());
        let asks = known.as_ref().is_some_and(|known| self.is_open(context.inspection(), known));
        let lists = known.as_deref().filter(|_| !asks).map_or(Lists::Unasked, Lists::Known);
        if let Some(denial) = self.first_denial(&head, context.inspection(), lists) {
            return Err(denial);
        }
        if let Some(bytes) = self.withheld(&head, context.inspection())? {
            measure(&mut head.headers, bytes.len());
            context = self.guard.front.reread(&context, &mut head, &bytes)?;
            collected.bytes = bytes;
        }
        if asks {
            return Ok(Step::Enquire(Box::new(ListEnquiry::new(self.clone(), head, collected, context))));
        }
        Ok(Step::Done(Ok(self.forward(head, collected, &context))))
    }

    /// Whether the server has to be asked for its tools before a body can be judged.
    fn is_open(&self, inspection: &Inspection, known: &Known) -> bool {
        let Some(shown) = self.guard.shown.as_ref().filter(|_| self.guard.front.is_mcp()) else { return false };
        let mut calls = inspection.messages().flat_map(|message| message.calls());
        calls.any(|call| matches!(call, Call::Tool { name, .. } if shown.is_open(&name, known)))
    }

    /// Decides about a body for which the server was asked.
    pub(super) fn pass(&self, head: Parts, body: Collected, context: &Context, lists: Lists<'_>) -> Decided {
        match self.first_denial(&head, context.inspection(), lists) {
            Some(denial) => Err(denial),
            None => Ok(self.forward(head, body, context)),
        }
    }

    fn forward(&self, mut head: Parts, body: Collected, context: &Context) -> (Parts, Collected, Passage) {
        let inspection = context.inspection();
        let passage = Passage::new(&head, Some(inspection), Client::of(&head, inspection.era()));
        let watch = self.guard.front.watch(inspection);
        let passage = self.watch(&mut head, passage, watch, context.plan().cloned());
        (head, body, passage)
    }

    /// The denial of the first message that is refused, which is that of the whole body.
    fn first_denial(&self, head: &Parts, inspection: &Inspection, lists: Lists<'_>) -> Option<Denial> {
        let refused = inspection.messages().find_map(|message| Some((message, self.refusal(&message, lists)?)));
        let (message, (refusal, subject)) = refused?;
        let caller: Caller<'_> = self.guard.front.caller(head, inspection.era());
        let denial = Denial::of_message(DenialKind::Server(refusal), &message, subject, caller.client());
        let denial = denial.of_batch(inspection, message.position());
        self.guard.front.tell(&caller, Some(message), Outcome::Deny, Some(&denial));
        Some(denial)
    }

    fn refusal(&self, message: &Message<'_>, lists: Lists<'_>) -> Option<(ServerRefusal, Subject)> {
        message.calls().find_map(|call| {
            let refusal = match &call {
                Call::Tool { name, .. } => self.tool_refusal(name, lists),
                Call::Method { .. } | Call::Plumbing { .. } | Call::Task { .. } => self.other(message),
                Call::Prompt { .. } | Call::Reply | Call::Resource { .. } => None,
            };
            Some((refusal?, Subject::of(&call)))
        })
    }

    fn tool_refusal(&self, tool: &str, lists: Lists<'_>) -> Option<ServerRefusal> {
        let refusal = self.standing.exposure.verdict(tool).refusal().map(ServerRefusal::Tool);
        refusal.or_else(|| {
            let shown = self.guard.shown.as_ref()?;
            shown.first_refusal(tool).or_else(|| match lists {
                Lists::Known(known) => shown.refusal(tool, known),
                Lists::Unavailable => Some(ServerRefusal::ListUnavailable),
                Lists::Unasked => None,
            })
        })
    }

    /// What is none of the methods by which tools are reached, but may be one for a server that reads it otherwise.
    fn other(&self, message: &Message<'_>) -> Option<ServerRefusal> {
        let method = message.method().ok().filter(|_| self.guard.front.is_mcp())?;
        let reaches = !["tools/list", "tools/call"].contains(&&*method) && fold(method.trim()).starts_with("tools/");
        reaches.then_some(ServerRefusal::Method)
    }

    /// The body of a client that declares nothing which the server may not ask for, and tells it no roots but the entry's.
    fn withheld(&self, head: &Parts, inspection: &Inspection) -> Result<Option<Bytes>, Denial> {
        if !self.guard.front.is_mcp() || !inspection.messages().any(|message| self.may_tell(&message)) {
            return Ok(None);
        }
        let body = inspection.bytes();
        let initializes = |at| inspection.messages().nth(at).is_some_and(|message| initializes(&message));
        let edits = self.standing.reach.withhold(body, &self.standing.roots, &initializes);
        let edits = edits.map_err(|error| self.guard.front.refuse(head, DenialKind::Json(error), None))?;
        Ok((!edits.is_empty()).then(|| join(edits.pieces(body))))
    }

    /// Whether there may be something in a message that its server is not to be told.
    fn may_tell(&self, message: &Message<'_>) -> bool {
        let answers = message.kind() == MessageKind::Reply || message.params().get("inputResponses").is_some();
        let declares = || initializes(message) || message.meta().iter().next().is_some();
        answers || (self.is_reaching() && declares())
    }

    /// Whether the server may ask for less than there is.
    fn is_reaching(&self) -> bool {
        self.guard.front.is_mcp() && !self.standing.reach.permits_all()
    }

    /// Sees to what is to be done with a response: the layer that begins the chain does it.
    fn watch(&self, head: &mut Parts, passage: Passage, watch: Watch, plan: Option<Arc<Plan>>) -> Passage {
        let list = match watch {
            Watch::Nothing => self.straying(),
            Watch::Answers | Watch::List { .. } | Watch::Shapes => {
                Some(Stage::List(ListRule::Exposed(Arc::new(self.listing(&passage)))))
            }
        };
        let hearing = self.guard.shown.clone().filter(|_| self.guard.front.is_mcp()).map(|shown| Stage::Rewrite(shown));
        let reaching = || Reaching { judge: self.clone(), requester: passage.requester.clone() };
        let reach = self.is_reaching().then(|| Stage::Rewrite(Arc::new(reaching())));
        let rewrites = hearing.into_iter().chain(self.removing()).chain(reach);
        let stages = Vec::from_iter(list.into_iter().chain(rewrites));
        if !stages.is_empty() {
            ask_for_plain(&mut head.headers);
        }
        passage.with_work(watch, Work::of(stages, plan, self.guard.front.place))
    }

    fn listing(&self, passage: &Passage) -> Listing {
        let asks_for_all = passage.requester.inspection().is_some_and(asks_for_all);
        let whole = self.guard.shown.as_ref().filter(|_| asks_for_all).map(|shown| Extent::Whole(shown.changes()));
        Listing { judge: self.clone(), extent: whole.unwrap_or(Extent::Part) }
    }
}

/// Whether a body asks for a list of tools from its start, and for nothing else.
fn asks_for_all(inspection: &Inspection) -> bool {
    let asks = |message: Message<'_>| {
        message.method().is_ok_and(|method| method == "tools/list") && message.params().get("cursor").is_none()
    };
    !inspection.is_batch() && inspection.messages().all(asks)
}

/// Whether some server takes a message for the one that begins a session.
fn initializes(message: &Message<'_>) -> bool {
    message.method().is_ok_and(|method| *fold(method.trim()) == *"initialize")
}
