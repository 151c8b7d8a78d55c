//! Waiting for an answer, and for what comes before it.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep_until};

use super::hub::event;
use super::link::Ticket;
use crate::answer::{Addressee, Client, Denial, DenialKind, Negotiate, RespondToDenial, UpstreamFault};
use crate::message::Inspection;
use crate::upstream::future::after;

/// What comes next.
#[derive(Debug)]
pub(super) enum Next {
    Answer(Result<Bytes, UpstreamFault>),
    Notice(Bytes),
}

/// Who waits, when the request itself is no longer there.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    id: Option<Box<str>>,
    client: Client,
}

impl Caller {
    pub(super) fn of(head: &Parts, inspection: &Inspection) -> Self {
        let id = inspection.messages().next().and_then(|message| message.id().map(Box::from));
        Self { id, client: Client::of(head, inspection.era()) }
    }

    /// The id of what they have asked, as it is written.
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// What they are told.
    pub(super) fn denial(&self, fault: UpstreamFault) -> Denial {
        let addressee = self.id.clone().map_or(Addressee::Unknown, Addressee::Id);
        Denial::new(DenialKind::Upstream(fault), addressee, self.client)
    }
}

/// How long an answer is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) deadline: Instant,
    /// From each notice on.
    pub(super) more: Duration,
    /// A subscription has no end of its own, once it has begun.
    pub(super) endless: bool,
}

/// The wait for one answer, as a stream of events if something comes before it.
#[derive(Debug)]
pub(in crate::upstream) struct Answering {
    /// `None` once the answer has been handed on.
    ticket: Option<Ticket>,
    _place: OwnedSemaphorePermit,
    caller: Caller,
    first: Option<Bytes>,
    /// The answer, kept until what came before it is handed on.
    answer: Option<Result<Bytes, UpstreamFault>>,
    patience: Patience,
    begun: bool,
    deadline: Pin<Box<Sleep>>,
}

impl Answering {
    pub(super) fn new(ticket: Ticket, place: OwnedSemaphorePermit, caller: Caller, patience: Patience) -> Self {
        let deadline = Box::pin(sleep_until(patience.deadline));
        Self {
            ticket: Some(ticket),
            _place: place,
            caller,
            first: None,
            answer: None,
            patience,
            begun: false,
            deadline,
        }
    }

    pub(super) async fn next(&mut self) -> Next {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Puts back what was received first.
    pub(super) fn beginning_with(mut self, notice: Bytes) -> Self {
        self.first = Some(notice);
        self
    }

    /// The next event; `None` behind the answer.
    pub(in crate::upstream) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(event(&first)));
        }
        if self.ticket.is_none() {
            return Poll::Ready(None);
        }
        self.poll_next(cx).map(|next| match next {
            Next::Notice(notice) => Some(event(&notice)),
            Next::Answer(Ok(answer)) => Some(event(&answer)),
            Next::Answer(Err(fault)) => Some(event(Negotiate.respond(&self.caller.denial(fault)).body())),
        })
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        let Some(ticket) = &mut self.ticket else { return Poll::Pending };
        if self.answer.is_none()
            && let Poll::Ready(answer) = Pin::new(&mut ticket.answer).poll(cx)
        {
            self.answer = Some(answer.unwrap_or(Err(UpstreamFault::Unavailable)));
        }
        // What the child has said before its answer is here by now.
        if let Some(Poll::Ready(Some(notice))) = ticket.events.as_mut().map(|events| events.poll_recv(cx)) {
            self.begun = true;
            self.deadline.as_mut().reset(after(self.patience.more));
            return Poll::Ready(Next::Notice(notice));
        }
        let bounded = !(self.patience.endless && self.begun);
        if self.answer.is_none() && bounded && self.deadline.as_mut().poll(cx).is_ready() {
            self.answer = Some(Err(UpstreamFault::TimedOut));
        }
        match self.answer.take() {
            Some(answer) => {
                self.ticket = None;
                Poll::Ready(Next::Answer(answer))
            }
            None => Poll::Pending,
        }
    }
}
