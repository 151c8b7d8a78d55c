//! Attacks on the filter of lists. Each test says what should hold.

use std::sync::Arc;
use std::sync::Mutex;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use tower::Layer;
use tower_toolgate::http::{BufferBudget, RequestBody};
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::observe::{DecisionEvent, Outcome};
use tower_toolgate::policy::{Policy, PolicyConfig, RoleConfig};

use super::lists::{SEEN, TOOLS, ask, dense, gate};
use super::support::*;

fn get() -> Request<Full<Bytes>> {
    let mut request = post_text("");
    *request.method_mut() = Method::GET;
    request
}

fn typed(status: u16, media: &str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    Response::builder().status(status).header("content-type", media).body(Full::new(body.into())).unwrap()
}

fn events(body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    typed(200, "text/event-stream", body)
}

fn streamable(method: &str) -> Request<Full<Bytes>> {
    ask(method).with_header("accept", "application/json, text/event-stream")
}

#[track_caller]
fn hidden(name: &str, exchange: &Exchange) {
    assert!(!String::from_utf8_lossy(&exchange.body).contains("run_secret"), "{name}: {:?}", exchange.body);
}

// ---- (a) names that get past ----

#[test]
fn accepted_is_a_status_like_others() {
    hidden("json", &answered(&gate(), streamable("tools/list"), typed(202, "application/json", TOOLS)));
}

#[test]
fn accepted_events() {
    let stream = format!("data: {TOOLS}\n\n");
    hidden("post", &answered(&gate(), streamable("tools/list"), typed(202, "text/event-stream", stream.clone())));
}

#[test]
fn accepted_get() {
    let stream = format!("data: {TOOLS}\n\n");
    hidden("get", &answered(&gate(), get(), typed(202, "text/event-stream", stream)));
}

/// The TypeScript SDK does not look at the type of a GET's response; the Python SDK wants it to contain
/// `text/event-stream`.
#[test]
fn a_stream_by_another_type() {
    let stream = format!("data: {TOOLS}\n\n");
    for media in
        ["text/event-stream, application/json", "x/text/event-stream", "text/plain", "application/octet-stream"]
    {
        hidden(
            media,
            &answered(&gate(), get().with_header("accept", "text/event-stream"), typed(200, media, stream.clone())),
        );
    }
}

#[test]
fn a_stream_by_two_types() {
    let mut twice = events(format!("data: {TOOLS}\n\n"));
    twice.headers_mut().append("content-type", "text/event-stream".parse().unwrap());
    hidden("twice", &answered(&gate(), get().with_header("accept", "text/event-stream"), twice));
}

#[test]
fn a_stream_by_no_type() {
    let none = Response::new(Full::from(format!("data: {TOOLS}\n\n")));
    hidden("none", &answered(&gate(), get().with_header("accept", "text/event-stream"), none));
}

/// Go's SDK and mcp-go end lines at LF only, and trim white space around data.
#[test]
fn carriage_returns_that_some_do_not_see() {
    for stream in [format!("data:\r{TOOLS}\n\n"), format!("data: \r{TOOLS}\n\n")] {
        hidden("post", &answered(&gate(), streamable("tools/list"), events(stream.clone())));
        hidden("get", &answered(&gate(), get(), events(stream)));
    }
}

/// eventsource-parser drops the characters U+00EF U+00BB U+00BF at the start.
#[test]
fn a_byte_order_mark_that_is_none() {
    let stream = format!("\u{ef}\u{bb}\u{bf}data: {TOOLS}\n\n");
    hidden("post", &answered(&gate(), streamable("tools/list"), events(stream.clone())));
    hidden("get", &answered(&gate(), get(), events(format!("\u{feff}{stream}"))));
}

/// httpx-sse up to 0.4.0 ends lines where Python's `splitlines` does.
#[test]
fn line_ends_that_are_none() {
    for end in ['\u{2028}', '\u{2029}', '\u{85}', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}'] {
        for before in [": ", "id: 1", "event: message", "x"] {
            let stream = format!("{before}{end}data: {TOOLS}\n\n");
            hidden(before, &answered(&gate(), streamable("tools/list"), events(stream)));
        }
    }
}

/// httpx decodes by the charset of the response.
#[test]
fn a_charset_that_means_something_else() {
    let list = r#"{"jsonrpc":"2.0","id":"q-1","result":{"tools":[{"name":"echo","d":"+ACIAfQAsAHsAIg-name+ACIAOgAi-run_secret"}]}}"#;
    let exchange = answered(
        &gate(),
        streamable("tools/list"),
        typed(200, "text/event-stream; charset=utf-7", format!("data: {list}\n\n")),
    );
    hidden("utf-7", &exchange);
}

#[test]
fn json_that_is_called_a_stream() {
    hidden("post", &answered(&gate(), streamable("tools/list"), events(format!("{TOOLS}\n\n"))));
}

#[test]
fn a_comment() {
    hidden("post", &answered(&gate(), streamable("tools/list"), events(format!(": {TOOLS}\n\n"))));
}

/// Clients find the request by the id, whatever stream brings the answer.
#[test]
fn a_directory_of_resources() {
    let request = post_text(
        r#"{"jsonrpc":"2.0","id":"q-1","method":"resources/directory/read","params":{"uri":"file:///a/dir"}}"#,
    );
    let list = r#"{"jsonrpc":"2.0","id":"q-1","result":{"resources":[{"uri":"file:///run_secret","name":"n"},{"uri":"file:///a/1","name":"m"}]}}"#;
    let exchange = answered(&gate(), request, typed(200, "application/json", list));
    assert!(exchange.seen.is_some(), "{}", exchange.text());
    hidden("directory", &exchange);
}

/// serde's derived structs take an array for a struct.
#[test]
fn a_result_that_is_an_array() {
    let list = r#"{"jsonrpc":"2.0","id":"q-1","result":[null,null,[{"name":"run_secret"}]]}"#;
    hidden("get", &answered(&gate(), get(), events(format!("data: {list}\n\n"))));
}

#[test]
fn in_a_batch() {
    let list = r#"{"jsonrpc":"2.0","id":"q-1","result":[null,null,[{"name":"run_secret"}]]}"#;
    let batch = post_text(r#"[{"jsonrpc":"2.0","id":"q-1","method":"tools/list"}]"#);
    hidden("batch", &answered(&gate(), batch, typed(200, "application/json", format!("[{list}]"))));
}

#[test]
fn a_list_is_not_for_shared_caches() {
    let mut response = typed(200, "application/json", TOOLS);
    response.headers_mut().insert("cache-control", "public, max-age=600".parse().unwrap());
    let exchange = answered(&gate(), streamable("tools/list"), response);
    assert!(!exchange.header("cache-control").unwrap_or_default().contains("public"), "{:?}", exchange.head.headers);
}

// ---- (b) what is legal and breaks ----

/// A session that has ended is told by 404, with any body: Go's SDK answers `text/plain`.
#[test]
fn a_dead_session_is_still_dead() {
    let exchange =
        answered(&gate(), streamable("tools/list"), typed(404, "text/plain; charset=utf-8", "session not found\n"));
    assert_eq!(exchange.status(), 404, "{}", exchange.text());
}

#[test]
fn a_challenge_reaches_the_client() {
    let mut challenge = typed(401, "text/plain", "Unauthorized");
    challenge.headers_mut().insert("www-authenticate", "Bearer resource_metadata=\"https://x/\"".parse().unwrap());
    let exchange = answered(&gate(), streamable("tools/list"), challenge);
    assert_eq!(exchange.status(), 401, "{}", exchange.text());
    assert!(exchange.header("www-authenticate").is_some());
}

#[test]
fn too_many_requests_and_a_redirect() {
    let mut busy = typed(429, "text/html", "<html>slow down</html>");
    busy.headers_mut().insert("retry-after", "5".parse().unwrap());
    let exchange = answered(&gate(), streamable("tools/list"), busy);
    assert_eq!((exchange.status().as_u16(), exchange.header("retry-after")), (429, Some("5")));
    let mut moved = typed(307, "text/html", "<html>moved</html>");
    moved.headers_mut().insert("location", "/mcp/".parse().unwrap());
    assert_eq!(answered(&gate(), streamable("tools/list"), moved).status(), 307);
}

/// Over HTTP/2 an empty body may end in a frame of its own.
#[test]
fn an_empty_body_that_ends_late() {
    let late = Response::builder().status(401).body(Script::new([Step::Data(Bytes::new())])).unwrap();
    assert_eq!(answered(&gate(), streamable("tools/list"), late).status(), 401);
}

/// All SDKs ignore events of another type than `message`.
#[test]
fn keep_alives_of_another_type() {
    let ping = "event: ping\ndata: ping\n\n";
    let exchange = answered(&gate(), streamable("tools/list"), events(format!("{ping}data: {TOOLS}\n\n")));
    assert!(exchange.text().contains("\"echo\""), "{}", exchange.text());
}

#[test]
fn keep_alives_on_a_get() {
    let ping = "event: ping\ndata: ping\n\n";
    let exchange = answered(&gate(), get(), events(ping));
    assert_eq!(exchange.text(), ping);
}

#[test]
fn endpoints_may_be_relative() {
    for endpoint in ["messages?session_id=1", "?session_id=1", "./messages", "HTTP://h/m"] {
        let stream = format!("event: endpoint\ndata: {endpoint}\n\n");
        let exchange = answered(&gate(), get(), events(stream.clone()));
        assert_eq!(exchange.text(), stream);
    }
}

#[test]
fn no_stream_is_offered() {
    for body in ["\"Method Not Allowed\"", "Method Not Allowed"] {
        let exchange = answered(&gate(), get(), typed(405, "application/json", body));
        assert_eq!(exchange.status(), 405, "{body}: {}", exchange.text());
    }
}

/// The module says that on a GET's stream the event is dropped, not the stream.
#[test]
fn a_long_event_is_dropped_alone() {
    let gate = gate().with_max_list_bytes(200);
    let next = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
    let exchange = answered(&gate, get(), events(format!("id: 1\ndata: {{\"x\":\"{}\"}}\n\n{next}", "x".repeat(300))));
    assert!(exchange.text().contains("list_changed"), "{:?}", exchange.text());
}

/// A dropped event's id is where a client resumes.
#[test]
fn a_dropped_event_leaves_its_id() {
    let exchange = answered(&gate(), get(), events("id: 41\ndata: [1]\n\n"));
    assert!(exchange.text().contains("id: 41"), "{:?}", exchange.text());
}

/// Members that nobody knows survive, on a stream that replays other results too.
#[test]
fn other_results_with_a_member_of_that_name() {
    let result = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[],\"resources\":[\"a.md\"]}}\n\n";
    assert_eq!(answered(&gate(), get(), events(result)).text(), result);
    let list = r#"{"jsonrpc":"2.0","id":"q-1","result":{"tools":[{"name":"echo"}],"prompts":["x"]}}"#;
    assert_eq!(answered(&gate(), ask("tools/list"), typed(200, "application/json", list)).text(), list);
}

/// A gateway that asks several servers and joins their lists has one gate for all and one for each.
#[test]
fn joined_lists_of_several_servers() {
    use std::future::{Ready, ready};
    use tower::{Service, ServiceExt, service_fn};
    let role = RoleConfig::new("analyst").with_servers(["*"]).with_allow(["*"]);
    let outer = ArgumentAllowlistLayer::new(Policy::new(&PolicyConfig::new().with_role(role)).unwrap());
    let inner = |tool: &str| {
        let role = RoleConfig::new("analyst").with_allow([tool.to_owned()]);
        ArgumentAllowlistLayer::new(Policy::new(&PolicyConfig::new().with_role(role)).unwrap())
    };
    let server = |tool: &'static str| {
        inner(tool).layer(service_fn(move |_: Request<RequestBody<Full<Bytes>>>| -> Ready<Result<_, BoxError>> {
            let list = format!(r#"{{"jsonrpc":"2.0","id":"q-1","result":{{"tools":[{{"name":"{tool}"}}]}}}}"#);
            ready(Ok(typed(200, "application/json", list)))
        }))
    };
    let (a, b) = (server("a"), server("b"));
    let join = service_fn(move |request: Request<RequestBody<Full<Bytes>>>| {
        let (a, b) = (a.clone(), b.clone());
        async move {
            let (head, body) = request.into_parts();
            let bytes = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
            let mut entries = Vec::new();
            for server in [a, b] {
                let own = Request::from_parts(head.clone(), Full::new(bytes.clone()));
                let response = server.oneshot(own).await.unwrap();
                let body = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
                let list: serde_json::Value = serde_json::from_slice(&body).unwrap();
                entries.extend(list["result"]["tools"].as_array().unwrap().clone());
            }
            let list = serde_json::json!({"jsonrpc": "2.0", "id": "q-1", "result": {"tools": entries}});
            Ok::<_, BoxError>(typed(200, "application/json", list.to_string()))
        }
    });
    let mut service = outer.layer(join);
    let mut future = tokio_test::task::spawn(service.call(ask("tools/list")));
    let std::task::Poll::Ready(response) = future.poll() else { panic!("pending") };
    let text = String::from_utf8(collect(response.unwrap().into_body()).0.concat()).unwrap();
    assert!(text.contains("\"a\"") && text.contains("\"b\""), "{text}");
}

// ---- (c) cost ----

#[test]
fn what_is_received_counts_on_the_budget() {
    let budget = BufferBudget::new(1 << 10);
    let list = format!(r#"{{"jsonrpc":"2.0","id":"q-1","result":{{"tools":[],"x":"{}"}}}}"#, "x".repeat(1 << 20));
    let exchange =
        answered(&gate().with_budget(budget), streamable("tools/list"), typed(200, "application/json", list));
    assert!(exchange.body.len() < 1 << 20, "1 MiB was buffered within a budget of 1 KiB");
}

#[test]
fn a_batch_is_answered_where_its_stream_fails() {
    let batch =
        post_text(r#"[{"jsonrpc":"2.0","id":"q-1","method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#);
    let exchange = answered(&gate(), batch.with_header("accept", "text/event-stream"), events("data: {junk\n\n"));
    assert!(exchange.text().contains("\"id\":\"q-1\",\"error\""), "{:?}", exchange.text());
}

#[test]
fn the_error_is_an_event_that_clients_read() {
    let exchange = answered(&gate(), streamable("tools/list"), events("event: ping\ndata: {junk\n\n"));
    assert!(!exchange.text().starts_with("event: ping"), "{}", exchange.text());
}

#[test]
fn the_observer_is_told_of_streams() {
    let told = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&told);
    let gate = gate().on_decision(move |event: &DecisionEvent<'_>| {
        if event.outcome == Outcome::Deny {
            *seen.lock().unwrap() += 1;
        }
    });
    answered(&gate, streamable("tools/list"), typed(200, "application/json", "{junk"));
    assert_eq!(*told.lock().unwrap(), 1, "json");
    answered(&gate, streamable("tools/list"), events("data: {junk\n\n"));
    assert_eq!(*told.lock().unwrap(), 2, "events");
}

#[test]
fn the_error_carries_no_line_of_its_event() {
    let exchange = answered(&gate(), streamable("tools/list"), events(format!("x: {TOOLS}\ndata: {{junk\n\n")));
    hidden("unknown field", &exchange);
}

// ---- what should hold, and is tried here ----

#[test]
fn methods_in_any_spelling() {
    let request = post_text(r#"{"jsonrpc":"2.0","id":"q-1","method":"tools\u002flist"}"#);
    assert_eq!(dense(answered(&gate(), request, typed(200, "application/json", TOOLS)).text()), dense(SEEN));
}

#[test]
fn a_shadow_outside_a_gate() {
    let inner = gate();
    let outer = gate().with_insecure_shadow(true);
    let stack = |mock| outer.layer(inner.layer(mock));
    let exchange = through::<_, RequestBody<RequestBody<Full<Bytes>>>, _, _, _>(
        stack,
        ask("tools/list"),
        typed(200, "application/json", TOOLS),
    );
    hidden("inner", &exchange);
    let stack = |mock| outer.layer(inner.layer(mock));
    let exchange = through::<_, RequestBody<RequestBody<Full<Bytes>>>, _, _, _>(
        stack,
        get(),
        events(format!("data: {TOOLS}\n\n")),
    );
    hidden("inner get", &exchange);
}

#[test]
fn other_things_in_the_stream_of_a_list() {
    let with = [
        "data: {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\"}}\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":1e400}}\n\n",
        ": keep-alive\n\n",
        "id: 3\ndata:\n\n",
        "retry: 5\n\n",
    ];
    for other in with {
        let exchange = answered(&gate(), streamable("tools/list"), events(format!("{other}data: {TOOLS}\n\n")));
        assert_eq!(dense(exchange.text()), dense(&format!("{other}data: {SEEN}\n\n")));
    }
    let lines = format!("data: {}\n\n", TOOLS.replace("},{", "},\ndata: {"));
    hidden("lines", &answered(&gate(), streamable("tools/list"), events(lines)));
}

#[test]
fn statuses_and_types() {
    for status in [201, 203, 206, 207, 300, 400, 404, 418, 500, 599] {
        for media in ["application/json", "APPLICATION/JSON;x=y", " application/json ; charset=\"utf-8\""] {
            hidden(media, &answered(&gate(), streamable("tools/list"), typed(status, media, TOOLS)));
        }
    }
    let twice = {
        let mut response = typed(200, "application/json", TOOLS);
        response.headers_mut().append("content-type", "text/plain".parse().unwrap());
        response
    };
    hidden("twice", &answered(&gate(), streamable("tools/list"), twice));
    hidden("none", &answered(&gate(), streamable("tools/list"), Response::new(Full::from(TOOLS))));
}

#[test]
fn keys_and_values_that_others_read_otherwise() {
    for (from, to) in [
        (r#""tools" :"#, r#""tools":[],"tool\u0073" :"#),
        (r#""tools" :"#, r#""TOOLS" :"#),
        (r#""result""#, r#""Re\u017fult""#),
        (r#"{"name":"run_secret"}"#, r#"{"name":"echo","n\u0061me":"run_secret"}"#),
        (r#"{"name":"run_secret"}"#, r#"{"name":"echo","name\u0000":"run_secret"}"#),
        (r#"{"name":"run_secret"}"#, r#"["run_secret"]"#),
        (r#"{"name":"run_secret"}"#, r#"{"name":["run_secret"]}"#),
        (r#"{"name":"run_secret"}"#, r#"{"__proto__":{"name":"run_secret"}}"#),
        (r#"{"name":"run_secret"}"#, r#"{"name":"run_secret\ud800"}"#),
        (r#""id":"q-1","#, r#""id":"q-1","error":null,"#),
        (r#""id":"q-1","#, r#""id":"q-1","method":"x","#),
        (r#"{"jsonrpc""#, "\u{feff}{\"jsonrpc\""),
        (r#"{"jsonrpc""#, r#"/**/{"jsonrpc""#),
        (r#""nextCursor":"c""#, r#""nextCursor":NaN"#),
    ] {
        let text = TOOLS.replacen(from, to, 1);
        assert_ne!(text, TOOLS);
        hidden(to, &answered(&gate(), streamable("tools/list"), typed(200, "application/json", text.clone())));
        hidden(to, &answered(&gate(), get(), events(format!("data: {text}\n\n"))));
        hidden(to, &answered(&gate(), streamable("tools/list"), events(format!("data: {text}\n\n"))));
    }
}

/// mcp-context-forge sends the first, dav-mcp sent the second. Clients go on.
#[test]
fn keep_alives_that_are_objects() {
    for ping in ["event: keepalive\ndata: {}\n\n", "data: {\"type\":\"heartbeat\"}\n\n"] {
        let exchange = answered(&gate(), streamable("tools/list"), events(format!("{ping}data: {TOOLS}\n\n")));
        assert!(exchange.text().contains("\"echo\""), "{}", exchange.text());
    }
}

/// Go's SDK, mcp-go and sse-stream act on what is there at the end; others wait. Nobody is told anything.
#[test]
fn the_last_event_without_its_blank_line() {
    let exchange = answered(&gate(), streamable("tools/list"), events(format!("data: {TOOLS}\n")));
    assert!(exchange.text().contains("\"echo\"") || exchange.text().contains("\"error\""), "{:?}", exchange.text());
}

/// A list that was asked for and never comes.
#[test]
fn the_upstream_is_let_go() {
    let script = Script::new([Step::Data("data: {junk\n\n".into()), Step::Stay]);
    let polls = script.polls();
    let (mut service, mut handle) = gated::<_, Script>(&gate());
    assert!(service.poll_ready().is_ready());
    let mut future = tokio_test::task::spawn(service.call(streamable("tools/list")));
    assert!(future.poll().is_pending());
    let std::task::Poll::Ready(Some((_, send))) = handle.poll_request() else { panic!("not forwarded") };
    send.send_response(Response::builder().header("content-type", "text/event-stream").body(script).unwrap());
    let std::task::Poll::Ready(response) = future.poll() else { panic!("pending") };
    let (frames, _) = collect(response.unwrap().into_body());
    assert_eq!(frames.len(), 1);
    drop(future);
    assert_eq!(Arc::strong_count(&polls), 1);
}

/// The same while the answer stands in a queue: the upstream is let go when it is not read any more.
#[test]
fn the_upstream_is_let_go_at_once() {
    let script = Script::new([Step::Data("data: {junk\n\n".into()), Step::Stay]);
    let polls = script.polls();
    let (mut service, mut handle) = gated::<_, Script>(&gate());
    assert!(service.poll_ready().is_ready());
    let mut future = tokio_test::task::spawn(service.call(streamable("tools/list")));
    assert!(future.poll().is_pending());
    let std::task::Poll::Ready(Some((_, send))) = handle.poll_request() else { panic!("not forwarded") };
    send.send_response(Response::builder().header("content-type", "text/event-stream").body(script).unwrap());
    let std::task::Poll::Ready(response) = future.poll() else { panic!("pending") };
    let mut body = Box::pin(response.unwrap().into_body());
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(http_body::Body::poll_frame(body.as_mut(), &mut cx).is_ready());
    assert!(http_body::Body::is_end_stream(&*body));
    assert_eq!(Arc::strong_count(&polls), 1, "the stream has ended and its upstream is held");
}

/// A long list is refused when it is too long, and its upstream let go.
#[test]
fn a_list_that_is_too_long_is_let_go() {
    let script = Script::new([Step::Data(vec![b' '; 1000].into()), Step::Stay]);
    let polls = script.polls();
    let (mut service, mut handle) = gated::<_, Script>(&gate().with_max_list_bytes(100));
    assert!(service.poll_ready().is_ready());
    let mut future = tokio_test::task::spawn(service.call(streamable("tools/list")));
    assert!(future.poll().is_pending());
    let std::task::Poll::Ready(Some((_, send))) = handle.poll_request() else { panic!("not forwarded") };
    send.send_response(Response::builder().header("content-type", "application/json").body(script).unwrap());
    assert!(future.poll().is_ready());
    assert_eq!(Arc::strong_count(&polls), 1, "held by a future that is done");
}

/// A body whose length is announced as too long need not be received.
#[test]
fn what_is_announced_as_too_long() {
    let hint = http_body::SizeHint::with_exact(1 << 30);
    let script = Script::new([Step::Stay]).with_hint(hint);
    let (mut service, mut handle) = gated::<_, Script>(&gate());
    assert!(service.poll_ready().is_ready());
    let mut future = tokio_test::task::spawn(service.call(streamable("tools/list")));
    assert!(future.poll().is_pending());
    let std::task::Poll::Ready(Some((_, send))) = handle.poll_request() else { panic!("not forwarded") };
    send.send_response(Response::builder().header("content-type", "application/json").body(script).unwrap());
    assert!(future.poll().is_ready(), "waits for 1 GiB that it will refuse");
}

/// One tool with argument rules and hosts, listed many times under names that need no rule.
/// A modern request, with its scope, in a stream.
#[test]
fn modern_streams_are_private() {
    let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{meta}}}"#);
    let asked =
        post_text(body).with_header("mcp-protocol-version", "2026-07-28").with_header("mcp-method", "tools/list");
    let stream = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\ndata: \"tools\":[]}}\r\r\n".to_owned();
    let exchange = answered(&gate(), asked, events(stream));
    assert!(exchange.text().contains("\"cacheScope\":\"private\""), "{:?}", exchange.text());
}

/// A layer between two gates that puts the server's name before each tool's, as gateways of many servers do.
#[test]
fn a_layer_that_renames_between_two_gates() {
    use std::future::{Ready, ready};
    use tower::{Service, ServiceBuilder, service_fn};
    let gate = |deny: &[&str]| {
        let role = RoleConfig::new("analyst").with_allow(["*"]).with_deny(deny.iter().copied());
        ArgumentAllowlistLayer::new(Policy::new(&PolicyConfig::new().with_role(role)).unwrap())
    };
    let server = service_fn(|_: Request<RequestBody<Full<Bytes>>>| -> Ready<Result<_, BoxError>> {
        let list = r#"{"jsonrpc":"2.0","id":"q-1","result":{"tools":[{"name":"echo"},{"name":"run_secret"}]}}"#;
        ready(Ok(typed(200, "application/json", list)))
    });
    let inner = gate(&["run_secret"]).layer(server);
    let renaming = service_fn(move |request: Request<RequestBody<Full<Bytes>>>| {
        let mut inner = inner.clone();
        async move {
            let (head, body) = request.into_parts();
            let bytes = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
            let response = inner.call(Request::from_parts(head, Full::new(bytes))).await.unwrap();
            let body = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
            let text = String::from_utf8(body.to_vec()).unwrap().replace(r#""name":""#, r#""name":"srv__"#);
            Ok::<_, BoxError>(typed(200, "application/json", text))
        }
    });
    let mut service = ServiceBuilder::new().layer(gate(&[])).service(renaming);
    let mut future = tokio_test::task::spawn(service.call(ask("tools/list")));
    let std::task::Poll::Ready(response) = future.poll() else { panic!("pending") };
    let text = String::from_utf8(collect(response.unwrap().into_body()).0.concat()).unwrap();
    assert!(text.contains("srv__echo") && !text.contains("run_secret"), "{text}");
}

/// A cache between two gates is filled for one caller and read for another.
#[test]
fn a_cache_between_two_gates() {
    use std::future::{Ready, ready};
    use tower::{Service, ServiceBuilder, service_fn};
    let config = PolicyConfig::new()
        .with_role(RoleConfig::new("admin").with_allow(["*"]))
        .with_role(RoleConfig::new("analyst").with_allow(["echo"]));
    let inner = ArgumentAllowlistLayer::new(Policy::new(&config).unwrap());
    let all = PolicyConfig::new()
        .with_role(RoleConfig::new("admin").with_allow(["*"]))
        .with_role(RoleConfig::new("analyst").with_allow(["*"]));
    let outer = ArgumentAllowlistLayer::new(Policy::new(&all).unwrap());
    let server = service_fn(|_: Request<RequestBody<Full<Bytes>>>| -> Ready<Result<_, BoxError>> {
        let list = r#"{"jsonrpc":"2.0","id":"q-1","result":{"tools":[{"name":"echo"},{"name":"run_secret"}]}}"#;
        ready(Ok(typed(200, "application/json", list)))
    });
    let inner = inner.layer(server);
    // Keyed by role, as a cache of private lists must be: what is stored is still not what the inner gate permits.
    let stored = Arc::new(Mutex::new(String::new()));
    let store = Arc::clone(&stored);
    let cache = service_fn(move |request: Request<RequestBody<Full<Bytes>>>| {
        let (mut inner, store) = (inner.clone(), Arc::clone(&store));
        async move {
            let (head, body) = request.into_parts();
            let bytes = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
            let response = inner.call(Request::from_parts(head, Full::new(bytes))).await.unwrap();
            let body = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
            *store.lock().unwrap() = String::from_utf8(body.to_vec()).unwrap();
            Ok::<_, BoxError>(typed(200, "application/json", body))
        }
    });
    let mut service = ServiceBuilder::new().layer(outer).service(cache);
    let mut future = tokio_test::task::spawn(service.call(ask("tools/list")));
    assert!(future.poll().is_ready());
    let stored = stored.lock().unwrap();
    assert!(!stored.contains("run_secret"), "what is stored for an analyst: {stored}");
}

/// Go's SDK keeps the last run of data lines, mcp-go the last line.
#[test]
fn an_endpoint_with_a_list_behind_it() {
    for between in ["\n", "\nid: 1\n"] {
        hidden(between, &answered(&gate(), get(), events(format!("data: /x{between}data: {TOOLS}\n\n"))));
    }
}

/// A byte order mark is one only at the start, and what is dropped makes another place the start.
#[test]
fn a_byte_order_mark_behind_a_dropped_event() {
    let exchange = answered(&gate(), get(), events(format!("data: junk\n\n\u{feff}data: {TOOLS}\n\n")));
    hidden("conforming clients", &exchange);
}

#[test]
fn many_cuts_are_not_as_many_frames() {
    let entry = |at: usize| if at.is_multiple_of(2) { r#"{"name":"echo"}"# } else { r#"{"name":"rm"}"# };
    let entries: Vec<_> = (0..10_000).map(entry).collect();
    let list = format!(r#"{{"jsonrpc":"2.0","id":"q-1","result":{{"tools":[{}]}}}}"#, entries.join(","));
    let (mut service, mut handle) = gated::<_, Full<Bytes>>(&gate());
    assert!(service.poll_ready().is_ready());
    let mut future = tokio_test::task::spawn(service.call(ask("tools/list")));
    assert!(future.poll().is_pending());
    let std::task::Poll::Ready(Some((_, send))) = handle.poll_request() else { panic!("not forwarded") };
    send.send_response(typed(200, "application/json", list));
    let std::task::Poll::Ready(response) = future.poll() else { panic!("the list has arrived") };
    assert!(collect(response.unwrap().into_body()).0.len() <= 64);
}
