//! Lists agree with calls: what a role may not use it does not see.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::policy::{ArgumentAllowlist, Policy, PolicyConfig, RoleConfig};

use super::support::*;

/// A role that may use some of everything.
pub(crate) fn gate() -> ArgumentAllowlistLayer {
    gate_for(RoleConfig::new("analyst").with_allow(["echo", "run_*"]).with_deny(["run_secret"]))
}

fn gate_for(role: RoleConfig) -> ArgumentAllowlistLayer {
    let role = role.with_prompts(["greet"]).with_resources(["file:///a/*"]);
    let role = role
        .with_argument_allowlist(ArgumentAllowlist::new_required("run_query", "cmd", ["ls"]))
        .with_argument_allowlist(ArgumentAllowlist::new_required("run_never", "cmd", ["ls"]))
        .with_argument_allowlist(ArgumentAllowlist::new_required("run_never", "cmd", ["cat"]));
    ArgumentAllowlistLayer::new(Policy::new(&PolicyConfig::new().with_role(role)).unwrap())
}

pub(crate) fn ask(method: &str) -> Request<Full<Bytes>> {
    post_text(format!(r#"{{"jsonrpc":"2.0","id":"q-1","method":"{method}"}}"#))
}

fn json(body: &str) -> Response<Full<Bytes>> {
    let response = Response::builder().header("content-type", "Application/JSON; charset=utf-8").header("etag", "x");
    response.header("content-length", body.len()).body(Full::from(body.to_owned())).unwrap()
}

fn events(body: &str) -> Response<Full<Bytes>> {
    Response::builder().header("content-type", "text/event-stream").body(Full::from(body.to_owned())).unwrap()
}

pub(crate) const TOOLS: &str = r#"{"jsonrpc":"2.0","id":"q-1","result":{ "tools" : [ {"name":"echo","x":9007199254740993}, {"name":"rm"} ,{"n\u0061me":"run_query","y":[1e400,-0.0]},{"name":"run_secret"},{"name":"run_never"}], "nextCursor":"c","more":{"a":1,"a":2}}}"#;
pub(crate) const SEEN: &str = r#"{"jsonrpc":"2.0","id":"q-1","result":{ "tools" : [ {"name":"echo","x":9007199254740993}, {"n\u0061me":"run_query","y":[1e400,-0.0]}], "nextCursor":"c","more":{"a":1,"a":2}}}"#;

/// The same but for blanks, which may go with what stood between them.
pub(crate) fn dense(text: &str) -> String {
    text.replace([' ', '\n'], "")
}

#[test]
fn a_list_names_what_may_be_called_in_some_way() {
    let exchange = answered(&gate(), ask("tools/list"), json(TOOLS));
    assert_eq!(dense(exchange.text()), dense(SEEN));
    assert_eq!(exchange.header("content-length"), Some(&*exchange.text().len().to_string()));
    assert_eq!(exchange.header("etag"), None);
    assert_eq!(exchange.seen.as_ref().unwrap().head.headers["accept-encoding"], "identity");
}

#[test]
fn what_needs_no_change_stays_the_very_same() {
    let exchange = answered(&gate(), ask("tools/list"), json(SEEN));
    assert_eq!((exchange.text(), exchange.header("etag")), (SEEN, Some("x")));
    let error = r#"{"jsonrpc":"2.0","id":"q-1","error":{"code":-32601,"message":"no"}}"#;
    let mut response = json(error);
    *response.status_mut() = StatusCode::NOT_FOUND;
    let exchange = answered(&gate(), ask("tools/list"), response);
    assert_eq!((exchange.status().as_u16(), exchange.text()), (404, error));
}

#[test]
fn prompts_resources_and_templates_are_lists_too() {
    for (method, member, entries, seen) in [
        ("prompts/list", "prompts", r#"[{"name":"greet"},{"name":"other"}]"#, r#"[{"name":"greet"}]"#),
        (
            "resources/list",
            "resources",
            r#"[{"uri":"file:///b/1"},{"uri":"file:///a/1"},{"uri":"file:///a/../b"}]"#,
            r#"[{"uri":"file:///a/1"}]"#,
        ),
        (
            "resources/templates/list",
            "resourceTemplates",
            r#"[{"uriTemplate":"file:///a/{x}"},{"uriTemplate":"db://{x}"}]"#,
            r#"[{"uriTemplate":"file:///a/{x}"}]"#,
        ),
    ] {
        let list = |entries: &str| format!(r#"{{"jsonrpc":"2.0","id":"q-1","result":{{"{member}":{entries}}}}}"#);
        let exchange = answered(&gate(), ask(method), json(&list(entries)));
        assert_eq!(dense(exchange.text()), dense(&list(seen)), "{method}");
    }
}

#[test]
fn th_057_th_060_events_are_changed_one_by_one() {
    let progress = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n";
    let stream = format!("id: 1\ndata: \nretry: 100\n\n: ping\n\n{progress}id: 2\r\ndata: {TOOLS}\r\n\r\n");
    let exchange = answered(&gate(), ask("tools/list"), events(&stream));
    let expected = format!("id: 1\ndata: \nretry: 100\n\n: ping\n\n{progress}id: 2\r\ndata: {SEEN}\r\n\r\n");
    assert_eq!(dense(exchange.text()), dense(&expected));
}

#[test]
fn on_a_stream_without_a_question_lists_are_known_by_their_shape() {
    let mut request = post_text("");
    *request.method_mut() = Method::GET;
    let notification = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
    let stream = format!("data: {TOOLS}\n\ndata: {{junk\n\n{notification}");
    let exchange = answered(&gate(), request, events(&stream));
    assert_eq!(dense(exchange.text()), dense(&format!("data: {SEEN}\n\n{notification}")));
}

#[test]
fn the_endpoint_of_the_oldest_transport_passes() {
    let get = || {
        let mut request = post_text("");
        *request.method_mut() = Method::GET;
        request
    };
    let endpoint = "event: endpoint\ndata: /messages?session=1\n\n";
    let exchange = answered(&gate(), get(), events(&format!("{endpoint}event: message\ndata: {TOOLS}\n\n")));
    assert_eq!(dense(exchange.text()), dense(&format!("{endpoint}event: message\ndata: {SEEN}\n\n")));
    for hidden in ["/*x*/", "//x\ndata: ", "\u{a0}", "\u{feff}", "x"] {
        let exchange = answered(&gate(), get(), events(&format!(": hi\n\ndata: {hidden}{TOOLS}\n\n")));
        assert!(!exchange.text().contains("run_secret"), "{hidden:?}: {}", exchange.text());
    }
}

#[test]
fn what_cannot_be_read_is_never_passed() {
    let plain = |status: u16, media: &str, body: &str| {
        let response = Response::builder().status(status).header("content-type", media);
        response.body(Full::from(body.to_owned())).unwrap()
    };
    let mut coded = json(TOOLS);
    coded.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
    let twice = TOOLS.replace(r#""nextCursor":"c""#, r#""tools":[]"#);
    let folded = TOOLS.replace(r#"{"name":"rm"}"#, r#"{"name":"echo","Name":"rm"}"#);
    for (name, response) in [
        ("no JSON", json("{")),
        ("no list", json(r#"{"jsonrpc":"2.0","id":"q-1","result":{}}"#)),
        ("two values", json(&format!("{TOOLS}{TOOLS}"))),
        ("two lists", json(&twice)),
        ("a name and another", json(&folded)),
        ("an entry without a name", json(&TOOLS.replace(r#"{"name":"rm"}"#, "{}"))),
        ("an entry that is no object", json(&TOOLS.replace(r#"{"name":"rm"}"#, "\"rm\""))),
        ("compressed", coded),
        ("text", plain(200, "text/plain", TOOLS)),
        ("a page", plain(500, "text/html", "<html>rm</html>")),
        ("created", plain(201, "application/jsonp", TOOLS)),
    ] {
        let asked = ask("tools/list").with_header("accept", "application/json, text/event-stream");
        let exchange = answered(&gate(), asked, response);
        assert_eq!(exchange.status().as_u16(), if name == "a page" { 500 } else { 200 }, "{name}");
        assert!(exchange.text().starts_with(r#"{"jsonrpc":"2.0","id":"q-1","error":{"code":502,"#), "{name}");
        assert!(!exchange.text().contains("run_secret"), "{name}");
    }
    let exchange = answered(&gate().with_max_list_bytes(100), ask("tools/list"), json(TOOLS));
    assert_eq!((exchange.status().as_u16(), exchange.denial().reason()), (502, "upstream.too_large"));
}

#[test]
fn a_stream_ends_with_an_error_where_an_event_cannot_be_read() {
    let asked = || ask("tools/list").with_header("accept", "text/event-stream");
    let exchange = answered(&gate(), asked(), events(&format!("id: 7\ndata: {{junk\n\ndata: {TOOLS}\n\n")));
    assert!(
        exchange.text().starts_with("id: 7\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q-1\",\"error\""),
        "{}",
        exchange.text()
    );
    assert!(!exchange.text().contains("tools"), "{}", exchange.text());
    let small = gate().with_max_list_bytes(100);
    let exchange = answered(&small, asked(), events(&format!("data: {TOOLS}\n\n")));
    assert!(exchange.text().starts_with("data: {\"jsonrpc\":\"2.0\",\"id\":\"q-1\",\"error\""), "{}", exchange.text());
    assert!(!exchange.text().contains("tools"), "{}", exchange.text());
}

#[test]
fn a_modern_list_is_private() {
    let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{meta}}}"#);
    let asked = || {
        post_text(body.clone())
            .with_header("mcp-protocol-version", "2026-07-28")
            .with_header("mcp-method", "tools/list")
    };
    for scope in ["", r#","cacheScope":"public""#, r#","cacheScope":7"#, r#","cacheScope":"private""#] {
        let list = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"echo"}}],"ttlMs":5{scope}}}}}"#);
        let exchange = answered(&gate(), asked(), json(&list));
        assert_eq!(exchange.text().matches(r#""cacheScope":"private""#).count(), 1, "{scope}: {}", exchange.text());
        assert!(!exchange.text().contains("public"), "{scope}");
    }
}

#[test]
fn a_shadow_hides_nothing() {
    let exchange = answered(&gate().with_insecure_shadow(true), ask("tools/list"), json(TOOLS));
    assert_eq!(exchange.text(), TOOLS);
}

#[test]
fn the_lists_of_a_batch_are_known_by_their_shape_and_fail_closed() {
    let asked = || {
        post_text(r#"[{"jsonrpc":"2.0","id":"q-1","method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#)
    };
    let pong = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
    let exchange = answered(&gate(), asked(), json(&format!("[{TOOLS},{pong}]")));
    assert_eq!(dense(exchange.text()), dense(&format!("[{SEEN},{pong}]")));
    let text = Response::builder().header("content-type", "text/plain").body(Full::from(TOOLS)).unwrap();
    for response in [json(&TOOLS.replacen('{', "", 1)), text, events("data: {junk\n\n")] {
        let exchange = answered(&gate(), asked(), response);
        assert!(!exchange.text().contains("run_secret") && !exchange.text().contains("junk"), "{}", exchange.text());
    }
}

#[test]
fn th_063_a_page_may_be_empty_and_is_not_the_last() {
    let page = |entries: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"q-1","result":{{"tools":[{entries}],"nextCursor":"c","_meta":{{"a":[]}}}}}}"#
        )
    };
    for hidden in ["", r#"{"name":"rm"}"#, r#"{"name":"rm"},{"name":"run_secret"}, {"name":"run_never"}"#] {
        assert_eq!(dense(answered(&gate(), ask("tools/list"), json(&page(hidden))).text()), page(""), "{hidden}");
    }
}

#[test]
fn th_120_a_list_without_end_is_given_up() {
    let gate = gate().with_max_list_bytes(10_000);
    for (media, start) in [("application/json", r#"{"result":{"tools":["#), ("text/event-stream", "data: {")] {
        let spaces = Bytes::from_static(&[b' '; 100]);
        let frames = (0..1_000).map(|_| Step::Data(spaces.clone()));
        let body = Script::new([Step::Data(start.into())].into_iter().chain(frames).chain([Step::Stay]));
        let polls = body.polls();
        let response = Response::builder().header("content-type", media).body(body).unwrap();
        let exchange = answered(&gate, ask("tools/list").with_header("accept", "text/event-stream"), response);
        assert!(exchange.text().contains(r#"{"jsonrpc":"2.0","id":"q-1","error":{"code":502"#), "{}", exchange.text());
        // Given up with the frame that is too much, and gone.
        assert!(polls.load(Ordering::Relaxed) <= 102, "{media}");
        assert_eq!(Arc::strong_count(&polls), 1, "{media}");
    }
}
