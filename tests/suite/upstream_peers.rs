//! Real servers over stdio, where the gateway's tests/peers/install.sh has put them.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;
use tokio::task::JoinSet;
use tower::ServiceExt;
use tower_toolgate::upstream::{StdioConfig, StdioUpstream};

use super::upstream_support::{call, call_with_token, get, modern, next_event, post, send, started};

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

const OLD: &str = r#"
from mcp.server.fastmcp import FastMCP
server = FastMCP("old")
@server.tool()
def add(a: int, b: int) -> int:
    return a + b
server.run("stdio")
"#;

/// Servers, a tool of theirs that adds `a` and `b`, and whether they know both eras.
fn adding() -> Option<[(StdioConfig, &'static str, bool); 3]> {
    let everything = node("everything")?.with_args(["stdio"]).with_child_per_era(true);
    let peers = PathBuf::from(std::env::var_os("TOOLGATE_PEERS")?);
    let python = |venv: &str, program: &str| {
        let config = StdioConfig::new(peers.join(venv).join("bin/python")).with_args(["-c", program]);
        config.with_name(venv).with_child_per_era(true)
    };
    Some([
        (python("python-2", BOTH), "add", true),
        (python("python-1", OLD), "add", false),
        (everything, "get-sum", false),
    ])
}

#[tokio::test]
async fn clients_of_both_eras_at_one_service() {
    let Some(rows) = adding() else { return };
    for (config, tool, knows_both) in rows {
        let upstream = started(config).await;
        let sum = json!({"name": tool, "arguments": {"a": 1, "b": 2}});
        let found = send(&upstream, modern("server/discover", None, json!({}))).await;
        eprintln!("{}", found.text);
        let answer = send(&upstream, modern("tools/call", Some(tool), sum.clone())).await.json();
        if knows_both {
            assert!(found.json()["result"]["supportedVersions"].is_array());
            assert_eq!(answer["result"]["structuredContent"]["result"], 3, "{answer}");
        } else {
            for answer in [&found.json(), &answer] {
                assert_eq!(answer["error"]["code"], -32022, "{answer}");
                assert_eq!(answer["error"]["data"], json!({"supported": ["2025-11-25"], "requested": "2026-07-28"}));
            }
        }
        // Then a client greets.
        let hello =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        assert_eq!(result(&upstream, "initialize", hello).await["protocolVersion"], "2025-11-25");
        let answer = result(&upstream, "tools/call", sum).await;
        assert!(answer["content"].to_string().contains('3'), "{answer}");
    }
}

const CLIENT_PY: &str = r#"
import sys, anyio
from mcp import Client
async def main():
    async with Client(sys.argv[1]) as client:
        result = await client.call_tool(sys.argv[2], {"a": 1, "b": 2})
        print(client.protocol_version, result.content[0].text)
anyio.run(main)
"#;

const CLIENT_MJS: &str = r#"
const [, sdk, url, tool] = process.argv;
const { Client, StreamableHTTPClientTransport } =
  await import(`${sdk}/node_modules/@modelcontextprotocol/client/dist/index.mjs`);
const client = new Client({ name: 'c', version: '1' }, { capabilities: {}, versionNegotiation: { mode: 'auto' } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const result = await client.callTool({ name: tool, arguments: { a: 1, b: 2 } });
console.log(client.getNegotiatedProtocolVersion(), result.content[0].text);
await client.close();
"#;

#[tokio::test]
async fn clients_that_know_both_eras_find_the_one_of_the_server() {
    let Some(rows) = adding() else { return };
    let peers = PathBuf::from(std::env::var_os("TOOLGATE_PEERS").unwrap());
    for (config, tool, knows_both) in rows {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let router = axum::Router::new().fallback_service(started(config).await);
        tokio::spawn(async move { axum::serve(listener, router).await });
        let mut python = Command::new(peers.join("python-2/bin/python"));
        python.args(["-c", CLIENT_PY, &url, tool]);
        let mut node = Command::new("node");
        node.args(["--input-type=module", "-e", CLIENT_MJS]).arg(peers.join("typescript-2")).args([&url, tool]);
        let revision = if knows_both { "2026-07-28" } else { "2025-11-25" };
        for mut client in [python, node] {
            let output = client.kill_on_drop(true).output().await.unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            eprintln!("{tool}: {said}");
            assert!(said.starts_with(revision) && said.contains('3'), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
