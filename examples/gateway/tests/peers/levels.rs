//! Real servers at each level of trust, over HTTP and as children of the gateway.

mod asking;
mod environment;
mod media;
mod pins;
mod table;

use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use serde_json::{Value, json};

use super::clients::{Client, Run};
use super::support::{Folder, Server, example, gateway_with, script};

/// What is declared of a server behind the gateway.
#[derive(Clone, Debug)]
struct Entry {
    id: String,
    transport: String,
    level: &'static str,
    /// What else is written of it.
    lines: String,
}

impl Entry {
    fn new(id: impl Into<String>, transport: &str, level: &'static str, lines: impl Into<String>) -> Self {
        Self { id: id.into(), transport: transport.to_owned(), level, lines: lines.into() }
    }

    fn section(&self) -> String {
        let Self { id, transport, level, lines } = self;
        format!(
            "\n[[mcp.servers]]\nid = \"{id}\"\ntransport = {transport}\ntimeout = \"30s\"\ntrust_level = \"{level}\"\n{lines}\n"
        )
    }
}

fn sections<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> String {
    entries.into_iter().map(Entry::section).collect()
}

/// A gateway before servers: its address, up to the id of the server.
async fn gateway_of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> String {
    format!("http://{}/mcp/", gateway_with(9, None, &sections(entries)).await)
}

/// A configuration of these servers, with further sections, in a file.
fn write(folder: &Folder, entries: &[Entry], more: &str) -> PathBuf {
    let path = folder.path.join("gateway.toml");
    let text = include_str!("gateway.toml").replace("UPSTREAM_PORT", "9");
    std::fs::write(&path, text + &sections(entries) + more).unwrap();
    path
}

/// A gateway in a process of its own. Its environment has a variable besides.
fn start(config: &Path, name: &str, value: &str) -> Server {
    Server::start_on(|[port]: [String; 1]| {
        let mut command = process::Command::new(example());
        command.arg("--config").arg(config).args(["--listen", &format!("127.0.0.1:{port}")]).env(name, value);
        command
    })
}

fn over_http(port: u16) -> String {
    format!("{{ http = {{ url = \"http://127.0.0.1:{port}/mcp\" }} }}")
}

/// A command that serves over stdio.
struct Command(Vec<String>);

impl Command {
    fn new<const N: usize>(words: [&dyn AsRef<Path>; N]) -> Self {
        Self(words.map(|word| word.as_ref().to_str().unwrap().to_owned()).to_vec())
    }

    /// The everything server of the TypeScript SDK.
    fn typescript(peers: &Path) -> Self {
        Self::new([&"node", &peers.join(MODULES).join("server-everything/dist/index.js"), &"stdio"])
    }

    /// That of the Python SDK, which has no command of its own for it.
    fn python(peers: &Path) -> Self {
        let modules = peers.join("mcp-2.3.0/examples/servers/everything-server");
        let modules = format!("PYTHONPATH={}", modules.display());
        let run = "from mcp_everything_server.server import mcp; mcp.run()";
        Self::new([&"env", &modules, &peers.join("python-2/bin/python"), &"-Bc", &run])
    }

    /// That of TypeScript, which changes once a file is there.
    fn rug(peers: &Path, file: &Path) -> Self {
        Self::new([&"node", &script("rug.mjs"), &peers.join("typescript-1"), &file])
    }

    fn filesystem(peers: &Path, folder: &Path) -> Self {
        Self::new([&"node", &peers.join(MODULES).join("server-filesystem/dist/index.js"), &folder])
    }

    /// As a child of the gateway.
    fn transport(&self) -> String {
        let (command, arguments) = self.0.split_first().unwrap();
        format!("{{ stdio = {{ command = {command:?}, args = {arguments:?} }} }}")
    }

    /// As a child of a client.
    fn url(&self) -> String {
        format!("stdio:{}", json!(self.0))
    }
}

const MODULES: &str = "typescript-1/node_modules/@modelcontextprotocol";

/// The filesystem server behind fastmcp's proxy.
fn filesystem_over_http(peers: &Path, folder: &Path) -> Server {
    let script = peers.join(MODULES).join("server-filesystem/dist/index.js");
    let arguments = [folder, Path::new("node"), &script].map(|path| path.to_str().unwrap());
    Server::python(peers, "filesystem", &arguments)
}

/// What a client takes on one connection: steps, each with what it is told.
type Steps = Vec<(String, Value)>;

fn steps(steps: &[(&str, Value)]) -> Steps {
    steps.iter().map(|(name, told)| ((*name).to_owned(), told.clone())).collect()
}

/// More than all runs of a client take on a busy machine; a step of them has its own time.
const PATIENCE: Duration = Duration::from_secs(240);

/// Runs a client once at each place: what it says of its own steps, after it has connected and listed.
async fn visit(client: Client, peers: &Path, visits: &[(String, Steps)]) -> Vec<Vec<Value>> {
    let run = |(url, steps): &'_ (String, Steps)| -> (String, Vec<(String, String)>) {
        (url.clone(), steps.iter().map(|(name, told)| (name.clone(), told.to_string())).collect())
    };
    let written: Vec<_> = visits.iter().map(run).collect();
    let runs = written.iter().map(|(url, steps)| Run {
        url,
        key: "k-admin",
        steps: steps.iter().map(|(name, told)| (name.as_str(), told.clone())).collect(),
    });
    let runs = runs.collect::<Vec<_>>();
    let told = tokio::time::timeout(PATIENCE, client.runs(peers, &runs)).await;
    let told = told.unwrap_or_else(|_| panic!("{client:?} waits"));
    for ((url, steps), told) in visits.iter().zip(&told) {
        assert_eq!(told.len(), steps.len() + 3, "{client:?} {url} {told:?}");
        assert!([0, 1, told.len() - 1].iter().all(|at| told[*at]["ok"] == true), "{client:?} {url} {told:?}");
    }
    told.into_iter().map(|told| told[2..told.len() - 1].to_vec()).collect()
}
