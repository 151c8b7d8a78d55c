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

use super::gate::Gate;
use super::judge::{Admitted, Passage};
use super::pass::{Passed, Waiting};
use crate::http::{Admission, Collect, RequestBody, ResponseBody};
use crate::response::Gather;

pin_project! {
    /// The future of [`ArgumentAllowlistService`](super::ArgumentAllowlistService).
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, B, R>
    where
        S: Service<Request<RequestBody<B>>>,
    {
        gate: Arc<Gate>,
        #[pin]
        state: State<S, S::Future, B, R>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<S, F, B, R> {
        /// Nothing is forwarded.
        Answer { response: Option<Response<Bytes>> },
        /// The inner service has the request.
        Forward { #[pin] future: F, passage: Option<Passage> },
        /// The response's body is being received.
        Gather { #[pin] gather: Gather<R>, waiting: Option<(Waiting, Passage)> },
        /// The body is being received. The head and the ready service wait for it.
        Receive { #[pin] collect: Collect<B>, waiting: Option<(Parts, S)>, admission: Admission },
    }
}

impl<S, B, R> ResponseFuture<S, B, R>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>>,
    B: Body<Data = Bytes>,
{
    pub(super) fn new(gate: Arc<Gate>, mut ready: S, request: Request<B>) -> Self {
        let (head, body) = request.into_parts();
        let state = match gate.admit(&head) {
            Ok(Admitted::Forward(passage)) => {
                let future = ready.call(Request::from_parts(head, RequestBody::unread(body)));
                State::Forward { future, passage: Some(passage) }
            }
            Ok(Admitted::Receive(admission)) => {
                let collect = Collect::new(body, gate.limits(&head, admission));
                State::Receive { collect, waiting: Some((head, ready)), admission }
            }
            Err(denial) => State::Answer { response: Some(gate.answer_unread(&denial, !body.is_end_stream())) },
        };
        Self { gate, state }
    }
}

impl<S, B, R> Future for ResponseFuture<S, B, R>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>>,
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    R: Body<Data = Bytes>,
{
    type Output = Result<Response<ResponseBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProjection::Answer { response } => {
                    #[expect(clippy::expect_used, reason = "the contract of Future")]
                    let response = response.take().expect("polled after completion");
                    return Poll::Ready(Ok(response.map(ResponseBody::answer)));
                }
                StateProjection::Forward { future, passage } => {
                    let response = ready!(future.poll(cx))?;
                    #[expect(clippy::expect_used, reason = "the contract of Future")]
                    let passage = passage.take().expect("polled after completion");
                    match this.gate.pass(response, &passage) {
                        Passed::Done(response) => return Poll::Ready(Ok(response)),
                        Passed::Gather(gather, waiting) => State::Gather { gather, waiting: Some((*waiting, passage)) },
                    }
                }
                StateProjection::Gather { gather, waiting } => {
                    let gathered = ready!(gather.poll(cx));
                    #[expect(clippy::expect_used, reason = "the contract of Future")]
                    let (waiting, passage) = waiting.take().expect("polled after completion");
                    // Nothing holds on to the server from here on.
                    this.state.set(State::Answer { response: None });
                    return Poll::Ready(Ok(this.gate.finish(gathered, waiting, &passage)));
                }
                StateProjection::Receive { collect, waiting, admission } => {
                    let received = ready!(collect.poll(cx));
                    #[expect(clippy::expect_used, reason = "the contract of Future")]
                    let (head, mut ready) = waiting.take().expect("polled after completion");
                    let unread = received.as_ref().is_err_and(|lost| lost.unread);
                    match this.gate.decide(head, received, *admission) {
                        Ok((request, passage)) => {
                            State::Forward { future: ready.call(request), passage: Some(passage) }
                        }
                        Err(denial) => State::Answer { response: Some(this.gate.answer_unread(&denial, unread)) },
                    }
                }
            };
            this.state.set(next);
        }
    }
}
