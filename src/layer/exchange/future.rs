//! The way of one request.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::enquiry::{Enquiry, Heard, Reply, TurnedAway};
use super::front::Front;
use super::guard::{Admitted, Decided, Guard, Step};
use super::pass::{Passed, Waiting};
use super::passage::Passage;
use crate::http::{Admission, Collect, Collected, RequestBody, ResponseBody};
use crate::response::{Gather, Markings};

pin_project! {
    /// One request's way through a layer, and its response's way back.
    #[must_use = "futures do nothing unless polled"]
    pub(crate) struct Exchange<G, S, B, R>
    where
        G: Guard,
        S: Service<Request<RequestBody<B>>>,
    {
        guard: Arc<G>,
        #[pin]
        state: State<G::Deciding, S, S::Future, B, R>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<D, S, F, B, R> {
        // Nothing is forwarded.
        Answer { response: Option<Response<Bytes>> },
        // The inner service has a question of the layer.
        Ask { #[pin] future: F, waiting: Option<(Box<dyn Enquiry>, S)> },
        // The layer decides. The ready service waits.
        Decide { #[pin] deciding: D, ready: Option<S> },
        // The inner service has the request.
        Forward { #[pin] future: F, passage: Option<Passage> },
        // The answer to the layer's question is being received.
        Hear { #[pin] reply: Reply<R>, waiting: Option<(Box<dyn Enquiry>, S)> },
        // The response's body is being received.
        Gather { #[pin] gather: Gather<R>, waiting: Option<(Waiting, Passage)> },
        // The response waits until it is marked.
        Mark { markings: Markings, waiting: Option<(Response<ResponseBody<R>>, Passage)> },
        // The service that has answered a question is not called before it is ready anew.
        Ready { next: Option<Next>, service: Option<S> },
        // The body is being received. The head and the ready service wait for it.
        Receive { #[pin] collect: Collect<B>, waiting: Option<(Parts, S)>, admission: Admission },
    }
}

/// What an inner service is called with once it is ready anew.
enum Next {
    Ask(Box<dyn Enquiry>),
    Forward(Box<(Parts, Collected, Passage)>),
}

impl<G, S, B, R> Exchange<G, S, B, R>
where
    G: Guard,
    S: Service<Request<RequestBody<B>>, Response = Response<R>>,
    B: Body<Data = Bytes>,
{
    pub(crate) fn new(guard: Arc<G>, mut ready: S, request: Request<B>) -> Self {
        let (head, body) = request.into_parts();
        let state = match guard.admit(&head) {
            Ok(Admitted::Forward(passage)) => {
                let future = ready.call(Request::from_parts(head, RequestBody::unread(body)));
                State::Forward { future, passage: Some(*passage) }
            }
            Ok(Admitted::Receive(admission)) => {
                let collect = Collect::new(body, guard.front().limits(&head, admission));
                State::Receive { collect, waiting: Some((head, ready)), admission }
            }
            Err(denial) => {
                let response = guard.front().answer_unread(&denial, !body.is_end_stream());
                State::Answer { response: Some(response) }
            }
        };
        Self { guard, state }
    }
}

impl<D, S, B, R> State<D, S, S::Future, B, R>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>>,
{
    /// What follows a decision.
    fn decided(decided: Decided, mut ready: S, front: &Front, unread: bool) -> Self {
        match decided {
            Ok((head, Collected { bytes, trailers, hold }, passage)) => {
                let body = RequestBody::buffered(bytes, trailers, hold);
                State::Forward { future: ready.call(Request::from_parts(head, body)), passage: Some(passage) }
            }
            Err(denial) => State::Answer { response: Some(front.answer_unread(&denial, unread)) },
        }
    }

    fn ask(mut enquiry: Box<dyn Enquiry>, mut ready: S) -> Self {
        let (head, bytes) = enquiry.ask();
        let body = RequestBody::buffered(bytes, None, None);
        State::Ask { future: ready.call(Request::from_parts(head, body)), waiting: Some((enquiry, ready)) }
    }

    /// What follows once nothing else is asked.
    fn asked(enquiry: Box<dyn Enquiry>, service: S, front: &Front, turned_away: Option<TurnedAway>) -> Self {
        match enquiry.decide() {
            Ok(forward) => State::Ready { next: Some(Next::Forward(Box::new(forward))), service: Some(service) },
            Err(denial) => {
                let mut response = front.answer(&denial);
                turned_away.into_iter().for_each(|turned_away| turned_away.tell(&mut response));
                State::Answer { response: Some(response) }
            }
        }
    }
}

impl<G, S, B, R> Future for Exchange<G, S, B, R>
where
    G: Guard,
    S: Service<Request<RequestBody<B>>, Response = Response<R>>,
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    R: Body<Data = Bytes>,
{
    type Output = Result<Response<ResponseBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let front = this.guard.front();
        loop {
            let next = match this.state.as_mut().project() {
                StateProjection::Answer { response } => {
                    return Poll::Ready(Ok(once(response).map(ResponseBody::answer)));
                }
                StateProjection::Ask { future, waiting } => {
                    let response = ready!(future.poll(cx));
                    let (enquiry, service) = once(waiting);
                    let turned_away = response.as_ref().ok().and_then(TurnedAway::of);
                    let budget = || front.limits.budget.clone();
                    let reply = response.ok().and_then(|response| Reply::of(response, enquiry.limit(), budget()));
                    match reply {
                        Some(reply) => State::Hear { reply, waiting: Some((enquiry, service)) },
                        None => State::asked(enquiry, service, front, turned_away),
                    }
                }
                StateProjection::Decide { deciding, ready } => {
                    let decided = ready!(deciding.poll(cx));
                    State::decided(decided, once(ready), front, false)
                }
                StateProjection::Forward { future, passage } => {
                    let response = ready!(future.poll(cx))?;
                    let passage = once(passage);
                    match Front::pass(this.guard, response, &passage) {
                        Passed::Done(response) => return Poll::Ready(Ok(response)),
                        Passed::Gather(gather, waiting) => State::Gather { gather, waiting: Some((*waiting, passage)) },
                        Passed::Mark(markings, response) => {
                            State::Mark { markings, waiting: Some((response, passage)) }
                        }
                    }
                }
                StateProjection::Gather { gather, waiting } => {
                    let gathered = ready!(gather.poll(cx));
                    let (waiting, passage) = once(waiting);
                    let (markings, response) = front.finish(gathered, waiting, &passage);
                    State::Mark { markings, waiting: Some((response, passage)) }
                }
                StateProjection::Hear { reply, waiting } => {
                    let (mut enquiry, service) = once(waiting);
                    let Poll::Ready(heard) = reply.poll(cx, &mut *enquiry) else {
                        *waiting = Some((enquiry, service));
                        return Poll::Pending;
                    };
                    match heard {
                        Heard::Next => State::Ready { next: Some(Next::Ask(enquiry)), service: Some(service) },
                        Heard::Other | Heard::Over => State::asked(enquiry, service, front, None),
                    }
                }
                StateProjection::Mark { markings, waiting } => {
                    let marked = ready!(markings.poll(cx));
                    let (response, passage) = once(waiting);
                    return Poll::Ready(Ok(match marked {
                        Ok(()) => response,
                        Err(_) => front.withhold(response, &passage),
                    }));
                }
                StateProjection::Ready { next, service } => {
                    let mut ready = once(service);
                    let Poll::Ready(polled) = ready.poll_ready(cx) else {
                        *service = Some(ready);
                        return Poll::Pending;
                    };
                    polled?;
                    match once(next) {
                        Next::Ask(enquiry) => State::ask(enquiry, ready),
                        Next::Forward(forward) => State::decided(Ok(*forward), ready, front, false),
                    }
                }
                StateProjection::Receive { collect, waiting, admission } => {
                    let received = ready!(collect.poll(cx));
                    let (head, ready) = once(waiting);
                    let unread = received.as_ref().is_err_and(|lost| lost.unread);
                    match G::decide(this.guard, head, received, *admission) {
                        Step::Done(decided) => State::decided(decided, ready, front, unread),
                        Step::Enquire(enquiry) => State::ask(enquiry, ready),
                        Step::Wait(deciding) => State::Decide { deciding, ready: Some(ready) },
                    }
                }
            };
            this.state.set(next);
        }
    }
}

/// What is taken once.
#[expect(clippy::expect_used, reason = "the contract of Future")]
fn once<T>(slot: &mut Option<T>) -> T {
    slot.take().expect("polled after completion")
}
