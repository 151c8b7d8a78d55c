//! The ids of one exchange: the server's own, and how its client knows them.

use std::time::SystemTime;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::response::Parts;

use crate::answer::DenialKind;
use crate::binding::{Binder, BindingFault, UnboundRequest, VerifiedSession};
use crate::json::Edits;
use crate::message::{Fault, TaskMentions, TaskPlace, mentions_task};
use crate::response::{Origin, Rewrite, Unreadable};

pub(super) static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The ids of one exchange.
pub(super) struct BoundIds {
    binder: Binder,
    /// The session, and the header that named it.
    session: Option<(VerifiedSession, HeaderValue)>,
    tasks: Vec<NamedTask>,
    /// The answer may name tasks.
    pub(super) holds_answers: bool,
}

/// A task that the request named.
struct NamedTask {
    place: TaskPlace,
    own: Box<str>,
    presented: Box<str>,
}

/// What is expected where a client names a task.
enum Expected {
    /// A bound id.
    Bound,
    /// An id of the client's own, or a bound one.
    Either,
    /// An id of the client's own, or none.
    Own,
}

impl Expected {
    /// Clients run tasks for servers too (2025-11-25), with ids of their own.
    fn of(method: Option<&str>, place: TaskPlace) -> Self {
        match (method, place) {
            (Some(method), TaskPlace::Params) if method.starts_with("tasks/") => Self::Bound,
            (Some("subscriptions/listen"), TaskPlace::Filter) => Self::Bound,
            (Some(method), TaskPlace::RelatedParams) if !method.starts_with("notifications/") => Self::Bound,
            (Some(_), TaskPlace::RelatedParams) | (None, TaskPlace::RelatedResult) => Self::Either,
            (Some(_) | None, _) => Self::Own,
        }
    }
}

impl BoundIds {
    pub(super) fn new(binder: Binder, session: Option<(VerifiedSession, HeaderValue)>) -> Self {
        Self { binder, session, tasks: Vec::new(), holds_answers: false }
    }

    /// The task that the request named in a place: as the client names it, and as the server does.
    pub(super) fn replaced(&self, place: TaskPlace) -> Option<(&str, &str)> {
        self.tasks.iter().find(|task| task.place == place).map(|task| (&*task.presented, &*task.own))
    }

    /// What changes in a body so that it has the server's own ids; else which message is at fault, and why.
    pub(super) fn unbind_tasks(&mut self, body: &Bytes) -> Result<Edits, (usize, DenialKind)> {
        let mut edits = Edits::new();
        if !mentions_task(body) {
            return Ok(edits);
        }
        let messages = TaskMentions::read(body).map_err(|_| (0, unknown(BindingFault::Malformed)))?;
        for (at, message) in messages.iter().enumerate() {
            self.unbind_message(body, message, &mut edits).map_err(|kind| (at, kind))?;
        }
        Ok(edits)
    }

    fn unbind_message(
        &mut self,
        body: &Bytes,
        message: &TaskMentions<'_>,
        edits: &mut Edits,
    ) -> Result<(), DenialKind> {
        if message.folded {
            return Err(DenialKind::Message(Fault::FoldedKey));
        }
        if message.ambiguous {
            return Err(unknown(BindingFault::Malformed));
        }
        for (place, text) in &message.mentions {
            let expected = Expected::of(message.method.as_deref(), *place);
            if matches!(expected, Expected::Own) {
                continue;
            }
            let text = text.ok_or(unknown(BindingFault::Malformed))?;
            let presented = text.decode(body).map_err(|_| unknown(BindingFault::Malformed))?;
            let Some(own) = self.unbind_task(&presented, &expected).map_err(unknown)? else { continue };
            edits.replace(text.span().start()..text.span().end(), quoted(&own));
            self.tasks.push(NamedTask { place: *place, own, presented: (*presented).into() });
        }
        Ok(())
    }

    /// The server's own id, where that is to be put.
    fn unbind_task(&self, presented: &str, expected: &Expected) -> Result<Option<Box<str>>, BindingFault> {
        match (expected, self.binder.verify_task(presented)) {
            (Expected::Own, _) => Ok(None),
            // What has not the form of a bound id is the client's own.
            (
                Expected::Either,
                Err(
                    BindingFault::Malformed
                    | BindingFault::OtherKind
                    | BindingFault::OtherVersion
                    | BindingFault::TooLong,
                ),
            ) => Ok(None),
            (Expected::Bound | Expected::Either, verified) => verified.map(|task| Some(task.id().into())),
        }
    }

    /// The id that the client knows a task by: that which it sent, should it be bound anew with another key.
    fn bind_task(&self, own: &str) -> Result<Box<str>, Unreadable> {
        match self.tasks.iter().find(|task| *task.own == *own) {
            Some(task) => Ok(task.presented.clone()),
            None => self.binder.bind_task(own).map(Into::into).map_err(|_| Unreadable::Unbindable),
        }
    }

    /// The id that the client knows a session by. One that it knows already keeps its time: no echo makes it younger.
    fn bind_session(&self, own: &HeaderValue) -> Result<HeaderValue, Unreadable> {
        let own = own.to_str().map_err(|_| Unreadable::Unbindable)?;
        match &self.session {
            Some((session, presented)) if session.id() == own => Ok(presented.clone()),
            Some(_) | None => {
                let bound = self.binder.bind_session(own, SystemTime::now());
                bound.ok().and_then(|bound| bound.try_into().ok()).ok_or(Unreadable::Unbindable)
            }
        }
    }
}

/// A task that is not the caller's.
fn unknown(fault: BindingFault) -> DenialKind {
    DenialKind::Binding(UnboundRequest::TaskUnknown(fault))
}

impl Rewrite for BoundIds {
    fn head(&self, head: &mut Parts) -> Result<(), Unreadable> {
        let headers = &mut head.headers;
        let mut values = headers.get_all(&SESSION).iter();
        let bound = match (values.next(), values.next()) {
            (None, _) => return Ok(()),
            (Some(own), None) => self.bind_session(own),
            (Some(_), Some(_)) => Err(Unreadable::Unbindable),
        };
        headers.remove(&SESSION);
        headers.insert(&SESSION, bound?);
        Ok(())
    }

    fn concerns(&self, message: &[u8]) -> bool {
        TaskMentions::may_be_in(message)
    }

    fn edits(&self, message: &Bytes, _: &mut Origin<'_>) -> Result<Edits, Unreadable> {
        let mut edits = Edits::new();
        for found in TaskMentions::read(message)? {
            for (place, text) in &found.mentions {
                if let Some(text) = text.filter(|_| is_of_server(found.method.as_deref(), *place)) {
                    let own = text.decode(message).map_err(|_| Unreadable::Unbindable)?;
                    edits.replace(text.span().start()..text.span().end(), quoted(&self.bind_task(&own)?));
                }
            }
        }
        Ok(edits)
    }

    fn holds_answers(&self) -> bool {
        self.holds_answers
    }

    fn is_exact(&self) -> bool {
        false
    }
}

/// Whether a task that a server names is its own: of the client's own it says what it wants of them, by a request.
fn is_of_server(method: Option<&str>, place: TaskPlace) -> bool {
    match (method, place) {
        (Some(method), TaskPlace::Params) => method.starts_with("notifications/tasks"),
        // A subscription is confirmed by its filter.
        (Some(_), TaskPlace::RelatedParams | TaskPlace::Filter) => true,
        (None, TaskPlace::RelatedResult | TaskPlace::Result | TaskPlace::ResultTask) => true,
        (Some(_) | None, _) => false,
    }
}

/// What stands between the quotes of a string.
fn quoted(text: &str) -> Bytes {
    let string = serde_json::to_string(text).unwrap_or_default();
    let inner = string.get(1..string.len().saturating_sub(1)).unwrap_or_default();
    Bytes::copy_from_slice(inner.as_bytes())
}
