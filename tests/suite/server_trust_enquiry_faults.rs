//! Lists that the layer asks for and that cannot be had, and what else may happen in the middle.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tokio_test::task;
use tower::limit::ConcurrencyLimitLayer;
use tower::{Layer, Service, ServiceExt};
use tower_test::mock;
use tower_toolgate::answer::Denial;
use tower_toolgate::http::BufferBudget;
use tower_toolgate::layer::server_trust::ServerTrustLayer;

use super::server_trust::*;
use super::server_trust_enquiry::*;
use super::support::*;

type Text = Full<Bytes>;
type Reply = Result<Response<Text>, BoxError>;

/// A call is refused, nothing of it is forwarded, and the next one asks again and passes.
#[track_caller]
fn fails(row: &str, layer: &ServerTrustLayer, asked: usize, mut reply: impl FnMut(&Seen, String) -> Reply) {
    let served = served::<_, Inner, _, _, _>(
        |mock| layer.layer(mock),
        call("read"),
        |seen| reply(seen, enquiry_id(seen).unwrap_or_else(|| panic!("{row}: forwarded"))),
    );
    assert_eq!(counted(&served), (asked, false), "{row}");
    let denial = served.head.extensions.get::<Denial>().unwrap();
    assert_eq!((denial.reason(), denial.code()), ("server.list_unavailable", 403), "{row}");
    let text = String::from_utf8(served.body.to_vec()).unwrap();
    assert!(text.starts_with(r#"{"jsonrpc":"2.0","id":1,"error":{"code":403,"#), "{row}: {text}");
    assert_eq!(judged(layer, "read", &[&[READ]]), (1, ""), "{row}");
}

fn text_with(status: u16, media: &str, body: String) -> Reply {
    Ok(Response::builder().status(status).header("content-type", media).body(Full::from(body)).unwrap())
}

fn page(id: &str, rest: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"{id}",{rest}}}"#)
}

#[test]
fn what_is_no_list_refuses_the_call() {
    let good = format!(r#""result":{{"tools":[{READ}]}}"#);
    let bodies: &[(&str, &str)] = &[
        ("an error", r#""error":{"code":-32601,"message":"m"}"#),
        ("an error beside a list", &format!(r#"{good},"error":null"#)),
        ("a method beside a list", &format!(r#"{good},"method":"x""#)),
        ("no list", r#""result":{}"#),
        ("an array", r#""result":[{"tools":[]}]"#),
        ("no array", r#""result":{"tools":{}}"#),
        ("two lists", &format!(r#""result":{{"tools":[{READ}],"tools":[]}}"#)),
        ("a list that resembles", &format!(r#""result":{{"tools":[{READ}],"Tools":[]}}"#)),
        ("a cursor that is none", &format!(r#""result":{{"tools":[{READ}],"nextCursor":1}}"#)),
        ("a cursor that resembles", &format!(r#""result":{{"tools":[{READ}],"NEXTCURSOR":"c"}}"#)),
        ("half a surrogate pair", &format!(r#""result":{{"tools":[{READ}],"nextCursor":"\ud800"}}"#)),
        ("a result that resembles", &format!(r#"{good},"Result":{{}}"#)),
        ("nothing", r#""x":1"#),
    ];
    for layer in [pinned, attested] {
        for (row, rest) in bodies {
            fails(row, &layer(), 1, |_, id| text_with(200, "application/json", page(&id, rest)));
            let event = |id: &str| format!("data: {}\n\n", page(id, rest));
            fails(row, &layer(), 1, |_, id| text_with(200, "text/event-stream", event(&id)));
        }
        let good = |id: &str| page(id, &good);
        for (row, status, media) in [
            ("400", 400, "application/json"),
            ("404", 404, "application/json"),
            ("500", 500, "text/event-stream"),
            ("304", 304, "application/json"),
            ("another medium", 200, "text/plain"),
            ("two media", 200, "application/json, text/event-stream"),
            ("another charset", 200, "application/json; charset=utf-16"),
        ] {
            fails(row, &layer(), 1, |_, id| text_with(status, media, good(&id)));
        }
        fails("of no medium", &layer(), 1, |_, id| Ok(Response::new(Full::from(good(&id)))));
        fails("202", &layer(), 1, |_, _| text_with(202, "application/json", String::new()));
        fails("not JSON", &layer(), 1, |_, id| text_with(200, "application/json", good(&id) + "}"));
        fails("of another one", &layer(), 1, |_, _| text_with(200, "application/json", good("toolgate-0")));
        fails("in a batch", &layer(), 1, |_, id| text_with(200, "application/json", format!("[{}]", good(&id))));
        fails("coded", &layer(), 1, |_, id| {
            let mut response = json(&good(&id));
            response.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
            Ok(response)
        });
        fails("an event without its end", &layer(), 1, |_, id| {
            text_with(200, "text/event-stream", format!("data: {}\n", good(&id)))
        });
        fails("a stream without an answer", &layer(), 1, |_, _| Ok(events(": hi\n\n")));
        fails("an event that is no JSON", &layer(), 1, |_, id| {
            text_with(200, "text/event-stream", format!("data: {{\n\ndata: {}\n\n", good(&id)))
        });
        fails("nobody answers", &layer(), 1, |_, _| Err("broken".into()));
    }
}

#[test]
fn what_is_too_much_refuses_the_call() {
    let cursor = |id: &str, cursor: usize| {
        let rest = format!(r#""result":{{"tools":[],"nextCursor":"{cursor}"}}"#);
        text_with(200, "application/json", page(id, &rest))
    };
    let mut count = 0;
    fails("pages without end", &pinned(), 100, |_, id| {
        count += 1;
        cursor(&id, count)
    });
    let mut count = 0;
    fails("a cursor that comes back", &pinned(), 4, |_, id| {
        count += 1;
        cursor(&id, count % 3)
    });
    fails("the last page is an error", &pinned(), 2, |seen, id| match seen.body().ends_with(b"{}}") {
        true => cursor(&id, 1),
        false => text_with(200, "application/json", page(&id, r#""error":{"code":1,"message":"m"}"#)),
    });
    let padded = |id: &str, bytes: usize, next: &str| {
        page(id, &format!(r#""result":{{"tools":[{READ}],"x":"{}"{next}}}"#, "x".repeat(bytes)))
    };
    let small = || pinned().with_max_list_bytes(600);
    fails("a long page", &small(), 1, |_, id| text_with(200, "application/json", padded(&id, 600, "")));
    fails("a long event", &small(), 1, |_, id| {
        text_with(200, "text/event-stream", format!("data: {}\n\n", padded(&id, 600, "")))
    });
    fails("many events", &small(), 1, |_, id| {
        let log = "data: {\"method\":\"notifications/message\"}\n\n".repeat(20);
        text_with(200, "text/event-stream", format!("{log}data: {}\n\n", padded(&id, 0, "")))
    });
    let mut count = 0;
    fails("pages that are too long together", &small(), 2, |_, id| {
        count += 1;
        let next = format!(r#","nextCursor":"{count}""#);
        text_with(200, "application/json", padded(&id, 250, &next))
    });
    let budget = BufferBudget::new(300);
    let poor = pinned().with_budget(budget.clone());
    fails("no budget", &poor, 1, |_, id| text_with(200, "application/json", padded(&id, 300, "")));
    assert_eq!(budget.available(), 300, "all is given back");
}

#[test]
fn a_body_that_breaks_off_refuses_the_call() {
    for (media, steps) in [
        ("application/json", vec![Step::Data("{".into()), Step::Fail("broken".into())]),
        ("text/event-stream", vec![Step::Data("data: {".into()), Step::Later, Step::Fail("broken".into())]),
    ] {
        let mut steps = Some(steps);
        let served = served::<Text, RequestBodyOf, _, _, _>(
            |mock| pinned().layer(mock),
            call("read"),
            |_| Ok(Response::builder().header("content-type", media).body(Script::new(steps.take().unwrap())).unwrap()),
        );
        assert_eq!(served.head.extensions.get::<Denial>().unwrap().reason(), "server.list_unavailable");
        assert_eq!(served.seen.len(), 1);
    }
}

type RequestBodyOf = tower_toolgate::http::RequestBody<Text>;

#[test]
fn what_is_held_of_an_event_counts() {
    // The call itself takes 86.
    for (bytes, reason) in [(100, Some("server.list_unavailable")), (4000, None)] {
        let budget = BufferBudget::new(bytes);
        let layer = pinned().with_budget(budget.clone());
        let served = served::<Text, RequestBodyOf, _, _, _>(
            |mock| layer.layer(mock),
            call("read"),
            |seen| {
                let Some(id) = enquiry_id(seen) else { return Ok(Response::new(Script::new([]))) };
                let event = format!("data: {}\n\n", page(&id, &format!(r#""result":{{"tools":[{READ}]}}"#)));
                let (one, two) = event.split_at(60);
                let body = Script::of([one.to_owned(), two.to_owned()]);
                Ok(Response::builder().header("content-type", "text/event-stream").body(body).unwrap())
            },
        );
        assert_eq!(served.head.extensions.get().map(Denial::reason), reason);
        assert_eq!(counted(&served), (1, reason.is_none()));
        drop(served);
        assert_eq!(budget.available(), bytes);
    }
}

/// A stream that stays open is left once the answer is there.
#[test]
fn a_stream_is_not_waited_for_beyond_the_answer() {
    let served = served::<Text, RequestBodyOf, _, _, _>(
        |mock| pinned().layer(mock),
        call("read"),
        |seen| {
            let steps = match enquiry_id(seen) {
                None => vec![Step::Data(": inner\n\n".into())],
                Some(id) => {
                    let page = page(&id, &format!(r#""result":{{"tools":[{READ}]}}"#));
                    vec![Step::Later, Step::Data(format!("data: {page}\n\n").into()), Step::Stay]
                }
            };
            Ok(Response::builder().header("content-type", "text/event-stream").body(Script::new(steps)).unwrap())
        },
    );
    assert_eq!(counted(&served), (1, true));
}

type Handle = mock::Handle<Request<Inner>, Response<Text>>;

/// The next request that the inner service gets, and what answers it.
fn next(handle: &mut Handle) -> Option<(Option<String>, mock::SendResponse<Response<Text>>)> {
    let Poll::Ready(Some((request, send))) = handle.poll_request() else { return None };
    let (head, body) = request.into_parts();
    let (hint, (frames, trailers)) = (http_body::Body::size_hint(&body), collect(body));
    let seen = Seen { head, hint, frames, trailers };
    Some((enquiry_id(&seen), send))
}

fn answer(id: &str, next: &str) -> Response<Text> {
    json(&page(id, &format!(r#""result":{{"tools":[{READ}]{next}}}"#)))
}

#[test]
fn before_each_request_the_service_is_ready() {
    let (mock, mut handle) = mock::pair::<Request<Inner>, Response<Text>>();
    let mut service = mock::Spawn::new(pinned().layer(mock));
    handle.allow(1);
    assert!(service.poll_ready().is_ready());
    let mut future = task::spawn(service.call(call("read")));
    assert!(future.poll().is_pending());
    let (id, send) = next(&mut handle).unwrap();
    send.send_response(answer(&id.unwrap(), r#","nextCursor":"c""#));
    assert!(future.poll().is_pending());
    assert!(next(&mut handle).is_none(), "it takes none at the moment");
    handle.allow(1);
    assert!(future.is_woken() && future.poll().is_pending());
    let (id, send) = next(&mut handle).unwrap();
    send.send_response(json(&page(&id.unwrap(), r#""result":{"tools":[]}"#)));
    assert!(future.poll().is_pending());
    assert!(next(&mut handle).is_none(), "nor the call");
    handle.allow(1);
    assert!(future.is_woken() && future.poll().is_pending());
    let (id, send) = next(&mut handle).unwrap();
    assert_eq!(id, None);
    send.send_response(answer_of_inner());
    assert!(matches!(future.poll(), Poll::Ready(Ok(response)) if response.status() == 200));
}

#[test]
fn a_service_that_breaks_in_between_is_the_host_s_to_know() {
    let (mock, mut handle) = mock::pair::<Request<Inner>, Response<Text>>();
    let mut service = mock::Spawn::new(pinned().layer(mock));
    handle.allow(1);
    assert!(service.poll_ready().is_ready());
    let mut future = task::spawn(service.call(call("read")));
    assert!(future.poll().is_pending());
    let (id, send) = next(&mut handle).unwrap();
    send.send_response(answer(&id.unwrap(), ""));
    assert!(future.poll().is_pending());
    handle.send_error("broken");
    assert!(matches!(future.poll(), Poll::Ready(Err(error)) if error.to_string() == "broken"));
}

#[test]
fn a_permit_is_given_back_before_the_next_one_is_wanted() {
    let (mock, mut handle) = mock::pair::<Request<Inner>, Response<Text>>();
    let mut service = mock::Spawn::new(pinned().layer(ConcurrencyLimitLayer::new(1).layer(mock)));
    assert!(service.poll_ready().is_ready());
    let mut future = task::spawn(service.call(call("read")));
    for next_page in [r#","nextCursor":"c""#, r#","nextCursor":"d""#] {
        assert!(future.poll().is_pending());
        let (id, send) = next(&mut handle).unwrap();
        send.send_response(answer(&id.unwrap(), next_page));
    }
    assert!(future.poll().is_pending());
    // Who goes away in the middle leaves nothing behind.
    drop(future);
    assert!(service.poll_ready().is_ready(), "the permit is free");
    let (id, _) = next(&mut handle).unwrap();
    assert!(id.is_some() && next(&mut handle).is_none(), "the call was not sent");
}

/// A service that panics unless the very value that is called was polled ready before, once for each call.
#[derive(Default)]
struct Strict {
    ready: bool,
    asked: Arc<AtomicUsize>,
    called: Arc<AtomicUsize>,
}

impl Clone for Strict {
    fn clone(&self) -> Self {
        Self { ready: false, asked: Arc::clone(&self.asked), called: Arc::clone(&self.called) }
    }
}

impl Service<Request<Inner>> for Strict {
    type Response = Response<Text>;
    type Error = BoxError;
    type Future = std::pin::Pin<Box<dyn Future<Output = Reply> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Inner>) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "called without having been polled ready");
        let (asked, called) = (Arc::clone(&self.asked), Arc::clone(&self.called));
        Box::pin(async move {
            tokio::task::yield_now().await;
            let (head, body) = request.into_parts();
            let frames = vec![body.collect().await.unwrap().to_bytes()];
            let seen = Seen { head, hint: http_body::SizeHint::new(), frames, trailers: None };
            let Some(id) = enquiry_id(&seen) else {
                called.fetch_add(1, Ordering::Relaxed);
                return Ok(answer_of_inner());
            };
            asked.fetch_add(1, Ordering::Relaxed);
            Ok(answer(&id, if seen.body().ends_with(b"{}}") { r#","nextCursor":"c""# } else { "" }).map(|body| body))
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_first_calls_at_once() {
    let strict = Strict::default();
    // The second page has the tool again.
    let service = pinned().layer(strict.clone());
    let all = (0..50).map(|_| tokio::spawn(service.clone().oneshot(call("read"))));
    for one in Vec::from_iter(all) {
        let response = one.await.unwrap().unwrap();
        assert_eq!(response.extensions().get::<Denial>().unwrap().reason(), "pin.repeated");
    }
    assert_eq!(strict.called.load(Ordering::Relaxed), 0);
    let all = (0..50).map(|_| tokio::spawn(attested().layer(strict.clone()).oneshot(call("write"))));
    for one in Vec::from_iter(all) {
        assert!(one.await.unwrap().unwrap().extensions().get::<Denial>().is_none());
    }
    assert_eq!(strict.called.load(Ordering::Relaxed), 50);
    let asked = strict.asked.load(Ordering::Relaxed);
    assert!((102..=200).contains(&asked), "{asked}");
}
