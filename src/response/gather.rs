//! Receiving a response that has to be read as a whole.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame};
use pin_project_lite::pin_project;

use crate::answer::{DenialKind, UpstreamFault};
use crate::http::{BodyFault, BufferBudget, Pieces, Reservation};

/// How many frames are received before others have a turn.
const FRAMES_PER_POLL: usize = 256;

pin_project! {
    /// Receives a body of at most so many bytes.
    #[derive(Debug)]
    pub(crate) struct Gather<R> {
        #[pin]
        body: R,
        limit: usize,
        pieces: Pieces,
        trailers: Option<HeaderMap>,
        hold: Option<Reservation>,
    }
}

/// A body that has arrived.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub(crate) bytes: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
    pub(crate) hold: Option<Reservation>,
}

/// Why a body has not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// All that may be buffered is.
    NoBudget,
    /// It broke off.
    Broken,
    TooLarge,
}

impl From<Missing> for DenialKind {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::NoBudget => Self::Body(BodyFault::BudgetExhausted),
            Missing::Broken => Self::Upstream(UpstreamFault::InvalidAnswer),
            Missing::TooLarge => Self::Upstream(UpstreamFault::TooLarge),
        }
    }
}

impl<R: Body<Data = Bytes>> Gather<R> {
    pub(crate) fn new(body: R, limit: usize, budget: Option<BufferBudget>) -> Self {
        let hold = budget.map(|budget| Reservation::new(budget, None));
        Self { body, limit, pieces: Pieces::default(), trailers: None, hold }
    }

    /// Whether more is announced than may come.
    fn is_hopeless(&self) -> bool {
        usize::try_from(self.body.size_hint().lower()).map_or(true, |rest| rest > self.limit - self.pieces.len())
    }

    fn receive(self: Pin<&mut Self>, frame: Frame<Bytes>) -> Result<(), Missing> {
        let this = self.project();
        match frame.into_data() {
            Ok(data) if data.len() > *this.limit - this.pieces.len() => return Err(Missing::TooLarge),
            Ok(data) if this.hold.as_mut().is_some_and(|hold| !hold.buffer(data.len())) => {
                return Err(Missing::NoBudget);
            }
            Ok(data) => this.pieces.push(data),
            Err(frame) => *this.trailers = frame.into_trailers().ok(),
        }
        Ok(())
    }

    fn finish(self: Pin<&mut Self>) -> Gathered {
        let this = self.project();
        Gathered { bytes: mem::take(this.pieces).join(), trailers: this.trailers.take(), hold: this.hold.take() }
    }
}

impl<R: Body<Data = Bytes>> Future for Gather<R> {
    type Output = Result<Gathered, Missing>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        for _ in 0..FRAMES_PER_POLL {
            if self.is_hopeless() {
                return Poll::Ready(Err(Missing::TooLarge));
            }
            match ready!(self.as_mut().project().body.poll_frame(cx)) {
                None => return Poll::Ready(Ok(self.finish())),
                Some(Err(_)) => return Poll::Ready(Err(Missing::Broken)),
                Some(Ok(frame)) => {
                    if let Err(missing) = self.as_mut().receive(frame) {
                        return Poll::Ready(Err(missing));
                    }
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
