//! A client that lists tools, and nothing else: the list as the server gives it, before any layer.

use std::collections::HashSet;

use axum::body::Body;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Request, Response};
use serde_json::{Value, json};
use tower::ServiceExt;
use tower_toolgate::answer::{Denial, DenialKind};

use super::Server;
use super::events::answer;

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// How many pages a list may have, and how many bytes all of them: as many as the layer that compares them reads.
const MAX_PAGES: usize = 100;
const MAX_BYTES: usize = 16 << 20;

/// The pages of a server's list of tools, each as the whole answer that it came in.
pub(super) async fn list(service: Server) -> Result<Vec<Bytes>, String> {
    let mut client = Client { service, version: HeaderValue::from_static(MODERN), session: None, modern: true };
    let first = client.page(None).await;
    let first = match first {
        Ok(page) => page,
        // A server that knows no requests without a session refuses this one in a way of its own.
        Err(_) => {
            client.greet().await?;
            client.page(None).await?
        }
    };
    let pages = client.further(first).await;
    client.leave().await;
    pages
}

struct Client {
    service: Server,
    version: HeaderValue,
    session: Option<HeaderValue>,
    modern: bool,
}

impl Client {
    async fn greet(&mut self) -> Result<(), String> {
        self.modern = false;
        let params = json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info() });
        let (headers, bytes) = self.ask("initialize", Some(params)).await?;
        let result = result(&bytes)?;
        let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or(LEGACY);
        self.version = HeaderValue::from_str(version).map_err(|_| "the server names no revision".to_owned())?;
        self.session = headers.get(SESSION).cloned();
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.send("notifications/initialized", &told).await.map(drop)
    }

    /// A page of the list that has one.
    async fn page(&mut self, cursor: Option<&str>) -> Result<Bytes, String> {
        let mut params = serde_json::Map::new();
        if let Some(cursor) = cursor {
            params.insert("cursor".to_owned(), cursor.into());
        }
        if self.modern {
            let client = "io.modelcontextprotocol";
            let meta = [("protocolVersion", json!(MODERN)), ("clientInfo", info()), ("clientCapabilities", json!({}))];
            let meta = meta.into_iter().map(|(name, value)| (format!("{client}/{name}"), value)).collect();
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
        let params = Some(params).filter(|params| !params.is_empty()).map(Value::Object);
        let (_, bytes) = self.ask("tools/list", params).await?;
        match result(&bytes)?.get("tools") {
            Some(Value::Array(_)) => Ok(bytes),
            Some(_) | None => Err("the server's answer has no list of tools".to_owned()),
        }
    }

    async fn further(&mut self, first: Bytes) -> Result<Vec<Bytes>, String> {
        let (mut pages, mut seen) = (vec![first], HashSet::new());
        while let Some(cursor) = pages.last().and_then(|page| next_cursor(page)) {
            if pages.len() == MAX_PAGES || !seen.insert(cursor.clone()) {
                return Err("the server's list of tools has no end".to_owned());
            }
            pages.push(self.page(Some(&cursor)).await?);
            if pages.iter().map(Bytes::len).sum::<usize>() > MAX_BYTES {
                return Err("the server's list of tools is too large".to_owned());
            }
        }
        Ok(pages)
    }

    /// Ends the session; a server that does not end sessions says so.
    async fn leave(&mut self) {
        if let Some(session) = self.session.take() {
            let request = Request::delete("/mcp").header(SESSION, session).header(VERSION, &self.version);
            if let Ok(request) = request.body(Body::empty()) {
                let Ok(_) = self.service.clone().oneshot(request).await;
            }
        }
    }

    async fn ask(&mut self, method: &str, params: Option<Value>) -> Result<(http::HeaderMap, Bytes), String> {
        let mut message = json!({ "jsonrpc": "2.0", "id": method, "method": method });
        if let (Some(message), Some(params)) = (message.as_object_mut(), params) {
            message.insert("params".to_owned(), params);
        }
        let response = self.send(method, &message).await?;
        let (head, body) = response.into_parts();
        let bytes = answer(&head, body, method).await?;
        Ok((head.headers, bytes))
    }

    async fn send(&mut self, method: &str, message: &Value) -> Result<Response<Body>, String> {
        let mut request = Request::post("/mcp")
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        if method != "initialize" {
            request = request.header(VERSION, &self.version);
        }
        if self.modern {
            request = request.header(METHOD, method);
        }
        if let Some(session) = &self.session {
            request = request.header(SESSION, session);
        }
        let request = request.body(Body::from(message.to_string())).map_err(|error| error.to_string())?;
        let Ok(response) = self.service.clone().oneshot(request).await;
        match response.extensions().get().map(Denial::kind) {
            Some(DenialKind::Upstream(fault)) => Err(fault.to_string()),
            _ => Ok(response),
        }
    }
}

fn info() -> Value {
    json!({ "name": "toolgate", "version": env!("CARGO_PKG_VERSION") })
}

fn result(answer: &[u8]) -> Result<Value, String> {
    let mut message: Value = serde_json::from_slice(answer).map_err(|_| "the server's answer is no JSON".to_owned())?;
    if let Some(error) = message.pointer("/error/message").and_then(Value::as_str) {
        return Err(format!("the server refuses: {}", error.escape_debug()));
    }
    Ok(message.get_mut("result").map(Value::take).unwrap_or_default())
}

fn next_cursor(page: &[u8]) -> Option<String> {
    result(page).ok()?.get("nextCursor")?.as_str().map(str::to_owned)
}
