//! What a layer asks of the inner service for itself, before it decides.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{HeaderValue, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{Response, StatusCode};
use http_body::Body;
use pin_project_lite::pin_project;

use super::guard::Decided;
use super::pass::Media;
use crate::http::{BufferBudget, Reservation, is_coded};
use crate::response::{Gather, Missing, Splitter};

/// Questions to the inner service, one after another, and what is decided by what comes of them.
pub(crate) trait Enquiry: Send + Sync {
    /// The next question.
    fn ask(&mut self) -> (Parts, Bytes);

    /// What the response to it may have in bytes.
    fn limit(&self) -> usize;

    /// Takes in a message of the response.
    fn hear(&mut self, message: &Bytes) -> Heard;

    /// Decides, be it that not all has come.
    fn decide(self: Box<Self>) -> Decided;
}

/// What a message is to one who has asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "server-trust"), allow(dead_code, reason = "nobody asks"))]
pub(crate) enum Heard {
    /// There is another question.
    Next,
    /// It answers nothing.
    Other,
    /// Nothing else is asked.
    Over,
}

/// What a client has to learn of an answer that is none: that its session is over, or that it has to log in.
pub(super) struct TurnedAway {
    status: StatusCode,
    challenges: Vec<HeaderValue>,
}

impl TurnedAway {
    pub(super) fn of<R>(response: &Response<R>) -> Option<Self> {
        let status = response.status();
        let challenges = || response.headers().get_all(WWW_AUTHENTICATE).iter().cloned().collect();
        let says_so = [StatusCode::NOT_FOUND, StatusCode::UNAUTHORIZED].contains(&status);
        says_so.then(|| Self { status, challenges: challenges() })
    }

    /// Has a refusal say so as well.
    pub(super) fn tell(self, refusal: &mut Response<Bytes>) {
        *refusal.status_mut() = self.status;
        let headers = refusal.headers_mut();
        headers.extend(self.challenges.into_iter().map(|challenge| (WWW_AUTHENTICATE, challenge)));
    }
}

pin_project! {
    /// The response to a question, while its messages arrive.
    #[project = ReplyProjection]
    pub(super) enum Reply<R> {
        Events { #[pin] body: R, splitter: Splitter, left: usize, hold: Option<Reservation> },
        Whole { #[pin] gather: Gather<R> },
    }
}

/// How many frames and events are read before others have a turn.
const STEPS_PER_POLL: usize = 256;

impl<R: Body<Data = Bytes>> Reply<R> {
    /// None for what cannot be an answer.
    pub(super) fn of(response: Response<R>, limit: usize, budget: Option<BufferBudget>) -> Option<Self> {
        if !response.status().is_success() || is_coded(response.headers()) {
            return None;
        }
        let media = Media::of(response.headers());
        let body = response.into_body();
        match media {
            Media::Json => Some(Self::Whole { gather: Gather::new(body, limit, budget) }),
            Media::Events => {
                let hold = budget.map(|budget| Reservation::new(budget, None));
                Some(Self::Events { body, splitter: Splitter::new(limit), left: limit, hold })
            }
            Media::Absent | Media::Other => None,
        }
    }

    /// Has an enquiry hear what comes, until it knows enough: not all came if it never does.
    pub(super) fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, enquiry: &mut dyn Enquiry) -> Poll<Heard> {
        match self.project() {
            ReplyProjection::Whole { gather } => Poll::Ready(match ready!(gather.poll(cx)) {
                Ok(gathered) => enquiry.hear(&gathered.bytes),
                Err(Missing::Broken | Missing::NoBudget | Missing::TooLarge) => Heard::Over,
            }),
            ReplyProjection::Events { mut body, splitter, left, hold } => {
                for _ in 0..STEPS_PER_POLL {
                    match hear_events(splitter, enquiry) {
                        Heard::Other if grown(hold, splitter.held()) => {}
                        Heard::Other => return Poll::Ready(Heard::Over),
                        heard @ (Heard::Next | Heard::Over) => return Poll::Ready(heard),
                    }
                    let Some(Ok(frame)) = ready!(body.as_mut().poll_frame(cx)) else { return Poll::Ready(Heard::Over) };
                    let Ok(data) = frame.into_data() else { continue };
                    match left.checked_sub(data.len()) {
                        Some(rest) => *left = rest,
                        None => return Poll::Ready(Heard::Over),
                    }
                    splitter.push(data);
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

/// Whether what is held of an event may be.
fn grown(hold: &mut Option<Reservation>, bytes: usize) -> bool {
    hold.as_mut().is_none_or(|hold| hold.resize(bytes))
}

/// The events that are complete.
fn hear_events(splitter: &mut Splitter, enquiry: &mut dyn Enquiry) -> Heard {
    while let Some(event) = splitter.next() {
        let Ok(event) = event else { return Heard::Over };
        let data = event.data().filter(|_| event.has_json() && event.is_message());
        match data.map_or(Heard::Other, |data| enquiry.hear(&data)) {
            Heard::Other => {}
            heard @ (Heard::Next | Heard::Over) => return heard,
        }
    }
    Heard::Other
}
