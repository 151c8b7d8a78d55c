//! Attacks.
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::Full;
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_toolgate::answer::Denial;
use tower_toolgate::binding::{Binder, BindingKey};
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::layer::binding::BindingLayer;
use tower_toolgate::message::{Dialect, DialectRules, Fault, Mcp, Message, Target};
use tower_toolgate::observe::DecisionEvent;
use tower_toolgate::policy::{Policy, PolicyConfig, RoleConfig};
use tower_toolgate::{Principal, Server};

use super::support::*;

const OWN: &str = "1868a90c-d91d-4e4a-8d3b-8d6a2a3a6f3e";
const TASK: &str = "786512e2";
const SESSION: &str = "mcp-session-id";
const STREAMABLE: &str = "application/json, text/event-stream";
const RELATED: &str = "io.modelcontextprotocol/related-task";

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
fn by(subject: &str, mut request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
    request.extensions_mut().insert(principal(subject));
    request
}
fn ask(subject: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    by(subject, post_text(body)).with_header("accept", STREAMABLE)
}
fn send(layer: &BindingLayer, request: Request<Full<Bytes>>, answer: Response<Full<Bytes>>) -> Exchange {
    through::<_, RequestBody<Full<Bytes>>, _, _, _>(|mock| layer.layer(mock), request, answer)
}
fn passed(request: Request<Full<Bytes>>) -> Exchange {
    send(&layer(), request, answer_of_inner())
}
fn json(body: &str) -> Response<Full<Bytes>> {
    Response::builder().header("content-type", "application/json").body(Full::new(body.to_owned().into())).unwrap()
}
fn events(body: &str) -> Response<Full<Bytes>> {
    Response::builder().header("content-type", "text/event-stream").body(Full::new(body.to_owned().into())).unwrap()
}
fn gate(allow: &[&str]) -> ArgumentAllowlistLayer {
    let role = RoleConfig::new("analyst").with_servers(["*"]).with_allow(allow.iter().copied());
    ArgumentAllowlistLayer::new(Policy::new(&PolicyConfig::new().with_role(role)).unwrap())
}
fn dense(text: &str) -> String {
    text.replace(' ', "")
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const TOOLS: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"read"},{"name":"secret"}]}}"#;

type Plain = tower::util::BoxCloneService<Request<Full<Bytes>>, Response<Full<Bytes>>, Infallible>;

fn plain_server() -> Plain {
    tower::util::BoxCloneService::new(service_fn(|request: Request<Full<Bytes>>| async move {
        drop(request);
        let mut response = json(TOOLS);
        response.headers_mut().insert(SESSION, OWN.parse().unwrap());
        Ok::<_, Infallible>(response)
    }))
}

/// A gate that is stacked, and permits all that the server has.
fn stacked() -> Plain {
    let inner = service_fn(|request: Request<RequestBody<Full<Bytes>>>| async move {
        drop(request);
        let mut response = json(TOOLS);
        response.headers_mut().insert(SESSION, OWN.parse().unwrap());
        Ok::<_, Infallible>(response)
    });
    let gated = gate(&["read", "secret"]).layer(inner);
    tower::util::BoxCloneService::new(service_fn(move |request: Request<Full<Bytes>>| {
        let gated = gated.clone();
        async move {
            let response = gated.oneshot(request).await?;
            Ok::<_, Infallible>(response.map(|body| Full::new(collect(body).0.concat().into())))
        }
    }))
}

/// binding.join(gate), then what stands between, then a service.
fn behind(retries: bool, inner: Plain) -> (http::response::Parts, String) {
    let between = service_fn(move |request: Request<RequestBody<RequestBody<Full<Bytes>>>>| {
        let inner = inner.clone();
        async move {
            let request = request.map(|body| Full::new(collect(body).0.remove(0)));
            let first = inner.clone().oneshot(request.clone()).await?;
            if retries {
                return inner.oneshot(request).await;
            }
            drop(first);
            // Such as a cache.
            let mut response = json(TOOLS);
            response.headers_mut().insert(SESSION, OWN.parse().unwrap());
            Ok::<_, Infallible>(response)
        }
    });
    let future = layer().join(gate(&["read"])).layer(between).oneshot(ask("ana", LIST));
    let mut task = tokio_test::task::spawn(Box::pin(future));
    let std::task::Poll::Ready(Ok(response)) = task.poll() else { panic!("pending") };
    let (head, body) = response.into_parts();
    (head, String::from_utf8(collect(body).0.concat()).unwrap())
}

fn check(name: &str, (head, text): (http::response::Parts, String)) {
    assert!(!text.contains("secret"), "{name}: the list is not cut down: {text} {:?}", head.headers);
    assert_ne!(head.headers[SESSION], OWN, "{name}: the session is not bound");
}

#[test]
fn control() {
    check("retry", behind(true, plain_server()));
    check("cache", behind(false, plain_server()));
}

#[test]
fn retry_between_chain_and_stacked_layer() {
    check("retry", behind(true, stacked()));
}

#[test]
fn what_stands_between_is_not_judged() {
    check("cache", behind(false, stacked()));
}

/// A dialect with a field: two of them are never the same.
#[derive(Debug)]
struct House(#[expect(dead_code)] u8);
impl Dialect for House {
    fn rules(&self) -> DialectRules {
        Mcp::new().rules()
    }
    fn target(&self, message: &Message<'_>) -> Result<Target, Fault> {
        Mcp::new().target(message)
    }
}

/// F2: in a chain of three a layer in the middle with another dialect loses its stage.
#[test]
fn middle_layer_with_another_dialect_filters_lists() {
    let three = gate(&["read", "secret"]).join(gate(&["read"]).with_dialect(House(1)).join(gate(&["read", "secret"])));
    type In = RequestBody<RequestBody<RequestBody<Full<Bytes>>>>;
    let exchange = through::<_, In, _, _, _>(|mock| three.layer(mock), ask("ana", LIST), json(TOOLS));
    assert!(!dense(exchange.text()).contains("secret"), "{}", exchange.text());
}

#[test]
fn two_layers_with_another_dialect_filter_lists() {
    let two = gate(&["read", "secret"]).join(gate(&["read"]).with_dialect(House(1)));
    type In = RequestBody<RequestBody<Full<Bytes>>>;
    let exchange = through::<_, In, _, _, _>(|mock| two.layer(mock), ask("ana", LIST), json(TOOLS));
    assert!(!dense(exchange.text()).contains("secret"), "{}", exchange.text());
}

#[test]
fn middle_binding_with_another_dialect_binds() {
    let three = gate(&["*"]).join(layer().with_dialect(House(1)).join(gate(&["*"])));
    type In = RequestBody<RequestBody<RequestBody<Full<Bytes>>>>;
    let mut answer = json(TOOLS);
    answer.headers_mut().insert(SESSION, OWN.parse().unwrap());
    let exchange = through::<_, In, _, _, _>(|mock| three.layer(mock), ask("ana", LIST), answer);
    assert_ne!(exchange.header(SESSION), Some(OWN));
}

/// F3: folded names of the place.
#[test]
fn folded_names_of_the_place() {
    let request =
        |method: &str, params: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
    let call = |meta: &str| request("tools/call", &format!(r#"{{"name":"echo","_meta":{meta}}}"#));
    let related = |members: &str| call(&format!(r#"{{"{RELATED}":{members}}}"#));
    let answer = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#);
    let (upper, id) = (RELATED.to_uppercase(), format!(r#"{{"taskId":"{TASK}"}}"#));
    let folded = "message.folded_key";
    for (body, reason) in [
        (request("tasks/get", &id.replace("Id", "id")), folded),
        (request("tasks/get", &format!(r#"{{"taskId":"x","TaskID":"{TASK}"}}"#)), folded),
        (request("tools/call", &format!(r#"{{"name":"echo","_Meta":{{"{RELATED}":{id}}}}}"#)), folded),
        (request("subscriptions/listen", &format!(r#"{{"notifications":{{"taskids":["{TASK}"]}}}}"#)), folded),
        (call(&format!(r#"{{"io.modelcontextprotocol/Related-Task":{id}}}"#)), folded),
        (call(&format!(r#"{{"{upper}":{}}}"#, id.to_uppercase())), folded),
        (call(&format!(r#"{{"{}":{id}}}"#, RELATED.replace('k', "\u{212a}"))), folded),
        (call(&format!(r#"{{"{}":{id}}}"#, RELATED.replace('s', r"\u017f"))), folded),
        (call(&format!(r#"{{"{RELATED}\u0000":{id}}}"#)), "message.control_in_key"),
        (related(&id.replace("Id", "id")), folded),
        (related(&id.replace("task", "TASK")), folded),
        (related(&id.replace('k', "\u{212a}")), folded),
        (related(&id.replace('k', r"\u212a")), folded),
        (related(&id.replace("Id", r"\u0000Id")), folded),
        (related(&id.replace("Id", "\u{7f}Id")), folded),
        (related(&format!(r#"{{"taskId":"{}","TaskId":"{TASK}"}}"#, binder("ana").bind_task(TASK).unwrap())), folded),
        (format!("[{},{}]", request("ping", "{}").replace('7', "1"), related(&id.replace("Id", "ID"))), folded),
        (answer(&format!(r#"{{"_Meta":{{"{RELATED}":{id}}}}}"#)), folded),
        (answer(&format!(r#"{{"_meta":{{"{upper}":{id}}}}}"#)), folded),
        (answer(&format!(r#"{{"result":{{"_META":{{"{RELATED}":{id}}}}}}}"#)), folded),
    ] {
        let exchange = passed(ask("ana", body.clone()));
        assert!(exchange.seen.is_none(), "{body}");
        assert_eq!(exchange.denial().reason(), reason, "{body}");
    }
    // What is a tool's is the tool's.
    for body in [
        request("tools/call", &format!(r#"{{"name":"echo","arguments":{{"_Meta":{{"{upper}":{{}}}},"TaskId":"x"}}}}"#)),
        call(r#"{"TaskId":"x","io.modelcontextprotocol/related-tasks":{"TaskId":"x"}}"#),
        answer(r#"{"content":[{"TaskId":"x","_Meta":{}}],"Task":{"TASKID":"x"}}"#),
    ] {
        assert_eq!(passed(ask("ana", body.clone())).passed(&body).body(), body.as_bytes());
    }
}

/// F4: a client's own task ids that look like a version.
#[test]
fn clients_own_ids() {
    let mut refused = Vec::new();
    for id in ["mine", "t1", "t2", "t42", "v7", "v1", "v1.2", "t1.abc", "v2.0-x", "t10.2", &"x".repeat(1600)] {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"_meta":{{"{RELATED}":{{"taskId":"{id}"}}}}}}}}"#);
        let exchange = passed(ask("ana", answer));
        if exchange.seen.is_none() {
            refused.push((id.chars().take(12).collect::<String>(), exchange.denial().reason()));
        }
    }
    assert!(refused.is_empty(), "{refused:?}");
}

/// F5: session ids in trailers of requests without a body.
#[test]
fn trailers_of_bodiless_requests() {
    let mut through_ = Vec::new();
    for method in [Method::GET, Method::DELETE, Method::POST] {
        for name in [SESSION, "mcp_session_id"] {
            let mut trailers = HeaderMap::new();
            trailers.insert(http::HeaderName::from_static(name), OWN.parse().unwrap());
            let steps = if method == Method::POST {
                vec![
                    Step::Data(Bytes::from_static(br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#)),
                    Step::Trailers(trailers),
                ]
            } else {
                vec![Step::Trailers(trailers)]
            };
            let mut request = post(Script::new(steps)).with_header("accept", STREAMABLE);
            request.extensions_mut().insert(principal("bob"));
            *request.method_mut() = method.clone();
            if method != Method::POST {
                request.headers_mut().remove("content-type");
            }
            let exchange = through::<_, RequestBody<Script>, _, _, _>(
                |mock| layer().layer(mock),
                request,
                answer_of_inner::<Full<Bytes>>(),
            );
            let trailers = exchange.seen.and_then(|seen| seen.trailers);
            if trailers.is_some_and(|trailers| trailers.contains_key(name)) {
                through_.push(format!("{method} {name}"));
            }
        }
    }
    assert!(through_.is_empty(), "raw session in trailers: {through_:?}");
}

/// F6: the id of the transport of 2024-11-05 in the URL.
#[test]
fn sessions_in_urls() {
    let requests = |query: &str| {
        let preflight = by("ana", Request::new(Full::default()))
            .with_header("origin", "https://a.example")
            .with_header("access-control-request-method", "POST");
        let bodiless = || by("ana", Request::new(Full::default()));
        let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
        let requests = [
            (Method::POST, ask("ana", ping)),
            (Method::POST, by("ana", post_text(ping)).with_header(SESSION, &session("ana"))),
            (Method::GET, bodiless()),
            (Method::DELETE, bodiless()),
            (Method::OPTIONS, preflight),
        ];
        requests.map(|(method, mut request)| {
            (*request.method_mut(), *request.uri_mut()) = (method, format!("/mcp?{query}").parse().unwrap());
            request
        })
    };
    for query in [
        &format!("sessionId={OWN}"),
        &format!("session_id={OWN}"),
        "SESSIONID=x",
        "sessionid",
        "a=b&SessionId=x",
        "a=b;session_Id=x",
        "session%49d=x",
        "%73ession%5fid=x",
        "sessionId[]=x",
        "+sessionId=x",
    ] {
        for request in requests(query) {
            let exchange = passed(request);
            assert!(exchange.seen.is_none(), "{query}");
            assert_eq!((exchange.denial().reason(), exchange.denial().code()), ("binding.session_in_url", -32600));
            assert_eq!(exchange.denial().status(), 400, "{query}");
        }
        for request in requests(query) {
            let exchange = send(&layer().with_insecure_url_sessions(true), request, answer_of_inner());
            assert!(exchange.seen.is_some(), "{query}");
        }
    }
    for query in ["", "session=x", "session-id=x", "my_sessionId=x", "x=sessionId", "sessionIds=x", "sessionId%00=x"] {
        requests(query).into_iter().for_each(|request| assert!(passed(request).seen.is_some(), "{query}"));
    }
}

/// F7: what says something of the bytes.
#[test]
fn digests_of_an_edited_request() {
    let id = binder("ana").bind_task(TASK).unwrap();
    let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{{"taskId":"{id}"}}}}"#);
    let mut stale = Vec::new();
    for name in ["content-digest", "digest", "content-md5", "repr-digest", "x-payload-digest"] {
        let exchange = passed(ask("ana", body.clone()).with_header(name, "sha-256=:AAAA:"));
        if exchange.passed(name).head.headers.contains_key(name) {
            stale.push(name);
        }
    }
    assert!(stale.is_empty() || stale == ["x-payload-digest"], "{stale:?}");
}

/// F8: raw ids in what observers behind the layer are told.
#[test]
fn raw_ids_behind_the_layer() {
    let told: Arc<Mutex<String>> = Arc::default();
    let to = Arc::clone(&told);
    let observer = move |event: &DecisionEvent<'_>| {
        let calls: Vec<_> = event.message.iter().flat_map(Message::calls).collect();
        *to.lock().unwrap() += &format!("{event:?} {:?} {calls:?}\n", event.head);
    };
    let chain = layer().join(gate(&["echo"]).on_decision(observer));
    let bound = binder("ana").bind_task(TASK).unwrap();
    for (method, params) in [
        ("tasks/get", format!(r#"{{"taskId":"{bound}"}}"#)),
        ("tasks/result", format!(r#"{{"taskId":"{bound}"}}"#)),
        ("tasks/pause", format!(r#"{{"taskId":"{bound}"}}"#)),
        ("subscriptions/listen", format!(r#"{{"notifications":{{"taskIds":["{bound}"]}}}}"#)),
        ("tools/call", format!(r#"{{"name":"echo","_meta":{{"{RELATED}":{{"taskId":"{bound}"}}}}}}"#)),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
        let request = ask("ana", body).with_header(SESSION, &session("ana"));
        let request = if method == "tasks/get" { request.with_header("mcp-name", &bound) } else { request };
        type In = RequestBody<RequestBody<Full<Bytes>>>;
        let exchange = through::<_, In, _, _, _>(|mock| chain.layer(mock), request, answer_of_inner::<Full<Bytes>>());
        let said = std::mem::take(&mut *told.lock().unwrap());
        assert!(said.contains("DecisionEvent"), "{said}");
        let seen = exchange.seen.map(|seen| format!("{:?} {:?}", seen.head, seen.inspection()));
        let said = format!("{said} {:?} {seen:?}", exchange.head.extensions.get::<Denial>());
        assert!(!said.contains(TASK) && !said.contains(OWN) && !said.contains(&bound), "{method}: {said}");
    }
}

/// F9: many ids.
#[test]
fn many_tasks_of_ones_own() {
    for count in [2000_usize, 8000] {
        let own: Vec<_> = (0..count).map(|at| format!("{at:08}")).collect();
        let bound: Vec<_> = own.iter().map(|own| format!("\"{}\"", binder("ana").bind_task(own).unwrap())).collect();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{{"notifications":{{"taskIds":[{}]}}}}}}"#,
            bound.join(",")
        );
        assert!(body.len() < 4 << 20);
        let ids: Vec<_> = own.iter().map(|own| format!("\"{own}\"")).collect();
        let answer = format!(
            "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{{\"notifications\":{{\"taskIds\":[{}]}}}}}}\n\n",
            ids.join(",")
        );
        let exchange = send(&layer(), ask("ana", body), events(&answer));
        assert!(!exchange.text().contains("\"00000001\""));
    }
}

/// F10: legitimate answers.
/// F11: session ids of stateless servers.
/// Held: two principals never share a digest.
#[test]
fn held_clones_of_a_principal() {
    use tower_toolgate::store::PrincipalKey;
    let ana = principal("ana");
    let first = PrincipalKey::of(&ana);
    let clone = ana.clone();
    for other in [
        clone.clone().with_tenant("t"),
        clone.clone().with_issuer("i"),
        clone.clone().with_epoch("e"),
        clone.clone().with_tenant(""),
    ] {
        assert_ne!(PrincipalKey::of(&other), first);
        assert_ne!(PrincipalKey::of(&other.clone()), PrincipalKey::of(&clone));
    }
    assert_eq!(PrincipalKey::of(&clone), first);
}

/// Held: a stale context of another request.
#[test]
fn held_stale_context_in_front_of_a_chain() {
    let first = through::<_, RequestBody<Full<Bytes>>, _, _, _>(
        |mock| gate(&["read"]).layer(mock),
        by("ana", post_text(tool_call("1", "read", "{}"))),
        answer_of_inner::<Full<Bytes>>(),
    );
    let extensions = first.seen.unwrap().head.extensions;
    type In = RequestBody<RequestBody<Full<Bytes>>>;
    for (method, body) in [
        (Method::POST, tool_call("1", "secret", "{}")),
        (Method::GET, tool_call("1", "secret", "{}")),
        (Method::PUT, tool_call("1", "secret", "{}")),
        (Method::OPTIONS, tool_call("1", "secret", "{}")),
        (Method::GET, String::new()),
    ] {
        let mut request = ask("ana", body.clone());
        *request.method_mut() = method.clone();
        request.extensions_mut().extend(extensions.clone());
        let chain = gate(&["read"]).join(gate(&["read"]));
        let exchange = through::<_, In, _, _, _>(|mock| chain.layer(mock), request, answer_of_inner::<Full<Bytes>>());
        println!("{method} {body:?}: {} {}", exchange.seen.is_some(), exchange.text());
        assert!(exchange.seen.is_none() || body.is_empty(), "{method} {body}");
        if body.is_empty() {
            assert!(exchange.seen.is_some(), "a stream behind another gate's POST is refused: {}", exchange.text());
        }
    }
}
#[expect(dead_code)]
fn unused<S: Service<()>>(_: S) {}

mod trusts {
    use super::super::content_trust::{call, is_tainted, json as answer, trust};
    use super::super::content_trust_races::CLAIM;
    use super::*;
    use tower_toolgate::store::MemoryTaintStore;

    fn gate() -> ArgumentAllowlistLayer {
        super::gate(&["read", "scrape", "remember"])
    }

    /// F2 for content: a layer in the middle that reads with another dialect marks nothing.
    #[test]
    fn middle_trust_with_another_dialect_marks() {
        for other in [false, true] {
            let store = MemoryTaintStore::new(10);
            let middle = trust(&store);
            let middle = if other { middle.with_dialect(House(1)) } else { middle };
            let chain = gate().join(middle.join(gate()));
            type In = RequestBody<RequestBody<RequestBody<Full<Bytes>>>>;
            through::<_, In, _, _, _>(|mock| chain.layer(mock), call("read"), answer(CLAIM));
            assert!(is_tainted(&store, "ana"), "another dialect: {other}");
        }
    }

    /// F1 for content: a chain marks nothing if a stacked gate was met twice.
    #[test]
    fn retry_before_a_stacked_gate_marks() {
        for is_stacked in [false, true] {
            let store = MemoryTaintStore::new(10);
            let times = Arc::new(Mutex::new(0));
            let server = service_fn(move |_: Request<RequestBody<Full<Bytes>>>| {
                let mut times = times.lock().unwrap();
                *times += 1;
                let mut response =
                    answer(if *times == 1 { r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"# } else { CLAIM });
                if *times == 1 {
                    *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
                }
                async move { Ok::<_, Infallible>(response) }
            });
            let gated = gate().layer(server);
            let between = service_fn(move |request: Request<RequestBody<RequestBody<Full<Bytes>>>>| {
                let gated = gated.clone();
                async move {
                    let request = request.map(|body| Full::new(collect(body).0.remove(0)));
                    if !is_stacked {
                        return Ok::<_, Infallible>(
                            answer(CLAIM).map(|body| Full::new(collect(body).0.concat().into())),
                        );
                    }
                    // The first answer is lost on its way: a retry.
                    drop(gated.clone().oneshot(request.clone()).await);
                    let response = gated.oneshot(request).await?;
                    Ok::<_, Infallible>(response.map(|body| Full::<Bytes>::new(collect(body).0.concat().into())))
                }
            });
            let future = trust(&store).join(gate()).layer(between).oneshot(call("read"));
            let mut task = tokio_test::task::spawn(Box::pin(future));
            let mut polls = 0;
            let response = loop {
                if let std::task::Poll::Ready(response) = task.poll() {
                    break response.unwrap();
                }
                polls += 1;
                assert!(polls < 100);
            };
            let text = String::from_utf8(collect(response.into_body()).0.concat()).unwrap();
            assert_eq!(text, CLAIM);
            assert!(is_tainted(&store, "ana"), "stacked: {is_stacked}: delivered unmarked");
        }
    }
}

/// F12: an answer without any task, from a server that writes NaN, as Python's json does, and escapes letters.
#[test]
fn python_answers() {
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{}}}"#;
    for text in ["plain", r"caf\u00e9"] {
        let message = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[],"mean":NaN,"x":"{text}"}}}}"#);
        let exchange = send(&layer(), ask("ana", call), events(&format!("data: {message}\n\n")));
        assert!(exchange.text().contains("NaN"), "{text}: {}", exchange.text());
    }
}

/// F13: `Mcp-Name` of a method that no revision knows.
#[test]
fn names_of_later_methods() {
    let bound = binder("ana").bind_task(TASK).unwrap();
    for (params, name, expected) in [
        (r#"{"taskId":"ID"}"#, &*bound, TASK),
        (r#"{"taskId":"ID","name":"echo"}"#, "echo", "echo"),
        (r#"{"uri":"file:///a","taskId":"ID"}"#, "file:///a", "file:///a"),
        (r#"{"taskId":"ID","name":"echo"}"#, "=?base64?ZWNobw==?=", "=?base64?ZWNobw==?="),
    ] {
        let body = |id| {
            let params = params.replace("ID", id);
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tasks/pause","params":{params}}}"#)
        };
        let request = ask("ana", body(&bound)).with_header("mcp-method", "tasks/pause").with_header("mcp-name", name);
        let exchange = passed(request);
        let seen = exchange.passed(params);
        assert_eq!(
            (&seen.head.headers["mcp-name"], seen.body()),
            (&expected.parse().unwrap(), body(TASK).into_bytes())
        );
    }
}

/// F14: a preflight keeps what is verified by whoever is further out.
#[test]
fn preflight_and_foreign_marks() {
    use tower_toolgate::binding::VerifiedSession;
    let verified = binder("ana").verify_session(&session("ana")).unwrap();
    let mut request = by("bob", Request::new(Full::default()))
        .with_header("origin", "https://a.example")
        .with_header("access-control-request-method", "POST");
    *request.method_mut() = Method::OPTIONS;
    request.extensions_mut().insert(verified);
    let exchange = passed(request);
    assert!(VerifiedSession::of(&exchange.seen.unwrap().head.extensions).is_none());
}
