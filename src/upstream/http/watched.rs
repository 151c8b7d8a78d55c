//! A stream of a server's events, without those that are answered from here.

use std::collections::VecDeque;
use std::iter;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio_util::sync::PollSemaphore;

use super::replier::{Left, Replier, Sieved};
use crate::response::{Event, Splitter, TooLong};

/// How many events, or frames without one, are read before others have a turn.
const STEPS_PER_POLL: usize = 256;

/// The bytes that a splitter appends to a stream that ends within an event.
const CLOSING: usize = 2;

/// The events of a body, each as soon as it is complete.
#[derive(Debug)]
pub(in crate::upstream) struct Watched<R> {
    /// `None` once there is no more of it.
    body: Option<R>,
    splitter: Splitter,
    replier: Replier,
    /// Those that are to be sent before anything is handed on.
    answers: VecDeque<Bytes>,
    permits: PollSemaphore,
    /// What is handed on next.
    next: Option<Bytes>,
    trailers: Option<Frame<Bytes>>,
    ended: bool,
}

type Framed<E> = Result<Frame<Bytes>, Broken<E>>;

/// What ends a stream early.
#[derive(Debug)]
pub(in crate::upstream) enum Broken<E> {
    Body(E),
    /// Of an event there is more than may be held.
    TooLong,
}

impl<R: Body<Data = Bytes> + Unpin> Watched<R> {
    /// A stream of events of which none has more bytes than `limit`.
    pub(super) fn new(body: R, limit: usize, replier: Replier) -> Self {
        let permits = PollSemaphore::new(Arc::clone(replier.permits()));
        Self {
            body: Some(body),
            splitter: Splitter::new(limit),
            replier,
            answers: VecDeque::new(),
            permits,
            next: None,
            trailers: None,
            ended: false,
        }
    }

    pub(in crate::upstream) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Framed<R::Error>>> {
        for _ in 0..STEPS_PER_POLL {
            ready!(self.poll_answers(cx));
            if let Some(next) = self.next.take() {
                return Poll::Ready(Some(Ok(Frame::data(next))));
            }
            match self.splitter.next().filter(|_| !self.ended) {
                Some(Ok(event)) => {
                    self.next = self.sieved(&event).unwrap_or_else(|| Some(event.raw().clone()));
                    continue;
                }
                Some(Err(TooLong)) => return Poll::Ready(Some(Err(self.end(Broken::TooLong)))),
                None => {}
            }
            if let Some(trailers) = self.trailers.take() {
                return Poll::Ready(Some(Ok(trailers)));
            }
            let Some(body) = &mut self.body else {
                self.ended = true;
                return Poll::Ready(None);
            };
            let frame = ready!(Pin::new(body).poll_frame(cx)).transpose();
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Ok(Some(Ok(data))) => self.splitter.push(data),
                Ok(Some(Err(trailers))) => {
                    self.trailers = Some(trailers);
                    self.close();
                }
                Ok(None) => self.close(),
                Err(error) => return Poll::Ready(Some(Err(self.end(Broken::Body(error))))),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    pub(in crate::upstream) fn is_end_stream(&self) -> bool {
        self.ended
    }

    /// Sends what is to be answered, as many at once as may be.
    fn poll_answers(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while !self.answers.is_empty() {
            // The semaphore is never closed.
            let Some(permit) = ready!(self.permits.poll_acquire(cx)) else { return Poll::Ready(()) };
            if let Some(answer) = self.answers.pop_front() {
                self.replier.send(answer, permit);
            }
        }
        Poll::Ready(())
    }

    /// What is handed on of an event that is changed, if anything; `None` of one that is not.
    fn sieved(&mut self, event: &Event) -> Option<Option<Bytes>> {
        let data = event.data().filter(|_| event.has_json())?;
        let Sieved { left, answers } = self.replier.sieve(&data);
        self.answers.extend(answers);
        match left {
            Left::All => None,
            // Where to resume is said by the event all the same.
            Left::Nothing => Some(event.without_data()),
            Left::Some(edits) => Some(Some(event.with_data(&edits.pieces(&data)))),
        }
    }

    /// Reads what the stream has left without its end, which conforming clients discard and others read all the same.
    fn close(&mut self) {
        self.body = None;
        self.splitter.close();
        let Some(Ok(tail)) = self.splitter.next() else { return };
        let behind: usize = iter::from_fn(|| self.splitter.next()).flatten().map(|event| event.raw().len()).sum();
        let mut raw = tail.raw().clone();
        raw.truncate((raw.len() + behind).saturating_sub(CLOSING));
        self.next = self.sieved(&tail).unwrap_or(Some(raw));
    }

    fn end(&mut self, broken: Broken<R::Error>) -> Broken<R::Error> {
        (self.body, self.ended) = (None, true);
        broken
    }
}

#[cfg(test)]
mod tests;
