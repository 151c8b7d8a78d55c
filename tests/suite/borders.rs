//! Inputs at the borders: of budgets, of turns, of batches, of protocols.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use allocation_counter::measure;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Response};
use http_body::SizeHint;
use http_body_util::Full;
use tokio_test::task;
use tower::Layer;
use tower_toolgate::answer::{AsUnknown, Denial};
use tower_toolgate::http::{BufferBudget, RequestBody};
use tower_toolgate::observe::DecisionEvent;

use super::support::*;

#[test]
fn a_request_in_a_refused_batch_is_not_answered_202() {
    let notified = r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}"#;
    let body = format!("[{},{notified}]", tool_call("1", "echo", "{}"));
    exchange(&mcp(), post_text(body)).refused("a batch", 400, "null", -32600, "message.batch_call_without_id");
}

#[test]
fn a_batch_does_not_lift_the_mask() {
    let body = format!("[{},{}]", tool_call("1", "rm", "{}"), tool_call("2", "echo", "{}"));
    let exchange = exchange(&mcp().with_response(AsUnknown), post_text(body));
    assert!(exchange.seen.is_none());
    assert_eq!(exchange.status(), 200);
    let unknown = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: rm"}}"#;
    let other = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Not processed"}}"#;
    assert_eq!(exchange.text(), format!("[{unknown},{other}]"));
}

#[test]
fn what_is_only_announced_takes_no_memory_beyond_the_budget() {
    let steps = [Step::Data("{".into()), Step::Data(" ".into()), Step::Stay];
    let body = Script::new(steps).with_hint(SizeHint::with_exact(4 << 20));
    let (mut mock, _handle) = gated::<_, Full<Bytes>>(&mcp().with_budget(BufferBudget::new(1000)));
    assert!(mock.poll_ready().is_ready());
    let mut future = task::spawn(mock.call(post(body)));
    assert!(measure(|| assert!(future.poll().is_pending())).bytes_total < 10_000);
}

#[test]
fn what_is_announced_counts_once_it_is_set_aside() {
    let budget = BufferBudget::new(5 << 20);
    let steps = [Step::Data("{".into()), Step::Data(" ".into()), Step::Stay];
    let body = Script::new(steps).with_hint(SizeHint::with_exact(4 << 20));
    let (mut mock, _handle) = gated::<_, Full<Bytes>>(&mcp().with_budget(budget.clone()));
    assert!(mock.poll_ready().is_ready());
    let mut future = task::spawn(mock.call(post(body)));
    assert!(future.poll().is_pending());
    assert!(budget.available() <= 1 << 20, "{}", budget.available());
    drop(future);
    assert_eq!(budget.available(), 5 << 20);
}

#[test]
fn a_switch_is_to_a_protocol_that_was_asked_for_and_is_allowed() {
    let switch = |to: &str| Response::builder().status(101).header("upgrade", to).body(Full::from("inner")).unwrap();
    let layer = mcp().with_insecure_upgrade("websocket");
    let asking = || post_text(legal()).with_header("upgrade", "websocket");
    assert_eq!(answered(&layer, asking(), switch("WebSocket")).status(), 101);
    assert_eq!(answered(&layer, asking(), switch("h2c")).status(), 502);
    assert_eq!(answered(&layer, post_text(legal()), switch("websocket")).status(), 502);
}

#[test]
fn a_refused_switch_reaches_the_caller_and_the_observer() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    let layer = mcp().on_decision(move |event: &DecisionEvent<'_>| {
        log.lock().unwrap().push((event.outcome.name(), event.denial.map(Denial::reason)));
    });
    let switch = Response::builder().status(101).header("upgrade", "x").body(Full::<Bytes>::from("inner")).unwrap();
    let exchange = answered(&layer, post_text(legal()).with_header("accept", "text/event-stream"), switch);
    assert_eq!(exchange.status(), 200);
    assert!(exchange.text().contains(r#""id":1"#), "{}", exchange.text());
    assert_eq!(*told.lock().unwrap(), [("allow", None), ("deny", Some("upstream.switched_protocols"))]);
}

#[test]
fn two_gates_count_one_body_once() {
    let layer = mcp().with_budget(BufferBudget::new(legal().len() + 10));
    let inner = Response::new(Full::<Bytes>::from("inner"));
    let stack = |mock| layer.layer(layer.layer(mock));
    through::<_, RequestBody<RequestBody<Full<Bytes>>>, _, _, _>(stack, post_text(legal()), inner).passed("two gates");
}

#[test]
fn a_body_counts_as_long_as_its_inspection_lives() {
    let budget = BufferBudget::new(1000);
    let exchange = exchange(&mcp().with_budget(budget.clone()), post_text(legal()));
    assert_eq!(exchange.passed("a call").inspection().bytes().len(), legal().len());
    assert_eq!(budget.available(), 1000 - legal().len());
    drop(exchange);
    assert_eq!(budget.available(), 1000);
}

#[test]
fn a_method_in_the_query_is_noticed_in_every_spelling() {
    for query in ["%5Fmethod=PUT", "_metho%64=PUT", "a=1;_method=PUT", "_method[]=PUT", "+_method=PUT", "_METHOD=PUT"] {
        let mut request = post_text(legal());
        *request.uri_mut() = format!("/?{query}").parse().unwrap();
        exchange(&mcp(), request).refused(query, 400, "null", 400, "http.method_override");
    }
    let mut request = post_text(legal());
    *request.uri_mut() = "/?method=PUT&my_method=x&a=%5Fmethod".parse().unwrap();
    exchange(&mcp(), request).passed("other parameters");
}

#[test]
fn a_get_with_a_body_has_no_id_whatever_the_body_says() {
    let mut request = post_text(legal()).with_header("accept", "text/event-stream");
    *request.method_mut() = Method::GET;
    exchange(&mcp(), request).refused("a call", 400, "null", 400, "http.body_not_allowed");
}

#[test]
fn what_is_drained_counts_no_more() {
    let budget = BufferBudget::new(1000);
    let body = Script::new([Step::Data(vec![b' '; 100].into()), Step::Data(" ".into()), Step::Stay]);
    let layer = mcp().with_budget(budget.clone()).with_max_body_bytes(100);
    let (mut mock, _handle) = gated::<_, Full<Bytes>>(&layer);
    assert!(mock.poll_ready().is_ready());
    let mut future = task::spawn(mock.call(post(body)));
    assert!(future.poll().is_pending());
    assert_eq!(budget.available(), 1000);
}

#[test]
fn th_121_a_body_that_is_left_unread_ends_the_connection() {
    let exhausted = exchange(&mcp().with_budget(BufferBudget::new(10)), post_text(legal()));
    assert_eq!(exhausted.header("connection"), Some("close"));
    let compressed = exchange(&mcp(), post_text(legal()).with_header("content-encoding", "gzip"));
    assert_eq!(compressed.header("connection"), Some("close"));
}

#[test]
fn endless_empty_frames_give_others_a_turn() {
    let body = Script::new((0..10_000).map(|_| Step::Data(Bytes::new())).chain([Step::Data(legal().into())]));
    let polls = body.polls();
    let (mut mock, _handle) = gated::<_, Full<Bytes>>(&mcp());
    assert!(mock.poll_ready().is_ready());
    let mut future = task::spawn(mock.call(post(body)));
    assert!(future.poll().is_pending());
    assert!(polls.load(Ordering::Relaxed) < 1000);
    assert!(future.is_woken());
}

#[test]
fn trailers_do_not_say_what_headers_say() {
    let with = |name: &'static str| {
        let trailers = HeaderMap::from_iter([(HeaderName::from_static(name), "rm".parse().unwrap())]);
        post(Script::new([Step::Data(legal().into()), Step::Trailers(trailers)]))
    };
    exchange(&mcp(), with("mcp-name")).refused("a mirror", 400, "1", -32020, "header.in_trailers");
    exchange(&mcp(), with("x-checksum")).passed("another trailer");
}
