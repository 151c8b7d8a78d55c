//! Answers of users that come after they have been given from here.

use http::Method;
use http::request::Parts;

use super::elicitations::User;
use super::{BoxBody, Inner, whole};
use crate::answer::Requester;
use crate::http::{BodyFault, BodyLimits, Collect};
use crate::message::MessageKind;
use crate::upstream::envelope::{Sort, read_all, text_at};

/// What a request may bring of a user's.
pub(super) enum Reply {
    /// Nothing, or an answer in time: it is sent on.
    InTime(BoxBody),
    /// All of it has been answered from here, or somebody else is asked for some of it.
    Late,
    /// The body has not arrived.
    Lost(BodyFault),
}

impl Inner {
    /// Looks for answers to what users have been asked.
    pub(super) async fn in_time(&self, head: &Parts, requester: &Requester, body: BoxBody) -> Reply {
        if head.method != Method::POST || self.elicitations.is_empty() {
            return Reply::InTime(body);
        }
        if let Some(inspection) = requester.inspection() {
            let replies = inspection.messages().map(|message| match message.kind() {
                MessageKind::Reply => message.id(),
                MessageKind::Notification | MessageKind::Request => None,
            });
            return if self.is_late(head, replies) { Reply::Late } else { Reply::InTime(body) };
        }
        // No gate has read it.
        let limits =
            BodyLimits { bytes: self.config.max_answer_bytes, budget: None, taken: None, timed_out: |_| false };
        let bytes = match Collect::new(body, limits).await {
            Ok(collected) => collected.bytes,
            Err(lost) => return Reply::Lost(lost.fault),
        };
        let said = read_all(&bytes).unwrap_or_default();
        let replies = said.iter().map(|said| {
            let id = said.id.clone().filter(|_| said.sort() == Sort::Answer);
            id.map(|place| text_at(&bytes, place))
        });
        if self.is_late(head, replies) { Reply::Late } else { Reply::InTime(whole(bytes)) }
    }

    /// Whether each of these is the id of an answer that comes too late, all of which are taken note of; or one of them
    /// that of an answer which somebody else is asked for.
    fn is_late<'a>(&self, head: &Parts, replies: impl Iterator<Item = Option<&'a str>>) -> bool {
        let (user, replies) = (User::of(head), Vec::from_iter(replies));
        if replies.iter().flatten().any(|id| self.elicitations.is_of_another(&user, id)) {
            return true;
        }
        let late = replies.into_iter().map(|id| id.is_some_and(|id| self.elicitations.is_late(&user, id)));
        late.fold(None, |all: Option<bool>, late| Some(all.unwrap_or(true) && late)).unwrap_or(false)
    }
}
