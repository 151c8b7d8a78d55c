//! A store whose visits wait until they are told to go on, and one request driven by hand.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use tokio_test::task;
use tower::Layer;
use tower_test::mock;
use tower_toolgate::http::{RequestBody, ResponseBody};
use tower_toolgate::layer::content_trust::ContentTrustLayer;
use tower_toolgate::store::{MemoryTaintStore, StoreError, TaintStore, Visit, Visited};

use super::support::*;

/// A store that records who visits it, and lets nobody through until it is told to.
#[derive(Clone)]
pub(crate) struct Stepped {
    pub(crate) memory: MemoryTaintStore,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    asked: Vec<Visit>,
    may_pass: usize,
    fails: bool,
    waiting: Vec<Waker>,
}

impl Stepped {
    /// One that holds everybody.
    pub(crate) fn new() -> Self {
        Self { memory: MemoryTaintStore::new(100), state: Arc::default() }
    }

    /// One that holds nobody.
    pub(crate) fn open() -> Self {
        let store = Self::new();
        store.let_pass(usize::MAX);
        store
    }

    /// Lets so many visits pass.
    pub(crate) fn let_pass(&self, visits: usize) {
        let mut state = self.state.lock().unwrap();
        state.may_pass = visits;
        state.waiting.drain(..).for_each(Waker::wake);
    }

    /// From now on no visit gets an answer, or each does.
    pub(crate) fn fail(&self, fails: bool) {
        self.state.lock().unwrap().fails = fails;
    }

    /// All who came.
    pub(crate) fn asked(&self) -> Vec<Visit> {
        self.state.lock().unwrap().asked.clone()
    }

    /// Those who came to mark.
    pub(crate) fn marking(&self) -> usize {
        self.asked().iter().filter(|visit| !visit.marks.is_none()).count()
    }
}

impl TaintStore for Stepped {
    type Visit = Step;

    fn visit(&self, visit: Visit) -> Step {
        self.state.lock().unwrap().asked.push(visit.clone());
        Step { store: self.clone(), visit }
    }

    fn retention(&self) -> Option<Duration> {
        None
    }

    fn forgets_at_restart(&self) -> bool {
        true
    }
}

/// A visit.
pub(crate) struct Step {
    store: Stepped,
    visit: Visit,
}

impl Future for Step {
    type Output = Result<Visited, StoreError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.store.state.lock().unwrap();
        let Some(left) = state.may_pass.checked_sub(1) else {
            state.waiting.push(cx.waker().clone());
            return Poll::Pending;
        };
        state.may_pass = left;
        Poll::Ready(if state.fails {
            Err(StoreError::Unavailable)
        } else {
            self.store.memory.visit(self.visit.clone()).into_inner()
        })
    }
}

type Mock<R> = mock::Mock<Request<RequestBody<Full<Bytes>>>, Response<R>>;
type Driven<R> = Pin<Box<dyn Future<Output = Result<Answer<R>, BoxError>>>>;

/// One request on its way.
pub(crate) struct Running<R: Send + 'static> {
    pub(crate) future: task::Spawn<Driven<R>>,
    handle: Handle<Full<Bytes>, R>,
    send: Option<mock::SendResponse<Response<R>>>,
    _alive: Mock<R>,
}

impl<R: Body<Data = Bytes> + Send + 'static> Running<R> {
    pub(crate) fn start<T: TaintStore>(layer: &ContentTrustLayer<T>, request: Request<Full<Bytes>>) -> Self {
        let (mock, handle): (Mock<R>, _) = mock::pair();
        let alive = mock.clone();
        let mut service = mock::Spawn::new(layer.layer(mock));
        assert!(service.poll_ready().is_ready());
        let future: Driven<R> = Box::pin(service.call(request));
        Self { future: task::spawn(future), handle, send: None, _alive: alive }
    }

    pub(crate) fn poll(&mut self) -> Poll<Answer<R>> {
        self.future.poll().map(Result::unwrap)
    }

    /// Whether the inner service has the request.
    pub(crate) fn is_dispatched(&mut self) -> bool {
        if self.send.is_none()
            && let Poll::Ready(Some((_, send))) = self.handle.poll_request()
        {
            self.send = Some(send);
        }
        self.send.is_some()
    }

    pub(crate) fn answer(&mut self, response: Response<R>) {
        assert!(self.is_dispatched(), "not forwarded");
        self.send.take().unwrap().send_response(response);
    }

    /// The inner service ends without an answer.
    pub(crate) fn fail(&mut self) {
        assert!(self.is_dispatched(), "not forwarded");
        self.send.take().unwrap().send_error("reset");
    }
}

/// The next frame of a body, if there is one.
pub(crate) fn next<R>(body: &mut task::Spawn<Pin<Box<ResponseBody<R>>>>) -> Poll<Option<Bytes>>
where
    R: Body<Data = Bytes, Error: std::fmt::Debug>,
{
    body.enter(|cx, body| body.get_mut().as_mut().poll_frame(cx))
        .map(|frame| Some(frame?.unwrap().into_data().unwrap()))
}
