//! Ids of sessions and tasks, as clients and servers see them.

use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use tokio_test::task;
use tower::{Layer, ServiceExt};
use tower_test::mock;
use tower_toolgate::answer::{Denial, DenialKind};
use tower_toolgate::binding::{Binder, BindingFault, BindingKey, UnboundRequest, VerifiedSession};
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::binding::BindingLayer;
use tower_toolgate::observe::DecisionEvent;
use tower_toolgate::{Principal, Server};

use super::support::*;

type Inner = RequestBody<Full<Bytes>>;

const OWN: &str = "1868a90c-d91d-4e4a-8d3b-8d6a2a3a6f3e";
const TASK: &str = "786512e2";
const RELATED: &str = "io.modelcontextprotocol/related-task";
const SESSION: &str = "mcp-session-id";
const STREAMABLE: &str = "application/json, text/event-stream";

fn key() -> BindingKey {
    BindingKey::new([7; 32]).unwrap()
}

fn layer() -> BindingLayer {
    BindingLayer::new(key()).with_server(Server::new("files"))
}

fn principal(subject: &str) -> Principal {
    Principal::new("oauth", subject).unwrap()
}

fn binder(subject: &str) -> Binder {
    Binder::new(&key(), Some("files"), Some(&principal(subject)))
}

fn session(subject: &str) -> String {
    binder(subject).bind_session(OWN, SystemTime::now()).unwrap()
}

fn task(subject: &str) -> String {
    binder(subject).bind_task(TASK).unwrap()
}

fn by(subject: &str, request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
    let mut request = request;
    request.extensions_mut().insert(principal(subject));
    request
}

fn ask(subject: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    by(subject, post_text(body)).with_header("accept", STREAMABLE)
}

fn without_body(subject: &str, method: Method) -> Request<Full<Bytes>> {
    let mut request = by(subject, Request::new(Full::default())).with_role("analyst");
    *request.method_mut() = method;
    request
}

fn ping() -> &'static str {
    r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#
}

fn answer(headers: &[(&str, &str)], body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let builder = headers.iter().fold(Response::builder(), |builder, (name, value)| builder.header(*name, *value));
    builder.body(Full::new(body.into())).unwrap()
}

fn json(body: &str) -> Response<Full<Bytes>> {
    answer(&[("content-type", "application/json"), ("content-length", &body.len().to_string())], body.to_owned())
}

fn events(body: &str) -> Response<Full<Bytes>> {
    answer(&[("content-type", "text/event-stream")], body.to_owned())
}

fn send(layer: &BindingLayer, request: Request<Full<Bytes>>, answer: Response<Full<Bytes>>) -> Exchange {
    through::<_, Inner, _, _, _>(|mock| layer.layer(mock), request, answer)
}

fn passed(request: Request<Full<Bytes>>) -> Exchange {
    send(&layer(), request, answer_of_inner())
}

/// How a server's task of this id is known to ana, wherever it is named.
fn bound(text: &str) -> String {
    text.replace(TASK, &task("ana"))
}

fn unbound_kind(exchange: &Exchange) -> UnboundRequest {
    match exchange.denial().kind() {
        DenialKind::Binding(unbound) => *unbound,
        other => panic!("{other:?}"),
    }
}

#[test]
fn sk_07_th_071_a_bound_session_reaches_its_server() {
    let exchange = passed(ask("ana", ping()).with_header(SESSION, &session("ana")));
    let seen = exchange.passed("bound");
    assert_eq!(seen.head.headers[SESSION], OWN);
    assert_eq!(seen.body(), ping().as_bytes());
    assert!(!format!("{:?}", seen.head).contains(OWN), "sk_09");
    let verified = VerifiedSession::of(&seen.head.extensions).unwrap();
    assert_eq!(verified.id(), OWN);
    assert!(verified.minted() <= SystemTime::now());
    // A refreshed token of the same user.
    let mut refreshed = ask("ana", ping()).with_header(SESSION, &session("ana"));
    refreshed.extensions_mut().insert(principal("ana").with_epoch("token-2"));
    passed(refreshed).passed("refreshed");
    // Without a session there is none.
    let mut without = ask("ana", ping());
    without.extensions_mut().insert(verified.clone());
    let exchange = passed(without);
    assert!(VerifiedSession::of(&exchange.passed("none").head.extensions).is_none());
}

#[test]
fn sk_07_th_067_th_070_a_session_of_others_is_not_found() {
    let elsewhere = Binder::new(&key(), Some("db"), Some(&principal("ana")));
    let other_key = Binder::new(&BindingKey::new([8; 32]).unwrap(), Some("files"), Some(&principal("ana")));
    let now = SystemTime::now();
    let mut bodies = std::collections::HashSet::new();
    for (id, fault) in [
        (session("bob"), BindingFault::OtherPrincipal),
        (elsewhere.bind_session(OWN, now).unwrap(), BindingFault::OtherServer),
        (other_key.bind_session(OWN, now).unwrap(), BindingFault::Forged),
        (task("ana"), BindingFault::OtherKind),
        (session("ana").replacen("v1", "v2", 1), BindingFault::OtherVersion),
        (OWN.to_owned(), BindingFault::Malformed),
        (format!("{OWN}?owner=bob"), BindingFault::Malformed),
        (String::new(), BindingFault::Malformed),
        (format!("{}, {}", session("ana"), session("ana")), BindingFault::Malformed),
        ("v".repeat(5000), BindingFault::TooLong),
    ] {
        for accept in [STREAMABLE, "application/json"] {
            let request = by("ana", post_text(ping())).with_header("accept", accept).with_header(SESSION, &id);
            let exchange = passed(request);
            exchange.refused(&id, 404, "7", 404, "binding.session_unknown");
            assert_eq!(unbound_kind(&exchange), UnboundRequest::SessionUnknown(fault), "{id}");
            bodies.insert(exchange.text().to_owned());
        }
        for method in [Method::GET, Method::DELETE] {
            let exchange = passed(without_body("ana", method).with_header(SESSION, &id));
            exchange.refused(&id, 404, "null", 404, "binding.session_unknown");
        }
    }
    assert_eq!(bodies.len(), 1, "what is wrong is not told");
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let reply = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    for body in [notification, reply] {
        let exchange = passed(ask("ana", body).with_header(SESSION, &session("bob")));
        exchange.refused(body, 404, "null", 404, "binding.session_unknown");
    }
    let initialize = r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}"#;
    let exchange = passed(ask("ana", initialize).with_header(SESSION, &session("bob")));
    exchange.refused("initialize", 404, "7", 404, "binding.session_unknown");
    // The session survives.
    for method in [Method::GET, Method::DELETE] {
        let exchange = passed(without_body("bob", method).with_header(SESSION, &session("bob")));
        assert_eq!(exchange.passed("bob's").head.headers[SESSION], OWN);
    }
}

#[test]
fn th_068_a_session_in_use_is_looked_at_again() {
    let layer = layer();
    for _ in 0..2 {
        send(&layer, ask("ana", ping()).with_header(SESSION, &session("ana")), answer_of_inner()).passed("ana");
        let exchange = send(&layer, ask("bob", ping()).with_header(SESSION, &session("ana")), answer_of_inner());
        exchange.refused("bob", 404, "7", 404, "binding.session_unknown");
    }
}

#[test]
fn sk_10_a_session_that_is_named_twice_is_refused() {
    let twice =
        |request: Request<_>| request.with_header(SESSION, &session("ana")).with_header(SESSION, &session("ana"));
    for request in [ask("ana", ping()), by("ana", post_text(ping()))] {
        passed(twice(request)).refused("twice", 400, "7", -32020, "header.repeated");
    }
    for method in [Method::GET, Method::DELETE] {
        passed(twice(without_body("ana", method))).refused("twice", 400, "null", -32020, "header.repeated");
    }
}

#[test]
fn th_069_a_stream_is_resumed_in_a_session_only() {
    let resume = |subject| without_body(subject, Method::GET).with_header("last-event-id", "e-17");
    passed(resume("ana")).refused("none", 400, "null", -32600, "binding.session_missing");
    let exchange = passed(resume("bob").with_header(SESSION, &session("ana")));
    exchange.refused("foreign", 404, "null", 404, "binding.session_unknown");
    let exchange = passed(resume("ana").with_header(SESSION, &session("ana")));
    assert_eq!(exchange.passed("own").head.headers["last-event-id"], "e-17");
    passed(without_body("ana", Method::GET)).passed("a stream of no session");
}

#[test]
fn nobody_has_no_session() {
    let nobody = || post_text(ping()).with_header("accept", STREAMABLE);
    passed(nobody()).refused("nobody", 200, "7", 403, "binding.principal_missing");
    passed(post_text(ping())).refused("nobody", 403, "7", 403, "binding.principal_missing");
    let anonymous = layer().with_insecure_anonymous(true);
    let exchange = send(&anonymous, nobody(), answer(&[(SESSION, OWN)], ""));
    let id = exchange.header(SESSION).unwrap().to_owned();
    let exchange = send(&anonymous, nobody().with_header(SESSION, &id), answer_of_inner());
    assert_eq!(exchange.passed("shared").head.headers[SESSION], OWN);
    let exchange = send(&anonymous, ask("ana", ping()).with_header(SESSION, &id), answer_of_inner());
    exchange.refused("ana is not nobody", 404, "7", 404, "binding.session_unknown");
}

#[test]
fn a_preflight_has_no_session() {
    let request = without_body("ana", Method::OPTIONS)
        .with_header("origin", "https://a.example")
        .with_header("access-control-request-method", "POST")
        .with_header(SESSION, OWN);
    assert!(!passed(request).passed("preflight").head.headers.contains_key(SESSION));
}

#[test]
fn a_session_is_bound_before_the_client_sees_it() {
    for status in [200, 202, 204, 400, 404, 500] {
        for request in [ask("ana", ping()), without_body("ana", Method::GET), without_body("ana", Method::DELETE)] {
            let mut response = answer(&[(SESSION, OWN), ("x-other", "1")], "");
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            let exchange = send(&layer(), request, response);
            assert_eq!((exchange.status().as_u16(), exchange.header("x-other")), (status, Some("1")));
            let id = exchange.header(SESSION).unwrap();
            assert_eq!(binder("ana").verify_session(id).unwrap().id(), OWN);
            assert_eq!(binder("bob").verify_session(id), Err(BindingFault::OtherPrincipal));
        }
    }
    for headers in [&[(SESSION, OWN), (SESSION, OWN)][..], &[(SESSION, "")], &[(SESSION, "a b")]] {
        for status in [200, 500] {
            let mut response = answer(headers, "");
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            let exchange = send(&layer(), ask("ana", ping()), response);
            assert_eq!(exchange.denial().reason(), "upstream.invalid_answer");
            assert_eq!((exchange.header(SESSION), exchange.status().as_u16()), (None, status), "{headers:?}");
        }
    }
}

#[test]
fn sk_13_sk_18_no_echo_makes_a_session_younger() {
    let old = SystemTime::now() - Duration::from_secs(86_400);
    let id = binder("ana").bind_session(OWN, old).unwrap();
    for request in [ask("ana", ping()), without_body("ana", Method::DELETE)] {
        let exchange = send(&layer(), request.with_header(SESSION, &id), answer(&[(SESSION, OWN)], ""));
        assert_eq!(exchange.header(SESSION), Some(&*id));
        let seen = exchange.seen.unwrap();
        let first = VerifiedSession::of(&seen.head.extensions).unwrap().clone();
        assert!(first.minted() < SystemTime::now() - Duration::from_secs(86_000));
        // Whenever it was given out, it is the same conversation.
        assert_eq!(first.conversation(), binder("ana").verify_session(&session("ana")).unwrap().conversation());
    }
    let exchange = send(&layer(), ask("ana", ping()).with_header(SESSION, &id), answer(&[(SESSION, "another")], ""));
    let another = binder("ana").verify_session(exchange.header(SESSION).unwrap()).unwrap();
    assert!(another.id() == "another" && another.minted() > old);
}

#[test]
fn sk_14_a_session_of_too_long_ago_is_not_found() {
    let layer = layer().with_max_session_age(Duration::from_secs(3600));
    let old = binder("ana").bind_session(OWN, SystemTime::now() - Duration::from_secs(3700)).unwrap();
    let exchange = send(&layer, ask("ana", ping()).with_header(SESSION, &old), answer_of_inner());
    exchange.refused("old", 404, "7", 404, "binding.session_unknown");
    assert_eq!(unbound_kind(&exchange), UnboundRequest::SessionUnknown(BindingFault::Expired));
    send(&layer, ask("ana", ping()).with_header(SESSION, &session("ana")), answer_of_inner()).passed("young");
}

#[test]
fn another_process_with_the_key_goes_on() {
    let exchange = send(&layer(), ask("ana", ping()), answer(&[(SESSION, OWN)], ""));
    let id = exchange.header(SESSION).unwrap().to_owned();
    let again = ask("ana", ping()).with_header(SESSION, &id);
    send(&layer(), again, answer_of_inner()).passed("the same key");
    let rotated = BindingKey::new([9; 32]).unwrap().with_previous([7; 32]).unwrap();
    let rotated = BindingLayer::new(rotated).with_server(Server::new("files"));
    let exchange = send(&rotated, ask("ana", ping()).with_header(SESSION, &id), answer(&[(SESSION, OWN)], ""));
    assert_eq!(exchange.header(SESSION), Some(&*id));
    let other = BindingLayer::new(BindingKey::random().unwrap()).with_server(Server::new("files"));
    let exchange = send(&other, ask("ana", ping()).with_header(SESSION, &id), answer_of_inner());
    exchange.refused("another key", 404, "7", 404, "binding.session_unknown");
}

#[test]
fn the_server_of_the_route_counts() {
    let layer = BindingLayer::new(key());
    let request = |server| ask("ana", ping()).with_header(SESSION, &session("ana")).with_server(server);
    send(&layer, request("files"), answer_of_inner()).passed("files");
    send(&layer, request("db"), answer_of_inner()).refused("db", 404, "7", 404, "binding.session_unknown");
}

/// Requests that name a server's task.
fn naming() -> Vec<String> {
    let meta = format!(r#""_meta":{{"a":1.0,"{RELATED}":{{"taskId":"{TASK}"}}}}"#);
    let mut bodies: Vec<_> = ["tasks/get", "tasks/result", "tasks/cancel", "tasks/update", "tasks/later"]
        .map(|method| {
            format!(r#"{{ "jsonrpc":"2.0","id":7,"params":{{"x":1.50,"taskId" : "{TASK}"}},"method":"{method}"}}"#)
        })
        .into();
    bodies.push(format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo",{meta}}}}}"#));
    let filter = format!(r#"{{"toolsListChanged":true,"taskIds":["{TASK}","{TASK}"]}}"#);
    let listen = r#""id":7,"method":"subscriptions/listen""#;
    bodies.push(format!(r#"{{"jsonrpc":"2.0",{listen},"params":{{"notifications":{filter}}}}}"#));
    bodies
}

#[test]
fn sk_08_a_bound_task_reaches_its_server_and_nothing_else_changes() {
    let progress = r#""method":"notifications/progress","params":{"progressToken":1,"progress":1,"#;
    let more = [
        format!(r#"{{"jsonrpc":"2.0",{progress}"_meta":{{"{RELATED}":{{"taskId":"{TASK}"}}}}}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"_meta":{{"{RELATED}":{{"taskId":"{TASK}"}}}}}}}}"#),
        format!(r#"[{{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{{"taskId":"{TASK}"}}}},{}]"#, legal()),
    ];
    for own in naming().into_iter().chain(more) {
        let sent = bound(&own);
        let request = ask("ana", sent.clone()).with_header("content-length", &sent.len().to_string());
        let exchange = passed(request);
        let seen = exchange.passed(&own);
        assert_eq!(String::from_utf8(seen.body()).unwrap(), own);
        assert_eq!(seen.head.headers["content-length"], *own.len().to_string());
        assert_eq!(seen.hint.exact(), Some(own.len() as u64));
        assert_eq!(seen.inspection().bytes(), &own.as_bytes());
    }
    let escaped = naming()[0].replace(TASK, &task("ana").replacen('t', r"\u0074", 1));
    assert_eq!(passed(ask("ana", escaped)).passed("escaped").body(), naming()[0].as_bytes());
}

#[test]
fn sk_08_a_task_of_others_is_unknown() {
    let elsewhere = Binder::new(&key(), Some("db"), Some(&principal("ana"))).bind_task(TASK).unwrap();
    let mut answers = std::collections::HashSet::new();
    for (id, fault) in [
        (TASK.to_owned(), BindingFault::Malformed),
        (task("bob"), BindingFault::OtherPrincipal),
        (elsewhere, BindingFault::OtherServer),
        (session("ana"), BindingFault::OtherKind),
        (task("ana").replacen("t1", "t2", 1), BindingFault::OtherVersion),
        (task("ana").replacen("t1.N", "t1.O", 1), BindingFault::Forged),
        ("t".repeat(4000), BindingFault::TooLong),
        (r"\ud800".to_owned(), BindingFault::Malformed),
    ] {
        for own in naming() {
            let exchange = passed(ask("ana", own.replace(TASK, &id)));
            if exchange.denial().reason() != "message.lone_surrogate" {
                exchange.refused(&own, 200, "7", -32602, "binding.task_unknown");
                assert_eq!(unbound_kind(&exchange), UnboundRequest::TaskUnknown(fault), "{own}");
                answers.insert(exchange.text().to_owned());
            }
            assert!(exchange.seen.is_none());
        }
    }
    assert_eq!(answers.len(), 1, "what is wrong is not told");
    let plain = passed(by("ana", post_text(naming().remove(0))));
    plain.refused("plain", 403, "7", -32602, "binding.task_unknown");
    for value in ["7", r#"["x"]"#, r#"{"taskId":7}"#, r#"{"taskId":["x"]}"#] {
        let params = format!(r#"{{"name":"echo","_meta":{{"{RELATED}":{value}}}}}"#);
        let call = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#);
        let exchange = passed(ask("ana", call));
        assert_eq!(exchange.denial().reason(), "binding.task_unknown", "{value}");
    }
}

#[test]
fn sk_08_one_foreign_task_refuses_a_batch() {
    let get = |id: u8, task: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks/get","params":{{"taskId":"{task}"}}}}"#)
    };
    let batch = format!("[{},{}]", get(1, &task("ana")), get(2, &task("bob")));
    let exchange = passed(ask("ana", batch));
    assert!(exchange.seen.is_none());
    let text = exchange.text();
    assert!(text.starts_with(r#"[{"jsonrpc":"2.0","id":1,"error":{"code":403,"#), "{text}");
    assert!(text.contains(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"unknown task""#), "{text}");
    // Nobody waits for an answer to this one.
    let meta = format!(r#"{{"{RELATED}":{{"taskId":"{}"}}}}"#, task("bob"));
    let progress = format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"_meta":{meta}}}}}"#);
    passed(ask("ana", progress)).dropped("progress", "binding.task_unknown");
}

#[test]
fn a_list_of_everybodys_tasks_is_not_given() {
    let list = r#"{"jsonrpc":"2.0","id":7,"method":"tasks/list"}"#;
    for body in [list.to_owned(), list.replace("list", r"\u006cist")] {
        passed(ask("ana", body.clone())).refused("list", 200, "7", -32601, "binding.task_list");
        passed(by("ana", post_text(body))).refused("list", 403, "7", -32601, "binding.task_list");
    }
}

#[test]
fn a_clients_own_tasks_keep_their_ids() {
    let status = r#""method":"notifications/tasks/status","params":{"taskId":"mine","status":"working"}"#;
    for body in [
        format!(r#"{{"jsonrpc":"2.0",{status}}}"#),
        r#"{"jsonrpc":"2.0","id":7,"result":{"task":{"taskId":"mine","status":"working"}}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"_meta":{{"{RELATED}":{{"taskId":"mine"}}}}}}}}"#),
    ] {
        let exchange = passed(ask("ana", body.clone()));
        assert_eq!(exchange.passed(&body).body(), body.as_bytes());
    }
    let wants = r#"data: {"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"mine"}}"#;
    let exchange = send(&layer(), ask("ana", ping()), events(&format!("{wants}\n\n")));
    assert_eq!(exchange.text(), format!("{wants}\n\n"));
}

#[test]
fn sk_08_the_name_in_the_head_follows_the_body() {
    let id = |own: &str| binder("ana").bind_task(own).unwrap();
    for (own, name) in
        [(TASK, TASK), (" \u{e9}", "=?base64?IMOp?="), ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?=")]
    {
        let version = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        let body = |id: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{{"taskId":"{id}",{version}}}}}"#)
        };
        let request = ask("ana", body(&id(own)))
            .with_header("mcp-protocol-version", "2026-07-28")
            .with_header("mcp-method", "tasks/get")
            .with_header("mcp-name", &id(own));
        let exchange = passed(request);
        let seen = exchange.passed(own);
        assert_eq!(seen.head.headers["mcp-name"], name);
        assert_eq!(seen.body(), body(own).as_bytes());
    }
}

/// What servers send that names a task of theirs.
fn results() -> Vec<String> {
    let related = format!(r#""_meta":{{"x":1.0,"{RELATED}":{{"taskId":"{TASK}"}}}}"#);
    vec![
        format!(
            r#"{{"jsonrpc":"2.0", "id":7,"result":{{"task":{{"ttl":1.0,"taskId":"{TASK}","status":"working"}}}}}}"#
        ),
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"result":{{"resultType":"task","taskId" : "{TASK}","status":"working"}}}}"#
        ),
        format!(r#"{{"result":{{{related},"content":[]}},"id":7,"jsonrpc":"2.0"}}"#),
        format!(
            r#"{{"id":7,"result":{{"status":"completed","taskId":"{TASK}","result":{{{related}}}}},"jsonrpc":"2.0"}}"#
        ),
    ]
}

fn notifications() -> Vec<String> {
    let confirmed = r#""method":"notifications/subscriptions/acknowledged""#;
    let related = format!(r#""_meta":{{"{RELATED}":{{"taskId":"{TASK}"}}}}"#);
    vec![
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{{"taskId":"{TASK}","status":"x"}}}}"#
        ),
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{{"taskId":"{TASK}","status":"x"}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{{{related},"message":"?"}}}}"#),
        format!(r#"{{"jsonrpc":"2.0",{confirmed},"params":{{"notifications":{{"taskIds":["{TASK}"]}}}}}}"#),
    ]
}

#[test]
fn sk_08_a_task_is_bound_before_the_client_sees_it() {
    let get = bound(&naming()[0]);
    for own in results() {
        let exchange = send(&layer(), ask("ana", get.clone()), json(&own));
        assert_eq!(exchange.text(), bound(&own));
        assert_eq!(exchange.header("content-length"), Some(&*bound(&own).len().to_string()));
    }
    for own in results().into_iter().chain(notifications()) {
        for request in [ask("ana", get.clone()), ask("ana", legal()), without_body("ana", Method::GET)] {
            let stream = format!(": x\r\n\r\nid: 1\ndata: {{\"a\": 1.0}}\n\nevent: message\nid: 2\ndata: {own}\n\n");
            let exchange = send(&layer(), request, events(&stream));
            assert_eq!(exchange.text(), bound(&stream), "{own}");
        }
    }
    // Its owner can use it.
    let seen = send(&layer(), ask("ana", get), answer_of_inner());
    assert_eq!(seen.passed("own").body(), naming()[0].as_bytes());
}

#[test]
fn what_names_no_task_stays_as_it_is() {
    let call = tool_call("7", "echo", r#"{"task":1}"#);
    for own in [
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"taskId"}],"n":1.0}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"structuredContent":{{"taskId":"{TASK}","status":""}}}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"taskId":"{TASK}"}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":1,"message":"","data":{{"taskId":"{TASK}"}}}}}}"#),
        "not JSON".to_owned(),
    ] {
        assert_eq!(send(&layer(), ask("ana", call.clone()), json(&own)).text(), own);
        let stream = format!("data: {own}\n\n");
        assert_eq!(send(&layer(), ask("ana", call.clone()), events(&stream)).text(), stream);
    }
    // Where nobody speaks of tasks an answer is not held.
    let torn = || Script::new([Step::Data("{\"half".into()), Step::Stay]);
    let response = Response::builder().header("content-type", "application/json").body(torn()).unwrap();
    let (mock, mut handle) = mock::pair::<Request<Inner>, Response<Script>>();
    let mut future = task::spawn(layer().layer(mock).oneshot(ask("ana", ping())));
    assert!(future.poll().is_pending());
    let Poll::Ready(Some((_, send))) = handle.poll_request() else { panic!("no request") };
    send.send_response(response);
    assert!(future.poll().is_ready());
}

#[test]
fn what_cannot_be_bound_is_not_handed_on() {
    let get = bound(&naming()[0]);
    let long = results()[0].replace(TASK, &"x".repeat(2000));
    for own in [long, results()[0].replace(TASK, ""), r#"{"result":{"taskId":"x""#.to_owned()] {
        let exchange = send(&layer(), ask("ana", get.clone()), json(&own));
        assert_eq!(exchange.denial().reason(), "upstream.invalid_answer");
        let exchange = send(&layer(), ask("ana", get.clone()), events(&format!("data: {own}\n\ndata: {{}}\n\n")));
        assert!(exchange.text().contains("upstream.invalid_answer"), "{}", exchange.text());
        let stream = format!("data: {own}\n\ndata: {{}}\n\n");
        let exchange = send(&layer(), without_body("ana", Method::GET), events(&stream));
        assert_eq!(exchange.text(), "data: {}\n\n");
    }
}

const TOOLS: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"echo"},{"name":"rm"}]}}"#;

#[test]
fn joined_layers_judge_what_is_forwarded() {
    let joined = layer().join(mcp().with_server(Server::new("files")));
    let through =
        |request, answer| through::<_, RequestBody<Inner>, _, _, _>(|mock| joined.layer(mock), request, answer);
    let list = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    let with_session = |request: Request<_>| request.with_header(SESSION, &session("ana"));
    let kept = TOOLS.replace(r#",{"name":"rm"}"#, "");
    assert_eq!(through(with_session(ask("ana", list)), json(TOOLS)).text(), kept);
    let stream = format!("data: {TOOLS}\n\ndata: {}\n\n", results()[0]);
    let expected = format!("data: {kept}\n\ndata: {}\n\n", bound(&results()[0]));
    let exchange = through(with_session(without_body("ana", Method::GET)), events(&stream));
    assert_eq!(exchange.text(), expected);
    // The gate reads what was changed, and refuses what it would refuse.
    let meta = format!(r#""_meta":{{"{RELATED}":{{"taskId":"{TASK}"}}}}"#);
    let call =
        |tool| format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{tool}",{meta}}}}}"#);
    let exchange = through(ask("ana", bound(&call("echo"))), json(&results()[2]));
    assert_eq!(exchange.text(), bound(&results()[2]));
    assert_eq!(exchange.seen.unwrap().body(), call("echo").as_bytes());
    through(ask("ana", bound(&call("rm"))), json(TOOLS)).refused("rm", 200, "7", 403, "policy.tool_not_allowed");
    let exchange = through(ask("ana", legal()).with_header(SESSION, &session("bob")), json(TOOLS));
    exchange.refused("foreign", 404, "1", 404, "binding.session_unknown");
}

#[test]
fn an_edited_body_loses_no_work_of_layers_around_it() {
    // The changed request asks for a list, in a batch, and the innermost gate permits less than the outer one.
    let narrow = || mcp().with_server(Server::new("files"));
    let joined = narrow().join(layer().join(narrow()));
    let get = r#"{"jsonrpc":"2.0","id":8,"method":"ping","params":{"_meta":{"META":{"taskId":"TASK"}}}}"#;
    let get = get.replace("META", RELATED).replace("TASK", &task("ana"));
    let batch = format!(r#"[{{"jsonrpc":"2.0","id":7,"method":"tools/list"}},{get}]"#);
    type Innermost = RequestBody<RequestBody<Inner>>;
    let answers = format!("[{TOOLS}]");
    let exchange = through::<_, Innermost, _, _, _>(|mock| joined.layer(mock), ask("ana", batch), json(&answers));
    assert_eq!(exchange.text(), answers.replace(r#",{"name":"rm"}"#, ""));
}

#[test]
fn th_072_equal_ids_at_once_do_not_mix() {
    let (mock, mut handle) = mock::pair::<Request<Inner>, Response<Full<Bytes>>>();
    let service = layer().layer(mock);
    let subjects = ["ana", "bob", "eve"];
    let ask = |subject| ask(subject, naming()[0].replace(TASK, &task(subject))).with_header(SESSION, &session(subject));
    let mut futures: Vec<_> =
        subjects.iter().map(|subject| task::spawn(service.clone().oneshot(ask(subject)))).collect();
    futures.iter_mut().for_each(|future| assert!(future.poll().is_pending()));
    let mut waiting = Vec::new();
    while let Poll::Ready(Some((request, send))) = handle.poll_request() {
        let subject = request.extensions().get::<Principal>().unwrap().subject().to_owned();
        assert_eq!(request.headers()[SESSION], OWN);
        waiting.push((subject, send));
    }
    assert_eq!(waiting.len(), 3);
    for (subject, send) in waiting.into_iter().rev() {
        let mut response = json(&results()[0]);
        response.headers_mut().insert("x-for", HeaderValue::from_str(&subject).unwrap());
        response.headers_mut().insert(SESSION, HeaderValue::from_static(OWN));
        send.send_response(response);
    }
    for (subject, mut future) in subjects.iter().zip(futures) {
        let Poll::Ready(Ok(response)) = future.poll() else { panic!("{subject} waits") };
        let (head, body) = response.into_parts();
        assert_eq!(head.headers["x-for"], **subject);
        let id = head.headers[SESSION].to_str().unwrap();
        assert!(binder(subject).verify_session(id).is_ok());
        let body = String::from_utf8(collect(body).0.concat()).unwrap();
        assert_eq!(body, results()[0].replace(TASK, &task(subject)));
    }
}

#[test]
fn sk_09_observers_see_what_is_wrong_and_no_id() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let told_to = Arc::clone(&told);
    let observed = layer().on_decision(move |event: &DecisionEvent<'_>| {
        let denial = event.denial.map(|denial: &Denial| (denial.reason(), format!("{denial} {denial:?} {event:?}")));
        told_to.lock().unwrap().push((event.principal().map(|who| who.subject().to_owned()), denial));
    });
    send(&observed, ask("ana", ping()).with_header(SESSION, &session("ana")), answer_of_inner()).passed("own");
    assert!(told.lock().unwrap().is_empty());
    send(&observed, ask("ana", ping()).with_header(SESSION, &session("bob")), answer_of_inner());
    let told = told.lock().unwrap();
    let [(Some(who), Some((reason, text)))] = &told[..] else { panic!("{told:?}") };
    assert_eq!((&**who, *reason), ("ana", "binding.session_unknown"));
    assert!(text.contains("OtherPrincipal") && !text.contains(OWN) && !text.contains(&session("bob")), "{text}");
}
