//! A stream of events, each of which is read, changed if need be, and sent on before the next arrives.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame};
use pin_project_lite::pin_project;

use super::events::{Event, Splitter};
use super::plan::{ListRule, Watch};

/// How many events, or frames without one, are read before others have a turn.
const STEPS_PER_POLL: usize = 256;

/// What becomes of an event that cannot be read.
pub(crate) struct Failure {
    /// The message that ends the stream; empty where nobody waits for one.
    pub(crate) error: Bytes,
    /// Tells of each.
    pub(crate) tell: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Failure {
    fn tell(&self) {
        if let Some(tell) = &self.tell {
            tell();
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure").field("error", &self.error).finish_non_exhaustive()
    }
}

pin_project! {
    /// The events of a body as they may be handed on.
    #[derive(Debug)]
    pub(crate) struct EventBody<R> {
        #[pin]
        body: R,
        splitter: Splitter,
        watch: Watch,
        rules: Vec<ListRule>,
        failure: Failure,
        ready: VecDeque<Bytes>,
        ended: bool,
    }
}

impl<R: Body<Data = Bytes>> EventBody<R> {
    pub(crate) fn new(body: R, limit: usize, watch: Watch, rules: Vec<ListRule>, failure: Failure) -> Self {
        let splitter = Splitter::new(limit);
        Self { body, splitter, watch, rules, failure, ready: VecDeque::new(), ended: false }
    }

    pub(crate) fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, R::Error>>> {
        for _ in 0..STEPS_PER_POLL {
            self.as_mut().read_events();
            let this = self.as_mut().project();
            if let Some(piece) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            if *this.ended {
                return Poll::Ready(None);
            }
            match ready!(this.body.poll_frame(cx)) {
                // What is left is an event without its end: clients discard it, and nobody has read it.
                None => *this.ended = true,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.splitter.push(data),
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        self.ended && self.ready.is_empty()
    }

    /// Reads the events that are complete.
    fn read_events(self: Pin<&mut Self>) {
        let this = self.project();
        while !*this.ended {
            let event = match this.splitter.next() {
                None => return,
                Some(Ok(event)) => event,
                Some(Err(_)) => {
                    this.failure.tell();
                    this.ready.extend(last_event(&this.failure.error));
                    *this.ended = true;
                    return;
                }
            };
            if let Some(bytes) = handed_on(&event, *this.watch, this.rules) {
                this.ready.push_back(bytes);
                continue;
            }
            this.failure.tell();
            // Without a request there is nobody to answer.
            if *this.watch != Watch::Shapes {
                this.ready.push_back(event.with_data(&this.failure.error));
                *this.ended = true;
            }
        }
    }
}

/// An event as it may be handed on; `None` if it cannot be read.
fn handed_on(event: &Event, watch: Watch, rules: &[ListRule]) -> Option<Bytes> {
    let Some(data) = event.data().filter(|data| !data.is_empty()) else { return Some(event.raw().clone()) };
    if watch == Watch::Shapes && is_endpoint(&data) {
        return Some(event.raw().clone());
    }
    let pieces = watch.apply(&data, rules).ok()?;
    match &pieces[..] {
        [same] if *same == data => Some(event.raw().clone()),
        pieces => Some(event.with_data(&pieces.concat())),
    }
}

/// Whether data is what the transport of 2024-11-05 begins a stream with: where to post to. No parser takes it for
/// JSON, with or without comments.
fn is_endpoint(data: &[u8]) -> bool {
    let path = data.starts_with(b"/") && !data.starts_with(b"//") && !data.starts_with(b"/*");
    path || data.starts_with(b"http://") || data.starts_with(b"https://")
}

/// An event of its own, where there is none to put the error into.
fn last_event(error: &Bytes) -> Option<Bytes> {
    let event = || Bytes::from([b"data: ", &error[..], b"\n\n"].concat());
    (!error.is_empty()).then(event)
}
