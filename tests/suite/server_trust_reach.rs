//! What a server may ask of its clients: on the way in, what they declare; on the way back, what it asks for.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower::Layer;
use tower_toolgate::Server;
use tower_toolgate::answer::{Denial, DenialKind};
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::layer::server_trust::ServerTrustLayer;
use tower_toolgate::observe::DecisionEvent;
use tower_toolgate::policy::{Policy, PolicyConfig, RoleConfig};
use tower_toolgate::server::McpTrustLevel::{Sandboxed, Trusted, Untrusted};
use tower_toolgate::server::{Reach, Root, ServerEntry, ServerRefusal};

use super::server_trust::*;
use super::support::*;

/// A server that may ask for nothing, however it is trusted, but the tool `a`.
fn untrusted() -> ServerEntry {
    entry(Untrusted).with_tool_allowlist(["a"])
}

/// Entries, and which of sampling, elicitation and roots the server may ask for.
fn entries() -> [(&'static str, ServerEntry, [bool; 3]); 7] {
    let root = || [Root::new("file:///srv")];
    [
        ("SE-39 untrusted", untrusted(), [false, false, false]),
        ("SE-39 flag", untrusted().with_elicitation_enabled(true), [false, true, false]),
        ("roots", untrusted().with_roots(root()), [false, false, true]),
        ("trusted", entry(Trusted), [true, false, false]),
        ("SE-39 trusted", entry(Trusted).with_elicitation_enabled(true), [true, true, false]),
        ("all", entry(Trusted).with_elicitation_enabled(true).with_roots(root()), [true, true, true]),
        (
            "SE-39 sandboxed",
            untrusted().with_elicitation_enabled(true).with_roots(root()).with_trust_level(Sandboxed),
            [false, false, false],
        ),
    ]
}

/// What a client declares, without what is not permitted.
fn capabilities([sampling, elicitation, roots]: [bool; 3]) -> String {
    let requests = [
        sampling.then_some(r#""sampling":{"createMessage":{}}"#),
        elicitation.then_some(r#""elicitation":{"create":{}}"#),
    ];
    let requests = Vec::from_iter(requests.into_iter().flatten()).join(",");
    let tasks = format!(r#""tasks":{{"list":{{}},"requests":{{{requests}}}}}"#);
    let members = [
        roots.then_some(r#""roots":{"listChanged":true}"#),
        Some(r#""experimental":{"x":[1,{}]}"#),
        sampling.then_some(r#""s\u0061mpling":{"tools":{}}"#),
        elicitation.then_some(r#""elicitation":{"form":{},"url":{}}"#),
        Some(&*tasks),
    ];
    format!("{{{}}}", Vec::from_iter(members.into_iter().flatten()).join(","))
}

fn initialize(capabilities: &str) -> String {
    let params =
        format!(r#"{{"capabilities":{capabilities},"protocolVersion":"2025-11-25","clientInfo":{{"n":1.50}}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":1, "params" : {params},"method":"initialize"}}"#)
}

fn modern(method: &str, more: &str, capabilities: &str) -> Request<Full<Bytes>> {
    let meta = format!(
        r#"{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities": {capabilities},"x":1e2}}"#
    );
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{more}"_meta":{meta}}}}}"#);
    let length = body.len().to_string();
    streamable(body)
        .with_header("mcp-protocol-version", "2026-07-28")
        .with_header("mcp-method", method)
        .with_header("content-length", &length)
        .with_header("content-digest", "x")
}

#[track_caller]
fn arrives(row: &str, entry: &ServerEntry, request: Request<Full<Bytes>>, expected: Request<Full<Bytes>>) {
    let exchange = send(&layer(entry), request, answer_of_inner());
    let seen = exchange.passed(row);
    let expected = collect(expected.into_body()).0.concat();
    assert_eq!(String::from_utf8(seen.body()).unwrap(), String::from_utf8(expected).unwrap(), "{row}");
    assert_eq!(seen.inspection().bytes(), &seen.body(), "{row}");
    if let Some(length) = seen.head.headers.get("content-length") {
        assert_eq!(length.to_str().unwrap(), seen.body().len().to_string(), "{row}");
    }
}

#[test]
fn what_a_client_declares_is_withheld_and_all_other_bytes_are_the_same() {
    let all = capabilities([true; 3]);
    for (row, entry, permitted) in entries() {
        let left = capabilities(permitted);
        arrives(row, &entry, streamable(initialize(&all)), streamable(initialize(&left)));
        for (method, more) in [("resources/list", ""), ("server/discover", r#""y":[1.0],"#)] {
            arrives(row, &entry, modern(method, more, &all), modern(method, more, &left));
        }
        let call = |capabilities: &str| {
            modern("tools/call", r#""name":"a","arguments":{"capabilities":{"sampling":{}}},"#, capabilities)
                .with_header("mcp-name", "a")
        };
        arrives(row, &entry, call(&all), call(&left));
    }
}

#[test]
fn what_resembles_a_capability_goes_too() {
    for (declared, left) in [
        (r#"{"Sampling":{},"x":1}"#, r#"{"x":1}"#),
        (r#"{"x":1,"ELICITATION":null}"#, r#"{"x":1}"#),
        (r#"{ "sampling" : {} , "x":1 }"#, r#"{ "x":1 }"#),
        (r#"{ "x":1 , "roots":{}, "sampling" : {} }"#, r#"{ "x":1 }"#),
        ("{ \"sampling\":{}\n}", "{ \n}"),
        (r#"["sampling"]"#, "{}"),
        (r#"{"tasks":["x"]}"#, r#"{"tasks":{}}"#),
        ("null", "null"),
        ("{}", "{}"),
    ] {
        arrives(declared, &untrusted(), streamable(initialize(declared)), streamable(initialize(left)));
    }
}

#[test]
fn nothing_else_is_touched() {
    let notes = r#"{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"capabilities":{"sampling":{}},"_meta":{"a":1}}}"#;
    arrives("another method", &untrusted(), streamable(notes), streamable(notes));
    let batch = |capabilities: &str| {
        let meta = format!(r#"{{"io.modelcontextprotocol/clientCapabilities":{capabilities}}}"#);
        let ping = |id: u8| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","params":{{"_meta":{meta}}}}}"#);
        streamable(format!("[{} , {}]", ping(1), ping(2)))
    };
    arrives("a batch", &untrusted(), batch(r#"{"sampling":{},"x":1}"#), batch(r#"{"x":1}"#));
}

fn request(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"s-1","method":"{method}","params":{{"messages":[],"message":"m"}}}}"#)
}

const KINDS: [(Reach, &str); 3] = [
    (Reach::Sampling, "sampling/createMessage"),
    (Reach::Elicitation, "elicitation/create"),
    (Reach::Roots, "roots/list"),
];

const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"x":1e400}}"#;

/// A layer, and what it tells.
fn observed(entry: &ServerEntry) -> (ServerTrustLayer, Arc<Mutex<Vec<&'static str>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let observer = {
        let told = Arc::clone(&told);
        move |event: &DecisionEvent<'_>| told.lock().unwrap().extend(event.denial.map(Denial::reason))
    };
    (layer(entry).on_decision(observer), told)
}

fn call() -> Request<Full<Bytes>> {
    streamable(tool_call("1", "a", "{}"))
}

#[test]
fn requests_in_streams_are_dropped_and_told() {
    for (row, entry, permitted) in entries() {
        for ((reach, method), passes) in KINDS.into_iter().zip(permitted) {
            let head = ": hi\n\nid: 1\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\r\n\r\n";
            let asked = format!("id: 2\ndata: {}\n\n", request(method));
            let tail = format!("data: {RESULT}\n\n");
            for stream in [call(), get()] {
                let (layer, told) = observed(&entry);
                let exchange = send(&layer, stream, events(&format!("{head}{asked}{tail}")));
                let between = if passes { &*asked } else { "id: 2\n\n" };
                assert_eq!(exchange.text(), format!("{head}{between}{tail}"), "{row} {method}");
                let reason = ServerRefusal::ReachBack(reach).reason();
                assert_eq!(*told.lock().unwrap(), if passes { vec![] } else { vec![reason] }, "{row} {method}");
            }
        }
    }
}

#[test]
fn requests_in_a_batch_are_cut() {
    for method in KINDS.map(|(_, method)| method) {
        for (batch, left) in [
            (format!("[{} , {RESULT}]", request(method)), format!("[{RESULT}]")),
            (format!(" [{RESULT},{}]", request(method)), format!(" [{RESULT}]")),
        ] {
            let (layer, told) = observed(&untrusted());
            let exchange = send(&layer, call(), json(&batch));
            assert_eq!(exchange.text(), left);
            assert_eq!(exchange.header("content-length"), Some(&*left.len().to_string()));
            assert_eq!(told.lock().unwrap().len(), 1);
            let exchange = send(&layer, get(), events(&format!("data: {batch}\n\n")));
            assert_eq!(exchange.text(), format!("data: {left}\n\n"));
        }
        let exchange = send(&layer(&untrusted()), get(), events(&format!("data: [{}]\n\n", request(method))));
        assert_eq!(exchange.text(), "");
    }
}

/// Answers that ask for something.
fn answers(method: &str) -> Vec<String> {
    let asked = format!(r#"{{"k":{{"method":"{method}","params":{{"message":"m"}}}}}}"#);
    let task = format!(r#"{{"taskId":"t","status":"input_required","inputRequests":{asked}}}"#);
    vec![
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"input_required","inputRequests":{asked}}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{task}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"task":{task}}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"result":{{"input\u0052equests":{asked}}}}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"INPUTREQUESTS":{asked}}}}}"#),
    ]
}

#[test]
fn answers_that_ask_are_replaced() {
    for (row, entry, permitted) in entries() {
        for ((reach, method), passes) in KINDS.into_iter().zip(permitted) {
            for answer in answers(method) {
                replaced(row, &entry, &answer, (!passes).then_some(reach));
            }
        }
    }
}

/// An answer is handed on as it is, or there is an error in its place.
#[track_caller]
fn replaced(row: &str, entry: &ServerEntry, answer: &str, refused: Option<Reach>) {
    let (layer, told) = observed(entry);
    let stream = format!("data: {answer}\n\n");
    let [in_json, in_stream] = [json(answer), events(&stream)].map(|response| send(&layer, call(), response));
    let on_get = send(&layer, get(), events(&stream));
    let Some(reach) = refused else {
        assert_eq!((in_json.text(), in_stream.text(), on_get.text()), (answer, &*stream, &*stream), "{row}");
        return;
    };
    let refusal = ServerRefusal::ReachBack(reach);
    assert_eq!(*in_json.denial().kind(), DenialKind::Server(refusal), "{row}");
    let error = format!(
        r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":502,"message":"{refusal}","data":{{"reason":"{}"}}}}}}"#,
        refusal.reason()
    );
    assert_eq!((in_json.text(), in_stream.text()), (&*error, &*format!("data: {error}\n\n")), "{row}: {answer}");
    assert_eq!(on_get.text(), "", "{row}");
    assert_eq!(*told.lock().unwrap(), [refusal.reason(); 3], "{row}");
}

#[test]
fn errors_that_have_a_url_opened_are_replaced() {
    let error = |code: &str, data: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"m","data":{data}}}}}"#)
    };
    let urls = r#"{"elicitations":[{"mode":"url","url":"https://a.example/"}]}"#;
    let task = |error: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"status":"failed","error":{error}}}}}"#);
    for (answer, asks) in [
        (error("-32042", urls), true),
        (error("-32042", "null"), true),
        (error("-32042.0", "[]"), true),
        (error("-32000", urls), true),
        (error("-32000", r#"{"Elicitations":[]}"#), true),
        (task(r#"{"code":-32042}"#), true),
        (error("-32000", r#"{"x":{"elicitations":[]}}"#), false),
        (error("-32602", "[]"), false),
    ] {
        for (row, entry, [_, permitted, _]) in entries() {
            replaced(row, &entry, &answer, (asks && !permitted).then_some(Reach::Elicitation));
        }
    }
}

#[test]
fn news_of_tasks_that_ask_are_not_handed_on() {
    for method in KINDS.map(|(_, method)| method) {
        let asked = format!(r#"{{"taskId":"t","inputRequests":{{"k":{{"method":"{method}"}}}}}}"#);
        let news = format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{asked}}}"#);
        let stream = format!("data: {news}\n\ndata: {RESULT}\n\n");
        let exchange = send(&layer(&untrusted()), get(), events(&stream));
        assert_eq!(exchange.text(), format!("data: {RESULT}\n\n"));
        let exchange = send(&layer(&untrusted()), call(), events(&stream));
        assert!(exchange.text().starts_with(r#"data: {"jsonrpc":"2.0","id":1,"error""#), "{}", exchange.text());
        assert!(!exchange.text().contains(method));
        let all = entry(Trusted).with_elicitation_enabled(true).with_roots([Root::new("file:///srv")]);
        assert_eq!(send(&layer(&all), call(), events(&stream)).text(), stream);
    }
}

#[test]
fn what_no_revision_knows_needs_trust() {
    for asked in [request("house/ask"), request("Sampling/CreateMessage"), request("tasks/get")] {
        let stream = format!("data: {asked}\n\n");
        assert_eq!(send(&layer(&untrusted()), call(), events(&stream)).text(), "", "{asked}");
        assert_eq!(send(&layer(&entry(Trusted)), call(), events(&stream)).text(), stream, "{asked}");
    }
    for news in [request("ping"), request("notifications/progress"), RESULT.to_owned()] {
        let stream = format!("data: {news}\n\n");
        assert_eq!(send(&layer(&untrusted()), call(), events(&stream)).text(), stream);
    }
    let unnamed = r#"{"jsonrpc":"2.0","id":1,"result":{"inputRequests":{"k":{}}}}"#;
    replaced("unnamed", &untrusted(), unnamed, Some(Reach::Other));
    let waits = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}"#;
    replaced("asks for nothing", &untrusted(), waits, None);
}

#[test]
fn what_cannot_be_read_is_never_passed() {
    for body in ["{", "[1]", "\"x\"", r#"{"id":1,"result":[{"inputRequests":1}]}"#, r#"{"id":1,"Result":{}}"#] {
        let exchange = send(&layer(&untrusted()), call(), json(body));
        assert_eq!(exchange.denial().reason(), "upstream.invalid_answer", "{body}");
    }
    let mut coded = json(RESULT);
    coded.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
    let exchange = send(&layer(&untrusted()), call(), coded);
    assert_eq!(exchange.denial().reason(), "upstream.invalid_answer");
    assert_eq!(exchange.seen.unwrap().head.headers["accept-encoding"], "identity");
}

#[test]
fn joined_and_stacked_do_the_same() {
    let role = RoleConfig::new("analyst").with_servers(["files"]).with_allow(["a"]);
    let gate = || {
        let policy = Policy::new(&PolicyConfig::new().with_role(role.clone())).unwrap();
        ArgumentAllowlistLayer::new(policy).with_server(Server::new("files"))
    };
    let trust = || layer(&untrusted());
    type Twice = RequestBody<Inner>;
    let stream = format!("id: 2\ndata: {}\n\ndata: {RESULT}\n\n", request("roots/list"));
    let arranged = |request: &dyn Fn() -> Request<Full<Bytes>>, answer: &dyn Fn() -> Response<Full<Bytes>>| {
        [
            through::<_, Twice, _, _, _>(|mock| trust().join(gate()).layer(mock), request(), answer()),
            through::<_, Twice, _, _, _>(|mock| trust().layer(gate().layer(mock)), request(), answer()),
            through::<_, Twice, _, _, _>(|mock| gate().join(trust()).layer(mock), request(), answer()),
            through::<_, Twice, _, _, _>(|mock| gate().layer(trust().layer(mock)), request(), answer()),
        ]
    };
    for exchange in arranged(&call, &|| events(&stream)) {
        assert_eq!(exchange.text(), format!("id: 2\n\ndata: {RESULT}\n\n"));
    }
    for exchange in arranged(&call, &|| json(&answers("roots/list")[0])) {
        assert_eq!(exchange.denial().reason(), "server.reach_roots");
    }
    let declared = || streamable(initialize(&capabilities([true; 3])));
    for exchange in arranged(&declared, &answer_of_inner) {
        let left = initialize(&capabilities([false; 3]));
        assert_eq!(exchange.passed("declared").body(), left.as_bytes());
    }
}
