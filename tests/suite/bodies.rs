//! Bodies on their way in and out: bounds, copies, trailers, and what does not arrive.

use std::io::{self, ErrorKind};
use std::sync::atomic::Ordering;
use std::task::Poll;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, header};
use http_body::{Body, SizeHint};
use http_body_util::Full;
use tokio_test::task;
use tower::Service;
use tower_toolgate::http::BufferBudget;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;

use super::support::{
    BoxError, Exchange, Script, Step, With, answered, collect, exchange, gated, legal, mcp, plain, post, post_text,
    tool_call,
};

const MIB: usize = 1 << 20;

/// A legal call of exactly so many bytes.
fn padded(length: usize) -> String {
    let call = tool_call("1", "echo", r#"{"text":"PAD"}"#);
    call.replace("PAD", &"a".repeat(length + 3 - call.len()))
}

fn exact(length: usize) -> SizeHint {
    SizeHint::with_exact(length as u64)
}

fn trailers() -> HeaderMap {
    HeaderMap::from_iter([(header::HeaderName::from_static("x-checksum"), "1".parse().unwrap())])
}

/// The chunks of a text.
fn chunks(text: &str, length: usize) -> Vec<Bytes> {
    text.as_bytes().chunks(length).map(Bytes::copy_from_slice).collect()
}

#[test]
fn one_frame_is_not_copied() {
    for call in [legal(), padded(MIB)] {
        let body = Bytes::from(call);
        let place = body.as_ptr();
        let exchange = exchange(&mcp(), post_text(body.clone()));
        let seen = exchange.passed("one frame");
        assert_eq!(seen.frames, [body]);
        assert_eq!(seen.frames[0].as_ptr(), place);
        assert_eq!(seen.inspection().bytes().as_ptr(), place);
        assert_eq!(seen.hint.exact(), Some(seen.frames[0].len() as u64));
    }
}

#[test]
fn one_frame_among_empty_ones_is_not_copied() {
    let body = Bytes::from(legal());
    let frames = [Bytes::new(), body.clone(), Bytes::new()];
    let exchange = exchange(&mcp(), post(Script::of(frames)));
    let seen = exchange.passed("with empty frames");
    assert_eq!(*seen.frames, *std::slice::from_ref(&body));
    // The empty frame behind it costs a copy, and nothing else.
    assert_eq!(exchange.seen.as_ref().unwrap().inspection().bytes(), &body);
}

#[test]
fn several_frames_become_one_of_the_same_bytes() {
    let call = padded(5000);
    for length in [1, 2, 7, 1000, 4999, 5000] {
        for hint in [exact(5000), SizeHint::new()] {
            let steps = chunks(&call, length).into_iter().flat_map(|chunk| [Step::Data(chunk), Step::Later]);
            let exchange = exchange(&mcp(), post(Script::new(steps).with_hint(hint)));
            let seen = exchange.passed("several frames");
            assert_eq!(*seen.frames, *std::slice::from_ref(&call), "frames of {length}");
            assert_eq!(seen.inspection().bytes().as_ptr(), seen.frames[0].as_ptr());
        }
    }
}

#[test]
fn a_denied_call_is_denied_however_it_is_cut() {
    let call = tool_call("7", "search_secret", "{}");
    for length in 1..=call.len() {
        let exchange = exchange(&mcp(), post(Script::of(chunks(&call, length))));
        exchange.refused(&format!("frames of {length}"), 403, "7", 403, "policy.tool_denied");
    }
}

#[test]
fn the_limit_is_exact() {
    let layer = mcp().with_max_body_bytes(2000);
    for (length, passes) in [(1999, true), (2000, true), (2001, false), (2002, false)] {
        for frame in [1, 999, 1000, 5000] {
            for hint in [exact(length), SizeHint::new()] {
                let name = format!("{length} bytes in frames of {frame}, hint {hint:?}");
                let body = Script::of(chunks(&padded(length), frame)).with_hint(hint);
                let exchange = exchange(&layer, post(body));
                if passes {
                    assert_eq!(exchange.passed(&name).body(), padded(length).into_bytes(), "{name}");
                } else {
                    exchange.refused(&name, 413, "1", 413, "body.too_large");
                    // All of it was received, so that the connection is as good as before.
                    assert_eq!(exchange.header(header::CONNECTION), None, "{name}");
                }
            }
        }
    }
}

#[test]
fn th_021_the_default_limit_is_4_mib() {
    exchange(&mcp(), post_text(padded(4 * MIB))).passed("4 MiB");
    exchange(&mcp(), post_text(padded(4 * MIB + 1))).refused("more", 413, "1", 413, "body.too_large");
}

#[test]
fn a_streamable_client_learns_in_band_that_its_call_was_too_large() {
    let request = post_text(padded(101)).with_header("accept", "text/event-stream");
    exchange(&mcp().with_max_body_bytes(100), request).refused("too large", 200, "1", 413, "body.too_large");
}

#[test]
fn the_id_of_a_body_over_the_limit_is_found_wherever_it_stands() {
    let text = "a".repeat(5000);
    let first = format!(r#"{{"id":"f-1","jsonrpc":"2.0","method":"tools/call","params":{{"x":"{text}"}}}}"#);
    let last = format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"id":3,"x":"{text}"}},"id":4}}"#);
    let twice = format!(r#"{{"id":1,"jsonrpc":"2.0","method":"tools/call","params":{{"x":"{text}"}},"id":2}}"#);
    let batch = format!(r#"[{{"id":1,"jsonrpc":"2.0","method":"tools/call","params":{{"x":"{text}"}}}}]"#);
    let layer = mcp().with_max_body_bytes(100);
    for (name, body, id) in [
        ("first", &first, "\"f-1\""),
        ("last", &last, "4"),
        ("two of them", &twice, "null"),
        ("in a batch", &batch, "null"),
    ] {
        for frame in [1, 64, 100, 101, 10_000] {
            for hint in [exact(body.len()), SizeHint::new()] {
                let exchange = exchange(&layer, post(Script::of(chunks(body, frame)).with_hint(hint)));
                exchange.refused(&format!("{name}, in frames of {frame}"), 413, id, 413, "body.too_large");
            }
        }
    }
}

#[test]
fn a_hopelessly_large_body_is_answered_without_being_read() {
    let layer = mcp().with_max_body_bytes(100);
    for (length, polls) in [(100 + MIB, 1), (101 + MIB, 0), (usize::MAX, 0)] {
        let body = Script::new([Step::Data(legal().into())]).with_hint(exact(length));
        let polled = body.polls();
        let exchange = exchange(&layer, post(body));
        assert_eq!(exchange.denial().reason(), "body.too_large", "{length}");
        assert_eq!(polled.load(Ordering::Relaxed), polls, "{length}");
    }
}

#[test]
fn the_drain_of_a_body_that_never_ends_does() {
    let layer = mcp().with_max_body_bytes(1000);
    let frames = 10_000;
    for hint in [SizeHint::new(), exact(2000)] {
        let body = Script::of((0..frames).map(|_| Bytes::from_static(&[b' '; 1024]))).with_hint(hint);
        let polled = body.polls();
        exchange(&layer, post(body)).refused("endless", 413, "null", 413, "body.too_large");
        let polled = polled.load(Ordering::Relaxed);
        assert!((1025..=1027).contains(&polled), "1 MiB and what the limit has are received: {polled}");
    }
}

#[test]
fn a_body_that_fails_is_answered_by_the_gate() {
    #[derive(Debug)]
    struct Wrapped(io::Error);
    impl std::fmt::Display for Wrapped {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("wrapped")
        }
    }
    impl std::error::Error for Wrapped {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }
    #[derive(Debug)]
    struct Elapsed;
    impl std::fmt::Display for Elapsed {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("secret detail")
        }
    }
    impl std::error::Error for Elapsed {}

    let kind = |kind| -> BoxError { Box::new(io::Error::from(kind)) };
    let nested = |kind| -> BoxError { Box::new(Wrapped(io::Error::from(kind))) };
    let custom = mcp().with_timeout_errors(<dyn std::error::Error>::is::<Elapsed>);
    let cases: [(&str, &ArgumentAllowlistLayer, BoxError, u16, &str); 7] = [
        ("reset", &mcp(), kind(ErrorKind::ConnectionReset), 400, "body.failed"),
        ("ended early", &mcp(), kind(ErrorKind::UnexpectedEof), 400, "body.failed"),
        ("timed out", &mcp(), kind(ErrorKind::TimedOut), 408, "body.timed_out"),
        ("timed out, as a source", &mcp(), nested(ErrorKind::TimedOut), 408, "body.timed_out"),
        ("reset, as a source", &mcp(), nested(ErrorKind::ConnectionReset), 400, "body.failed"),
        ("the host's own error", &custom, Box::new(io::Error::other(Elapsed)), 400, "body.failed"),
        ("the host's own error, not told of", &mcp(), Box::new(Elapsed), 400, "body.failed"),
    ];
    for (name, layer, error, status, reason) in cases {
        let steps = [Step::Data(r#"{"id":1,"#.into()), Step::Later, Step::Fail(error)];
        let exchange = exchange(layer, post(Script::new(steps)));
        exchange.refused(name, status, "1", status.into(), reason);
        assert_eq!(exchange.header(header::CONNECTION), Some("close"), "{name}");
        assert!(!exchange.text().contains("secret"), "{name}");
    }
    let steps = [Step::Fail(Box::new(Elapsed) as BoxError)];
    exchange(&custom, post(Script::new(steps))).refused("custom", 408, "null", 408, "body.timed_out");
}

#[test]
fn a_whole_call_is_not_forwarded_when_its_body_fails_afterwards() {
    let steps = [Step::Data(legal().into()), Step::Fail("reset".into())];
    exchange(&mcp(), post(Script::new(steps))).refused("after the call", 400, "1", 400, "body.failed");
}

#[test]
fn half_a_call_is_no_call() {
    let call = legal();
    for length in 0..call.len() {
        let exchange = exchange(&mcp(), post_text(call.as_bytes()[..length].to_vec()));
        assert!(exchange.seen.is_none(), "{length} bytes");
        assert_eq!(exchange.status(), StatusCode::BAD_REQUEST, "{length} bytes");
        let reason = if length == 0 { "json.empty" } else { "json.truncated" };
        assert_eq!(exchange.denial().reason(), reason, "{length} bytes");
    }
    exchange(&mcp(), post_text("")).refused("no body", 400, "null", -32700, "json.empty");
    exchange(&mcp(), post_text(" \n")).refused("blank", 400, "null", -32700, "json.empty");
}

#[test]
fn th_022_what_follows_the_call_is_refused_with_it() {
    for (name, tail) in [("another call", &*legal()), ("garbage", "x"), ("NUL", "\0"), ("a comma", ",")] {
        let exchange = exchange(&mcp(), post_text(legal() + tail));
        assert!(exchange.seen.is_none(), "{name}");
        assert_eq!(exchange.denial().reason(), "json.trailing_data", "{name}");
        assert_eq!(exchange.denial().code(), -32700, "{name}");
    }
}

#[test]
fn th_026_nesting_is_bounded_and_costs_no_stack() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for layer in [mcp(), plain()] {
            let deep = format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
            let exchange = exchange(&layer, post_text(tool_call("1", "echo", &format!(r#"{{"a":{deep}}}"#))));
            exchange.refused("nested", 400, "1", -32600, "json.too_deep");
            let exchange = self::exchange(&layer, post_text(open.repeat(40_000)));
            assert!(exchange.seen.is_none());
            assert_eq!(exchange.status(), StatusCode::BAD_REQUEST);
        }
    }
}

#[test]
fn th_038_a_batch_is_bounded_by_its_length() {
    let calls = |length: usize| {
        let calls: Vec<_> = (0..length).map(|id| tool_call(&id.to_string(), "echo", "{}")).collect();
        format!("[{}]", calls.join(","))
    };
    exchange(&mcp(), post_text(calls(100))).passed("100");
    exchange(&mcp(), post_text(calls(101))).refused("101", 400, "null", -32600, "message.batch_too_long");
    exchange(&mcp(), post_text(calls(10_000))).refused("10,000", 400, "null", -32600, "message.batch_too_long");
}

#[test]
fn a_budget_bounds_two_gates_and_is_given_back() {
    let budget = BufferBudget::new(1000);
    let (one, other) = (mcp().with_budget(budget.clone()), plain().with_budget(budget.clone()));
    let (mut service, mut handle) = gated::<_, Full<Bytes>>(&one);
    assert!(service.poll_ready().is_ready());
    let mut future = task::spawn(service.call(post_text(padded(600))));
    assert!(future.poll().is_pending());
    let Poll::Ready(Some((forwarded, send))) = handle.poll_request() else { panic!("not forwarded") };
    assert_eq!(budget.available(), 400);

    let refused = exchange(&other, post_text(padded(401)));
    refused.refused("over the budget", 503, "1", 503, "body.budget_exhausted");
    assert_eq!(refused.header(header::RETRY_AFTER), Some("1"));
    assert_eq!(budget.available(), 400, "a refused request holds nothing");

    let streamable = post_text(padded(401)).with_header("accept", "text/event-stream");
    let refused = exchange(&other, streamable);
    refused.refused("in band", 200, "1", 503, "body.budget_exhausted");

    let halves = Script::of(chunks(&padded(401), 400));
    exchange(&other, post(halves)).refused("in two frames", 503, "1", 503, "body.budget_exhausted");
    assert_eq!(budget.available(), 400);

    send.send_response(Response::new(Full::from("inner")));
    assert!(future.poll().is_ready());
    assert_eq!(budget.available(), 400, "the request outlives its response");
    drop(forwarded);
    assert_eq!(budget.available(), 1000);

    let call = padded(401);
    exchange(&one, post_text(call)).passed("when it was given back");
    assert_eq!(budget.available(), 1000);
}

#[test]
fn a_budget_is_given_back_whatever_becomes_of_a_request() {
    let budget = BufferBudget::new(1000);
    let layer = mcp().with_budget(budget.clone());
    let denied = tool_call("1", "search_secret", "{}");
    exchange(&layer, post_text(denied)).refused("denied", 403, "1", 403, "policy.tool_denied");
    assert_eq!(budget.available(), 1000);
    let body = Script::new([Step::Data(legal().into()), Step::Fail("reset".into())]);
    exchange(&layer, post(body)).refused("failed", 400, "1", 400, "body.failed");
    assert_eq!(budget.available(), 1000);
    let small = layer.clone().with_max_body_bytes(150);
    exchange(&small, post(Script::of(chunks(&padded(200), 100)))).refused("long", 413, "1", 413, "body.too_large");
    assert_eq!(budget.available(), 1000);

    let (mut service, _handle) = gated::<_, Full<Bytes>>(&layer);
    assert!(service.poll_ready().is_ready());
    let mut future = task::spawn(service.call(post(Script::new([Step::Data(legal().into()), Step::Stay]))));
    assert!(future.poll().is_pending());
    assert_eq!(budget.available(), 1000 - legal().len());
    drop(future);
    assert_eq!(budget.available(), 1000, "cancelled");
}

#[test]
fn th_116_trailers_of_a_request_survive_and_no_length_hides_them() {
    let call = legal();
    for frame in [call.len(), 10] {
        let steps = chunks(&call, frame).into_iter().map(Step::Data).chain([Step::Trailers(trailers())]);
        let exchange = exchange(&mcp(), post(Script::new(steps)));
        let seen = exchange.passed("trailers");
        assert_eq!(seen.body(), call.as_bytes());
        assert_eq!(seen.trailers, Some(trailers()));
        assert_eq!((seen.hint.lower(), seen.hint.upper()), (call.len() as u64, None));
    }
}

/// Frames, trailers, size hint and end of a response pass as they are.
fn passes_through(steps: Vec<Step>, hint: SizeHint) -> Exchange {
    let (mut service, mut handle) = gated::<_, Script>(&mcp());
    assert!(service.poll_ready().is_ready());
    let mut future = task::spawn(service.get_mut().call(post_text(legal())));
    assert!(future.poll().is_pending());
    let Poll::Ready(Some((_, send))) = handle.poll_request() else { panic!("not forwarded") };
    let ended = steps.is_empty();
    send.send_response(Response::new(Script::new(steps).with_hint(hint)));
    let Poll::Ready(Ok(response)) = future.poll() else { panic!("no response") };
    let (head, body) = response.into_parts();
    assert_eq!(body.is_end_stream(), ended);
    assert_eq!((body.size_hint().lower(), body.size_hint().upper()), (hint.lower(), hint.upper()));
    let (frames, trailers) = collect(body);
    assert_eq!(trailers.is_some(), !ended);
    Exchange { head, body: frames.concat().into(), seen: None }
}

#[test]
fn th_117_a_response_is_not_touched() {
    let mut range = SizeHint::new();
    range.set_lower(3);
    range.set_upper(9);
    let steps = || vec![Step::Data("abc".into()), Step::Data("def".into()), Step::Trailers(trailers())];
    assert_eq!(passes_through(steps(), exact(6)).body, "abcdef");
    assert_eq!(passes_through(steps(), range).body, "abcdef");
    assert_eq!(passes_through(Vec::new(), exact(0)).body, "");

    let response = Response::builder().status(418).header("content-length", "6").header("etag", "x");
    let response = response.extension(7_u8).body(Script::of(["abc", "def"])).unwrap();
    let exchange = answered(&mcp(), post_text(legal()), response);
    assert_eq!((exchange.status().as_u16(), exchange.text()), (418, "abcdef"));
    assert_eq!((exchange.header("content-length"), exchange.header("etag")), (Some("6"), Some("x")));
    assert_eq!(exchange.head.extensions.get::<u8>(), Some(&7));
}

#[test]
fn an_answer_of_the_gate_is_one_frame_of_known_length() {
    let (mut service, _handle) = gated::<_, Full<Bytes>>(&mcp());
    assert!(service.poll_ready().is_ready());
    for (body, length) in
        [(tool_call("1", "search_secret", "{}"), None), (tool_call("1", "x", "{}").replace(r#""id":1,"#, ""), Some(0))]
    {
        let Poll::Ready(Ok(response)) = task::spawn(service.call(post_text(body))).poll() else { panic!("no answer") };
        let body = response.into_body();
        let exact = body.size_hint().exact().expect("an exact length");
        assert_eq!(body.is_end_stream(), length == Some(0));
        let (frames, trailers) = collect(body);
        assert_eq!(frames.concat().len() as u64, exact);
        assert!(frames.len() <= 1 && trailers.is_none());
        assert_eq!(frames.is_empty(), length == Some(0));
    }
}
