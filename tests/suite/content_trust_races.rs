//! Marks come before what they are about.

use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio_test::task;
use tower::Layer;
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::content_trust::ConversationSource;
use tower_toolgate::trust::Facts;

use super::content_trust::*;
use super::content_trust_stepped::{Running, Stepped, next};
use super::support::{Step as Part, *};

pub(crate) const CLAIM: &str =
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"ifc":{"integrity":"untrusted"}}}}"#;

/// Requests that bring foreign content, whatever comes back.
pub(crate) fn external() -> Vec<(&'static str, Request<Full<Bytes>>)> {
    let call = |tool| ask("web", "tools/call", &format!(r#"{{"name":"{tool}"}}"#));
    vec![
        ("an unknown tool", call("look")),
        ("a tool of the web, of a trusted server", ask("kg", "tools/call", r#"{"name":"web_fetch"}"#)),
        ("a distrusted tool of a trusted server", ask("kg", "tools/call", r#"{"name":"scrape"}"#)),
        ("without a server", by("ana", post_text(tool_call("1", "look", "{}")))),
        ("a resource", ask("web", "resources/read", r#"{"uri":"file:///a"}"#)),
        ("a directory", ask("web", "resources/directory/read", r#"{"uri":"file:///a"}"#)),
        ("a prompt", ask("web", "prompts/get", r#"{"name":"greet"}"#)),
        (
            "a completion",
            ask(
                "web",
                "completion/complete",
                r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"a","value":"b"}}"#,
            ),
        ),
        ("a task", ask("web", "tasks/get", r#"{"taskId":"7"}"#)),
        ("a task's result", ask("web", "tasks/result", r#"{"taskId":"7"}"#)),
        ("a list of tasks", ask("web", "tasks/list", "{}")),
        ("a method of no table", ask("web", "acme/search", "{}")),
        ("a method of an extension", ask("web", "skills/get", r#"{"name":"a"}"#)),
    ]
}

#[test]
fn rc_01_co_51_the_mark_is_made_before_the_request_is_sent() {
    for (name, request) in external() {
        let store = Stepped::new();
        let mut running = Running::<Full<Bytes>>::start(&trust(&store), request);
        assert!(running.poll().is_pending() && !running.is_dispatched(), "{name}");
        assert_eq!(store.marking(), 1, "{name}");
        store.let_pass(1);
        assert!(running.future.is_woken() && running.poll().is_pending(), "{name}");
        assert!(is_tainted(&store.memory, "ana") && running.is_dispatched(), "{name}");
        running.answer(json(RESULT));
        let Poll::Ready(response) = running.poll() else { panic!("{name}: waits for another mark") };
        assert_eq!(collect(response.into_body()).0.concat(), RESULT.as_bytes(), "{name}");
        assert_eq!(store.asked().len(), 1, "{name}");
    }
}

#[test]
fn rc_02_an_answer_is_held_until_it_is_marked() {
    let store = Stepped::new();
    let mut running = Running::start(&trust(&store), call("read"));
    assert!(running.poll().is_pending());
    store.let_pass(1);
    assert!(running.poll().is_pending());
    running.answer(json(CLAIM));
    assert!(running.poll().is_pending() && !is_tainted(&store.memory, "ana"));
    assert_eq!(store.marking(), 1);
    store.let_pass(1);
    assert!(running.future.is_woken());
    let Poll::Ready(response) = running.poll() else { panic!("not woken") };
    assert!(is_tainted(&store.memory, "ana"));
    assert_eq!(response.headers().get("content-type").unwrap(), "application/json");
    assert_eq!(collect(response.into_body()).0.concat(), CLAIM.as_bytes());
}

#[test]
fn rc_02_each_event_that_claims_something_is_held_until_it_is_marked() {
    let store = Stepped::new();
    let mut running = Running::start(&trust(&store), call("read"));
    assert!(running.poll().is_pending());
    store.let_pass(1);
    assert!(running.poll().is_pending());
    let (plain, raised) = ("data: {\"a\":1}\n\n", format!("data: {CLAIM}\n\n"));
    let script = [plain, &raised, plain, &raised].map(|event| Part::Data(event.to_owned().into()));
    running.answer(Response::builder().header("content-type", "text/event-stream").body(Script::new(script)).unwrap());
    let Poll::Ready(response) = running.poll() else { panic!("the head waits for an event") };
    let mut body = task::spawn(Box::pin(response.into_body()));
    for marked in 1..=2 {
        assert_eq!(next(&mut body), Poll::Ready(Some(plain.into())));
        assert!(next(&mut body).is_pending() && store.marking() == marked);
        assert!(next(&mut body).is_pending() && !body.is_woken() && store.marking() == marked);
        store.let_pass(1);
        assert!(body.is_woken());
        assert_eq!(next(&mut body), Poll::Ready(Some(raised.clone().into())));
        assert!(is_tainted(&store.memory, "ana"));
    }
    assert_eq!(next(&mut body), Poll::Ready(None));
}

#[test]
fn rc_03_rc_04_a_sink_passes_until_the_content_is_marked_and_not_after() {
    let store = Stepped::new();
    let layer = trust(&store);
    let mut reading = Running::start(&layer, call("read"));
    assert!(reading.poll().is_pending());
    store.let_pass(1);
    assert!(reading.poll().is_pending());
    reading.answer(json(CLAIM));
    assert!(reading.poll().is_pending(), "the content waits for its mark");
    // Decided on before anything was delivered.
    store.let_pass(1);
    let mut early = Running::<Full<Bytes>>::start(&layer, call("remember"));
    assert!(early.poll().is_pending() && early.is_dispatched());
    store.let_pass(usize::MAX);
    assert!(reading.poll().is_ready());
    send(&layer, call("remember"), json(RESULT)).refused("after delivery", 403, "1", 403, "trust.tainted_sink");
    early.answer(json(RESULT));
    assert!(early.poll().is_ready());
}

#[test]
fn rc_06_ct_56_the_mark_stays_whatever_becomes_of_the_call() {
    for status in [204, 302, 404, 429, 500, 502, 504] {
        let store = Stepped::open();
        let answer = Response::builder().status(status).body(Full::<Bytes>::default()).unwrap();
        assert_eq!(send(&trust(&store), call("scrape"), answer).status(), status);
        assert!(is_tainted(&store.memory, "ana"), "{status}");
    }
    let store = Stepped::open();
    let mut running = Running::<Full<Bytes>>::start(&trust(&store), call("scrape"));
    assert!(running.poll().is_pending());
    running.fail();
    assert!(running.future.poll().is_ready() && is_tainted(&store.memory, "ana"));
    for error in [
        r#"{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"7","status":"working"}}}"#,
    ] {
        let store = Stepped::open();
        assert_eq!(send(&trust(&store), call("scrape"), json(error)).text(), error);
        assert!(is_tainted(&store.memory, "ana"), "{error}");
    }
}

#[test]
fn rc_07_what_a_gate_refuses_visits_no_store() {
    let store = Stepped::open();
    let (gate, trust) = (mcp(), trust(&store));
    let cases: [(&str, Request<Full<Bytes>>); 3] = [
        ("a tool", by("ana", post_text(tool_call("1", "scrape", "{}")).with_server("files"))),
        ("no server", by("ana", post_text(tool_call("1", "echo", "{}")).with_server("other"))),
        ("no role", by("ana", post_text(tool_call("1", "echo", "{}")).with_role("nobody"))),
    ];
    for (name, request) in cases {
        type Twice = RequestBody<RequestBody<Full<Bytes>>>;
        let denied = through::<_, Twice, _, _, _>(|mock| gate.layer(trust.layer(mock)), request, json(RESULT));
        assert!(denied.seen.is_none() && store.asked().is_empty(), "{name}");
    }
    for malformed in
        ["", "{", "[]", r#"{"jsonrpc":"2.0","id":1}"#, r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#]
    {
        let exchange = send(&trust, by("ana", post_text(malformed)), json(RESULT));
        assert!(exchange.seen.is_none() && store.asked().is_empty(), "{malformed}");
    }
}

#[test]
fn rc_08_ct_57_marking_twice_changes_nothing_but_the_count() {
    let store = Stepped::open();
    let layer = trust(&store);
    for _ in 0..3 {
        send(&layer, call("scrape"), json(RESULT));
    }
    assert_eq!(facts(&store.memory, "ana"), Facts::OUTSIDE);
    assert_eq!(store.marking(), 3);
}

#[test]
fn rc_09_a_cached_answer_marks_like_a_live_one() {
    let store = Stepped::open();
    let answer = Response::builder().header("content-type", "application/json").header("age", "60");
    let answer = answer.header("etag", "\"1\"").body(Full::from(CLAIM)).unwrap();
    let exchange = send(&trust(&store), call("read"), answer);
    assert_eq!((exchange.text(), exchange.header("etag")), (CLAIM, Some("\"1\"")));
    assert!(is_tainted(&store.memory, "ana"));
}

#[test]
fn rc_10_a_task_marks_whoever_reads_it() {
    let requests = || [("tasks/get", r#"{"taskId":"7"}"#), ("tasks/result", r#"{"taskId":"7"}"#)];
    for (method, params) in requests() {
        for (name, expected) in [("neither", false), ("conversations", true), ("a window", true)] {
            let store = Stepped::open();
            let layer = trust(&store);
            let layer = match name {
                "conversations" => layer.with_conversation(ConversationSource::SessionId),
                "a window" => layer.with_window(Duration::from_secs(60)).unwrap(),
                _ => layer,
            };
            send(&layer, ask("kg", method, params), json(RESULT));
            assert_eq!(store.marking() == 1, expected, "{method}, {name}");
        }
    }
}
