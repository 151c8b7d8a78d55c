//! What a request means for its session.

use super::guard::Trust;
use crate::answer::Subject;
use crate::identity::Server;
use crate::json::Arguments;
use crate::message::{Call, Inspection, Message, MessageKind};
use crate::trust::{Brought, Cause, Check, Facts, RuleAction, RuleKind, Verdict};

/// What a request means for its session.
#[derive(Debug, Default)]
pub(super) struct Assessment {
    /// The call that brings the most foreign content.
    pub(super) brought: Option<Brought>,
    /// What the session is marked with before anything is sent.
    pub(super) marks: Facts,
    pub(super) cause: Option<Cause>,
    pub(super) checks: Vec<Checked>,
    /// It asks for tools.
    pub(super) lists_tools: bool,
    /// The session is taken for one that has received everything.
    pub(super) assumed: bool,
}

/// A rule that is about a call.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) kind: RuleKind,
    pub(super) action: RuleAction,
    pub(super) known: Facts,
    /// The message's place.
    pub(super) at: usize,
    pub(super) subject: Subject,
}

impl Assessment {
    pub(super) fn denying(&self) -> impl Iterator<Item = &Checked> {
        self.checks.iter().filter(|check| check.action == RuleAction::Deny)
    }

    pub(super) fn flagging(&self) -> impl Iterator<Item = &Checked> {
        self.checks.iter().filter(|check| check.action == RuleAction::Flag)
    }

    /// Whether what the call brings back marks the session anyway.
    pub(super) fn is_marked(&self) -> bool {
        self.marks.contains(Facts::OUTSIDE)
    }

    /// Takes the session for one that has received everything, and marks it.
    pub(super) fn assume(&mut self, cause: Cause) {
        self.assumed = true;
        self.marks |= Facts::OUTSIDE;
        self.cause = Some(cause);
        // Nothing needs to be known for a rule to apply.
        self.checks.iter_mut().for_each(|check| check.known = Facts::NONE);
    }

    fn bring(&mut self, (message, call): (usize, usize), verdict: &Verdict<'_>) {
        if verdict.pollutes() && !self.is_marked() {
            self.marks |= Facts::OUTSIDE;
            self.cause = Some(verdict.cause());
        }
        let ruling = verdict.ruling();
        if self.brought.is_none_or(|known| known.ruling.class() < ruling.class()) {
            self.brought = Some(Brought { message, call, ruling });
        }
    }
}

impl<T> Trust<T> {
    /// What a body means for its session; `epoch` says that marks end with a login or a token.
    pub(super) fn assess(&self, inspection: &Inspection, owner: Option<&Server>, epoch: bool) -> Assessment {
        let mut assessment = Assessment::default();
        for message in inspection.messages() {
            self.assess_message(&message, owner.map(Server::as_str), epoch, &mut assessment);
        }
        if inspection.is_batch() {
            self.complete_sequences(inspection, &mut assessment.checks);
        }
        assessment
    }

    /// The steps that others of the same batch take are taken, whichever comes first.
    fn complete_sequences(&self, inspection: &Inspection, checks: &mut [Checked]) {
        let mut sequences = checks.iter_mut().filter(|check| check.kind == RuleKind::ForbiddenSequence).peekable();
        if sequences.peek().is_none() {
            return;
        }
        let steps: Vec<_> = inspection.messages().map(|message| (message.position(), self.steps(&message))).collect();
        for check in sequences {
            let others = steps.iter().filter(|(at, _)| *at != check.at);
            check.known = others.fold(check.known, |known, (_, steps)| known.without(*steps));
        }
    }

    /// What the calls of a message say of its session, beside what they bring back.
    fn steps(&self, message: &Message<'_>) -> Facts {
        let Ok(method) = message.method() else { return Facts::NONE };
        let marks = message.calls().map(|call| self.rules.marks(&method, tool_of(&call)));
        marks.fold(Facts::NONE, |all, marks| all | marks)
    }

    fn assess_message(&self, message: &Message<'_>, owner: Option<&str>, epoch: bool, assessment: &mut Assessment) {
        let Some(method) = message.method().ok().filter(|_| message.kind() != MessageKind::Reply) else { return };
        assessment.lists_tools |= method == "tools/list";
        for (at, call) in message.calls().enumerate() {
            let tool = tool_of(&call);
            if let Some(verdict) = self.verdict(&method, &call, owner, epoch) {
                assessment.bring((message.position(), at), &verdict);
            }
            let marks = self.rules.marks(&method, tool);
            if !marks.is_none() {
                assessment.marks |= marks;
                assessment.cause.get_or_insert_with(|| Cause::new(tool.unwrap_or(&method)));
            }
            let checked = |check: &Check| Checked {
                kind: check.kind,
                action: check.action,
                known: check.known,
                at: message.position(),
                subject: Subject::of(&call),
            };
            assessment.checks.extend(self.rules.checks(&method, tool).map(checked));
        }
    }

    /// What a call brings back; `None` if nothing but the protocol's own.
    fn verdict<'a>(
        &self,
        method: &str,
        call: &'a Call<'_>,
        owner: Option<&'a str>,
        epoch: bool,
    ) -> Option<Verdict<'a>> {
        match call {
            Call::Tool { name, arguments } => Some(self.tool_verdict(name, *arguments, owner)),
            Call::Plumbing { .. } | Call::Reply => None,
            // What these bring comes later, in a stream that is looked at.
            Call::Resource { .. } | Call::Method { .. }
                if matches!(method, "resources/subscribe" | "resources/unsubscribe" | "subscriptions/listen") =>
            {
                None
            }
            Call::Method { .. } | Call::Prompt { .. } | Call::Resource { .. } => {
                Some(self.classifier.classify_server(owner))
            }
            Call::Task { .. } => Some(self.task_verdict(owner, epoch)),
        }
    }

    fn tool_verdict<'a>(&self, name: &'a str, arguments: Arguments<'_>, owner: Option<&'a str>) -> Verdict<'a> {
        let requested = |argument: &str| arguments.get(argument)?.as_str()?.ok();
        self.classifier.classify_with(owner, name, requested).raise(self.learned.claims(owner, name))
    }

    /// What a task brings was made by a tool that nobody remembers. The principal was marked when it was created, and
    /// so its server's class will do, unless another conversation may ask for it, or marks end.
    fn task_verdict<'a>(&self, owner: Option<&'a str>, epoch: bool) -> Verdict<'a> {
        let verdict = self.classifier.classify_server(owner);
        let remembered = self.conversations.is_empty() && self.window.is_none() && !epoch;
        if remembered { verdict } else { verdict.raise(crate::trust::Claims::UNTRUSTED) }
    }
}

fn tool_of<'a>(call: &'a Call<'_>) -> Option<&'a str> {
    match call {
        Call::Tool { name, .. } => Some(name),
        _ => None,
    }
}
