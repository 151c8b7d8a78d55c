//! The SDKs' clients, driven by scripts.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::support::output;

/// A client: the SDK, its version, the era that it speaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Client {
    Python(u8, &'static str),
    TypeScript(u8, &'static str),
}

/// Not every server speaks more than the legacy revisions.
pub(crate) const LEGACY: [Client; 4] = [
    Client::TypeScript(1, "legacy"),
    Client::TypeScript(2, "legacy"),
    Client::Python(1, "legacy"),
    Client::Python(2, "legacy"),
];
pub(crate) const MODERN: [Client; 2] = [Client::TypeScript(2, "modern"), Client::Python(2, "modern")];

/// All of both.
pub(crate) const ALL: [Client; 6] = [LEGACY[0], LEGACY[1], LEGACY[2], LEGACY[3], MODERN[0], MODERN[1]];

/// A connection to make, and the steps to take on it: what is done, and the JSON for it.
pub(crate) struct Run<'a> {
    pub(crate) url: &'a str,
    pub(crate) key: &'a str,
    pub(crate) steps: Vec<(&'a str, String)>,
}

impl Client {
    fn command(self, peers: &Path, runs: &[Run<'_>]) -> Command {
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
        for (nth, run) in runs.iter().enumerate() {
            command.args((nth > 0).then_some("--")).args([run.url, run.key, era]);
            command.args(run.steps.iter().flat_map(|(step, json)| [step, json.as_str()]));
        }
        command
    }

    /// What the client says of each step of each run: it connects, lists, takes the steps and closes.
    pub(crate) async fn runs(self, peers: &Path, runs: &[Run<'_>]) -> Vec<Vec<Value>> {
        let (done, text) = output(self.command(peers, runs)).await;
        assert!(done, "{self:?} failed");
        let steps: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let told: Vec<_> = steps.split_inclusive(|step| step["step"] == "close").map(<[_]>::to_vec).collect();
        assert_eq!(told.len(), runs.len(), "{self:?} {steps:?}");
        told
    }
}

pub(crate) fn assert_denied(client: Client, step: &Value, reason: &str) {
    assert_eq!(step["ok"], false, "{client:?} {step}");
    assert_eq!(step["code"], 403, "{client:?} {step}");
    assert_eq!(step["data"]["reason"], reason, "{client:?} {step}");
}
