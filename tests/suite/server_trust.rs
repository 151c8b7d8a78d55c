//! What a server exposes, in lists and for calls.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use tower::Layer;
use tower_toolgate::Server;
use tower_toolgate::answer::{AsToolError, AsUnknown, DenialKind};
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::layer::server_trust::ServerTrustLayer;
use tower_toolgate::observe::DecisionEvent;
use tower_toolgate::policy::{Policy, PolicyConfig, RoleConfig};
use tower_toolgate::server::McpTrustLevel::{self, Sandboxed, Trusted, Untrusted};
use tower_toolgate::server::{McpTransport, ServerEntry, ServerRefusal, ToolRefusal};

use super::lists::{ask, dense};
use super::support::*;

pub(crate) type Inner = RequestBody<Full<Bytes>>;
type Twice = RequestBody<Inner>;

pub(crate) const STREAMABLE: &str = "application/json, text/event-stream";

pub(crate) fn entry(level: McpTrustLevel) -> ServerEntry {
    ServerEntry::new("files", McpTransport::stdio("server"), Duration::from_secs(30)).with_trust_level(level)
}

pub(crate) fn layer(entry: &ServerEntry) -> ServerTrustLayer {
    ServerTrustLayer::new(entry).unwrap()
}

/// Sends one request to a server that lists no tools when the layer asks it.
pub(crate) fn send(layer: &ServerTrustLayer, request: Request<Full<Bytes>>, answer: Response<Full<Bytes>>) -> Exchange {
    sent(layer, request, answer, &[])
}

/// Sends one request to a server that lists these tools when the layer asks it.
pub(crate) fn sent(
    layer: &ServerTrustLayer,
    request: Request<Full<Bytes>>,
    answer: Response<Full<Bytes>>,
    definitions: &[&str],
) -> Exchange {
    let mut answer = Some(answer);
    let served = served::<_, Inner, _, _, _>(
        |mock| layer.layer(mock),
        request,
        |seen| Ok(page_of(seen, definitions, None).unwrap_or_else(|| answer.take().expect("one request"))),
    );
    let Served { head, body, mut seen } = served;
    seen.retain(|seen| enquiry_id(seen).is_none());
    Exchange { head, body, seen: seen.pop() }
}

/// The id of a question that the layer itself asks.
pub(crate) fn enquiry_id(seen: &Seen) -> Option<String> {
    let body = String::from_utf8(seen.body()).ok()?;
    let id = body.strip_prefix(r#"{"jsonrpc":"2.0","id":""#)?.split('"').next()?;
    id.starts_with("toolgate-").then(|| id.to_owned())
}

/// The answer to such a question.
pub(crate) fn page_of(seen: &Seen, definitions: &[&str], next: Option<&str>) -> Option<Response<Full<Bytes>>> {
    let id = enquiry_id(seen)?;
    let next = next.map(|next| format!(r#","nextCursor":"{next}""#)).unwrap_or_default();
    let definitions = definitions.join(",");
    Some(json(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"tools":[{definitions}]{next}}}}}"#)))
}

pub(crate) fn streamable(body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    post_text(body).with_header("accept", STREAMABLE)
}

pub(crate) fn get() -> Request<Full<Bytes>> {
    let mut request = post_text("").with_header("accept", "text/event-stream");
    *request.method_mut() = Method::GET;
    request
}

pub(crate) fn json(body: &str) -> Response<Full<Bytes>> {
    let response = Response::builder().header("content-type", "application/json");
    response.header("content-length", body.len()).body(Full::from(body.to_owned())).unwrap()
}

pub(crate) fn events(body: &str) -> Response<Full<Bytes>> {
    Response::builder().header("content-type", "text/event-stream").body(Full::from(body.to_owned())).unwrap()
}

fn named(name: &str) -> String {
    format!(r#"{{"name":"{name}","inputSchema":{{"x":[1e400,-0.0]}}}}"#)
}

pub(crate) fn list(definitions: &[String]) -> String {
    let definitions = definitions.join(",");
    format!(r#"{{"jsonrpc":"2.0","id":"q-1","result":{{"tools":[{definitions}],"nextCursor":"c","a":1}}}}"#)
}

/// Those of the tools that are exposed by the list in JSON, in a stream, on the stream of a GET, and by calls: all the
/// same.
#[track_caller]
fn exposed<'a>(row: &str, entry: &ServerEntry, tools: &[&'a str]) -> Vec<&'a str> {
    let layer = layer(entry);
    let called = |tool: &&&str| {
        let exchange = send(&layer, streamable(tool_call("1", tool, "{}")), answer_of_inner());
        let passes = exchange.seen.is_some();
        if !passes {
            let DenialKind::Server(ServerRefusal::Tool(refusal)) = *exchange.denial().kind() else { panic!("{row}") };
            exchange.refused(row, 200, "1", 403, refusal.reason());
        }
        passes
    };
    let found = Vec::from_iter(tools.iter().filter(called).copied());
    let of = |tools: &[&str]| list(&Vec::from_iter(tools.iter().map(|tool| named(tool))));
    let (all, expected) = (of(tools), of(&found));
    let listed = send(&layer, ask("tools/list"), json(&all));
    assert_eq!(dense(listed.text()), dense(&expected), "{row}");
    assert_eq!(listed.header("content-length"), Some(&*listed.text().len().to_string()), "{row}");
    let event = |list: &str| format!(": hi\n\nid: 1\ndata: {list}\n\n");
    for request in [ask("tools/list").with_header("accept", STREAMABLE), get()] {
        let listed = send(&layer, request, events(&event(&all)));
        assert_eq!(dense(listed.text()), dense(&event(&expected)), "{row}");
    }
    found
}

/// Row, level, expected tools, allowlist, `allow_untrusted_without_allowlist`; which of `a` and `b` are exposed.
type Row = (&'static str, McpTrustLevel, &'static [&'static str], Option<&'static [&'static str]>, bool, &'static str);

const ROWS: &[Row] = &[
    ("SE-01", Trusted, &[], None, false, "ab"),
    ("SE-01 flag", Trusted, &[], None, true, "ab"),
    ("SE-02", Trusted, &[], Some(&[]), false, "ab"),
    ("SE-03", Trusted, &[], Some(&["a"]), false, "ab"),
    ("SE-04", Untrusted, &[], None, false, ""),
    ("SE-05", Untrusted, &[], None, true, "ab"),
    ("SE-06", Untrusted, &[], Some(&[]), false, ""),
    ("SE-07", Untrusted, &[], Some(&[]), true, ""),
    ("SE-08", Untrusted, &[], Some(&["a"]), false, "a"),
    ("SE-08 flag", Untrusted, &[], Some(&["a"]), true, "a"),
    ("SE-09", Untrusted, &[], Some(&["zzz"]), false, ""),
    ("SE-10", Sandboxed, &[], None, true, ""),
    ("SE-11", Sandboxed, &[], Some(&[]), false, ""),
    ("SE-12", Sandboxed, &[], Some(&["b"]), false, "b"),
    ("SE-14", Untrusted, &["a"], None, false, ""),
    ("SE-15", Untrusted, &["a"], None, true, "a"),
    ("SE-16", Untrusted, &["a"], Some(&["a", "b"]), false, "a"),
    ("SE-17", Sandboxed, &["a"], Some(&["b"]), false, ""),
    ("SE-18", Trusted, &["a"], None, false, "ab"),
    ("SE-19", Untrusted, &["a", "b", "c"], Some(&["a", "b", "c"]), false, "ab"),
    ("SE-20", Untrusted, &[], Some(&["a", "b"]), false, "ab"),
];

fn entry_of((_, level, expected, allowlist, flag, _): &Row) -> ServerEntry {
    let mut entry = entry(*level).with_expected_tools(expected.iter().copied());
    entry.tool_allowlist = allowlist.map(|list| list.iter().map(|tool| (*tool).to_owned()).collect());
    entry.with_allow_untrusted_without_allowlist(*flag)
}

#[test]
fn se_01_to_se_20_se_42_lists_and_calls_agree() {
    for row in ROWS {
        assert_eq!(exposed(row.0, &entry_of(row), &["a", "b"]).concat(), row.5, "{}", row.0);
    }
}

#[test]
fn se_22_names_are_compared_raw() {
    let names = ["Get.Page-1_x", "get.page-1_x", "Get.Page-1_x ", "Get.P\u{430}ge-1_x", "a b", "a:b", "a/b"];
    let listed = entry(Untrusted).with_tool_allowlist(["Get.Page-1_x", "a b", "a:b"]);
    assert_eq!(exposed("SE-22", &listed, &names), ["Get.Page-1_x"]);
    assert_eq!(exposed("SE-22", &entry(Trusted), &names), ["Get.Page-1_x", "get.page-1_x"]);
}

#[test]
fn se_23_se_24_what_does_harm_needs_trust() {
    let tools = ["bash", "fetch", "list"];
    for (level, expected) in [(Trusted, &tools[..]), (Untrusted, &["fetch", "list"]), (Sandboxed, &["fetch", "list"])] {
        assert_eq!(exposed("SE-23", &entry(level).with_tool_allowlist(tools), &tools), expected);
    }
}

#[test]
fn one_refused_call_refuses_its_batch() {
    let layer = layer(&entry(Untrusted).with_tool_allowlist(["a"]));
    let batch = format!("[{},{}]", tool_call("1", "a", "{}"), tool_call("2", "b", "{}"));
    let exchange = send(&layer, streamable(batch), answer_of_inner());
    assert!(exchange.seen.is_none());
    let answers: serde_json::Value = serde_json::from_str(exchange.text()).unwrap();
    let reasons = [0, 1].map(|at| answers[at]["error"]["data"]["reason"].as_str().unwrap().to_owned());
    assert_eq!(reasons, ["batch.refused", "server.tool_not_listed"]);
    let legal = format!("[{},{}]", tool_call("1", "a", "{}"), tool_call("2", "a", "{}"));
    send(&layer, streamable(legal), answer_of_inner()).passed("all exposed");
}

#[test]
fn the_lists_of_a_batch_are_known_by_their_shape() {
    let layer = layer(&entry(Untrusted).with_tool_allowlist(["a"]));
    let asked = r#"[{"jsonrpc":"2.0","id":"q-1","method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
    let pong = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
    let answers = |tools: &[String]| format!("[{},{pong}]", list(tools));
    let exchange = send(&layer, post_text(asked), json(&answers(&[named("b"), named("a")])));
    assert_eq!(exchange.text(), answers(&[named("a")]));
}

#[test]
fn tools_are_reached_by_two_methods_alone() {
    let layer = layer(&entry(Trusted));
    for method in ["tools/resolve", "Tools/Call", "tools/Call", "tools//call", "tools/call\u{1}", " tools/call"] {
        let escaped = method.replace('\u{1}', "\\u0001");
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{escaped}","params":{{"name":"a","arguments":{{}}}}}}"#);
        let exchange = send(&layer, streamable(body), answer_of_inner());
        exchange.refused(method, 200, "1", 403, "server.method");
    }
    for method in ["ping", "resources/list", "house/tools"] {
        let exchange = send(&layer, ask(method).with_header("accept", STREAMABLE), answer_of_inner());
        exchange.passed(method);
    }
}

#[test]
fn what_cannot_be_read_is_never_passed() {
    let layer = layer(&entry(Untrusted).with_tool_allowlist(["a"]));
    let good = list(&[named("b")]);
    let folded = good.replace(r#"{"name":"b","#, r#"{"name":"a","Name":"b","#);
    for body in ["{", &folded, &good.replacen("\"tools\"", "\"Tools\"", 1)] {
        let exchange = send(&layer, ask("tools/list").with_header("accept", STREAMABLE), json(body));
        assert!(exchange.text().contains("upstream.invalid_answer"), "{}", exchange.text());
    }
}

#[test]
fn a_refusal_is_told_in_the_shape_of_the_host() {
    let call = || streamable(tool_call("1", "b", "{}"));
    let told = Arc::new(Mutex::new(Vec::new()));
    let observer = {
        let told = Arc::clone(&told);
        move |event: &DecisionEvent<'_>| {
            let denial = event.denial.unwrap();
            told.lock().unwrap().push((denial.reason(), denial.subject().to_string(), event.server.map(str::to_owned)));
        }
    };
    let layer = layer(&entry(Untrusted).with_tool_allowlist(["secret_name"])).on_decision(observer);
    let exchange = send(&layer, call(), answer_of_inner());
    assert!(!exchange.text().contains("secret_name") && exchange.text().contains(r#""tool":"b""#));
    assert_eq!(*exchange.denial().kind(), DenialKind::Server(ServerRefusal::Tool(ToolRefusal::NotListed)));
    let expected = ("server.tool_not_listed", "tool 'b'".to_owned(), Some("files".to_owned()));
    assert_eq!(*told.lock().unwrap(), [expected]);
    let unknown = send(&layer.clone().with_response(AsUnknown), call(), answer_of_inner());
    let message = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: b"}}"#;
    assert_eq!(unknown.text(), message);
    let error = send(&layer.with_response(AsToolError), call(), answer_of_inner());
    assert!(error.text().contains(r#""isError":true"#), "{}", error.text());
    assert!(unknown.seen.is_none() && error.seen.is_none());
}

#[test]
fn the_route_names_the_server() {
    let exchange = send(&layer(&entry(Trusted)), streamable(legal()).with_server("evil"), answer_of_inner());
    assert_eq!(exchange.passed("named").head.extensions.get::<Server>().unwrap().as_str(), "files");
    let exchange = send(&layer(&entry(Trusted)), get().with_server("evil"), answer_of_inner());
    assert_eq!(exchange.passed("named").head.extensions.get::<Server>().unwrap().as_str(), "files");
}

fn gate() -> ArgumentAllowlistLayer {
    let role = RoleConfig::new("analyst").with_servers(["files"]).with_allow(["b", "c"]);
    ArgumentAllowlistLayer::new(Policy::new(&PolicyConfig::new().with_role(role)).unwrap())
}

/// Joined and stacked, either outside.
fn arranged(request: impl Fn() -> Request<Full<Bytes>>, answer: impl Fn() -> Response<Full<Bytes>>) -> [Exchange; 4] {
    let trust = || layer(&entry(Untrusted).with_tool_allowlist(["a", "b"]));
    let gate = || gate().with_server(Server::new("files"));
    [
        through::<_, Twice, _, _, _>(|mock| trust().join(gate()).layer(mock), request(), answer()),
        through::<_, Twice, _, _, _>(|mock| trust().layer(gate().layer(mock)), request(), answer()),
        through::<_, Twice, _, _, _>(|mock| gate().join(trust()).layer(mock), request(), answer()),
        through::<_, Twice, _, _, _>(|mock| gate().layer(trust().layer(mock)), request(), answer()),
    ]
}

#[test]
fn with_a_gate_both_rules_hold() {
    let all = list(&["a", "b", "c", "d"].map(named));
    let asked = || ask("tools/list").with_header("accept", STREAMABLE);
    for exchange in arranged(asked, || json(&all)) {
        assert_eq!(exchange.text(), list(&[named("b")]));
    }
    for exchange in arranged(asked, || events(&format!("data: {all}\n\n"))) {
        assert_eq!(exchange.text(), format!("data: {}\n\n", list(&[named("b")])));
    }
    for (tool, passes) in [("a", false), ("b", true), ("c", false), ("d", false)] {
        for exchange in arranged(|| streamable(tool_call("1", tool, "{}")), answer_of_inner) {
            assert_eq!(exchange.seen.is_some(), passes, "{tool}");
        }
    }
}

#[cfg(feature = "content-trust")]
#[test]
fn se_44_one_entry_says_whose_content_it_is() {
    use tower_toolgate::layer::content_trust::ContentTrustLayer;
    use tower_toolgate::store::MemoryTaintStore;
    use tower_toolgate::trust::{Classifier, ClassifierConfig, DeclaredServer, ToolContentOrigin, Verdict};
    for (level, class) in [
        (Trusted, ToolContentOrigin::Local),
        (Untrusted, ToolContentOrigin::External),
        (Sandboxed, ToolContentOrigin::External),
    ] {
        let entry = entry(level).with_tool_allowlist(["read"]);
        let config = ClassifierConfig::new().with_server(DeclaredServer::from(&entry));
        let trust = ContentTrustLayer::new(Classifier::new(&config).unwrap(), MemoryTaintStore::new(10));
        let stack = layer(&entry).join(trust);
        let mut request = streamable(tool_call("1", "read", "{}")).with_server("evil");
        request.extensions_mut().insert(tower_toolgate::Principal::new("key", "ana").unwrap());
        let exchange =
            through::<_, Twice, _, _, _>(|mock| stack.layer(mock), request, answer_of_inner::<Full<Bytes>>());
        let verdict = Verdict::of(&exchange.passed("classified").head.extensions).unwrap();
        assert_eq!((verdict.class(), verdict.owner()), (class, Some("files")), "{level}");
    }
}

#[cfg(feature = "provenance")]
#[test]
fn se_40_media_go_unless_the_entry_passes_them() {
    use tower_toolgate::layer::provenance_tag::ProvenanceTagLayer;
    use tower_toolgate::provenance::MediaPolicy;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"QUJD","mimeType":"image/png"},{"type":"audio","data":"QUJD","mimeType":"audio/wav"}]}}"#;
    for (level, flag, passes) in
        [(Untrusted, false, false), (Untrusted, true, true), (Sandboxed, false, false), (Sandboxed, true, false)]
    {
        let entry = entry(level).with_tool_allowlist(["a"]).with_media_passthrough(flag);
        let stack = layer(&entry).join(ProvenanceTagLayer::new().with_media(MediaPolicy::from(&entry)));
        let call = streamable(tool_call("1", "a", "{}"));
        let exchange = through::<_, Twice, _, _, _>(|mock| stack.layer(mock), call, json(answer));
        assert_eq!(exchange.text().matches("QUJD").count(), if passes { 2 } else { 0 }, "{level} {flag}");
    }
}

/// Rows SE-05, SE-18 and SE-24 with their warnings.
#[test]
fn doubts_about_tools_that_are_exposed_are_told_once() {
    let list =
        json(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"write_x"},{"name":"run_shell"}]}}"#);
    let sandboxed = entry(Sandboxed).with_tool_allowlist(["a", "write_x", "run_shell"]);
    for (entry, expected) in [
        (entry(Trusted), &[][..]),
        (entry(Trusted).with_expected_tools(["a"]), &["run_shell: unexpected", "write_x: unexpected"]),
        (entry(Untrusted).with_allow_untrusted_without_allowlist(true), &["a: unlisted", "write_x: unlisted"]),
        (entry(Untrusted).with_tool_allowlist(["a"]), &[]),
        (sandboxed, &["write_x: sensitive"]),
    ] {
        let told = Arc::new(Mutex::new(Vec::new()));
        let layer = {
            let told = Arc::clone(&told);
            layer(&entry).on_note(move |tool, note| told.lock().unwrap().push(format!("{tool}: {}", note.name())))
        };
        for _ in 0..2 {
            send(&layer, ask("tools/list"), list.clone());
        }
        let mut told = told.lock().unwrap().clone();
        told.sort_unstable();
        assert_eq!(told, expected, "{entry:?}");
    }
}
