//! Readiness, cancellation, and what a future and a service are.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{Empty, Full};
use tokio_test::task;
use tower::limit::{ConcurrencyLimit, ConcurrencyLimitLayer};
use tower::{Layer, Service};
use tower_test::mock;
use tower_toolgate::answer::Denial;
use tower_toolgate::http::{RequestBody, ResponseBody};
use tower_toolgate::layer::argument_allowlist::{ArgumentAllowlistLayer, ArgumentAllowlistService, ResponseFuture};

use super::support::{Answer, Script, Step, gated, legal, mcp, post, post_text, tool_call};

type Text = Full<Bytes>;

fn denied() -> Request<Text> {
    post_text(tool_call("1", "search_secret", "{}"))
}

fn ready<F, T, E: std::fmt::Debug>(future: F) -> T
where
    F: Future<Output = Result<T, E>>,
{
    match task::spawn(future).poll() {
        Poll::Ready(output) => output.unwrap(),
        Poll::Pending => panic!("pending"),
    }
}

fn is_denial(response: &Answer<Text>) -> bool {
    response.status() == StatusCode::FORBIDDEN && response.extensions().get::<Denial>().is_some()
}

#[test]
fn poll_ready_is_the_inner_service_s() {
    let (mut service, mut handle) = gated::<Text, Text>(&mcp());
    handle.allow(0);
    assert!(service.poll_ready().is_pending());
    handle.allow(1);
    assert!(service.is_woken());
    assert!(service.poll_ready().is_ready());

    handle.send_error("broken");
    let (mut service, mut handle) = gated::<Text, Text>(&mcp());
    handle.send_error("broken");
    assert!(matches!(service.poll_ready(), Poll::Ready(Err(error)) if error.to_string() == "broken"));
}

#[test]
fn the_error_of_the_inner_service_is_handed_on() {
    let (mut service, mut handle) = gated::<Text, Text>(&mcp());
    assert!(service.poll_ready().is_ready());
    let mut future = task::spawn(service.call(post_text(legal())));
    assert!(future.poll().is_pending());
    let Poll::Ready(Some((_, send))) = handle.poll_request() else { panic!("not forwarded") };
    send.send_error("broken");
    assert!(matches!(future.poll(), Poll::Ready(Err(error)) if error.to_string() == "broken"));
}

/// A service that panics unless the very value that is called was polled ready before, once for each call.
#[derive(Default)]
struct Strict {
    ready: bool,
    calls: Arc<AtomicUsize>,
}

impl Clone for Strict {
    fn clone(&self) -> Self {
        Self { ready: false, calls: Arc::clone(&self.calls) }
    }
}

impl<B> Service<Request<B>> for Strict {
    type Response = Response<Text>;
    type Error = std::convert::Infallible;
    type Future = std::future::Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "called without having been polled ready");
        self.calls.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok(Response::new(Full::from("inner"))))
    }
}

#[test]
fn the_service_that_was_polled_ready_is_the_one_that_is_called() {
    let strict = Strict::default();
    let calls = Arc::clone(&strict.calls);
    let mut service = mock::Spawn::new(mcp().layer(strict));
    for round in 1..=3 {
        assert!(service.poll_ready::<Request<Text>>().is_ready());
        let response = ready(service.call(post_text(legal())));
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(calls.load(Ordering::Relaxed), round);
        assert!(service.poll_ready::<Request<Text>>().is_ready());
        assert!(is_denial(&ready(service.call(denied()))));
        assert_eq!(calls.load(Ordering::Relaxed), round);
    }
    let mut grpc = mock::Spawn::new(
        ArgumentAllowlistLayer::grpc(super::support::policy()).layer(service.into_inner().into_inner()),
    );
    assert!(grpc.poll_ready::<Request<Text>>().is_ready());
    let request = Request::post("/echo.Echo/Say").header("content-type", "application/grpc");
    let request = request.extension(tower_toolgate::Role::new("analyst")).body(Text::default()).unwrap();
    ready(grpc.call(request));
    assert_eq!(calls.load(Ordering::Relaxed), 4);
}

type Limited<B> = ArgumentAllowlistService<ConcurrencyLimit<mock::Mock<Request<RequestBody<B>>, Response<Text>>>>;
type Handle<B> = mock::Handle<Request<RequestBody<B>>, Response<Text>>;

fn limited<B: Send + 'static>() -> (mock::Spawn<Limited<B>>, Handle<B>) {
    let (mock, handle) = mock::pair();
    (mock::Spawn::new(mcp().layer(ConcurrencyLimitLayer::new(1).layer(mock))), handle)
}

#[test]
fn th_113_a_permit_is_honoured_and_never_taken_twice() {
    let (mut service, mut handle) = limited();
    let mut clone = mock::Spawn::new(service.get_ref().clone());
    assert!(service.poll_ready().is_ready());
    assert!(clone.poll_ready().is_pending(), "one permit");

    let mut one = task::spawn(service.call(post(Script::new([Step::Data(legal().into()), Step::Later]))));
    assert!(one.poll().is_pending());
    assert!(service.poll_ready().is_pending(), "the permit is the first call's while its body arrives");
    assert!(one.poll().is_pending());
    let Poll::Ready(Some((_, send))) = handle.poll_request() else { panic!("not forwarded") };
    assert!(service.poll_ready().is_pending(), "and while it is answered");
    assert!(clone.poll_ready().is_pending());
    send.send_response(Response::new(Full::from("inner")));
    assert!(matches!(one.poll(), Poll::Ready(Ok(_))));
    drop(one);

    assert!(clone.poll_ready().is_ready(), "the clone was first in line");
    drop(clone);
    assert!(service.poll_ready().is_ready());
    let mut two = task::spawn(service.call(post(Script::of([legal()]))));
    assert!(two.poll().is_pending());
    assert!(matches!(handle.poll_request(), Poll::Ready(Some(_))));
}

#[test]
fn th_113_a_denial_gives_the_permit_back() {
    type Make = fn() -> Request<Script>;
    let (mut service, mut handle) = limited();
    let requests: [(&str, Make); 3] = [
        ("by its head", || {
            let mut request = post(Script::new([Step::Stay]));
            request.headers_mut().remove("content-type");
            request
        }),
        ("by its body", || post(Script::of([tool_call("1", "search_secret", "{}")]))),
        ("by a fault", || post(Script::new([Step::Fail("reset".into())]))),
    ];
    for (name, request) in requests {
        assert!(service.poll_ready().is_ready(), "{name}");
        let mut future = task::spawn(service.call(request()));
        assert!(future.poll().is_ready(), "{name}");
        // The future is not dropped yet.
        assert!(service.poll_ready().is_ready(), "{name}");
        assert!(handle.poll_request().is_pending(), "{name}");
    }
}

#[test]
fn dropping_the_future_while_the_body_arrives_drops_all_that_it_holds() {
    let (mut service, mut handle) = limited();
    assert!(service.poll_ready().is_ready());
    let body = Script::new([Step::Data(legal().into()), Step::Stay]);
    let alive = body.polls();
    let mut future = task::spawn(service.call(post(body)));
    assert!(future.poll().is_pending());
    assert_eq!(Arc::strong_count(&alive), 2);
    assert!(service.poll_ready().is_pending());
    drop(future);
    assert_eq!(Arc::strong_count(&alive), 1, "the body is gone");
    assert!(service.poll_ready().is_ready(), "the permit is back");
    assert!(handle.poll_request().is_pending(), "nothing was forwarded");
}

/// A service whose future says when it is dropped.
#[derive(Clone, Default)]
struct Slow(Arc<AtomicBool>);

struct Never(Arc<AtomicBool>);

impl Drop for Never {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Future for Never {
    type Output = Result<Response<Text>, std::convert::Infallible>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Pending
    }
}

impl<B> Service<Request<B>> for Slow {
    type Response = Response<Text>;
    type Error = std::convert::Infallible;
    type Future = Never;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Never {
        Never(Arc::clone(&self.0))
    }
}

#[test]
fn dropping_the_future_while_it_forwards_drops_the_inner_one() {
    let slow = Slow::default();
    let dropped = Arc::clone(&slow.0);
    let mut future = task::spawn(mcp().layer(slow).call(post_text(legal())));
    assert!(future.poll().is_pending());
    assert!(!dropped.load(Ordering::Relaxed));
    drop(future);
    assert!(dropped.load(Ordering::Relaxed));
}

#[test]
fn nothing_happens_before_the_future_is_polled() {
    let (mut service, mut handle) = gated::<Script, Text>(&mcp());
    assert!(service.poll_ready().is_ready());
    let body = Script::of([legal()]);
    let polls = body.polls();
    let _future = service.call(post(body));
    assert_eq!(polls.load(Ordering::Relaxed), 0);
    assert!(handle.poll_request().is_pending());
}

#[test]
fn clones_are_independent() {
    let (mut service, mut handle) = gated::<Script, Text>(&mcp());
    let mut clone = mock::Spawn::new(service.get_ref().clone());
    assert!(service.poll_ready().is_ready() && clone.poll_ready().is_ready());
    let mut stuck = task::spawn(service.call(post(Script::new([Step::Stay]))));
    assert!(stuck.poll().is_pending());
    let mut future = task::spawn(clone.call(post(Script::of([legal()]))));
    assert!(future.poll().is_pending());
    let Poll::Ready(Some((_, send))) = handle.poll_request() else { panic!("not forwarded") };
    send.send_response(Response::new(Full::from("inner")));
    assert!(future.poll().is_ready());
    assert!(stuck.poll().is_pending());
}

#[test]
fn a_changed_layer_leaves_what_it_was_cloned_from_alone() {
    let layer = mcp();
    let service = layer.layer(Strict::default());
    let shadow = layer.clone().with_insecure_shadow(true);
    for (mut service, passes) in
        [(service, false), (layer.layer(Strict::default()), false), (shadow.layer(Strict::default()), true)]
    {
        let mut service = {
            ready(std::future::poll_fn(|cx| Service::<Request<Text>>::poll_ready(&mut service, cx)));
            service
        };
        assert_eq!(ready(service.call(denied())).status() == StatusCode::OK, passes);
    }
}

#[test]
fn a_body_that_cannot_be_moved_is_received_where_it_is() {
    // Ambiguous, and so no program, where the body is `Unpin`.
    trait NotUnpin<A> {
        fn holds() {}
    }
    impl<T> NotUnpin<()> for T {}
    impl<T: Unpin> NotUnpin<u8> for T {}
    <Script as NotUnpin<_>>::holds();

    let body = Script::new([Step::Later, Step::Data(legal().into()), Step::Later]);
    let (mut service, mut handle) = gated::<Script, Text>(&mcp());
    assert!(service.poll_ready().is_ready());
    let mut future = task::spawn(service.call(post(body)));
    assert!(future.poll().is_pending() && future.is_woken());
    assert!(future.poll().is_pending() && future.is_woken());
    assert!(future.poll().is_pending());
    assert!(handle.poll_request().is_ready());
}

#[test]
fn everything_is_send_and_sync_where_its_parts_are() {
    fn thread_safe<T: Send + Sync>() {}
    fn sends<T: Send>() {}
    fn nameable<S, B, R>(future: ResponseFuture<S, B, R>) -> ResponseFuture<S, B, R>
    where
        S: Service<Request<RequestBody<B>>>,
    {
        future
    }
    thread_safe::<ArgumentAllowlistLayer>();
    thread_safe::<ArgumentAllowlistService<Slow>>();
    thread_safe::<ResponseFuture<Slow, Empty<Bytes>, Empty<Bytes>>>();
    thread_safe::<ResponseFuture<Slow, Script, Script>>();
    thread_safe::<RequestBody<Empty<Bytes>>>();
    thread_safe::<ResponseBody<Empty<Bytes>>>();
    // Axum's bodies are Send and not Sync.
    sends::<ResponseFuture<Slow, axum::body::Body, axum::body::Body>>();
    sends::<ResponseBody<axum::body::Body>>();
    thread_safe::<Denial>();
    thread_safe::<tower_toolgate::message::Inspection>();
    thread_safe::<tower_toolgate::http::BufferBudget>();
    let future = nameable(mcp().layer(Slow::default()).call(post_text(legal())));
    assert!(task::spawn(future).poll().is_pending());
}

#[test]
fn a_gate_does_not_need_its_parts_to_be_send() {
    #[derive(Clone)]
    struct Local(std::rc::Rc<()>);
    impl<B: Body> Service<Request<B>> for Local {
        type Response = Response<Text>;
        type Error = std::convert::Infallible;
        type Future = std::future::Ready<Result<Self::Response, Self::Error>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<B>) -> Self::Future {
            assert_eq!(std::rc::Rc::strong_count(&self.0), 2);
            std::future::ready(Ok(Response::new(Full::from("inner"))))
        }
    }
    let mut service = mcp().layer(Local(std::rc::Rc::new(())));
    assert_eq!(ready(service.call(post_text(legal()))).status(), StatusCode::OK);
    assert!(std::rc::Rc::strong_count(&service.get_ref().0) >= 1);
    assert!(std::rc::Rc::strong_count(&service.get_mut().0) >= 1);
    assert!(std::rc::Rc::strong_count(&service.into_inner().0) >= 1);
}
