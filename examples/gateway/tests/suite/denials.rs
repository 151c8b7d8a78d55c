//! How a refusal looks, and what is counted.

use serde_json::{Value, json};

use crate::support::{Gateway, Setup, Upstream, call};
use crate::wire::Request;

fn gateway(upstream: &Upstream, shape: &str) -> Gateway {
    Setup::of(upstream.address).gateway(&format!("denial = \"{shape}\"")).start()
}

fn post(body: impl Into<Vec<u8>>) -> Request {
    Request::post("/mcp/a", body)
}

/// A denied value of a ruled argument.
fn run(command: &str) -> String {
    call("7", "run").replace("{}", &json!({"cmd": command}).to_string())
}

#[test]
fn th_075_076_077_every_shape_says_no_to_the_one_who_asked() {
    let error = |code: i32, message: &str, reason: &str, tool: &str| json!({"code": code, "message": message, "data": {"reason": reason, "tool": tool}});
    let own = error(403, "tool 'other' is not permitted", "policy.tool_not_allowed", "other");
    let masked = json!({"code": -32602, "message": "Unknown tool: other"});
    let failed = json!({"content": [{"type": "text", "text": "tool 'other' is not permitted"}], "isError": true});
    for (shape, plain, streamable, member, expected) in [
        ("negotiate", 403, 200, "error", &own),
        ("http-403", 403, 403, "error", &own),
        ("json-rpc-error", 200, 200, "error", &own),
        ("tool-error", 200, 200, "result", &failed),
        ("masked", 200, 200, "error", &masked),
    ] {
        let upstream = Upstream::echo();
        let gateway = gateway(&upstream, shape);
        let request = post(call("\"q-1\"", "other"));
        for (request, status) in [(request.clone(), plain), (request.streamable(), streamable)] {
            let answer = gateway.send(&request);
            assert_eq!(answer.status(), status, "{shape}: {answer}");
            let told = json!({"jsonrpc": "2.0", "id": "q-1", member: expected});
            assert_eq!(answer.json(), told, "{shape}");
            assert_eq!(answer.header("content-type"), Some("application/json"));
        }
        gateway.assert_forwarded_nothing(&upstream);
    }
}

#[test]
fn a_denied_argument_is_named_and_its_value_is_not() {
    for shape in ["negotiate", "http-403", "json-rpc-error", "tool-error", "masked"] {
        let upstream = Upstream::echo();
        let gateway = gateway(&upstream, shape);
        let answer = gateway.send(&post(run("rm -rf /home/secret")).streamable());
        let text = answer.text();
        assert!(!text.contains("secret") && !text.contains("rm"), "{shape}: the value: {text}");
        assert!(!text.contains("ls"), "{shape}: the list: {text}");
        assert!(shape == "masked" || text.contains("cmd"), "{shape}: {text}");
        assert_eq!(answer.id(), "7");
        gateway.assert_forwarded_nothing(&upstream);
    }
}

#[test]
fn masked_looks_the_same_for_what_exists_and_what_does_not() {
    let upstream = Upstream::echo();
    let gateway = gateway(&upstream, "masked");
    let told = |body: String, name: &str| gateway.send(&post(body)).text().replace(name, "X");
    let unknown = told(call("7", "nothing"), "nothing");
    assert_eq!(told(call("7", "other"), "other"), unknown);
    assert_eq!(told(run("rm"), "run"), unknown);
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn whatever_the_shape_what_cannot_be_read_keeps_its_own() {
    for shape in ["negotiate", "http-403", "json-rpc-error", "tool-error", "masked"] {
        let upstream = Upstream::echo();
        let gateway = gateway(&upstream, shape);
        for (request, status, id) in [
            (post("{"), 400, "null"),
            (post(format!("{}x", call("7", "echo"))), 400, "7"),
            (post(format!("{}x", call("7", "echo"))).streamable(), 200, "7"),
            (post("{}").set("content-type", "text/plain"), 415, "null"),
            (post("{}").without("authorization"), 401, "null"),
        ] {
            let answer = gateway.send(&request);
            assert_eq!((answer.status(), &*answer.id()), (status, id), "{shape}: {answer}");
        }
        let mismatch = post(call("7", "echo")).streamable().with("mcp-name", "other");
        let answer = gateway.send(&mismatch);
        assert_eq!((answer.status(), &answer.json()["error"]["code"]), (400, &json!(-32020)), "{shape}");
        gateway.assert_forwarded_nothing(&upstream);
    }
}

#[test]
fn th_043_044_what_asks_for_no_answer_gets_none() {
    let without_id = |method: &str| json!({"jsonrpc": "2.0", "method": method, "params": {"name": "echo"}}).to_string();
    for shape in ["negotiate", "http-403", "json-rpc-error", "tool-error", "masked"] {
        let upstream = Upstream::echo();
        let gateway = gateway(&upstream, shape);
        for method in ["notifications/unknown", "notifications/message", "tools/call", "tools/list", "unknown"] {
            for request in [post(without_id(method)), post(without_id(method)).streamable()] {
                let answer = gateway.send(&request);
                assert_eq!((answer.status(), &*answer.text()), (202, ""), "{shape} {method}: {answer}");
            }
        }
        let stranger = post(without_id("notifications/initialized")).set("authorization", "Bearer k-stranger");
        let answer = gateway.send(&stranger);
        assert_eq!((answer.status(), &*answer.text()), (202, ""), "{shape}");
        gateway.assert_forwarded_nothing(&upstream);
    }
}

#[test]
fn a_batch_with_one_denied_message_is_denied_whole() {
    let upstream = Upstream::echo();
    let gateway = gateway(&upstream, "negotiate");
    let note = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
    let batch = format!("[{},{note},{},{}]", call("1", "echo"), call("\"2\"", "other"), call("3", "echo"));
    for (request, status) in [(post(&*batch), 403), (post(&*batch).streamable(), 200)] {
        let answer = gateway.send(&request);
        let told = answer.json();
        let told: Vec<_> = told.as_array().unwrap_or_else(|| panic!("{answer}")).iter().collect();
        let reasons: Vec<_> = told.iter().map(|told| (&told["id"], &told["error"]["data"]["reason"])).collect();
        let (refused, own) = (json!("batch.refused"), json!("policy.tool_not_allowed"));
        assert_eq!(reasons, [(&json!(1), &refused), (&json!("2"), &own), (&json!(3), &refused)]);
        assert_eq!(answer.status(), status);
    }
    gateway.assert_forwarded_nothing(&upstream);
    let denied = "toolgate_decisions_total{outcome=\"deny\",reason=\"policy.tool_not_allowed\",server=\"a\"}";
    assert_eq!(gateway.counter(denied), 2);
    let only_notes = format!("[{note},{}]", note.replace("progress", "unknown"));
    let answer = gateway.send(&post(only_notes));
    assert_eq!((answer.status(), &*answer.text()), (202, ""), "nobody waits");
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn batches_are_refused_where_the_protocol_has_none() {
    let upstream = Upstream::echo();
    let gateway = gateway(&upstream, "negotiate");
    let batch = format!("[{}]", call("1", "echo"));
    for version in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let answer = gateway.send(&post(&*batch).with("mcp-protocol-version", version));
        assert_eq!((answer.status(), &*answer.reason()), (400, "message.batch_not_allowed"), "{version}");
    }
    gateway.assert_forwarded_nothing(&upstream);
    for request in [post(&*batch), post(&*batch).with("mcp-protocol-version", "2025-03-26")] {
        assert_eq!(gateway.send(&request).status(), 200);
    }
}

#[test]
fn shadow_forwards_what_is_denied_and_counts_it() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).gateway("shadow = true").start();
    for request in
        [post(call("1", "other")), post(run("rm")), post(call("1", "echo")).set("authorization", "Bearer k-stranger")]
    {
        let answer = gateway.send(&request);
        assert_eq!((answer.status(), &answer.json()["error"]), (200, &Value::Null), "{answer}");
    }
    for (reason, count) in
        [("policy.tool_not_allowed", 1), ("policy.argument_value", 1), ("policy.server_not_allowed", 1)]
    {
        let counter =
            |outcome| format!("toolgate_decisions_total{{outcome=\"{outcome}\",reason=\"{reason}\",server=\"a\"}}");
        assert_eq!(gateway.counter(&counter("shadow_deny")), count, "{reason}");
        assert_eq!(gateway.counter(&counter("deny")), 0, "{reason}");
    }
    // What cannot be read, and who is nobody, is refused all the same.
    assert_eq!(gateway.send(&post("{")).status(), 400);
    assert_eq!(gateway.send(&post(call("1", "echo")).without("authorization")).status(), 401);
    assert_eq!(gateway.send(&post(call("1", "echo")).set("host", "attacker.example")).status(), 403);
    gateway.assert_forwarded(&upstream, 3);
}

#[test]
fn decisions_and_refusals_are_counted() {
    let upstream = Upstream::echo();
    let gateway = gateway(&upstream, "negotiate");
    let counter = |outcome: &str, reason: &str| {
        format!("toolgate_decisions_total{{outcome=\"{outcome}\",reason=\"{reason}\",server=\"a\"}}")
    };
    let allowed = counter("allow", "");
    assert_eq!(gateway.counter(&allowed), 0);
    for round in 1..=3 {
        gateway.send(&post(call("1", "echo")));
        gateway.send(&post(call("1", "other")));
        gateway.send(&post("{\"id\":1,"));
        assert_eq!(gateway.counter(&allowed), round);
        assert_eq!(gateway.counter(&counter("deny", "policy.tool_not_allowed")), round);
        assert_eq!(gateway.counter(&counter("deny", "json.truncated")), round);
    }
    let metrics = gateway.send(&Request::new("GET", "/metrics").without("authorization"));
    assert_eq!(metrics.status(), 200);
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain"), "{metrics}");
    let text = metrics.text();
    assert!(text.contains("# TYPE toolgate_decisions counter") && text.ends_with("# EOF\n"), "{text}");
    for secret in ["k-user", "ana", "echo"] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    assert_eq!(gateway.send(&Request::new("GET", "/healthz").without("authorization")).text(), "ok");
    for path in ["/metrics", "/healthz"] {
        let answer = gateway.send(&Request::post(path, call("1", "echo")));
        assert_eq!(answer.status(), 405, "{path}");
    }
}
