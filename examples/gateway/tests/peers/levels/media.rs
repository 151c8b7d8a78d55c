//! Images, sound and other bytes: they pass only with `media_passthrough`, and never from a sandbox.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Value, json};

use super::super::clients::{ALL, Client, LEGACY};
use super::super::support::{Folder, Server, peers};
use super::{Command, Entry, Steps, filesystem_over_http, gateway_of, over_http, steps, visit};

const CASES: [(&str, bool); 6] = [
    ("trusted", true),
    ("trusted", false),
    ("untrusted", true),
    ("untrusted", false),
    ("sandboxed", true),
    ("sandboxed", false),
];

/// A server that is reached in one way, in all cases.
struct Front<'a> {
    id: &'a str,
    clients: &'a [Client],
    bare: String,
    transport: String,
    /// What brings bytes: tools, prompts and resources.
    steps: &'a Steps,
}

impl Front<'_> {
    fn entries(&self) -> impl Iterator<Item = Entry> {
        CASES.into_iter().enumerate().map(|(nth, (level, passes))| {
            let tools = self.steps.iter().map(|(step, _)| step).filter(|step| !step.contains('/'));
            let lines = format!("tool_allowlist = {:?}\nmedia_passthrough = {passes}", Vec::from_iter(tools));
            Entry::new(format!("{}-{nth}", self.id), &self.transport, level, lines)
        })
    }

    fn visits(&self, gateway: &str) -> Vec<(String, Steps)> {
        let gated = (0..CASES.len()).map(|nth| format!("{gateway}{}-{nth}", self.id));
        [self.bare.clone()].into_iter().chain(gated).map(|url| (url, self.steps.clone())).collect()
    }

    fn check(&self, client: Client, told: &[Vec<Value>], faults: &mut Vec<String>) {
        let (bare, gated) = told.split_first().unwrap();
        for ((level, passes), told) in CASES.into_iter().zip(gated) {
            for (bare, step) in bare.iter().zip(told) {
                let bytes = bytes(&bare["result"]);
                assert!(!bytes.is_empty(), "{client:?} {} {bare}", self.id);
                let is_right = if passes && level != "sandboxed" { step == bare } else { is_told(step, &bytes) };
                if !is_right {
                    let name = &step["step"];
                    faults.push(format!("{client:?} {} {level} media_passthrough = {passes} {name}", self.id));
                }
            }
        }
    }
}

/// Whether a step says what was there, in the place of the bytes.
fn is_told(step: &Value, bytes: &[&str]) -> bool {
    let text = step.to_string();
    let told = ["[image: ", "[audio: ", "[file: "].into_iter().map(|word| text.matches(word).count());
    // What is there twice may go once.
    let distinct = bytes.iter().collect::<HashSet<_>>().len();
    step["ok"] == true && told.sum::<usize>() >= distinct && !bytes.iter().any(|bytes| text.contains(bytes))
}

/// All that a result holds in base64.
fn bytes(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(items) => items.iter().flat_map(bytes).collect(),
        Value::Object(members) => {
            let own = ["data", "blob"].into_iter().filter_map(|name| members.get(name)?.as_str());
            own.chain(members.values().flat_map(bytes)).collect()
        }
        _ => Vec::new(),
    }
}

async fn check(client: Client, peers: &Path, gateway: &str, fronts: &[Front<'_>]) -> Vec<String> {
    let fronts = Vec::from_iter(fronts.iter().filter(|front| front.clients.contains(&client)));
    let visits = Vec::from_iter(fronts.iter().flat_map(|front| front.visits(gateway)));
    let told = visit(client, peers, &visits).await;
    let mut faults = Vec::new();
    for (front, told) in fronts.iter().zip(told.chunks(CASES.len() + 1)) {
        front.check(client, told, &mut faults);
    }
    println!("{client:?}: {} steps", told.iter().map(Vec::len).sum::<usize>());
    faults
}

#[tokio::test(flavor = "multi_thread")]
async fn media_pass_only_where_they_may() {
    let Some(peers) = peers("media_pass_only_where_they_may") else { return };
    let (typescript, python) = (Server::everything_in_typescript(&peers), Server::python(&peers, "everything", &[]));
    let of_typescript = steps(&[
        ("get-tiny-image", json!({})),
        ("get-annotated-message", json!({"messageType": "error", "includeImage": true})),
    ]);
    let of_python = steps(&[
        ("test_image_content", json!({})),
        ("test_audio_content", json!({})),
        ("test_multiple_content_types", json!({})),
        ("prompts/get", json!({"name": "test_prompt_with_image"})),
        ("resources/read", json!({"uri": "test://static-binary"})),
    ]);
    let mut fronts = Vec::new();
    for (ids, port, clients, child, steps) in [
        (
            ["typescript-http", "typescript-child"],
            typescript.port(),
            &LEGACY[..],
            Command::typescript(&peers),
            &of_typescript,
        ),
        (["python-http", "python-child"], python.ports[1], &ALL[..], Command::python(&peers), &of_python),
    ] {
        let bare = format!("http://127.0.0.1:{port}/mcp");
        fronts.push(Front { id: ids[0], clients, bare, transport: over_http(port), steps });
        fronts.push(Front { id: ids[1], clients: &LEGACY, bare: child.url(), transport: child.transport(), steps });
    }
    check_all(&peers, &fronts).await;
}

/// That server says in `structuredContent` once more what it says in `content`.
#[tokio::test(flavor = "multi_thread")]
async fn media_of_the_filesystem_server_pass_only_where_they_may() {
    let Some(peers) = peers("media_of_the_filesystem_server_pass_only_where_they_may") else { return };
    let folder = Folder::new("media");
    std::fs::write(folder.path.join("dot.png"), b"\x89PNG\r\n\x1a\n which nobody looks at").unwrap();
    let server = filesystem_over_http(&peers, &folder.path);
    let steps = steps(&[("read_media_file", json!({"path": folder.path.join("dot.png")}))]);
    let child = Command::filesystem(&peers, &folder.path);
    let (port, steps) = (server.ports[1], &steps);
    let bare = format!("http://127.0.0.1:{port}/mcp");
    let (http, stdio) = (over_http(port), child.transport());
    let fronts = [
        Front { id: "filesystem-http", clients: &ALL, bare, transport: http, steps },
        Front { id: "filesystem-child", clients: &LEGACY, bare: child.url(), transport: stdio, steps },
    ];
    check_all(&peers, &fronts).await;
}

async fn check_all(peers: &Path, fronts: &[Front<'_>]) {
    let entries = Vec::from_iter(fronts.iter().flat_map(Front::entries));
    let gateway = gateway_of(&entries).await;
    let mut faults = Vec::new();
    for pair in ALL.chunks(2) {
        let [one, other] = pair else { panic!("they are even") };
        let told = tokio::join!(check(*one, peers, &gateway, fronts), check(*other, peers, &gateway, fronts));
        faults.extend([told.0, told.1].concat());
    }
    assert!(faults.is_empty(), "{} steps are wrong:\n{}", faults.len(), faults.join("\n"));
}
