//! The decisions of a gate about one request.

use std::future::Ready;
use std::sync::Arc;

use http::Method;
use http::request::Parts;

use super::gate::Gate;
use crate::answer::{Client, Denial, DenialKind, Subject};
use crate::http::{Admission, Collected, Lost, admit_grpc};
use crate::identity::Server;
use crate::json::Arguments;
use crate::layer::exchange::{Admitted, Caller, Decided, Front, Guard, Passage, Protocol, Step, Work, ask_for_plain};
use crate::message::{Call, Era, Inspection, Message};
use crate::observe::Outcome;
use crate::policy::Decision;
use crate::response::{ListRule, Permissions, Plan, Stage, Watch};

impl Guard for Gate {
    type Deciding = Ready<Decided>;

    fn front(&self) -> &Front {
        &self.front
    }

    fn admit(&self, head: &Parts) -> Result<Admitted, Denial> {
        match &self.front.protocol {
            Protocol::Grpc => {
                let tool = admit_grpc(head, &self.front.upgrades);
                let tool = tool.map_err(|fault| self.front.refuse(head, DenialKind::Head(fault), None))?;
                let call = Call::Tool { name: tool.into(), arguments: Arguments::ABSENT };
                self.judge_head(head, &call).map(|passage| Admitted::Forward(Box::new(passage)))
            }
            Protocol::JsonRpc(_) => self.front.admit(head).map(Admitted::Receive),
        }
    }

    fn decide(
        gate: &Arc<Self>,
        head: Parts,
        received: Result<Collected, Lost>,
        admission: Admission,
    ) -> Step<Self::Deciding> {
        Step::Done(gate.judge(head, received, admission))
    }
}

impl Gate {
    fn judge(&self, mut head: Parts, received: Result<Collected, Lost>, admission: Admission) -> Decided {
        let collected = received.map_err(|lost| self.front.lost(&head, lost, admission))?;
        let passage = match admission {
            Admission::Preflight => Passage::new(&head, None, Client::default()),
            Admission::Bodiless => {
                self.front.check_bodiless(&head, &collected)?;
                let passage = self.judge_head(&head, &Call::Plumbing { method: head.method.as_str().into() })?;
                self.watch_stream(&mut head, passage)
            }
            Admission::Read => self.judge_body(&mut head, &collected)?,
        };
        if passage.watch != Watch::Nothing {
            ask_for_plain(&mut head.headers);
        }
        Ok((head, collected, passage))
    }

    /// A request whose body has no part in the decision is judged by who sends it, and to which server.
    fn judge_head(&self, head: &Parts, call: &Call<'_>) -> Result<Passage, Denial> {
        let caller = self.front.caller(head, Era::Legacy);
        let passage = Passage::new(head, None, caller.client());
        let decision = self.policy.check_any(caller.roles.names(), caller.server.map(Server::as_str), call);
        let Decision::Deny(denied) = decision else {
            self.front.tell(&caller, None, Outcome::Allow, None);
            return Ok(passage);
        };
        let denial = Denial::of_head(denied, Subject::of(call), caller.client());
        self.front.tell(&caller, None, self.outcome(), Some(&denial));
        if self.shadow { Ok(passage) } else { Err(denial) }
    }

    /// On a stream that nobody asked a question for, lists are known by their shape.
    fn watch_stream(&self, head: &mut Parts, passage: Passage) -> Passage {
        if head.method != Method::GET {
            return passage;
        }
        let plan = self.front.stream_plan(head);
        self.watch(&self.front.caller(head, Era::Legacy), Watch::Shapes, plan, passage)
    }

    /// Sees to what is to be done with a response: the layer that begins the chain does it.
    fn watch(&self, caller: &Caller<'_>, watch: Watch, plan: Option<Arc<Plan>>, passage: Passage) -> Passage {
        let rule = (watch != Watch::Nothing && !self.shadow).then(|| Stage::List(self.list_rule(caller)));
        passage.with_work(watch, Work::of(rule, plan, self.front.place))
    }

    fn list_rule(&self, caller: &Caller<'_>) -> ListRule {
        let (policy, roles, server) = (self.policy.clone(), caller.roles.clone(), caller.server.cloned());
        ListRule::Permitted(Permissions { policy, roles, server })
    }

    fn judge_body(&self, head: &mut Parts, collected: &Collected) -> Result<Passage, Denial> {
        let context = self.front.read(head, collected)?;
        let inspection = context.inspection();
        let caller = self.front.caller(head, inspection.era());
        let denial = self.first_denial(&caller, inspection);
        self.tell_messages(&caller, inspection, denial.as_ref());
        match denial {
            Some(denial) if !self.shadow => Err(denial),
            Some(_) | None => {
                let passage = Passage::new(head, Some(inspection), caller.client());
                let watch = self.front.watch(inspection);
                Ok(self.watch(&caller, watch, context.plan().cloned(), passage))
            }
        }
    }

    /// The denial of the first message that is denied, which is that of the whole body.
    fn first_denial(&self, caller: &Caller<'_>, inspection: &Inspection) -> Option<Denial> {
        let (at, denial) =
            inspection.messages().find_map(|message| Some((message.position(), self.denial(caller, &message)?)))?;
        Some(denial.of_batch(inspection, at))
    }

    /// The denial of one message, if no role permits it whole.
    pub(super) fn denial(&self, caller: &Caller<'_>, message: &Message<'_>) -> Option<Denial> {
        let permit = self.policy.permit(caller.roles.names(), caller.server.map(Server::as_str), &message.calls());
        let (denied, at) = permit.err()?;
        let subject = message.calls().nth(at).map(|call| Subject::of(&call));
        Some(Denial::of_message(DenialKind::Policy(denied), message, subject.unwrap_or_default(), caller.client()))
    }
}
