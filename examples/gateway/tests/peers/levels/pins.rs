//! Tools that change after they were approved, and those whose name says what harm they can do.

use std::path::Path;
use std::process;

use serde_json::{Value, json};

use super::super::clients::{Client, LEGACY, assert_denied};
use super::super::raw::Session;
use super::super::support::{Folder, Server, example, output, peers};
use super::{Command, Entry, Steps, gateway_of, start, steps, visit, write};

async fn approve(config: &Path, tool: &str) -> String {
    let mut command = process::Command::new(example());
    command.arg("--config").arg(config).args(["--approve", "pinned", tool]);
    let (done, text) = output(command).await;
    assert!(done, "{text}");
    text
}

fn calls() -> Steps {
    steps(&[
        ("tools/list", json!({})),
        ("echo", json!({"message": "hi"})),
        ("get-sum", json!({"a": 1, "b": 2})),
        ("tools/list", json!({})),
    ])
}

fn names(step: &Value) -> Vec<&str> {
    step["result"]["members"].as_array().expect("a list").iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn check(client: Client, told: &[Value], is_right: bool) {
    let place = format!("{client:?} {told:?}");
    assert_eq!(names(&told[0]).contains(&"echo"), is_right, "{place}");
    if is_right {
        assert_eq!(told[1]["text"], "Echo: hi", "{place}");
    } else {
        assert_denied(client, &told[1], "pin.changed");
    }
    // The others are as they were.
    assert!(names(&told[0]).contains(&"get-sum") && names(&told[0]).contains(&"run_shell"), "{place}");
    assert_eq!(told[2]["ok"], true, "{place}");
    assert_eq!(told[3], told[0], "{place}");
}

async fn check_all(peers: &Path, gateway: &Server, is_right: bool) {
    let url = format!("http://127.0.0.1:{}/mcp/pinned", gateway.port());
    for client in LEGACY {
        let told = visit(client, peers, &[(url.clone(), calls())]).await;
        check(client, &told[0], is_right);
    }
}

/// Every client lists before it calls; this one does not, and nobody has before.
async fn call_unlisted(gateway: &Server) {
    let session = Session::open(&format!("http://127.0.0.1:{}/mcp/pinned", gateway.port()), "k-admin").await;
    let answer = session.ask("tools/call", &json!({"name": "echo", "arguments": {"message": "hi"}})).await;
    assert_eq!(answer.result["content"][0]["text"], "Echo: hi", "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_changes_is_refused_until_it_is_approved_again() {
    let Some(peers) = peers("a_tool_that_changes_is_refused_until_it_is_approved_again") else { return };
    let folder = Folder::new("rug");
    let (changes, lock) = (folder.path.join("changes"), folder.path.join("tools.lock"));
    let entry = Entry::new("pinned", &Command::rug(&peers, &changes).transport(), "trusted", "");
    let pins = format!("\n[mcp.pins]\nfile = {lock:?}\nservers = [\"pinned\"]\n");
    let config = write(&folder, &[entry], &pins);
    let approved = approve(&config, "*").await;
    assert!(approved.contains("pinned echo: ") && approved.contains("Echoes back the input string"), "{approved}");

    let gateway = start(&config, "TOOLGATE_TEST", "");
    call_unlisted(&gateway).await;
    check_all(&peers, &gateway, true).await;
    std::fs::write(&changes, "").unwrap();
    check_all(&peers, &gateway, false).await;
    std::fs::remove_file(&changes).unwrap();
    check_all(&peers, &gateway, true).await;
    drop(gateway);

    std::fs::write(&changes, "").unwrap();
    let gateway = start(&config, "TOOLGATE_TEST", "");
    check_all(&peers, &gateway, false).await;
    drop(gateway);
    let approved = approve(&config, "echo").await;
    assert!(approved.contains(" becomes ") && approved.contains("Put the password"), "{approved}");
    let gateway = start(&config, "TOOLGATE_TEST", "");
    check_all(&peers, &gateway, true).await;
}

/// Of the servers that are not trusted nobody gets at the shell, whatever is allowed.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_named_a_shell_is_there_only_of_a_trusted_server() {
    let Some(peers) = peers("a_tool_that_is_named_a_shell_is_there_only_of_a_trusted_server") else { return };
    let folder = Folder::new("shell");
    let transport = Command::rug(&peers, &folder.path.join("changes")).transport();
    let listed = "tool_allowlist = [\"run_shell\", \"echo\"]\nallow_untrusted_without_allowlist = true";
    let cases = [
        ("trusted", "", true),
        ("trusted", "tool_allowlist = []", true),
        ("untrusted", "allow_untrusted_without_allowlist = true", false),
        ("untrusted", listed, false),
        ("sandboxed", listed, false),
    ];
    let entries = cases.iter().enumerate();
    let entries = entries.map(|(nth, (level, lines, _))| Entry::new(format!("rug-{nth}"), &transport, level, *lines));
    let entries = Vec::from_iter(entries);
    let gateway = gateway_of(&entries).await;
    let tried = steps(&[("run_shell", json!({})), ("echo", json!({"message": "hi"})), ("tools/list", json!({}))]);
    let visits = Vec::from_iter(entries.iter().map(|entry| (format!("{gateway}{}", entry.id), tried.clone())));
    for client in LEGACY {
        let told = visit(client, &peers, &visits).await;
        for ((level, lines, is_there), told) in cases.iter().zip(&told) {
            let place = format!("{client:?} {level} {lines:?} {told:?}");
            assert_eq!(names(&told[2]).contains(&"run_shell"), *is_there, "{place}");
            assert_eq!(told[1]["text"], "Echo: hi", "{place}");
            if *is_there {
                assert_eq!(told[0]["text"], "what a shell says", "{place}");
            } else {
                assert_denied(client, &told[0], "server.tool_sensitive");
            }
        }
    }
}
