//! A real child, in Python, and clients of it. Without `python3` these tests fail: they must not pass unseen.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;
use tower_toolgate::upstream::{StdioConfig, StdioUpstream, UpstreamBody};

pub(crate) const BOTH: &str = "application/json, text/event-stream";

/// A child that does what its tests ask for.
pub(crate) fn python(modes: &[&str]) -> StdioConfig {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/upstream_server.py");
    StdioConfig::new("python3").with_args([script]).with_args(modes).with_timeout(Duration::from_secs(20))
}

pub(crate) async fn started(config: StdioConfig) -> StdioUpstream {
    let upstream = StdioUpstream::start(config).unwrap();
    if let Err(fault) = upstream.started().await {
        panic!("{fault}: these tests need `python3` in the PATH");
    }
    upstream
}

pub(crate) fn call(id: &Value, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

pub(crate) fn call_with_token(id: &Value, token: &Value, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": token}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

pub(crate) fn post(message: &impl ToString) -> Request<Full<Bytes>> {
    let request = Request::post("/mcp").header("accept", BOTH).header("content-type", "application/json");
    request.body(Full::new(Bytes::from(message.to_string()))).unwrap()
}

pub(crate) fn get() -> Request<Full<Bytes>> {
    Request::get("/mcp").header("accept", "text/event-stream").body(Full::default()).unwrap()
}

/// A response that has arrived.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// What a tool of the child has said, which is JSON in the text of its result.
    pub(crate) fn said(&self) -> Value {
        told(&self.json())
    }

    pub(crate) fn reason(&self) -> Value {
        self.json()["error"]["data"]["reason"].clone()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        assert_eq!(self.headers["content-type"], "text/event-stream", "{self:?}");
        let events = self.text.split_terminator("\n\n");
        events.map(|event| parsed(event.as_bytes())).collect()
    }
}

pub(crate) fn told(message: &Value) -> Value {
    let text = message["result"]["content"][0]["text"].as_str();
    serde_json::from_str(text.unwrap_or_else(|| panic!("{message}"))).unwrap()
}

/// One event.
pub(crate) fn parsed(event: &[u8]) -> Value {
    let data = str::from_utf8(event).unwrap().trim_end().strip_prefix("event: message\ndata: ").unwrap();
    serde_json::from_str(data).unwrap()
}

pub(crate) async fn send(upstream: &StdioUpstream, request: Request<Full<Bytes>>) -> Answer {
    let (head, body) = upstream.clone().oneshot(request).await.unwrap().into_parts();
    let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    Answer { status: head.status, headers: head.headers, text }
}

/// What a tool says.
pub(crate) async fn ask(upstream: &StdioUpstream, tool: &str, arguments: Value) -> Value {
    send(upstream, post(&call(&json!("ask"), tool, &arguments))).await.said()
}

/// The next event of a stream.
pub(crate) async fn next_event(body: &mut UpstreamBody) -> Option<Value> {
    let frame = body.frame().await?.unwrap();
    Some(parsed(&frame.into_data().unwrap()))
}

/// Tries until it is so.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    for _ in 0..200 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never: {what}");
}

/// A request of 2026-07-28.
pub(crate) fn modern(method: &str, name: Option<&str>, mut params: Value) -> Request<Full<Bytes>> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params["_meta"] = params["_meta"].as_object().cloned().unwrap_or_default().into();
    params["_meta"].as_object_mut().unwrap().extend(meta.as_object().unwrap().clone());
    let mut request = post(&json!({"jsonrpc": "2.0", "id": "m", "method": method, "params": params}));
    let headers = [("mcp-protocol-version", Some("2026-07-28")), ("mcp-method", Some(method)), ("mcp-name", name)];
    for (name, value) in headers.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    request
}
