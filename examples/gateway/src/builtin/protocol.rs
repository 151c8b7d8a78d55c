//! As much of MCP as a server of tools needs.

use serde_json::{Value, json};

use super::Tools;

const LATEST_WITH_SESSIONS: &str = "2025-11-25";
const REVISIONS: [&str; 4] = ["2025-03-26", "2025-06-18", LATEST_WITH_SESSIONS, MODERN];
const MODERN: &str = "2026-07-28";
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The answer to a message; notifications and replies get none.
pub(super) fn answer(tools: &dyn Tools, message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let method = message.get("method")?.as_str()?;
    let params = message.get("params").unwrap_or(&Value::Null);
    let modern = params.get("_meta").and_then(|meta| meta.get(META_VERSION)).is_some();
    let outcome = match method {
        "initialize" if !modern => Ok(initialize(tools, params)),
        "server/discover" => Ok(discover(tools)),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(listed(json!({"tools": tools.definitions()}), modern)),
        "tools/call" => call(tools, params),
        _ => Err((-32601, "Method not found".to_owned())),
    };
    Some(match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": complete(result, modern)}),
        Err((code, message)) => json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}),
    })
}

fn initialize(tools: &dyn Tools, params: &Value) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let known = REVISIONS.contains(&asked) && asked != MODERN;
    let version = if known { asked } else { LATEST_WITH_SESSIONS };
    json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info(tools)})
}

fn discover(tools: &dyn Tools) -> Value {
    listed(json!({"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "serverInfo": info(tools)}), true)
}

fn info(tools: &dyn Tools) -> Value {
    json!({"name": tools.name(), "version": env!("CARGO_PKG_VERSION")})
}

fn call(tools: &dyn Tools, params: &Value) -> Result<Value, (i32, String)> {
    let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
    let arguments = params.get("arguments").unwrap_or(&Value::Null);
    let outcome = tools.call(name, arguments).ok_or_else(|| (-32602, format!("Unknown tool: {name}")))?;
    let is_error = outcome.is_err();
    let (Ok(text) | Err(text)) = outcome;
    Ok(json!({"content": [{"type": "text", "text": text}], "isError": is_error}))
}

/// What may be cached, in the revision that says so.
fn listed(mut result: Value, modern: bool) -> Value {
    if let (true, Some(result)) = (modern, result.as_object_mut()) {
        result.insert("ttlMs".to_owned(), 0.into());
        result.insert("cacheScope".to_owned(), "private".into());
    }
    result
}

fn complete(mut result: Value, modern: bool) -> Value {
    if let (true, Some(result)) = (modern, result.as_object_mut()) {
        result.insert("resultType".to_owned(), "complete".into());
    }
    result
}
