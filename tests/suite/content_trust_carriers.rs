//! What brings content, and what claims are found in.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower_toolgate::layer::content_trust::ContentTrustLayer;
use tower_toolgate::message::PlainJsonRpc;
use tower_toolgate::store::MemoryTaintStore;

use super::content_trust::*;
use super::support::*;

/// Whether a session is marked once it has received an answer, which comes through as it is.
fn marks(name: &str, request: Request<Full<Bytes>>, answer: Response<Full<Bytes>>) -> bool {
    let store = MemoryTaintStore::new(10);
    marks_in(&trust(&store), &store, name, request, answer)
}

fn marks_in(
    layer: &ContentTrustLayer<MemoryTaintStore>,
    store: &MemoryTaintStore,
    name: &str,
    request: Request<Full<Bytes>>,
    answer: Response<Full<Bytes>>,
) -> bool {
    let (head, body) = answer.into_parts();
    let sent = collect(body.clone()).0.concat();
    let exchange = send(layer, request, Response::from_parts(head, body));
    assert_eq!((exchange.status().as_u16(), &*exchange.body), (200, &*sent), "{name}");
    is_tainted(store, "ana")
}

/// A message as the data of an event.
fn event(message: &str) -> String {
    format!("data: {message}\n\n")
}

const ANNOTATED: &str = r#""_meta":{"io.modelcontextprotocol/trust-annotations":{"untrusted":true}}"#;

/// Messages of a trusted server, and whether they say that their content is not.
fn claims() -> Vec<(String, bool)> {
    let result = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
    vec![
        (result("{}"), false),
        (result(&format!("{{{ANNOTATED}}}")), true),
        (result(&format!(r#"{{"content":[{{"type":"text","text":"x",{ANNOTATED}}}]}}"#)), true),
        (result(&format!(r#"{{"structuredContent":{{"a":[{{{ANNOTATED}}}]}}}}"#)), true),
        (result(&format!("{{{}}}", ANNOTATED.replace("true", "false"))), false),
        (result(&format!("{{{}}}", ANNOTATED.replace('/', "\\/"))), true),
        (result(r#"{"_meta":{"ifc":{"integrity":"untrusted"}}}"#), true),
        (result(r#"{"_meta":{"ifc":{"integrity":"tru\u0073ted"}}}"#), false),
        (result(r#"{"_meta":{"ifc":{"integrity":"untru\u0073ted"}}}"#), true),
        (result(r#"{"annotations":{"openWorldHint":true}}"#), true),
        (result(r#"{"content":[{"text":"{\"ifc\":{\"integrity\":\"untrusted\"}}"}]}"#), false),
        (format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":1,"message":"x","data":{{{ANNOTATED}}}}}}}"#), true),
        (format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{{ANNOTATED}}}}}"#), true),
        (format!("[{}]", result(&format!("{{{ANNOTATED}}}"))), true),
        (format!(r#"{{"result":{{{ANNOTATED}"#), true),
    ]
}

#[test]
fn cc_08_claims_mark_in_json_and_in_streams_however_they_are_cut() {
    for (message, expected) in claims() {
        assert_eq!(marks(&message, call("read"), json(&message)), expected, "{message}");
        for text in [
            event(&message),
            format!("event: message\nid: 1\ndata:{message}\r\n\r\n"),
            format!("data: {message}"),
            format!(": hi\n\ndata: {}\n\n", message.replace(',', ",\ndata: ")),
        ] {
            let store = MemoryTaintStore::new(10);
            let frames = text.as_bytes().chunks(3).map(Bytes::copy_from_slice);
            let answer = Response::builder().header("content-type", "text/event-stream").body(Script::of(frames));
            let exchange = send(&trust(&store), call("read"), answer.unwrap());
            assert!(exchange.text().starts_with(&text), "{text}: {}", exchange.text());
            assert_eq!(is_tainted(&store, "ana"), expected, "{text}");
        }
    }
}

#[test]
fn cc_08_claims_mark_on_every_carrier_of_a_trusted_server() {
    let claim = r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"ifc":{"integrity":"untrusted"}}}}"#;
    for (method, params) in [
        ("resources/read", r#"{"uri":"file:///a"}"#),
        ("prompts/get", r#"{"name":"a"}"#),
        ("completion/complete", r#"{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"a","value":""}}"#),
        ("tasks/result", r#"{"taskId":"7"}"#),
        ("acme/method", "{}"),
        ("ping", "{}"),
        ("initialize", "{}"),
        ("prompts/list", "{}"),
        ("tools/list", "{}"),
        ("subscriptions/listen", r#"{"notifications":{}}"#),
    ] {
        assert!(marks(method, ask("kg", method, params), json(claim)), "{method}");
        assert!(marks(method, ask("kg", method, params), events(event(claim))), "{method}, a stream");
        assert!(!marks(method, ask("kg", method, params), json(RESULT)), "{method}, nothing");
        assert!(!marks(method, ask("kg", method, params), events(event(RESULT))), "{method}, nothing, a stream");
    }
    assert!(marks("GET", listen("kg"), events(event(claim))));
    let said = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#;
    assert!(!marks("GET", listen("kg"), events(event(said))));
}

#[test]
fn cc_08_a_batch_that_asks_for_tools_hides_no_claim() {
    let list = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    let claim = r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"ifc":{"integrity":"untrusted"}}}}"#;
    let batch = || by("ana", post_text(format!("[{list},{}]", tool_call("1", "read", "{}"))).with_server("kg"));
    let tools = r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}"#;
    assert!(marks("JSON", batch(), json(&format!("[{tools},{claim}]"))));
    assert!(marks("a stream", batch(), events(event(claim) + &event(tools))));
    assert!(!marks("nothing", batch(), json(&format!("[{tools},{RESULT}]"))));
}

/// What a server says unasked, and whether it brings content.
const SAID: &[(&str, bool)] = &[
    (r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#, true),
    (r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":"x"}}"#, true),
    (r#"{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"statusMessage":"x"}}"#, true),
    (r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}"#, true),
    (r#"{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{}}"#, true),
    (r#"{"jsonrpc":"2.0","method":"notifications/of/tomorrow"}"#, true),
    (r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#, false),
    (r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}"#, false),
    (r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, false),
    (r#"{"jsonrpc":"2.0","id":7,"method":"pi\u006eg"}"#, false),
    (r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#, false),
    (r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"},"method":"ping"}"#, true),
    (r#"{"jsonrpc":"2.0","method":"ping","Method":"notifications/message","params":{"data":"x"}}"#, true),
    (r#"{"jsonrpc":"2.0","method":"ping","method\u0000":"notifications/message"}"#, true),
    (r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{},"result":{}}"#, true),
    (r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}"#, true),
    (r#"[{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}]"#, true),
    (r#"{"jsonrpc":"2.0","method":["ping"]}"#, true),
];

type Make = fn() -> Request<Full<Bytes>>;

#[test]
fn what_a_foreign_server_says_unasked_marks_if_it_says_something() {
    let requests: [(&str, Make); 6] = [
        ("GET", || listen("web")),
        ("a list", || ask("web", "tools/list", "{}")),
        ("ping", || ask("web", "ping", "{}")),
        ("a subscription", || ask("web", "subscriptions/listen", r#"{"notifications":{}}"#)),
        ("an old subscription", || ask("web", "resources/subscribe", r#"{"uri":"file:///a"}"#)),
        ("a notice", || {
            by("ana", post_text(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).with_server("web"))
        }),
    ];
    for (name, request) in requests {
        for (message, expected) in SAID {
            let case = format!("{name}: {message}");
            assert_eq!(marks(&case, request(), events(event(message))), *expected, "{case}");
            // Some clients take a single message, or several in an array, for what it is in JSON as well.
            assert_eq!(marks(&case, request(), json(message)), *expected, "{case}, in JSON");
            let news = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
            let later = event(news) + ": keep\n\n" + &event(message);
            assert_eq!(marks(&case, request(), events(later)), *expected, "{case}, later");
        }
    }
}

#[test]
fn answers_on_a_stream_of_nobodys_are_content_and_answers_to_plumbing_are_none() {
    let page = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"serverInfo":{"name":"x"}}}"#;
    assert!(marks("GET", listen("web"), events(event(page))));
    for method in ["initialize", "ping", "tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        assert!(!marks(method, ask("web", method, "{}"), json(page)), "{method}");
        assert!(!marks(method, ask("web", method, "{}"), events(event(page))), "{method}, a stream");
        assert!(!marks(method, ask("web", method, "{}"), json(&format!("[{page}]"))), "{method}, an array");
    }
}

#[test]
fn what_others_find_in_lines_without_data_marks_too() {
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#;
    for text in [
        format!(": hi\u{2028}data: {log}\n\n"),
        format!(": hi\u{b}data: {log}\n\n"),
        format!(" data: {log}\n\n"),
        format!("\u{feff}\u{feff}data: {log}\n\n"),
        format!("event: x\u{85}data: {log}\ndata: {{\"method\":\"ping\"}}\n\n"),
    ] {
        assert!(marks(&text, listen("web"), events(text.clone())), "{text}");
    }
    for text in [": hi\n\n", "event: endpoint\ndata: /post?id=1\n\n", "id: 7\nretry: 5\n\n", "\n\n"] {
        assert!(!marks(text, listen("web"), events(text)), "{text:?}");
    }
}

#[test]
fn what_cannot_be_read_is_taken_for_foreign() {
    let coded = |media: &str| {
        let mut answer = typed(media, &b"\x1f\x8b\x08"[..]);
        answer.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
        answer
    };
    let (json, stream) = ("application/json", "text/event-stream");
    for (name, request, answer, expected) in [
        ("a trusted result", call("read"), coded(json), true),
        ("a trusted stream", call("read"), coded(stream), true),
        ("a foreign stream", listen("web"), coded(stream), true),
        ("a foreign list's stream", ask("web", "tools/list", "{}"), coded(stream), true),
    ] {
        assert_eq!(marks(name, request, answer), expected, "{name}");
    }
    // It is not asked for.
    for request in [call("read"), listen("web"), ask("kg", "tools/list", "{}")] {
        let exchange = send(&trust(&MemoryTaintStore::new(1)), request.with_header("accept-encoding", "gzip"), json_());
        assert_eq!(exchange.seen.unwrap().head.headers["accept-encoding"], "identity");
    }
    let exchange =
        send(&trust(&MemoryTaintStore::new(1)), call("scrape").with_header("accept-encoding", "gzip"), json_());
    assert_eq!(exchange.seen.unwrap().head.headers["accept-encoding"], "gzip", "what is marked is not read");
}

fn json_() -> Response<Full<Bytes>> {
    json(RESULT)
}

/// A list of one tool.
fn listed(tool: &str, hint: &str) -> String {
    let tool = format!(r#"{{"name":"{tool}","annotations":{{"openWorldHint":{hint}}}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{tool}]}}}}"#)
}

#[test]
fn cc_08_what_a_tool_says_of_itself_raises_its_later_calls() {
    let (open, closed) = (listed("read", "true"), listed("read", "false"));
    for (name, answer, expected) in [
        ("open", json(&open), true),
        ("open, in a stream", events(event(&open)), true),
        ("open, in an array", json(&format!("[{open}]")), true),
        ("open, after another", json(&format!("[{closed},{open}]")), true),
        ("closed", json(&closed), false),
        ("another tool's", json(&listed("other", "true")), false),
        ("nothing", json(RESULT), false),
    ] {
        let store = MemoryTaintStore::new(10);
        let layer = trust(&store);
        assert!(!marks_in(&layer, &store, name, ask("kg", "tools/list", "{}"), answer), "{name}");
        assert_eq!(marks_in(&layer, &store, name, call("read"), json(RESULT)), expected, "{name}");
        assert_eq!(marks_in(&layer, &store, name, by("bob", call("read")), json(RESULT)), expected);
        assert_eq!(is_tainted(&store, "bob"), expected, "{name}: for everybody");
        // A later list makes nothing better.
        let bob = |request| by("bob", request);
        marks_in(&layer, &store, name, bob(ask("kg", "tools/list", "{}")), json(&closed));
        marks_in(&layer, &store, name, by("cyd", call("read")), json(RESULT));
        assert_eq!(is_tainted(&store, "cyd"), expected, "{name}: for good");
    }
}

#[test]
fn cc_08_what_one_server_says_raises_no_other_servers_tools() {
    let many: Vec<_> =
        (0..20_000).map(|at| format!(r#"{{"name":"{at}","annotations":{{"openWorldHint":true}}}}"#)).collect();
    let many = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{}]}}}}"#, many.join(","));
    for (name, list) in
        [("one", &*listed("read", "true")), ("half a list", r#"{"result":{"tools":[{"openWorldHint""#), ("many", &many)]
    {
        let store = MemoryTaintStore::new(10);
        let layer = trust(&store);
        marks_in(&layer, &store, name, by("bob", ask("web", "tools/list", "{}")), json(list));
        assert!(!marks_in(&layer, &store, name, call("read"), json(RESULT)), "{name}");
    }
}

#[test]
fn plain_json_rpc_is_classified_by_its_methods() {
    let store = MemoryTaintStore::new(10);
    let layer = trust(&store).with_dialect(PlainJsonRpc::new());
    let plain = |who, method: &str| {
        by(who, post_text(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#)).with_server("kg"))
    };
    let claim = r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"ifc":{"integrity":"untrusted"}}}}"#;
    for (who, method, answer, expected) in [
        ("a", "read", RESULT, false),
        ("b", "scrape", RESULT, true),
        ("c", "read", claim, true),
        ("d", "web_fetch", RESULT, true),
        ("e", "tools/list", RESULT, false),
    ] {
        send(&layer, plain(who, method), json(answer));
        assert_eq!(is_tainted(&store, who), expected, "{method}");
    }
    send(&layer, plain("f", "read"), typed("application/json-rpc", claim));
    assert!(is_tainted(&store, "f"), "the media type of plain JSON-RPC");
}

#[test]
fn an_answer_that_is_too_long_to_be_looked_at_is_not_handed_on() {
    let store = MemoryTaintStore::new(10);
    let layer = trust(&store).with_max_list_bytes(100);
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"a":"{}"}}}}"#, "x".repeat(100));
    let exchange = send(&layer, call("read"), json(&long));
    assert_eq!((exchange.status().as_u16(), exchange.denial().reason()), (502, "upstream.too_large"));
    assert!(!exchange.text().contains("xx"));
    // What is marked before it is sent may have any length.
    assert_eq!(send(&layer, call("scrape"), json(&long)).text(), long);
}
