//! Receiving a body, within bounds.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::Body;
use pin_project_lite::pin_project;

use super::{BufferBudget, Reservation};
use crate::message::IdSalvage;

/// How much of a body over the limit is received and dropped, so that its sender lives to read the answer.
const DRAIN: usize = 1 << 20;

/// How many frames, empty ones included, are received before others have a turn.
const FRAMES_PER_POLL: usize = 256;

/// Why a body did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BodyFault {
    /// All requests together buffer as much as they may.
    BudgetExhausted,
    /// It ended early, or its transport failed.
    Failed,
    /// It did not arrive in the time that the host gives.
    TimedOut,
    /// It is longer than the limit.
    TooLarge,
}

impl BodyFault {
    /// A stable name, for logs and for the `reason` of an answer.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::BudgetExhausted => "body.budget_exhausted",
            Self::Failed => "body.failed",
            Self::TimedOut => "body.timed_out",
            Self::TooLarge => "body.too_large",
        }
    }
}

impl fmt::Display for BodyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BudgetExhausted => "too much is being received at once",
            Self::Failed => "the body did not arrive",
            Self::TimedOut => "the body did not arrive in time",
            Self::TooLarge => "the body is too large",
        })
    }
}

impl Error for BodyFault {}

/// The bounds of one body.
#[derive(Clone, Debug)]
pub(crate) struct BodyLimits {
    pub(crate) bytes: usize,
    pub(crate) budget: Option<BufferBudget>,
    /// What an outer layer has taken from the same budget.
    pub(crate) taken: Option<Arc<Reservation>>,
    pub(crate) timed_out: fn(&(dyn Error + 'static)) -> bool,
}

/// A body that has arrived.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) bytes: Bytes,
    /// Seldom there: requests are moved about, and should be small.
    pub(crate) trailers: Option<Box<HeaderMap>>,
    pub(crate) hold: Option<Arc<Reservation>>,
}

/// A body that has not, and the id that was found in what there was of it.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) fault: BodyFault,
    pub(crate) id: Option<String>,
    /// There is more of the body than was read.
    pub(crate) unread: bool,
}

pin_project! {
    /// Receives a body. One frame is not copied; several are copied once.
    #[derive(Debug)]
    pub(crate) struct Collect<B> {
        #[pin]
        body: B,
        limits: BodyLimits,
        reservation: Option<Reservation>,
        pieces: Pieces,
        trailers: Option<Box<HeaderMap>>,
        drain: Option<Box<Drain>>,
    }
}

/// What is received of a body that is refused already.
#[derive(Debug)]
struct Drain {
    salvage: IdSalvage,
    left: usize,
}

impl<B: Body<Data = Bytes>> Collect<B> {
    pub(crate) fn new(body: B, limits: BodyLimits) -> Self {
        let too_large = usize::try_from(body.size_hint().lower()).map_or(true, |lower| lower > limits.bytes);
        let drain = too_large
            .then(|| Box::new(Drain { salvage: IdSalvage::default(), left: limits.bytes.saturating_add(DRAIN) }));
        let reservation = limits.budget.clone().map(|budget| Reservation::new(budget, limits.taken.clone()));
        Self { body, limits, reservation, pieces: Pieces::default(), trailers: None, drain }
    }

    /// What the sender announces, if it is more than would be drained.
    fn is_hopeless(&self) -> bool {
        let announced = self.body.size_hint().lower();
        usize::try_from(announced).map_or(true, |announced| announced > self.limits.bytes.saturating_add(DRAIN))
    }
}

impl<B> Future for Collect<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Output = Result<Collected, Lost>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.drain.is_some() && self.is_hopeless() {
            return Poll::Ready(Err(Lost { fault: BodyFault::TooLarge, id: None, unread: true }));
        }
        for _ in 0..FRAMES_PER_POLL {
            if self.body.is_end_stream() {
                return Poll::Ready(self.finish());
            }
            let Some(frame) = ready!(self.as_mut().project().body.poll_frame(cx)) else {
                return Poll::Ready(self.finish());
            };
            let received = match frame {
                Ok(frame) => match frame.into_data() {
                    Ok(data) => self.as_mut().receive(data),
                    Err(frame) => {
                        *self.as_mut().project().trailers = frame.into_trailers().ok().map(Box::new);
                        Ok(())
                    }
                },
                Err(error) => Err(self.as_mut().failed(error.into().as_ref())),
            };
            if let Err(lost) = received {
                return Poll::Ready(Err(lost));
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<B: Body<Data = Bytes>> Collect<B> {
    fn receive(self: Pin<&mut Self>, data: Bytes) -> Result<(), Lost> {
        let this = self.project();
        if let Some(drain) = this.drain {
            return drain.receive(&data);
        }
        if data.len() > this.limits.bytes - this.pieces.length {
            let mut drain = Drain { salvage: this.pieces.salvage(), left: DRAIN };
            (*this.pieces, *this.reservation) = (Pieces::default(), None);
            let received = drain.receive(&data);
            *this.drain = Some(Box::new(drain));
            return received;
        }
        if this.reservation.as_mut().is_some_and(|reservation| !reservation.buffer(data.len())) {
            let mut salvage = this.pieces.salvage();
            salvage.feed(&data);
            return Err(Lost { fault: BodyFault::BudgetExhausted, id: salvage.finish(), unread: true });
        }
        this.pieces.push(data);
        Ok(())
    }

    fn failed(self: Pin<&mut Self>, error: &(dyn Error + 'static)) -> Lost {
        let this = self.project();
        let mut causes = std::iter::successors(Some(error), |error| (*error).source());
        let timed_out = causes.any(|error| (this.limits.timed_out)(error));
        let fault = if timed_out { BodyFault::TimedOut } else { BodyFault::Failed };
        Lost { fault, id: this.pieces.salvage().finish(), unread: true }
    }

    fn finish(self: Pin<&mut Self>) -> Result<Collected, Lost> {
        let this = self.project();
        if let Some(drain) = this.drain.take() {
            return Err(Lost { fault: BodyFault::TooLarge, id: drain.salvage.finish(), unread: false });
        }
        let bytes = std::mem::take(this.pieces).join();
        Ok(Collected { bytes, trailers: this.trailers.take(), hold: this.reservation.take().map(Arc::new) })
    }
}

/// Frames shorter than this are copied together as they come: each would cost more to keep than it holds.
const SMALL: usize = 1 << 10;
/// The bytes of small frames that are kept as one piece.
const PIECE: usize = 64 << 10;

/// What has arrived. Nothing is set aside for what is only announced.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// Nearly every body has one frame, which is kept without a list.
    first: Bytes,
    more: Vec<Bytes>,
    /// Small frames, behind all others.
    small: BytesMut,
    length: usize,
}

impl Pieces {
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn push(&mut self, data: Bytes) {
        let first = self.length == 0;
        self.length += data.len();
        if first {
            self.first = data;
        } else if data.len() >= SMALL {
            self.close_small();
            self.more.push(data);
        } else {
            self.small.extend_from_slice(&data);
            if self.small.len() >= PIECE {
                self.close_small();
            }
        }
    }

    fn close_small(&mut self) {
        if !self.small.is_empty() {
            self.more.push(self.small.split().freeze());
        }
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let more = self.more.iter().map(|piece| &piece[..]);
        std::iter::once(&self.first[..]).chain(more).chain([&self.small[..]])
    }

    fn salvage(&self) -> IdSalvage {
        let mut salvage = IdSalvage::default();
        self.iter().for_each(|piece| salvage.feed(piece));
        salvage
    }

    /// All of it: the one piece that there is, or one copy of all.
    pub(crate) fn join(self) -> Bytes {
        if self.first.len() == self.length {
            return self.first;
        }
        let mut all = BytesMut::with_capacity(self.length);
        self.iter().for_each(|piece| all.extend_from_slice(piece));
        all.freeze()
    }
}

impl Drain {
    fn receive(&mut self, data: &[u8]) -> Result<(), Lost> {
        self.salvage.feed(data);
        match self.left.checked_sub(data.len()) {
            Some(left) => self.left = left,
            None => {
                let id = std::mem::take(&mut self.salvage).finish();
                return Err(Lost { fault: BodyFault::TooLarge, id, unread: true });
            }
        }
        Ok(())
    }
}
