//! Waiting for an answer, and for what comes before it.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep_until};

use super::hub::event;
use super::link::Ticket;
use crate::answer::{Negotiate, Requester, RespondToDenial, UpstreamFault};

/// What comes next.
#[derive(Debug)]
pub(super) enum Next {
    Answer(Result<Bytes, UpstreamFault>),
    Notice(Bytes),
}

/// The wait for one answer, as a stream of events if something comes before it.
#[derive(Debug)]
pub(in crate::upstream) struct Answering {
    /// `None` once the answer has been handed on.
    ticket: Option<Ticket>,
    requester: Requester,
    first: Option<Bytes>,
    /// The answer, kept until what came before it is handed on.
    answer: Option<Result<Bytes, UpstreamFault>>,
    timeout: Duration,
    /// A subscription has no end of its own.
    endless: bool,
    bounded: bool,
    deadline: Pin<Box<Sleep>>,
}

impl Answering {
    pub(super) fn new(ticket: Ticket, requester: Requester, timeout: Duration, deadline: Instant) -> Self {
        let subscribes = |inspection: &crate::message::Inspection| {
            inspection.messages().any(|message| message.method().is_ok_and(|method| method == "subscriptions/listen"))
        };
        Self {
            ticket: Some(ticket),
            endless: requester.inspection().is_some_and(subscribes),
            requester,
            first: None,
            answer: None,
            timeout,
            bounded: true,
            deadline: Box::pin(sleep_until(deadline)),
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
            Next::Answer(Err(fault)) => {
                let denial = self.requester.denial(fault);
                Some(event(Negotiate.respond(&denial).body()))
            }
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
            self.bounded = !self.endless;
            self.deadline.as_mut().reset(Instant::now() + self.timeout);
            return Poll::Ready(Next::Notice(notice));
        }
        if self.answer.is_none() && self.bounded && self.deadline.as_mut().poll(cx).is_ready() {
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
