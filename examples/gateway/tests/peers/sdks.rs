//! The SDKs' clients, allowed and denied by role.

use std::path::Path;

use serde_json::Value;

use super::clients::{Client, LEGACY, MODERN, Run, assert_denied};
use super::support::{Server, gateway, peers};

/// What a client says of calls with each of some keys.
async fn drive<const N: usize>(
    client: Client,
    peers: &Path,
    url: &str,
    runs: [(&'static str, &[&'static str]); N],
) -> [Vec<Value>; N] {
    let steps = |calls: &[&'static str]| calls.chunks(2).map(|call| (call[0], call[1].to_owned())).collect();
    let runs = runs.map(|(key, calls)| Run { url, key, steps: steps(calls) });
    client.runs(peers, &runs).await.try_into().unwrap()
}

fn step<'a>(steps: &'a [Value], name: &str, nth: usize) -> &'a Value {
    steps.iter().filter(|step| step["step"] == name).nth(nth).unwrap_or_else(|| panic!("no {name}: {steps:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_see_allowed_and_denied_calls_of_the_everything_server() {
    let Some(peers) = peers("clients_see_allowed_and_denied_calls_of_the_everything_server") else { return };
    let server = Server::everything_in_typescript(&peers);
    let url = format!("http://{}/mcp/everything", gateway(server.port(), None).await);
    let calls = [
        "echo",
        r#"{"message":"hi"}"#,
        "echo",
        r#"{"message":"secret stuff"}"#,
        "get-env",
        "{}",
        "echo",
        r#"{"message":"again"}"#,
    ];
    for client in LEGACY {
        let runs = [("k-reader", &calls[..]), ("k-admin", &calls[2..4]), ("k-nobody", &calls[..2])];
        let [steps, admin, nobody] = drive(client, &peers, &url, runs).await;
        assert_eq!(step(&steps, "connect", 0)["ok"], true, "{client:?} {steps:?}");
        assert!(step(&steps, "echo", 0)["text"].as_str().unwrap().contains("hi"), "{client:?} {steps:?}");
        assert_denied(client, step(&steps, "echo", 1), "policy.argument_value");
        assert!(!step(&steps, "echo", 1).to_string().contains("secret stuff"), "{client:?} {steps:?}");
        assert_denied(client, step(&steps, "get-env", 0), "policy.tool_not_allowed");
        // No denial ends the session.
        assert!(step(&steps, "echo", 2)["text"].as_str().unwrap().contains("again"), "{client:?} {steps:?}");
        assert_eq!(step(&steps, "close", 0)["ok"], true, "{client:?} {steps:?}");

        assert_eq!(step(&steps, "list", 0)["tools"], serde_json::json!(["echo"]), "{client:?} {steps:?}");

        let all = step(&admin, "list", 0)["tools"].as_array().unwrap();
        assert!(all.len() > 5 && all.contains(&"echo".into()), "{client:?} {admin:?}");
        assert!(step(&admin, "echo", 0)["text"].as_str().unwrap().contains("secret stuff"), "{client:?} {admin:?}");
        assert_eq!(step(&nobody, "list", 0)["tools"], serde_json::json!([]), "{client:?} {nobody:?}");
        assert_denied(client, step(&nobody, "echo", 0), "policy.tool_not_allowed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_both_eras_see_allowed_and_denied_calls_of_the_python_server() {
    let Some(peers) = peers("clients_of_both_eras_see_allowed_and_denied_calls_of_the_python_server") else { return };
    let server = Server::everything_in_python(&peers);
    let url = format!("http://{}/mcp/everything", gateway(server.port(), None).await);
    let calls = ["test_simple_text", "{}", "test_error_handling", "{}", "test_simple_text", "{}"];
    for client in LEGACY.into_iter().chain(MODERN) {
        let [steps] = drive(client, &peers, &url, [("k-reader", &calls[..])]).await;
        assert_eq!(step(&steps, "list", 0)["tools"], serde_json::json!(["test_simple_text"]), "{client:?} {steps:?}");
        assert_eq!(step(&steps, "test_simple_text", 0)["ok"], true, "{client:?} {steps:?}");
        assert_denied(client, step(&steps, "test_error_handling", 0), "policy.tool_not_allowed");
        assert_eq!(step(&steps, "test_simple_text", 1)["ok"], true, "{client:?} {steps:?}");
    }
}
