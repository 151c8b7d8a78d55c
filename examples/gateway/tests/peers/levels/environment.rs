//! What a child sees of the gateway's environment.

use serde_json::{Value, json};

use super::super::clients::LEGACY;
use super::super::support::{Folder, peers};
use super::{Command, Entry, start, steps, visit, write};

/// A level, what is written of `env_isolation`, and whether the secret is seen.
const CASES: [(&str, &str, bool); 7] = [
    ("trusted", "", true),
    ("trusted", "env_isolation = true", false),
    ("untrusted", "", false),
    ("untrusted", "env_isolation = false", true),
    ("sandboxed", "", false),
    ("sandboxed", "env_isolation = true", false),
    ("sandboxed", "env_isolation = false", true),
];

#[tokio::test(flavor = "multi_thread")]
async fn children_see_nothing_of_the_gateways_environment_unless_they_may() {
    let Some(peers) = peers("children_see_nothing_of_the_gateways_environment_unless_they_may") else { return };
    let folder = Folder::new("environment");
    let transport = Command::typescript(&peers).transport();
    let entries = CASES.iter().enumerate().map(|(nth, (level, isolation, _))| {
        Entry::new(format!("child-{nth}"), &transport, level, format!("tool_allowlist = [\"get-env\"]\n{isolation}"))
    });
    let config = write(&folder, &Vec::from_iter(entries), "");
    let gateway = start(&config, "TOOLGATE_TEST_SECRET", "s3cret-of-the-gateway");
    let url = |nth| format!("http://127.0.0.1:{}/mcp/child-{nth}", gateway.port());
    let visits = Vec::from_iter((0..CASES.len()).map(|nth| (url(nth), steps(&[("get-env", json!({}))]))));
    for client in LEGACY {
        let told = visit(client, &peers, &visits).await;
        for ((level, isolation, is_seen), told) in CASES.iter().zip(&told) {
            let place = format!("{client:?} {level} {isolation:?}");
            let seen: Value =
                serde_json::from_str(told[0]["text"].as_str().expect("it shows its environment")).unwrap();
            assert!(seen["PATH"].is_string(), "{place} {seen}");
            let secret = seen.get("TOOLGATE_TEST_SECRET").and_then(Value::as_str);
            assert_eq!(secret, is_seen.then_some("s3cret-of-the-gateway"), "{place} {seen}");
            assert_eq!(told[0].to_string().contains("s3cret"), *is_seen, "{place} {seen}");
        }
    }
}
