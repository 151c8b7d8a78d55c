//! Lists as they come over the wire, in the legacy era.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

/// A session with a server, where it has sessions.
pub(crate) struct Session {
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
    headers: HeaderMap,
}

/// An answer: its media type, its message as it was written and what that says.
pub(crate) struct Answer {
    pub(crate) media: String,
    pub(crate) text: String,
    pub(crate) result: Value,
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#;

impl Session {
    pub(crate) async fn open(url: &str, key: &str) -> Self {
        let mut session = Self {
            client: Client::builder(TokioExecutor::new()).build_http(),
            url: url.to_owned(),
            headers: HeaderMap::new(),
        };
        let authorization = HeaderValue::from_str(&format!("Bearer {key}")).unwrap();
        session.headers.insert("authorization", authorization);
        session.headers.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
        session.headers.insert("content-type", HeaderValue::from_static("application/json"));
        let (headers, _) = session.send(HELLO.to_owned()).await;
        let id = headers.get("mcp-session-id").map(|id| ("mcp-session-id", id.clone()));
        session.headers.extend(id.map(|(name, id)| (http::HeaderName::from_static(name), id)));
        session.headers.insert("mcp-protocol-version", HeaderValue::from_static("2025-11-25"));
        session.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned()).await;
        session
    }

    /// All pages of a list.
    pub(crate) async fn list(&self, method: &str) -> Vec<Answer> {
        let mut pages: Vec<Answer> = Vec::new();
        let mut cursor = None;
        loop {
            let params = cursor.map_or_else(|| json!({}), |cursor: Value| json!({"cursor": cursor}));
            pages.push(self.ask(method, &params).await);
            cursor = pages.last().and_then(|page| page.result.get("nextCursor").cloned());
            if cursor.is_none() {
                return pages;
            }
        }
    }

    /// One request and its answer, which is no error.
    pub(crate) async fn ask(&self, method: &str, params: &Value) -> Answer {
        let (headers, body) =
            self.send(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)).await;
        answer(&headers, &body)
    }

    async fn send(&self, body: String) -> (HeaderMap, String) {
        let mut request = Request::post(&self.url).body(Full::from(body)).unwrap();
        *request.headers_mut() = self.headers.clone();
        let (head, body) = self.client.request(request).await.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.into()).unwrap();
        assert!(head.status.is_success(), "{} {body}", head.status);
        (head.headers, body)
    }
}

/// The answer in a body, which is a message or holds it in one of its events.
fn answer(headers: &HeaderMap, body: &str) -> Answer {
    let media = headers["content-type"].to_str().unwrap().split(';').next().unwrap().trim().to_owned();
    let events = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let mut messages: Vec<&str> = if media == "text/event-stream" { events.collect() } else { vec![body] };
    messages.retain(|message| message.contains(r#""result""#));
    assert_eq!(messages.len(), 1, "{body}");
    let text = messages[0].to_owned();
    let message: Value = serde_json::from_str(&text).unwrap();
    Answer { media, result: message["result"].clone(), text }
}
