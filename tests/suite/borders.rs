//! Inputs at the borders: of budgets, of turns, of batches, of protocols.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use allocation_counter::measure;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Request, Response};
use http_body::SizeHint;
use http_body_util::Full;
use tokio_test::task;
use tower::Layer;
use tower_toolgate::answer::{AsUnknown, Denial};
use tower_toolgate::http::{BufferBudget, RequestBody};
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
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
fn announcements_take_nothing_from_the_budget() {
    let budget = BufferBudget::new(16 << 20);
    let layer = mcp().with_budget(budget.clone());
    let mut stalled = Vec::new();
    for _ in 0..4 {
        let steps = [Step::Data("{".into()), Step::Data(" ".into()), Step::Stay];
        let body = Script::new(steps).with_hint(SizeHint::with_exact(4 << 20));
        let (mut mock, handle) = gated::<_, Full<Bytes>>(&layer);
        assert!(mock.poll_ready().is_ready());
        let mut future = task::spawn(mock.call(post(body)));
        assert!(future.poll().is_pending());
        stalled.push((future, handle));
    }
    assert_eq!(budget.available(), (16 << 20) - 8);
    drop(stalled);
    assert_eq!(budget.available(), 16 << 20);
}

#[test]
fn no_limit_and_no_end_cause_no_panic() {
    let steps = [Step::Data("{".into()), Step::Data(" ".into()), Step::Stay];
    let body = Script::new(steps).with_hint(SizeHint::with_exact(1 << 63));
    let (mut mock, _handle) = gated::<_, Full<Bytes>>(&mcp().with_max_body_bytes(usize::MAX));
    assert!(mock.poll_ready().is_ready());
    // Announced beyond all bounds, and so refused unread.
    assert!(task::spawn(mock.call(post(body))).poll().is_ready());
}

#[test]
fn small_and_large_frames_make_one_body() {
    let call = tool_call("1", "echo", &format!(r#"{{"text":"{}"}}"#, "a".repeat(200_000)));
    for lengths in [&[1, 2000][..], &[2000, 1], &[1], &[1023, 1024, 1025], &[70_000, 10]] {
        let (mut frames, mut rest) = (Vec::new(), call.as_bytes());
        for length in lengths.iter().cycle() {
            let (frame, behind) = rest.split_at(rest.len().min(*length));
            frames.push(Bytes::copy_from_slice(frame));
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        let exchange = exchange(&mcp(), post(Script::of(frames)));
        assert_eq!(exchange.passed("frames").body(), call.as_bytes(), "{lengths:?}");
    }
}

#[test]
fn an_exhausted_budget_knows_who_waits() {
    let exchange = exchange(&mcp().with_budget(BufferBudget::new(10)), post_text(legal()));
    exchange.refused("a call in one frame", 503, "1", 503, "body.budget_exhausted");
}

#[test]
fn a_body_counts_as_long_as_it_is_held_behind_two_gates() {
    let budget = BufferBudget::new(1000);
    let layer = mcp().with_budget(budget.clone());
    let inner = answer_of_inner::<Full<Bytes>>();
    let stack = |mock| layer.layer(layer.layer(mock));
    let exchange = through::<_, RequestBody<RequestBody<Full<Bytes>>>, _, _, _>(stack, post_text(legal()), inner);
    assert_eq!(budget.available(), 1000 - legal().len());
    drop(exchange);
    assert_eq!(budget.available(), 1000);
}

#[test]
fn grpc_asks_for_nothing_that_other_requests_may_not() {
    let grpc = ArgumentAllowlistLayer::grpc(policy());
    let call = || {
        let request = Request::post("/echo.Echo/Say").header("content-type", "application/grpc");
        request.body(Full::<Bytes>::default()).unwrap().with_role("analyst")
    };
    exchange(&grpc, call()).passed("a call");
    for (name, value) in [("upgrade", "websocket"), ("x-http-method-override", "DELETE"), ("transfer-encoding", "gzip")]
    {
        let exchange = exchange(&grpc, call().with_header(name, value));
        assert!(exchange.seen.is_none(), "{name}");
        assert!(exchange.status().is_client_error(), "{name}");
    }
}

#[test]
fn th_028_no_mirror_is_repeated_or_misspelt() {
    for (name, values, reason) in [
        ("mcp-session-id", &["a", "b"][..], "header.repeated"),
        ("mcp-other", &["a", "b"], "header.repeated"),
        ("mcp_name", &["rm"], "header.contradicts"),
        ("mcp_method", &["ping"], "header.contradicts"),
    ] {
        let repeated = |mut request: Request<Full<Bytes>>| {
            for value in values {
                request.headers_mut().append(HeaderName::from_static(name), value.parse().unwrap());
            }
            request
        };
        exchange(&mcp(), repeated(post_text(legal()))).refused(name, 400, "1", -32020, reason);
        let mut bodiless = repeated(post_text(""));
        *bodiless.method_mut() = Method::DELETE;
        exchange(&mcp(), bodiless).refused(name, 400, "null", -32020, reason);
    }
    let mut mirrored = post_text("").with_header("mcp-method", "tools/call");
    *mirrored.method_mut() = Method::GET;
    exchange(&mcp(), mirrored).refused("a method of nothing", 400, "null", -32020, "header.contradicts");
    let mut session =
        post_text("").with_header("mcp-session-id", "a").with_header("mcp-protocol-version", "2025-11-25");
    *session.method_mut() = Method::DELETE;
    exchange(&mcp(), session).passed("the end of a session");
}

#[test]
fn methods_are_not_overridden_with_underscores() {
    let request = post_text(legal()).with_header("x_http_method_override", "DELETE");
    exchange(&mcp(), request).refused("underscores", 400, "null", 400, "http.method_override");
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
    let inner = answer_of_inner::<Full<Bytes>>();
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
