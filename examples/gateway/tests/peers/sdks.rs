//! The SDKs' clients, allowed and denied by role.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::support::{Server, gateway, output, peers};

/// A client: the SDK, its version, the era that it speaks.
#[derive(Clone, Copy, Debug)]
enum Client {
    Python(u8, &'static str),
    TypeScript(u8, &'static str),
}

impl Client {
    fn command(self, peers: &Path, url: &str, key: &str, calls: &[&str]) -> Command {
        let script = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/clients").join(name);
        let (mut command, era) = match self {
            Self::Python(version, era) => {
                let mut command = Command::new(peers.join(format!("python-{version}/bin/python")));
                command.arg(script("client.py"));
                (command, era)
            }
            Self::TypeScript(version, era) => {
                let mut command = Command::new("node");
                command.arg(script("client.mjs")).arg(peers.join(format!("typescript-{version}")));
                (command, era)
            }
        };
        command.args([url, key, era]).args(calls);
        command
    }

    /// What the client says of each step.
    async fn steps(self, peers: &Path, url: &str, key: &str, calls: &[&str]) -> Vec<Value> {
        let (done, text) = output(self.command(peers, url, key, calls)).await;
        assert!(done, "{self:?} failed");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The typescript everything-server speaks legacy revisions only, the python one all of them.
const LEGACY: [Client; 4] = [
    Client::TypeScript(1, "legacy"),
    Client::TypeScript(2, "legacy"),
    Client::Python(1, "legacy"),
    Client::Python(2, "legacy"),
];
const MODERN: [Client; 2] = [Client::TypeScript(2, "modern"), Client::Python(2, "modern")];

fn step<'a>(steps: &'a [Value], name: &str, nth: usize) -> &'a Value {
    steps.iter().filter(|step| step["step"] == name).nth(nth).unwrap_or_else(|| panic!("no {name}: {steps:?}"))
}

fn assert_denied(client: Client, step: &Value, reason: &str) {
    assert_eq!(step["ok"], false, "{client:?} {step}");
    assert_eq!(step["code"], 403, "{client:?} {step}");
    assert_eq!(step["data"]["reason"], reason, "{client:?} {step}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_see_allowed_and_denied_calls_of_the_everything_server() {
    let Some(peers) = peers("clients_see_allowed_and_denied_calls_of_the_everything_server") else { return };
    let server = Server::everything_in_typescript(&peers);
    let url = format!("http://{}/mcp/everything", gateway(server.port, None).await);
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
        let steps = client.steps(&peers, &url, "k-reader", &calls).await;
        assert_eq!(step(&steps, "connect", 0)["ok"], true, "{client:?} {steps:?}");
        assert!(step(&steps, "echo", 0)["text"].as_str().unwrap().contains("hi"), "{client:?} {steps:?}");
        assert_denied(client, step(&steps, "echo", 1), "policy.argument_value");
        assert!(!step(&steps, "echo", 1).to_string().contains("secret stuff"), "{client:?} {steps:?}");
        assert_denied(client, step(&steps, "get-env", 0), "policy.tool_not_allowed");
        // No denial ends the session.
        assert!(step(&steps, "echo", 2)["text"].as_str().unwrap().contains("again"), "{client:?} {steps:?}");
        assert_eq!(step(&steps, "close", 0)["ok"], true, "{client:?} {steps:?}");

        assert_eq!(step(&steps, "list", 0)["tools"], serde_json::json!(["echo"]), "{client:?} {steps:?}");

        let steps = client.steps(&peers, &url, "k-admin", &calls[2..4]).await;
        let all = step(&steps, "list", 0)["tools"].as_array().unwrap();
        assert!(all.len() > 5 && all.contains(&"echo".into()), "{client:?} {steps:?}");
        assert!(step(&steps, "echo", 0)["text"].as_str().unwrap().contains("secret stuff"), "{client:?} {steps:?}");
        let steps = client.steps(&peers, &url, "k-nobody", &calls[..2]).await;
        assert_eq!(step(&steps, "list", 0)["tools"], serde_json::json!([]), "{client:?} {steps:?}");
        assert_denied(client, step(&steps, "echo", 0), "policy.tool_not_allowed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_both_eras_see_allowed_and_denied_calls_of_the_python_server() {
    let Some(peers) = peers("clients_of_both_eras_see_allowed_and_denied_calls_of_the_python_server") else { return };
    let server = Server::everything_in_python(&peers);
    let url = format!("http://{}/mcp/everything", gateway(server.port, None).await);
    let calls = ["test_simple_text", "{}", "test_error_handling", "{}", "test_simple_text", "{}"];
    for client in LEGACY.into_iter().chain(MODERN) {
        let steps = client.steps(&peers, &url, "k-reader", &calls).await;
        assert_eq!(step(&steps, "list", 0)["tools"], serde_json::json!(["test_simple_text"]), "{client:?} {steps:?}");
        assert_eq!(step(&steps, "test_simple_text", 0)["ok"], true, "{client:?} {steps:?}");
        assert_denied(client, step(&steps, "test_error_handling", 0), "policy.tool_not_allowed");
        assert_eq!(step(&steps, "test_simple_text", 1)["ok"], true, "{client:?} {steps:?}");
    }
}
