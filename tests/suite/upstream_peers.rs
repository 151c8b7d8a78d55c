//! Real servers over stdio, where the gateway's tests/peers/install.sh has put them.

use std::path::PathBuf;
use std::time::Duration;

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
