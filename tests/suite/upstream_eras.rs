//! A child for each era: what knows both may serve only the one in which it was spoken to first.

use std::time::Duration;

use serde_json::{Value, json};
use tower::ServiceExt;
use tower_toolgate::server::{McpTransport, ServerEntry};
use tower_toolgate::upstream::{StdioConfig, StdioUpstream};

use super::upstream_support::{
    Answer, ask, call, eventually, get, modern, next_event, post, python, send, started, told,
};
use super::upstream_trouble::assert_gone;

/// One that can be told from the others of this process.
fn marked(mark: &str, modes: &[&str]) -> StdioConfig {
    python(modes).with_args([mark]).with_child_per_era(true)
}

/// How many there are.
fn children(mark: &str) -> usize {
    let own = format!("/proc/{}/task", std::process::id());
    let tasks = std::fs::read_dir(own).unwrap().map(|task| task.unwrap().path().join("children"));
    let pids =
        tasks.map(|children| std::fs::read_to_string(children).unwrap_or_default()).collect::<Vec<_>>().join(" ");
    let line = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    pids.split_whitespace().filter(|pid| line(pid).split('\0').any(|arg| arg == mark)).count()
}

async fn tool(upstream: &StdioUpstream, name: &str, arguments: Value) -> Answer {
    send(upstream, modern("tools/call", Some(name), json!({"name": name, "arguments": arguments}))).await
}

async fn ask_modern(upstream: &StdioUpstream, name: &str, arguments: Value) -> Value {
    told(&tool(upstream, name, arguments).await.json())
}

fn assert_unsupported(answer: &Answer) {
    let error = json!({
        "code": -32022,
        "message": "Unsupported protocol version",
        "data": {"supported": ["2025-11-25"], "requested": "2026-07-28"},
    });
    assert_eq!(answer.json(), json!({"jsonrpc": "2.0", "id": "m", "error": error}));
    assert_eq!(answer.status, 200);
}

async fn assert_greets(upstream: &StdioUpstream) {
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}});
    let answer = send(upstream, post(&hello)).await.json();
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
    assert_eq!(ask(upstream, "echo", json!({"payload": 7})).await, 7);
}

#[tokio::test]
async fn each_era_is_served_by_a_child_of_its_own() {
    let upstream = started(marked("eras-both", &["both"])).await;
    assert_greets(&upstream).await;
    assert_eq!(children("eras-both"), 1, "it is started when it is needed");
    let found = send(&upstream, modern("server/discover", None, json!({}))).await.json();
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]), "{found}");
    assert_greets(&upstream).await;
    assert_eq!(children("eras-both"), 2);
    assert_eq!(
        ask_modern(&upstream, "seen", json!({})).await,
        json!(["server/discover", "server/discover", "tools/call"])
    );
    let seen = ask(&upstream, "seen", json!({})).await;
    assert_eq!(seen, json!(["initialize", "notifications/initialized", "tools/call", "tools/call", "tools/call"]));
    let greets = modern("initialize", None, json!({}));
    assert_eq!(send(&upstream, greets).await.json()["error"]["code"], -32601, "there is no handshake in this era");

    let mut news = upstream.clone().oneshot(get()).await.unwrap().into_body();
    ask(&upstream, "notify", json!({"method": "notifications/message", "params": {"data": "greeted"}})).await;
    ask_modern(&upstream, "notify", json!({"method": "notifications/message", "params": {"data": "other"}})).await;
    for said in ["greeted", "other"] {
        assert_eq!(next_event(&mut news).await.unwrap()["params"]["data"], said);
    }
    let hangs = upstream.clone().oneshot(modern("tools/call", Some("hang"), json!({"name": "hang"})));
    assert!(tokio::time::timeout(Duration::from_millis(500), hangs).await.is_err());
    eventually("the one is told that nobody waits", || async {
        ask_modern(&upstream, "cancelled", json!({})).await.as_array().unwrap().len() == 1
    })
    .await;
    assert_eq!(ask(&upstream, "cancelled", json!({})).await, json!([]), "and not the other");
}

#[tokio::test]
async fn a_child_of_either_era_is_followed_by_another_and_goes_with_the_service() {
    let upstream = started(marked("eras-end", &["both"])).await;
    let first = ask_modern(&upstream, "spawn", json!({})).await;
    assert_eq!(tool(&upstream, "die", json!({})).await.reason(), "upstream.unavailable");
    assert_gone(&first).await;
    assert_eq!(ask(&upstream, "echo", json!({"payload": 7})).await, 7, "the other one lives");
    eventually("a new child serves", || async {
        tool(&upstream, "echo", json!({"payload": 7})).await.json()["result"].is_object()
    })
    .await;
    let pids = [ask_modern(&upstream, "spawn", json!({})).await, ask(&upstream, "spawn", json!({})).await];
    assert_ne!(pids[0], pids[1]);
    drop(upstream);
    for pids in pids {
        assert_gone(&pids).await;
    }
}

#[tokio::test]
async fn who_knows_the_old_era_only_is_fallen_back_from() {
    let upstream = started(marked("eras-old", &[])).await;
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let upstream = upstream.clone();
        waiting.spawn(async move { send(&upstream, modern("server/discover", None, json!({}))).await });
    }
    waiting.join_all().await.iter().for_each(assert_unsupported);
    assert_unsupported(&tool(&upstream, "echo", json!({"payload": 7})).await);
    assert_greets(&upstream).await;
    eventually("the other is gone", || async { children("eras-old") == 1 }).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_unsupported(&tool(&upstream, "echo", json!({"payload": 7})).await);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(children("eras-old"), 1, "it is asked once");
    let seen = ask(&upstream, "seen", json!({})).await;
    assert!(!seen.to_string().contains("discover"), "{seen}");
}

#[tokio::test]
async fn who_exits_or_hangs_in_the_other_era_is_fallen_back_from() {
    for way in ["exits", "hangs"] {
        let mark = format!("eras-{way}");
        let upstream = started(marked(&mark, &[way]).with_timeout(Duration::from_secs(4))).await;
        for _ in 0..3 {
            assert_unsupported(&send(&upstream, modern("server/discover", None, json!({}))).await);
            assert_greets(&upstream).await;
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }
}

#[tokio::test]
async fn without_a_child_of_its_own_an_era_is_served_by_the_same() {
    for config in [python(&["both"]), python(&["both"]).with_handshake(false).with_child_per_era(true)] {
        let greeted = started(config.with_args(["eras-one"])).await;
        let found = send(&greeted, modern("server/discover", None, json!({}))).await.json();
        let answer = send(&greeted, post(&call(&json!(1), "seen", &json!({})))).await.json();
        assert_ne!(found["error"]["code"] == -32600, answer["error"]["code"] == -32600, "{found} {answer}");
    }
}

#[tokio::test]
async fn a_server_that_is_declared_has_a_child_for_each_era() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/upstream_server.py");
    let transport = McpTransport::stdio("python3").with_args([script, "both"]);
    let upstream = ServerEntry::new("both", transport, Duration::from_secs(20)).connect().unwrap();
    for request in [modern("server/discover", None, json!({})), post(&call(&json!(1), "seen", &json!({})))] {
        let response = upstream.clone().oneshot(request).await.unwrap();
        let body = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
        let answer: Value = serde_json::from_slice(&body).unwrap();
        assert!(answer["result"].is_object(), "{answer}");
    }
}
