//! What a server asks over HTTP, on each kind of stream: answered from here, for the user, or passed on.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::Body;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tower::{Layer, ServiceExt};
use tower_toolgate::server::McpTrustLevel::{Sandboxed, Trusted, Untrusted};
use tower_toolgate::server::{McpTransport, McpTrustLevel, Reach, ReachBack, Root, ServerEntry};
use tower_toolgate::upstream::{HttpConfig, HttpUpstream, UpstreamConfig};

use super::support::{BoxError, With, legal, mcp, post_text};
use super::upstream_http::{Heard, hear, listener, ok, server};
use super::upstream_support::eventually;

/// A server that writes the same stream to everybody, and accepts answers after a while.
#[derive(Default)]
struct Asking {
    /// With its head.
    stream: String,
    pause: Duration,
    answers: Heard,
    at_once: AtomicUsize,
    most: AtomicUsize,
    /// Streams whose client has gone.
    gone: AtomicUsize,
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";

impl Asking {
    /// It says nothing more after these events, and leaves the stream open.
    fn open(events: &str) -> Self {
        Self { stream: format!("{HEAD}connection: close\r\n\r\n{events}"), ..Self::default() }
    }

    /// It ends the stream after these events.
    fn closed(events: &str) -> Self {
        Self { stream: format!("{HEAD}content-length: {}\r\n\r\n{events}", events.len()), ..Self::default() }
    }

    /// Serves, and gives where.
    async fn serve(self) -> (Arc<Self>, String) {
        let (listener, address) = listener().await;
        let this = Arc::new(self);
        let own = Arc::clone(&this);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&own).talk(stream));
            }
        });
        (this, format!("http://{address}/mcp"))
    }

    async fn talk(self: Arc<Self>, mut stream: TcpStream) {
        while let Some(request) = hear(&mut stream).await {
            let body = request.split_once("\r\n\r\n").unwrap().1.to_owned();
            if body.is_empty() || body.contains("tools/call") {
                stream.write_all(self.stream.as_bytes()).await.unwrap();
                if self.stream.contains("connection: close") {
                    _ = stream.read(&mut [0]).await;
                    self.gone.fetch_add(1, SeqCst);
                    return;
                }
                continue;
            }
            self.most.fetch_max(self.at_once.fetch_add(1, SeqCst) + 1, SeqCst);
            tokio::time::sleep(self.pause).await;
            self.at_once.fetch_sub(1, SeqCst);
            self.answers.lock().unwrap().push(request);
            stream.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        }
    }

    /// The bodies of the answers, by their ids.
    fn answered(&self) -> Vec<Value> {
        let answers = self.answers.lock().unwrap();
        let mut all: Vec<Value> =
            answers.iter().map(|text| serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()).collect();
        all.sort_by_key(|answer| answer["id"].to_string());
        all
    }
}

fn entry(url: &str, level: McpTrustLevel) -> ServerEntry {
    let transport = McpTransport::http(url).unwrap().with_header("authorization", "Bearer operator");
    ServerEntry::new("web", transport, Duration::from_secs(20)).with_trust_level(level)
}

fn config(entry: &ServerEntry) -> HttpConfig {
    match entry.upstream_config().unwrap() {
        UpstreamConfig::Http(config) => config,
        other => panic!("{other:?}"),
    }
}

fn asked(id: &Value, method: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"message": "m"}}).to_string()
}

fn event(message: impl AsRef<str>) -> String {
    format!("data: {}\n\n", message.as_ref())
}

fn post() -> Request<Full<Bytes>> {
    post_text(legal()).with_header("mcp-session-id", "s").with_header("mcp-protocol-version", "2025-06-18")
}

fn get() -> Request<Full<Bytes>> {
    let request = Request::get("/mcp").header("accept", "text/event-stream").header("authorization", "Bearer caller");
    let request = request.header("mcp-session-id", "s").header("mcp-protocol-version", "2025-06-18");
    request.body(Full::default()).unwrap()
}

/// Sends a request, through a gate if it has a body.
async fn send(upstream: &HttpUpstream, request: Request<Full<Bytes>>) -> Response<UnsyncBoxBody<Bytes, BoxError>> {
    if request.method() == Method::GET {
        return upstream.clone().oneshot(request).await.unwrap().map(|body| body.map_err(Into::into).boxed_unsync());
    }
    let gated = mcp().layer(upstream.clone());
    gated.oneshot(request).await.unwrap().map(|body| body.map_err(Into::into).boxed_unsync())
}

/// What comes first of a body, as far as it is expected.
async fn begins_with(body: &mut (impl Body<Data = Bytes, Error = BoxError> + Unpin), expected: &str) {
    let mut text = String::new();
    while text.len() < expected.len() {
        let frame = tokio::time::timeout(Duration::from_secs(20), body.frame()).await.expect(expected);
        text += str::from_utf8(&frame.unwrap().unwrap().into_data().unwrap()).unwrap();
    }
    assert_eq!(text, expected);
}

const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"a":[1.50]}}"#;
const NEWS: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"a": "\u0041" }}"#;
const KINDS: [(&str, Reach); 4] = [
    ("sampling/createMessage", Reach::Sampling),
    ("elicitation/create", Reach::Elicitation),
    ("roots/list", Reach::Roots),
    ("x/y", Reach::Other),
];

fn refusals(config: HttpConfig) -> (HttpConfig, Arc<Mutex<Vec<Reach>>>) {
    let refused = Arc::<Mutex<Vec<Reach>>>::default();
    let log = Arc::clone(&refused);
    (config.on_refused(move |reach| log.lock().unwrap().push(reach)), refused)
}

#[tokio::test]
async fn what_a_server_may_not_ask_is_answered_from_here() {
    let own = |level| entry("http://127.0.0.1:1/", level);
    let root = [Root::new("file:///srv").with_name("srv"), Root::new("file:///tmp")];
    let entries = [
        own(Untrusted),
        own(Sandboxed).with_roots(root.clone()).with_elicitation_enabled(true),
        own(Untrusted).with_roots(root.clone()),
        own(Untrusted).with_elicitation_enabled(true),
        own(Trusted),
        own(Trusted).with_roots(root).with_elicitation_enabled(true),
    ];
    for entry in entries {
        for request in [post, get] {
            check_kinds(entry.clone(), request()).await;
        }
    }
}

/// A server asks for each kind, alone and in a batch, among others.
async fn check_kinds(mut entry: ServerEntry, request: Request<Full<Bytes>>) {
    let reach = ReachBack::new(&entry);
    let (mut events, mut left) = (event(NEWS), event(NEWS));
    let (mut answers, mut refused) = (Vec::new(), Vec::new());
    for (at, (method, kind)) in KINDS.into_iter().enumerate() {
        let (one, other) = (json!(at), json!(format!("b{at}")));
        let (alone, batch) = (asked(&one, method), asked(&other, method));
        events += &(format!("id: {at}\n{}", event(&alone)) + &event(format!("[{batch}, {NEWS}]")) + ":\n\n");
        let outcome = match (kind, reach.permits(kind)) {
            (Reach::Roots, true) if !entry.roots.is_empty() => {
                json!({"result": {"roots": [{"uri": "file:///srv", "name": "srv"}, {"uri": "file:///tmp"}]}})
            }
            (_, true) => {
                left += &(format!("id: {at}\n{}", event(alone)) + &event(format!("[{batch}, {NEWS}]")) + ":\n\n");
                continue;
            }
            (Reach::Elicitation, false) => json!({"result": {"action": "decline"}}),
            (_, false) => json!({"error": {"code": -32601, "message": "Method not found"}}),
        };
        left += &(format!("id: {at}\n\n") + &event(format!("[{NEWS}]")) + ":\n\n");
        refused.extend([kind; 2].into_iter().filter(|kind| !reach.permits(*kind)));
        for id in [one, other] {
            let mut answer = json!({"jsonrpc": "2.0", "id": id});
            answer.as_object_mut().unwrap().extend(outcome.as_object().unwrap().clone());
            answers.push(answer);
        }
    }
    for rest in [event(asked(&json!(9), "ping")), event(RESULT)] {
        events += &rest;
        left += &rest;
    }
    let (asking, url) = Asking::closed(&events).serve().await;
    entry.transport = McpTransport::http(&url).unwrap().with_header("authorization", "Bearer operator");
    let (config, counted) = refusals(config(&entry));
    let upstream = HttpUpstream::new(config).unwrap();
    let response = send(&upstream, request).await;
    assert!(!response.headers().contains_key("content-length"));
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(str::from_utf8(&body).unwrap(), left, "{entry:?}");
    answers.sort_by_key(|answer| answer["id"].to_string());
    eventually("it is answered", || async { asking.answered().len() >= answers.len() }).await;
    assert_eq!(asking.answered(), answers, "{entry:?}");
    assert_eq!(*counted.lock().unwrap(), refused);
    for answer in asking.answers.lock().unwrap().iter() {
        let head = answer.split_once("\r\n\r\n").unwrap().0.to_ascii_lowercase();
        assert!(head.starts_with("post /mcp http/1.1\r\n"), "{head}");
        for line in [
            "mcp-session-id: s",
            "mcp-protocol-version: 2025-06-18",
            "authorization: bearer operator",
            "content-type: application/json",
            "accept: application/json, text/event-stream",
        ] {
            assert_eq!(head.lines().filter(|other| *other == line).count(), 1, "{line}: {head}");
        }
        assert!(!head.contains("caller"));
    }
}

#[tokio::test]
async fn without_a_reach_all_passes_as_it_comes() {
    let events = event(asked(&json!(1), "sampling/createMessage")) + &event(RESULT) + "data: " + NEWS;
    let (asking, url) = Asking::closed(&events).serve().await;
    let response = send(&HttpUpstream::new(HttpConfig::new(&url).unwrap()).unwrap(), post()).await;
    assert_eq!(response.headers()["content-length"], events.len().to_string());
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), events);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(asking.answered(), [] as [Value; 0]);
}

#[tokio::test]
async fn an_answer_goes_in_the_session_that_begins_with_its_stream() {
    let mut asking = Asking::closed(&event(asked(&json!(1), "x/y")));
    asking.stream = asking.stream.replacen("\r\n", "\r\nmcp-session-id: new\r\n", 1);
    let (asking, url) = asking.serve().await;
    let upstream = HttpUpstream::new(config(&entry(&url, Untrusted))).unwrap();
    send(&upstream, post_text(legal())).await.into_body().collect().await.unwrap();
    eventually("it is answered", || async { asking.answered().len() == 1 }).await;
    let answer = asking.answers.lock().unwrap()[0].clone();
    assert!(answer.contains("mcp-session-id: new\r\n") && !answer.contains("mcp-protocol-version"), "{answer}");
}

/// A user of a session answers.
fn answers(session: &str, id: &Value) -> Request<Full<Bytes>> {
    let text = json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept"}}).to_string();
    post_text(text).with_header("mcp-session-id", session).with_header("mcp-protocol-version", "2025-06-18")
}

#[tokio::test]
async fn a_user_has_their_time() {
    for request in [post, get] {
        let ids = [json!("in time"), json!("late"), json!("of another")];
        let events = ids.iter().map(|id| event(asked(id, "elicitation/create"))).collect::<String>();
        let (asking, url) = Asking::open(&events).serve().await;
        let entry = entry(&url, Untrusted).with_elicitation_enabled(true).with_elicitation_timeout_secs(1);
        let upstream = HttpUpstream::new(config(&entry)).unwrap();
        let mut body = send(&upstream, request()).await.into_body();
        begins_with(&mut body, &events).await;
        assert_eq!(send(&upstream, answers("s", &ids[0])).await.status(), 202);
        assert_eq!(send(&upstream, answers("other", &ids[2])).await.status(), 202);
        eventually("it is declined", || async { asking.answered().len() >= 4 }).await;
        let accepted = |id: &Value| json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept"}});
        let declined = |id: &Value| json!({"jsonrpc": "2.0", "id": id, "result": {"action": "decline"}});
        let mut expected = vec![accepted(&ids[0]), accepted(&ids[2]), declined(&ids[1]), declined(&ids[2])];
        let sorted = |mut all: Vec<Value>| {
            all.sort_by_key(Value::to_string);
            all
        };
        expected = sorted(expected);
        assert_eq!(sorted(asking.answered()), expected);
        // Through a gate, and without one.
        let late = send(&upstream, answers("s", &ids[1])).await;
        assert_eq!((late.status().as_u16(), late.into_body().collect().await.unwrap().to_bytes().len()), (202, 0));
        assert_eq!(upstream.clone().oneshot(answers("s", &ids[1])).await.unwrap().status(), 202);
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert_eq!(sorted(asking.answered()), expected, "nothing late has arrived, and nothing is declined twice");
        // What nobody has asked for is the server's to judge.
        assert_eq!(upstream.clone().oneshot(answers("s", &json!("unknown"))).await.unwrap().status(), 202);
        assert_eq!(asking.answered().len(), 5);
        drop(body);
    }
}

#[tokio::test]
async fn an_answer_that_no_gate_has_read_is_sent_on_as_it_is() {
    let (asking, url) = Asking::open(&event(asked(&json!(7), "elicitation/create"))).serve().await;
    let entry = entry(&url, Untrusted).with_elicitation_enabled(true).with_elicitation_timeout_secs(1);
    let upstream = HttpUpstream::new(config(&entry)).unwrap();
    let mut body = send(&upstream, get()).await.into_body();
    begins_with(&mut body, &event(asked(&json!(7), "elicitation/create"))).await;
    assert_eq!(upstream.clone().oneshot(answers("s", &json!(7))).await.unwrap().status(), 202);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(asking.answered(), [json!({"jsonrpc": "2.0", "id": 7, "result": {"action": "accept"}})]);
}

#[tokio::test]
async fn many_requests_are_answered_a_few_at_a_time() {
    const MANY: usize = 10_000;
    let all = (0..MANY).map(|id| event(asked(&json!(id), "x/y"))).collect::<String>() + &event(RESULT);
    let asking = Asking { pause: Duration::from_millis(5), ..Asking::closed(&all) };
    let (asking, url) = asking.serve().await;
    let (config, refused) = refusals(config(&entry(&url, Untrusted)));
    let upstream = HttpUpstream::new(config).unwrap();
    let body = send(&upstream, post()).await.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, event(RESULT));
    assert_eq!(refused.lock().unwrap().len(), MANY);
    eventually("all are answered", || async { asking.answers.lock().unwrap().len() >= MANY }).await;
    assert_eq!(asking.answers.lock().unwrap().len(), MANY);
    let most = asking.most.load(SeqCst);
    assert!((2..=64).contains(&most), "{most}");
}

#[tokio::test]
async fn a_batch_in_json_is_answered_as_well() {
    let (one, other) = (RESULT, RESULT.replace("\"id\":1", "\"id\":2"));
    let batch = format!("[{one}, {} ,{other}]", asked(&json!("s"), "sampling/createMessage"));
    let (address, heard) = server(&ok("", &batch)).await;
    let upstream = HttpUpstream::new(config(&entry(&format!("http://{address}/"), Untrusted))).unwrap();
    let request = format!("[{},{}]", legal(), legal().replacen("\"id\":1", "\"id\":2", 1));
    let request = post_text(request).with_header("mcp-protocol-version", "2025-03-26");
    let response = send(&upstream, request).await;
    let left = format!("[{one} ,{other}]");
    assert_eq!(response.headers()["content-length"], left.len().to_string());
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), left);
    eventually("it is answered", || async { heard.lock().unwrap().len() == 2 }).await;
    assert!(
        heard.lock().unwrap()[1]
            .ends_with(r#"{"jsonrpc":"2.0","id":"s","error":{"code":-32601,"message":"Method not found"}}"#)
    );
}

#[tokio::test]
async fn trailers_pass_and_a_client_that_goes_is_noticed() {
    let asks = event(asked(&json!(1), "x/y"));
    let chunk = format!("{:x}\r\n{asks}\r\n", asks.len());
    let reply = format!("{HEAD}trailer: x-end\r\ntransfer-encoding: chunked\r\n\r\n{chunk}0\r\nx-end: 1\r\n\r\n");
    let (asking, url) = Asking { stream: reply, ..Asking::default() }.serve().await;
    let upstream = HttpUpstream::new(config(&entry(&url, Untrusted))).unwrap();
    let body = send(&upstream, get().with_header("te", "trailers")).await.into_body().collect().await.unwrap();
    assert_eq!(body.trailers().unwrap()["x-end"], "1");
    assert_eq!(body.to_bytes().len(), 0);
    eventually("it is answered", || async { asking.answered().len() == 1 }).await;

    let (asking, url) = Asking::open(&event(NEWS)).serve().await;
    let upstream = HttpUpstream::new(config(&entry(&url, Untrusted))).unwrap();
    for request in [post, get] {
        let mut body = send(&upstream, request()).await.into_body();
        begins_with(&mut body, &event(NEWS)).await;
        let before = asking.gone.load(SeqCst);
        drop(body);
        eventually("it is noticed", || async { asking.gone.load(SeqCst) > before }).await;
    }
}

#[tokio::test]
async fn what_is_coded_passes_untouched() {
    let mut asking = Asking::closed(&event(asked(&json!(1), "x/y")));
    asking.stream = asking.stream.replacen("\r\n", "\r\ncontent-encoding: br\r\n", 1);
    let (asking, url) = asking.serve().await;
    let upstream = HttpUpstream::new(config(&entry(&url, Untrusted))).unwrap();
    let body = send(&upstream, get()).await.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, event(asked(&json!(1), "x/y")));
    assert_eq!(asking.answered().len(), 0);
}

#[tokio::test]
async fn a_server_that_takes_no_answers_keeps_nobody() {
    let (listener, address) = listener().await;
    let events = (0..200).map(|id| event(asked(&json!(id), "x/y"))).collect::<String>() + &event(RESULT);
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let heard = hear(&mut stream).await.unwrap();
            if heard.contains("tools/call") {
                let head = format!("{HEAD}content-length: {}\r\n\r\n", events.len());
                stream.write_all((head + &events).as_bytes()).await.unwrap();
            }
            open.push(stream);
        }
    });
    let mut entry = entry(&format!("http://{address}/"), Untrusted);
    entry.timeout = Duration::from_millis(300);
    let upstream = HttpUpstream::new(config(&entry)).unwrap();
    let body = send(&upstream, post()).await.into_body().collect();
    let body = tokio::time::timeout(Duration::from_secs(30), body).await.unwrap().unwrap().to_bytes();
    assert_eq!(body, event(RESULT));
}
