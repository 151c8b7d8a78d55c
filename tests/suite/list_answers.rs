//! Answers to lists that are none, and stacks that lists pass.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{Method, Request, Response};
use http_body_util::Full;
use tokio_test::task;
use tower::{Layer, ServiceBuilder};
use tower_http::decompression::Decompression;
use tower_toolgate::answer::Denial;
use tower_toolgate::http::{RequestBody, ResponseBody};
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::observe::DecisionEvent;
use tower_toolgate::policy::{Policy, PolicyConfig, RoleConfig};

use super::lists::{SEEN, TOOLS, ask, dense, gate};
use super::support::*;

fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let builder = Response::builder().status(status);
    let builder = headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value));
    builder.body(Full::new(body.into())).unwrap()
}

fn get() -> Request<Full<Bytes>> {
    let mut request = post_text("");
    *request.method_mut() = Method::GET;
    request
}

fn zipped(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// One that permits `run_query` and `rm` only.
fn inner_gate() -> ArgumentAllowlistLayer {
    let role = RoleConfig::new("analyst").with_allow(["run_query", "rm"]);
    ArgumentAllowlistLayer::new(Policy::new(&PolicyConfig::new().with_role(role)).unwrap())
}

#[test]
fn th_118_what_comes_compressed_is_decoded_where_that_is_composed() {
    let json = [("content-type", "application/json"), ("content-encoding", "gzip")];
    let events = [("content-type", "text/event-stream"), ("content-encoding", "gzip")];
    let stack = |mock| gate().layer(Decompression::new(mock));
    type Inner = RequestBody<Full<Bytes>>;
    let exchange = through::<_, Inner, _, _, _>(stack, ask("tools/list"), answer(200, &json, zipped(TOOLS)));
    assert_eq!(dense(exchange.text()), dense(SEEN));
    assert_eq!(exchange.header("content-encoding"), None);
    // Nobody asked for a coding.
    assert_eq!(exchange.seen.unwrap().head.headers["accept-encoding"], "identity");
    let stream = zipped(&format!("data: {TOOLS}\n\n"));
    let exchange = through::<_, Inner, _, _, _>(stack, ask("tools/list"), answer(200, &events, stream.clone()));
    assert_eq!(dense(exchange.text()), dense(&format!("data: {SEEN}\n\n")));
    let exchange = through::<_, Inner, _, _, _>(stack, get(), answer(200, &events, stream));
    assert_eq!(dense(exchange.text()), dense(&format!("data: {SEEN}\n\n")));
}

#[test]
fn answers_without_a_body_are_untouched() {
    for (status, headers) in [
        (202, &[][..]),
        (204, &[("etag", "\"x\"")]),
        (304, &[("etag", "\"x\"")]),
        (404, &[]),
        (401, &[("www-authenticate", "Bearer")]),
    ] {
        for request in [ask("tools/list"), get()] {
            let exchange = answered(&gate(), request, answer(status, headers, ""));
            assert_eq!((exchange.status().as_u16(), exchange.text()), (status, ""));
            assert_eq!(exchange.head.headers.len(), headers.len(), "{status}");
            assert!(headers.iter().all(|(name, value)| exchange.header(*name) == Some(value)), "{status}");
        }
        // Nor those whose end comes late.
        let late = answer(status, headers, "").map(|_| Script::of([""]));
        let exchange = answered(&gate(), ask("tools/list"), late);
        assert_eq!((exchange.status().as_u16(), exchange.text()), (status, ""));
    }
    let mut head = ask("tools/list");
    *head.method_mut() = Method::HEAD;
    let exchange = answered(&gate(), head, answer(200, &[], ""));
    assert_eq!((exchange.status().as_u16(), exchange.seen.is_none()), (405, true));
}

#[test]
fn a_failure_that_cannot_be_read_goes_on_being_one() {
    for (status, header) in
        [(401, ("www-authenticate", "Bearer scope=\"a\"")), (404, ("x-other", "1")), (503, ("retry-after", "9"))]
    {
        for media in ["text/html", "application/problem+json", "application/json"] {
            let headers = [
                header,
                ("content-type", media),
                ("etag", "x"),
                ("content-length", "999"),
                ("transfer-encoding", "chunked"),
            ];
            let exchange = answered(&gate(), ask("tools/list"), answer(status, &headers, "<p>run_secret</p>"));
            assert_eq!((exchange.status().as_u16(), exchange.header(header.0)), (status, Some(header.1)));
            let error = r#"{"jsonrpc":"2.0","id":"q-1","error":{"code":502,"#;
            assert!(exchange.text().starts_with(error), "{}", exchange.text());
            assert_eq!(exchange.header("content-type"), Some("application/json"));
            assert_eq!(exchange.header("content-length"), Some(&*exchange.text().len().to_string()));
            assert_eq!((exchange.header("etag"), exchange.header("transfer-encoding")), (None, None));
            assert_eq!(exchange.denial().reason(), "upstream.invalid_answer");
        }
    }
}

#[test]
fn a_body_is_what_one_header_says_or_nothing() {
    let stream = format!("data: {TOOLS}\n\n");
    let both = ("content-type", "application/json; a=text/event-stream");
    let twice = [("content-type", "text/event-stream"), ("content-type", "text/plain")];
    for (name, headers) in [
        ("no type", &[][..]),
        ("two types in one", &[both]),
        ("two types", &twice),
        ("text", &[("content-type", "text/plain")]),
        ("a list of types", &[("content-type", "text/event-stream, text/plain")]),
    ] {
        for request in [ask("tools/list"), get()] {
            for body in [&stream, TOOLS] {
                let request = request.clone().with_header("accept", "text/event-stream");
                let exchange = answered(&gate(), request, answer(200, headers, body.to_owned()));
                let reason = if headers.is_empty() { "upstream.too_large" } else { "upstream.invalid_answer" };
                assert_eq!(exchange.denial().reason(), reason, "{name}");
                assert!(!exchange.text().contains("run_secret"), "{name}");
            }
        }
    }
    // Who asks for no events reads none.
    let page = answer(200, &[("content-type", "text/plain")], "healthy");
    assert_eq!(answered(&gate(), get(), page).text(), "healthy");
    // A failure to open a stream is read by people.
    let get = || get().with_header("accept", "text/event-stream");
    let page = answer(405, &[("content-type", "text/plain")], "no stream here");
    assert_eq!(answered(&gate(), get(), page).text(), "no stream here");
}

#[test]
fn two_gates_filter_joined_or_apart() {
    type Inner = RequestBody<RequestBody<Full<Bytes>>>;
    let stream = format!("data: {TOOLS}\n\ndata: {{}}\n\n");
    for (body, media) in [(&*stream, "text/event-stream"), (TOOLS, "application/json")] {
        for (outer, echo, rm) in [(gate(), false, false), (gate().with_insecure_shadow(true), false, true)] {
            for request in [get(), ask("tools/list")] {
                let answer = || answer(200, &[("content-type", media)], body.to_owned());
                let joined = |mock| outer.clone().join(inner_gate()).layer(mock);
                let apart = |mock| outer.layer(inner_gate().layer(mock));
                let joined = through::<_, Inner, _, _, _>(joined, request.clone(), answer());
                let apart = through::<_, Inner, _, _, _>(apart, request, answer());
                assert_eq!(dense(joined.text()), dense(apart.text()));
                let has = |name| joined.text().contains(name);
                assert_eq!((has("run_query"), has("echo"), has("\"rm\"")), (true, echo, rm), "{}", joined.text());
            }
        }
    }
}

#[test]
fn th_012_what_stands_between_two_gates_gets_what_is_filtered() {
    // It renames, keeps, or puts together what several gates let pass.
    let between = |mock| {
        let renamed = |response: Response<ResponseBody<Full<Bytes>>>| {
            let body = String::from_utf8(collect(response.into_body()).0.concat()).unwrap();
            assert!(!body.contains("run_secret"), "{body}");
            answer(
                200,
                &[("content-type", "application/json")],
                body.replace("{\"name\":\"rm\"}", "{\"name\":\"echo\"}"),
            )
        };
        gate().layer(ServiceBuilder::new().map_response(renamed).service(inner_gate().layer(mock)))
    };
    let list = answer(200, &[("content-type", "application/json")], TOOLS);
    let exchange = through::<_, RequestBody<RequestBody<Full<Bytes>>>, _, _, _>(between, ask("tools/list"), list);
    // Renamed as something that the outer gate permits, beside what both do.
    assert_eq!(exchange.text().matches("\"echo\"").count(), 1, "{}", exchange.text());
    assert_eq!(exchange.text().matches("run_query").count(), 1, "{}", exchange.text());
}

#[test]
fn the_observer_hears_of_events_that_are_dropped() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let observed = gate().on_decision(move |event: &DecisionEvent<'_>| {
        told.lock().unwrap().extend(event.denial.map(Denial::reason));
    });
    let events = |body: &str| answer(200, &[("content-type", "text/event-stream")], body.to_owned());
    let stream = "data: {junk\n\ndata: {}\n\ndata: [more\n\n";
    assert_eq!(answered(&observed, get(), events(stream)).text(), "data: {}\n\n");
    assert_eq!(*seen.lock().unwrap(), ["upstream.invalid_answer"; 2]);
    answered(&observed, ask("tools/list"), events(stream));
    answered(&observed.with_max_list_bytes(9), ask("tools/list"), events("data: {}      \n\n"));
    assert_eq!(seen.lock().unwrap()[2..], ["upstream.invalid_answer", "upstream.too_large"]);
}

#[test]
fn who_goes_away_takes_the_stream_along() {
    let script = || Script::new([Step::Data(Bytes::from(format!("data: {TOOLS}\n\n"))), Step::Stay]);
    for (request, media) in [
        (get(), "text/event-stream"),
        (ask("tools/list"), "text/event-stream"),
        (ask("tools/list"), "application/json"),
    ] {
        let (mut service, mut handle) = gated::<_, Script>(&gate());
        assert!(service.poll_ready().is_ready());
        let mut future = task::spawn(service.call(request));
        assert!(future.poll().is_pending());
        let Poll::Ready(Some((_, send))) = handle.poll_request() else { panic!("not forwarded") };
        let body = script();
        let alive = body.polls();
        send.send_response(Response::builder().header("content-type", media).body(body).unwrap());
        let response = future.poll();
        assert_eq!(Arc::strong_count(&alive), 2, "{media}");
        drop(response);
        drop(future);
        assert_eq!(Arc::strong_count(&alive), 1, "{media}: polled {}", alive.load(Ordering::Relaxed));
    }
}

#[test]
fn a_retry_with_what_was_asked_for_is_judged_in_full() {
    let retry = |tool: &str| {
        let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        let more = r#""inputResponses":{"a":{"action":"accept"}},"requestState":"s""#;
        let params = format!(r#"{{"name":"{tool}","arguments":{{}},{more},"_meta":{meta}}}"#);
        let request = post_text(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#));
        let request = request.with_header("mcp-protocol-version", "2026-07-28");
        request.with_header("mcp-method", "tools/call").with_header("mcp-name", tool)
    };
    exchange(&gate(), retry("echo")).passed("a retry of what is allowed");
    exchange(&gate(), retry("rm")).refused("a retry of another call", 200, "1", 403, "policy.tool_not_allowed");
    exchange(&gate(), retry("run_query")).refused("a rule of its arguments", 200, "1", 403, "policy.argument_required");
}
