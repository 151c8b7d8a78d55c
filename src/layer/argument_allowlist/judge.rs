//! The decisions of a gate about one request.

use std::sync::Arc;

use http::header::{ACCEPT_ENCODING, HeaderValue, UPGRADE};
use http::request::Parts;
use http::{Method, Request};

use super::gate::{Gate, Protocol};
use super::tell::Caller;
use crate::answer::{Addressee, Client, Denial, DenialKind, Requester, Subject};
use crate::http::{
    Admission, BodyFault, BodyLimits, Collected, Context, HeadFault, Lost, RequestBody, StreamPlan, admit, admit_grpc,
};
use crate::identity::Server;
use crate::json::Arguments;
use crate::message::{Call, Era, IdSalvage, Inspection, Message, MessageKind, Mirror, ReadError};
use crate::observe::Outcome;
use crate::policy::Decision;
use crate::response::{ListRule, Plan, Watch};

/// What happens to a request whose head is accepted.
pub(super) enum Admitted {
    /// Its body has no part in the decision, which is taken.
    Forward(Passage),
    /// Its body is received.
    Receive(Admission),
}

/// What is remembered of a request that was let pass, until its response comes.
pub(super) struct Passage {
    pub(super) requester: Requester,
    /// The protocols that it asked to switch to, all of which are allowed.
    pub(super) upgrade: Option<HeaderValue>,
    pub(super) watch: Watch,
    pub(super) rules: Rules,
}

/// Where the rules for lists are found once the response is there.
pub(super) enum Rules {
    /// In the plan of the chain of layers that this one begins.
    Plan(Arc<Plan>),
    Own(ListRule),
    None,
}

impl Rules {
    pub(super) fn take(&self) -> Vec<ListRule> {
        match self {
            Self::Plan(plan) => plan.take(),
            Self::Own(rule) => vec![rule.clone()],
            Self::None => Vec::new(),
        }
    }
}

impl Gate {
    /// Looks at the head: whether, and how, the body is to be received.
    pub(super) fn admit(&self, head: &Parts) -> Result<Admitted, Denial> {
        let refuse = |fault| self.refuse(head, DenialKind::Head(fault), None);
        match &self.protocol {
            Protocol::Grpc => {
                let tool = admit_grpc(head, &self.upgrades).map_err(refuse)?;
                let call = Call::Tool { name: tool.into(), arguments: Arguments::ABSENT };
                self.judge_head(head, &call).map(Admitted::Forward)
            }
            Protocol::JsonRpc(reading) => {
                let admission = admit(head, &reading.dialect.rules(), &self.upgrades).map_err(refuse)?;
                Ok(Admitted::Receive(admission))
            }
        }
    }

    pub(super) fn limits(&self, head: &Parts, admission: Admission) -> BodyLimits {
        let mut limits = self.limits.clone();
        if admission != Admission::Read {
            limits.bytes = 0;
        }
        if let Some(budget) = &limits.budget {
            limits.taken = Context::taken(&head.extensions, budget);
        }
        limits
    }

    /// Decides about a request that has arrived: what the inner service gets, or what the caller gets instead.
    pub(super) fn decide<B>(
        &self,
        mut head: Parts,
        received: Result<Collected, Lost>,
        admission: Admission,
    ) -> Result<(Request<RequestBody<B>>, Passage), Denial> {
        let collected = received.map_err(|lost| self.lost(&head, lost, admission))?;
        let passage = match admission {
            Admission::Preflight => Passage::new(&head, None, Client::default()),
            Admission::Bodiless => {
                Mirror::check_bodiless(&head.headers)
                    .map_err(|error| self.refuse(&head, DenialKind::Header(error), None))?;
                let passage = self.judge_head(&head, &Call::Plumbing { method: head.method.as_str().into() })?;
                self.watch_stream(&mut head, passage)
            }
            Admission::Read => self.judge_body(&mut head, &collected)?,
        };
        if passage.watch != Watch::Nothing {
            // What comes back is to be read, not inflated.
            head.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        let Collected { bytes, trailers, hold } = collected;
        Ok((Request::from_parts(head, RequestBody::buffered(bytes, trailers, hold)), passage))
    }

    fn lost(&self, head: &Parts, lost: Lost, admission: Admission) -> Denial {
        match (lost.fault, admission) {
            (BodyFault::TooLarge, Admission::Bodiless | Admission::Preflight) => {
                self.refuse(head, DenialKind::Head(HeadFault::BodyNotAllowed), None)
            }
            (fault, _) => self.refuse(head, DenialKind::Body(fault), lost.id),
        }
    }

    /// A request whose body has no part in the decision is judged by who sends it, and to which server.
    fn judge_head(&self, head: &Parts, call: &Call<'_>) -> Result<Passage, Denial> {
        let caller = self.caller(head, Era::Legacy);
        let passage = Passage::new(head, None, caller.client());
        let decision = self.policy.check_any(caller.roles.names(), caller.server.map(Server::as_str), call);
        let Decision::Deny(denied) = decision else {
            self.tell(&caller, None, Outcome::Allow, None);
            return Ok(passage);
        };
        let denial = Denial::of_head(denied, Subject::of(call), caller.client());
        self.tell(&caller, None, self.outcome(), Some(&denial));
        if self.shadow { Ok(passage) } else { Err(denial) }
    }

    /// On a stream that nobody asked a question for, lists are known by their shape.
    fn watch_stream(&self, head: &mut Parts, passage: Passage) -> Passage {
        if head.method != Method::GET {
            return passage;
        }
        let plan = StreamPlan::of(head, self.place);
        self.watch(&self.caller(head, Era::Legacy), Watch::Shapes, plan, passage)
    }

    /// Sees to what is to be done with a response: the layer that begins the chain does it.
    fn watch(&self, caller: &Caller<'_>, watch: Watch, plan: Option<Arc<Plan>>, passage: Passage) -> Passage {
        let rule = (watch != Watch::Nothing && !self.shadow).then(|| self.list_rule(caller));
        let Some(plan) = plan else {
            return Passage { watch, rules: rule.map_or(Rules::None, Rules::Own), ..passage };
        };
        let left = rule.and_then(|rule| plan.register(rule).err());
        let rules = match left {
            Some(rule) => Rules::Own(rule),
            None if self.place.after => Rules::None,
            None => Rules::Plan(plan),
        };
        Passage { watch, rules, ..passage }
    }

    fn list_rule(&self, caller: &Caller<'_>) -> ListRule {
        ListRule { policy: self.policy.clone(), roles: caller.roles.clone(), server: caller.server.cloned() }
    }

    fn judge_body(&self, head: &mut Parts, collected: &Collected) -> Result<Passage, Denial> {
        let context = self.read(head, collected)?;
        let inspection = context.inspection();
        let caller = self.caller(head, inspection.era());
        let denial = self.first_denial(&caller, inspection);
        self.tell_messages(&caller, inspection, denial.as_ref());
        match denial {
            Some(denial) if !self.shadow => Err(denial),
            Some(_) | None => {
                let passage = Passage::new(head, Some(inspection), caller.client());
                let mcp = matches!(&self.protocol, Protocol::JsonRpc(reading) if reading.dialect.rules().mcp_transport);
                let watch = if mcp { Watch::of(inspection) } else { Watch::Nothing };
                Ok(self.watch(&caller, watch, context.plan().cloned(), passage))
            }
        }
    }

    fn read(&self, head: &mut Parts, collected: &Collected) -> Result<Context, Denial> {
        let Collected { bytes, trailers, hold } = collected;
        let refuse = |head: &Parts, kind| Err(self.refuse(head, kind, IdSalvage::of(bytes)));
        let Protocol::JsonRpc(reading) = &self.protocol else {
            return refuse(head, DenialKind::Head(HeadFault::ContentTypeUnsupported));
        };
        let trailers = trailers.as_ref().filter(|_| reading.dialect.rules().mcp_transport);
        if let Some(Err(mismatch)) = trailers.map(Mirror::check_trailers) {
            return refuse(head, DenialKind::Header(mismatch));
        }
        Context::of(head, bytes, hold.as_ref(), reading, self.place).or_else(|error| {
            let kind = match error {
                ReadError::Json(error) => DenialKind::Json(error),
                ReadError::Message(fault) => DenialKind::Message(fault),
                ReadError::Mirror(mismatch) => DenialKind::Header(mismatch),
            };
            refuse(head, kind)
        })
    }

    /// The denial of the first message that is denied, which is that of the whole body.
    fn first_denial(&self, caller: &Caller<'_>, inspection: &Inspection) -> Option<Denial> {
        let (at, denial) =
            inspection.messages().find_map(|message| Some((message.position(), self.denial(caller, &message)?)))?;
        if !inspection.is_batch() {
            return Some(denial);
        }
        let requests = inspection.messages().filter(|message| message.kind() == MessageKind::Request);
        let ids = requests.filter_map(|message| Some((Box::from(message.id()?), message.position() == at)));
        Some(denial.with_addressee(Addressee::Batch(ids.collect())))
    }

    /// The denial of one message, if no role permits it whole.
    pub(super) fn denial(&self, caller: &Caller<'_>, message: &Message<'_>) -> Option<Denial> {
        let permit = self.policy.permit(caller.roles.names(), caller.server.map(Server::as_str), &message.calls());
        let (denied, at) = permit.err()?;
        let subject = message.calls().nth(at).map(|call| Subject::of(&call));
        Some(Denial::of_message(denied, message, subject.unwrap_or_default(), caller.client()))
    }

    fn caller<'a>(&'a self, head: &'a Parts, era: Era) -> Caller<'a> {
        let server = self.server.as_ref().or_else(|| head.extensions.get());
        Caller { head: Some(head), roles: self.roles.roles(head), server, era }
    }

    /// Refuses what could not be read.
    fn refuse(&self, head: &Parts, kind: DenialKind, id: Option<String>) -> Denial {
        let caller = self.caller(head, Era::Legacy);
        let addressee = id.map_or(Addressee::Unknown, |id| Addressee::Id(id.into()));
        let denial = Denial::new(kind, addressee, caller.client());
        self.tell(&caller, None, Outcome::Deny, Some(&denial));
        denial
    }
}

impl Passage {
    fn new(head: &Parts, inspection: Option<&Inspection>, client: Client) -> Self {
        let requester = Requester::new(inspection.cloned(), client.streamable);
        let upgrade = head.headers.get(UPGRADE).cloned();
        Self { requester, upgrade, watch: Watch::Nothing, rules: Rules::None }
    }

    /// Whether a response that switches to a protocol is an answer to what was asked for.
    pub(super) fn permits_switch(&self, protocol: Option<&HeaderValue>) -> bool {
        let text = |value: Option<&HeaderValue>| value.and_then(|value| value.to_str().ok().map(str::to_owned));
        let (Some(asked), Some(protocol)) = (text(self.upgrade.as_ref()), text(protocol)) else { return false };
        asked.split(',').any(|asked| asked.trim().eq_ignore_ascii_case(protocol.trim()))
    }
}
