//! The roots that a server is told of: the entry's, whatever a client answers.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tower::Layer;
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::server_trust::ServerTrustLayer;
use tower_toolgate::server::McpTrustLevel::{Sandboxed, Trusted, Untrusted};
use tower_toolgate::server::{Root, ServerEntry};

use super::server_trust::*;
use super::support::*;

const OWN: &str = r#"[ {"uri":"file:///home/ana" , "name":"\u0061na","_meta":{"x":1e2}} ]"#;

/// Entries, and the roots that their servers are told of.
fn rows() -> [(&'static str, ServerEntry, &'static str); 5] {
    let two = || [Root::new("file:///srv").with_name("the \"srv\""), Root::new("file:///data")];
    let told = r#"[{"uri":"file:///srv","name":"the \"srv\""},{"uri":"file:///data"}]"#;
    let named = |level| entry(level).with_tool_allowlist(["a"]).with_roots(two());
    [
        ("trusted", named(Trusted), told),
        ("all", named(Trusted).with_elicitation_enabled(true), told),
        ("untrusted", named(Untrusted), told),
        ("sandboxed", named(Sandboxed), "[]"),
        ("none are named", entry(Trusted).with_elicitation_enabled(true), "[]"),
    ]
}

#[track_caller]
fn arrives(row: &str, layer: &ServerTrustLayer, request: Request<Full<Bytes>>, expected: &str) {
    let exchange = send(layer, request, answer_of_inner());
    let seen = exchange.passed(row);
    assert_eq!(String::from_utf8(seen.body()).unwrap(), expected, "{row}");
    assert_eq!(seen.inspection().bytes(), expected.as_bytes(), "{row}");
    assert_eq!(seen.hint.exact(), Some(expected.len() as u64), "{row}");
    if let Some(length) = seen.head.headers.get("content-length") {
        assert_eq!(length.to_str().unwrap(), expected.len().to_string(), "{row}");
    }
}

fn measured(body: String) -> Request<Full<Bytes>> {
    let length = body.len().to_string();
    streamable(body).with_header("content-length", &length)
}

#[test]
fn the_roots_in_a_response_are_the_entry_s() {
    for (row, entry, told) in rows() {
        let layer = layer(&entry);
        let response = |result: &str| format!(r#"{{ "jsonrpc":"2.0","id": "s-1","result" : {result} }}"#);
        for (own, left) in [
            (
                format!(r#"{{"_meta":{{"roots":1}}, "roots" : {OWN} ,"x":1.50}}"#),
                format!(r#"{{"_meta":{{"roots":1}}, "roots" : {told} ,"x":1.50}}"#),
            ),
            (r#"{"roots":[]}"#.to_owned(), format!(r#"{{"roots":{told}}}"#)),
            (r#"{"roots":null}"#.to_owned(), format!(r#"{{"roots":{told}}}"#)),
            (format!(r#"{{"ro\u006fts":{OWN}}}"#), format!(r#"{{"ro\u006fts":{told}}}"#)),
            (format!(r#"{{"Roots":{OWN},"roots":{{}}}}"#), format!(r#"{{"Roots":{told},"roots":{told}}}"#)),
            (format!("[{OWN}]"), "{}".to_owned()),
        ] {
            arrives(row, &layer, measured(response(&own)), &response(&left));
        }
        for same in [r#"{"action":"accept","content":{"roots":[1]}}"#, "{}", "null", r#""roots""#] {
            arrives(row, &layer, measured(response(same)), &response(same));
        }
        let batch = |roots: &str| {
            let one = response(&format!(r#"{{"roots":{roots}}}"#));
            format!("[{one} , {}]", response("{}").replace("s-1", "s-2"))
        };
        arrives(row, &layer, measured(batch(OWN)), &batch(told));
        let error = r#"{"jsonrpc":"2.0","id":"s-1","error":{"code":1,"message":"m","data":{"roots":[]}}}"#;
        arrives(row, &layer, measured(error.to_owned()), error);
    }
}

/// A request of 2026-07-28 that answers what was asked of it.
fn retried(method: &str, name: (&str, &str), answers: &str) -> String {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"roots":[1],"io.modelcontextprotocol/clientCapabilities":{}}"#;
    let of = format!(r#""{}":"{}","arguments":{{"roots":["x"]}}"#, name.0, name.1);
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{of},"inputResponses" : {answers},"requestState":"s","roots":[2],"_meta":{meta}}}}}"#
    )
}

#[test]
fn the_roots_in_a_retry_are_the_entry_s() {
    for (row, entry, told) in rows() {
        let layer = layer(&entry);
        for (method, name) in [
            ("tools/call", ("name", "a")),
            ("prompts/get", ("name", "p")),
            ("resources/read", ("uri", "file:///x")),
            ("tasks/update", ("taskId", "t")),
        ] {
            let answers = |roots: &str| {
                let wrapped = format!(r#"{{"method":"roots/list","result":{{"roots":{roots}}}}}"#);
                format!(
                    r#"{{"a":{{"roots":{roots},"_meta":{{"roots":[]}}}} , "b":{{"action":"accept","content":{{"roots":1}}}},"c":{wrapped},"roots":{{"ROOTS":{roots}}},"d":1}}"#
                )
            };
            let request = |body: &str| {
                measured(body.to_owned())
                    .with_header("mcp-protocol-version", "2026-07-28")
                    .with_header("mcp-method", method)
                    .with_header("mcp-name", name.1)
            };
            arrives(
                row,
                &layer,
                request(&retried(method, name, &answers(OWN))),
                &retried(method, name, &answers(told)),
            );
            let arrays = |value: &str| format!(r#"[{{"roots":{value}}},{}]"#, if value == OWN { "[1]" } else { "{}" });
            arrives(row, &layer, request(&retried(method, name, &arrays(OWN))), &retried(method, name, &arrays(told)));
            let none = r#"{"a":{"action":"decline"}}"#;
            arrives(row, &layer, request(&retried(method, name, none)), &retried(method, name, none));
        }
    }
}

#[test]
fn what_has_roots_elsewhere_is_left_alone() {
    let layer = layer(&rows()[0].1);
    for body in [
        tool_call("1", "a", r#"{"roots":[1],"result":{"roots":[]}}"#),
        r#"{"jsonrpc":"2.0","id":1,"method":"house/x","params":{"roots":[1],"result":{"roots":[]}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#.to_owned(),
    ] {
        arrives(&body, &layer, measured(body.clone()), &body);
    }
    let twice = r#"{"jsonrpc":"2.0","id":"s-1","result":{"roots":[],"roots":[1]}}"#;
    let exchange = send(&layer, streamable(twice), answer_of_inner());
    assert!(exchange.seen.is_none());
    assert_eq!(exchange.denial().reason(), "json.duplicate_key");
}

#[test]
fn a_layer_further_in_reads_what_the_server_is_told() {
    let outer = layer(&entry(Trusted));
    let inner = || layer(&rows()[0].1);
    let body = format!(r#"{{"jsonrpc":"2.0","id":"s-1","result":{{"roots":{OWN}}}}}"#);
    type Twice = RequestBody<Inner>;
    let joined = through::<_, Twice, _, _, _>(
        |mock| outer.clone().join(inner()).layer(mock),
        measured(body.clone()),
        answer_of_inner::<Full<Bytes>>(),
    );
    let stacked = through::<_, Twice, _, _, _>(
        |mock| outer.layer(inner().layer(mock)),
        measured(body.clone()),
        answer_of_inner::<Full<Bytes>>(),
    );
    for exchange in [joined, stacked] {
        let seen = exchange.passed("both");
        let expected = body.replace(OWN, rows()[0].2);
        assert_eq!(String::from_utf8(seen.body()).unwrap(), expected);
        assert_eq!(seen.inspection().bytes(), expected.as_bytes());
    }
}
