//! Real servers over stdio, where the gateway's tests/peers/install.sh has put them.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tower::ServiceExt;
use tower_toolgate::upstream::{StdioConfig, StdioUpstream};

use super::upstream_support::{call, call_with_token, get, next_event, post, send, started};

/// A server of TypeScript's, unless there are none.
fn node(server: &str) -> Option<StdioConfig> {
    let Some(peers) = std::env::var_os("TOOLGATE_PEERS") else {
        eprintln!("skipped: TOOLGATE_PEERS does not say where the servers are");
        return None;
    };
    let script = format!("typescript-1/node_modules/@modelcontextprotocol/server-{server}/dist/index.js");
    Some(StdioConfig::new("node").with_args([PathBuf::from(peers).join(script)]).with_name(server))
}

async fn result(upstream: &StdioUpstream, method: &str, params: Value) -> Value {
    let answer = send(upstream, post(&json!({"jsonrpc": "2.0", "id": "r", "method": method, "params": params}))).await;
    let answer = answer.json();
    assert!(answer["result"].is_object() && answer["id"] == "r", "{method}: {answer}");
    answer["result"].clone()
}

#[tokio::test]
async fn the_everything_server() {
    let Some(config) = node("everything") else { return };
    let upstream = started(config.with_args(["stdio"]).with_root("file:///srv", Some("srv"))).await;
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let hello = result(&upstream, "initialize", hello).await;
    eprintln!("{} {} {}", hello["protocolVersion"], hello["serverInfo"], hello["capabilities"]);
    for (method, list, least) in [
        ("tools/list", "tools", 10),
        ("prompts/list", "prompts", 4),
        ("resources/list", "resources", 7),
        ("resources/templates/list", "resourceTemplates", 2),
    ] {
        let length = result(&upstream, method, json!({})).await[list].as_array().unwrap().len();
        eprintln!("{method}: {length}");
        assert!(length >= least, "{method}: {length}");
    }
    let mut news = upstream.clone().oneshot(get()).await.unwrap().into_body();
    let mut clients = JoinSet::new();
    for client in 0..50 {
        let upstream = upstream.clone();
        clients.spawn(async move {
            let sum = send(&upstream, post(&call(&json!(1), "get-sum", &json!({"a": client, "b": 1})))).await.json();
            assert!(sum.to_string().contains(&format!(" is {}.", client + 1)), "{sum}");
        });
    }
    clients.join_all().await;
    let long = json!({"duration": 1, "steps": 4});
    let long = call_with_token(&json!("l"), &json!("t"), "trigger-long-running-operation", &long);
    let events = send(&upstream, post(&long)).await.events();
    assert_eq!(events.len(), 5, "{events:?}");
    assert!(events[..4].iter().all(|event| event["params"]["progressToken"] == "t"), "{events:?}");
    let roots = send(&upstream, post(&call(&json!(1), "get-roots-list", &json!({})))).await.json();
    eprintln!("{roots}");
    assert!(roots.to_string().contains("file:///srv"), "{roots}");
    let logging = call(&json!(1), "toggle-simulated-logging", &json!({}));
    assert!(send(&upstream, post(&logging)).await.json()["result"].is_object());
    let event = tokio::time::timeout(Duration::from_secs(20), next_event(&mut news)).await.unwrap().unwrap();
    eprintln!("{event}");
}

#[tokio::test]
async fn the_filesystem_server() {
    let Some(config) = node("filesystem") else { return };
    let folder = std::env::temp_dir().join(format!("toolgate-upstream-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("one.txt"), "what it is").unwrap();
    let root = format!("file://{}", folder.display());
    let upstream = started(config.with_args([&folder]).with_root(root, None)).await;
    let tools = result(&upstream, "tools/list", json!({})).await["tools"].as_array().unwrap().len();
    eprintln!("tools/list: {tools}");
    let read = json!({"name": "read_text_file", "arguments": {"path": folder.join("one.txt")}});
    let read = result(&upstream, "tools/call", read).await;
    assert!(read.to_string().contains("what it is"), "{read}");
    let other = json!({"name": "read_text_file", "arguments": {"path": "/etc/hostname"}});
    let other = result(&upstream, "tools/call", other).await;
    eprintln!("{other}");
    assert_eq!(other["isError"], true);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// One that knows both eras, and serves the one in which it is spoken to first.
const BOTH: &str = r#"
from mcp.server.mcpserver import MCPServer
server = MCPServer("both")
@server.tool()
def add(a: int, b: int) -> int:
    return a + b
server.run("stdio")
"#;

fn modern(method: &str, name: Option<&str>, mut params: Value) -> Request<Full<Bytes>> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut request = post(&json!({"jsonrpc": "2.0", "id": "m", "method": method, "params": params}));
    let headers = [("mcp-protocol-version", Some("2026-07-28")), ("mcp-method", Some(method)), ("mcp-name", name)];
    for (name, value) in headers.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    request
}

#[tokio::test]
async fn a_server_of_both_eras() {
    let Some(peers) = std::env::var_os("TOOLGATE_PEERS") else { return };
    let python = PathBuf::from(peers).join("python-2/bin/python");
    let config = StdioConfig::new(python).with_args(["-c", BOTH]).with_name("both");
    let sum = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
    let greeted = started(config.clone()).await;
    assert_eq!(result(&greeted, "tools/call", sum.clone()).await["structuredContent"]["result"], 3);
    let refused = send(&greeted, modern("server/discover", None, json!({}))).await;
    eprintln!("{}", refused.text);
    assert_eq!(refused.json()["error"]["code"], -32600);

    let other = started(config.with_handshake(false)).await;
    let found = send(&other, modern("server/discover", None, json!({}))).await;
    eprintln!("{}", found.text);
    assert!(found.json()["result"].is_object());
    let answer = send(&other, modern("tools/call", Some("add"), sum)).await;
    assert_eq!(answer.json()["result"]["structuredContent"]["result"], 3, "{answer:?}");
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let response = other.oneshot(modern("subscriptions/listen", None, listen)).await.unwrap();
    let event = next_event(&mut response.into_body()).await.unwrap();
    eprintln!("{event}");
    assert_eq!(event["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "m");
}
