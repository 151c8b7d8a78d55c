//! A stream of events, each of which is read, changed if need be, and sent on before the next arrives.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame};
use pin_project_lite::pin_project;

use super::events::{Event, Splitter, TooLong};
use super::ingest::{Carrier, Markings, Unmarked};
use super::lists::Unreadable;
use super::plan::{Stages, Watch};
use super::rewrite::Origin;
use crate::answer::{DenialKind, TrustFault, UpstreamFault};
use crate::http::{BodyFault, BufferBudget, Reservation};
use crate::json::is_the_very;

/// How many events, or frames without one, are read before others have a turn.
const STEPS_PER_POLL: usize = 256;

/// Tells of an event that cannot be read, and gives the message for whoever waits: empty where nobody does.
pub(crate) struct Failure(pub(crate) Box<dyn Fn(DenialKind) -> Bytes + Send + Sync>);

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Failure(..)")
    }
}

pin_project! {
    /// The events of a body as they may be handed on.
    #[derive(Debug)]
    pub(crate) struct EventBody<R> {
        // None once the stream has ended, so that nothing holds on to the server.
        #[pin]
        body: Option<R>,
        splitter: Splitter,
        held: Option<Reservation>,
        watch: Watch,
        stages: Stages,
        failure: Failure,
        // What waits until it is marked.
        waiting: Option<(Markings, Bytes)>,
        ended: bool,
    }
}

/// What became of the bytes that are there.
enum Step {
    /// This is handed on.
    Event(Bytes),
    /// An event was not, or not yet.
    Dropped,
    /// Others are needed.
    Starved,
}

impl<R: Body<Data = Bytes>> EventBody<R> {
    pub(crate) fn new(
        body: R,
        limit: usize,
        budget: Option<BufferBudget>,
        watch: Watch,
        stages: Stages,
        failure: Failure,
    ) -> Self {
        let held = budget.map(|budget| Reservation::new(budget, None));
        let (body, splitter) = (Some(body), Splitter::new(limit));
        Self { body, splitter, held, watch, stages, failure, waiting: None, ended: false }
    }

    pub(crate) fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, R::Error>>> {
        for _ in 0..STEPS_PER_POLL {
            match ready!(self.as_mut().poll_waiting(cx)).unwrap_or_else(|| self.as_mut().step()) {
                Step::Event(bytes) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Step::Dropped => continue,
                Step::Starved => {}
            }
            let mut this = self.as_mut().project();
            let Some(body) = this.body.as_mut().as_pin_mut() else {
                *this.ended = true;
                return Poll::Ready(None);
            };
            match ready!(body.poll_frame(cx)) {
                None => {
                    this.splitter.close();
                    this.body.set(None);
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.splitter.push(data),
                    Err(mut frame) => {
                        frame.trailers_mut().into_iter().for_each(|trailers| this.stages.rewrites.trailers(trailers));
                        return Poll::Ready(Some(Ok(frame)));
                    }
                },
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        self.ended
    }

    /// Whether something waits until it is marked, and what becomes of it then.
    fn poll_waiting(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Step>> {
        let this = self.as_mut().project();
        let Some((markings, _)) = this.waiting else { return Poll::Ready(None) };
        let marked = ready!(markings.poll(cx));
        let event = this.waiting.take().map(|(_, event)| Step::Event(event));
        Poll::Ready(match marked {
            Ok(()) => event,
            Err(Unmarked) => Some(self.fail(None, DenialKind::Trust(TrustFault::Withheld))),
        })
    }

    /// Reads an event, if one is complete.
    fn step(mut self: Pin<&mut Self>) -> Step {
        let this = self.as_mut().project();
        if *this.ended {
            return Step::Starved;
        }
        match this.splitter.next() {
            None if grown(this.held, this.splitter.held()) => Step::Starved,
            None => self.fail(None, DenialKind::Body(BodyFault::BudgetExhausted)),
            Some(Err(TooLong)) => self.fail(None, DenialKind::Upstream(UpstreamFault::TooLarge)),
            Some(Ok(event)) => match handed_on(&event, *this.watch, this.stages) {
                Ok(bytes) => self.mark(&event, bytes),
                Err(unreadable) if unreadable.is_unwanted() => self.drop_event(&event, unreadable.into()),
                Err(unreadable) => self.fail(Some(&event), unreadable.into()),
            },
        }
    }

    /// Looks at an event before it is handed on.
    fn mark(self: Pin<&mut Self>, event: &Event, bytes: Bytes) -> Step {
        let this = self.project();
        if this.stages.ingests.is_empty() || !event.has_json() {
            return Step::Event(bytes);
        }
        // Where some readers find data in other lines, the whole of it cannot be read.
        let data = event.data().filter(|_| !event.hides_json()).unwrap_or_else(|| event.raw().clone());
        let mut markings = this.stages.ingests.examine(&data, Carrier::Stream);
        if markings.is_empty() {
            return Step::Event(bytes);
        }
        *this.waiting = Some((markings, bytes));
        Step::Dropped
    }

    /// An event goes, and the stream goes on.
    fn drop_event(self: Pin<&mut Self>, event: &Event, kind: DenialKind) -> Step {
        (self.project().failure.0)(kind);
        event.without_data().map_or(Step::Dropped, Step::Event)
    }

    /// What becomes of an event that cannot be read.
    fn fail(self: Pin<&mut Self>, event: Option<&Event>, kind: DenialKind) -> Step {
        let mut this = self.project();
        let error = (this.failure.0)(kind);
        let left = event.and_then(Event::without_data);
        // Who waits for nothing, and who does not look at it, goes on.
        if *this.watch == Watch::Shapes || event.is_some_and(|event| !event.is_message()) {
            return left.map_or(Step::Dropped, Step::Event);
        }
        *this.ended = true;
        this.body.set(None);
        if error.is_empty() {
            return left.map_or(Step::Dropped, Step::Event);
        }
        let id = left.as_deref().and_then(|left| left.strip_suffix(b"\n")).unwrap_or_default();
        Step::Event([id, b"data: ", &error[..], b"\n\n"].concat().into())
    }
}

/// Whether what is held of an event may be.
fn grown(held: &mut Option<Reservation>, bytes: usize) -> bool {
    held.as_mut().is_none_or(|held| held.resize(bytes))
}

/// An event as it may be handed on.
fn handed_on(event: &Event, watch: Watch, stages: &Stages) -> Result<Bytes, Unreadable> {
    // Without a bracket there is no message in it, however it is read: a sign of life, or the place to post to.
    if stages.change_nothing() || !event.has_json() {
        return Ok(event.raw().clone());
    }
    // What hides from clients that follow the standard matters where something must not be seen.
    let conceals = stages.are_exact();
    let data = event.data().filter(|data| !data.is_empty());
    let Some(data) = data else {
        return Ok(if conceals { event.with_data(&[b""]) } else { event.raw().clone() });
    };
    let pieces = stages.apply(watch, &data, Origin::Stream)?;
    Ok(match &pieces[..] {
        [same] if is_the_very(same, &data) && !(conceals && event.hides_json()) => event.raw().clone(),
        pieces => event.with_data(pieces),
    })
}
