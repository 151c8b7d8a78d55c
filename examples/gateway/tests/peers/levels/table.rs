//! Which tools are listed and can be called at each level, with each kind of allowlist.

use std::path::Path;

use serde_json::{Value, json};

use super::super::clients::{ALL, Client, LEGACY, MODERN, assert_denied};
use super::super::raw::Session;
use super::super::support::{Folder, Server, peers};
use super::{Command, Entry, Steps, filesystem_over_http, gateway_of, over_http, visit};

/// What an allowlist has: the tool that is chosen of a server, or also the one that is declared to do much harm.
const NOBODY: &[Pick] = &[];
const ONE: &[Pick] = &[Pick::One];
const BOTH: &[Pick] = &[Pick::One, Pick::High];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Pick {
    One,
    High,
}

/// A level, an allowlist, and whether a server may do without one.
type Case = (&'static str, Option<&'static [Pick]>, bool);

const CASES: [Case; 11] = [
    ("trusted", None, false),
    ("trusted", Some(NOBODY), false),
    ("trusted", Some(ONE), false),
    ("untrusted", None, false),
    ("untrusted", None, true),
    ("untrusted", Some(NOBODY), true),
    ("untrusted", Some(BOTH), false),
    ("sandboxed", None, false),
    ("sandboxed", None, true),
    ("sandboxed", Some(NOBODY), true),
    ("sandboxed", Some(BOTH), true),
];

/// A real server, and what is known of it.
struct Peer {
    name: &'static str,
    one: &'static str,
    high: &'static str,
    /// How many tools it has at least.
    least: usize,
    /// What else is asked of it.
    others: &'static [(&'static str, &'static str)],
    /// With what a tool is called; `None`: it is only listed. Of a child, all clients are one.
    usage: fn(&Path, &str, bool) -> Option<Value>,
    /// Whether a tool always says the same.
    is_same: fn(&str) -> bool,
}

const TYPESCRIPT: Peer = Peer {
    name: "typescript",
    one: "echo",
    high: "get-env",
    least: 12,
    others: &[
        ("prompts/list", "{}"),
        ("prompts/get", r#"{"name":"simple-prompt"}"#),
        ("resources/list", "{}"),
        ("resources/templates/list", "{}"),
        ("resources/read", r#"{"uri":"demo://resource/static/document/features.md"}"#),
    ],
    usage: |_, tool, is_child| match tool {
        "echo" => Some(json!({"message": "hi"})),
        "get-annotated-message" => Some(json!({"messageType": "success", "includeImage": false})),
        "get-resource-links" => Some(json!({"count": 2})),
        "get-resource-reference" => Some(json!({"resourceType": "Text", "resourceId": 1})),
        "get-structured-content" => Some(json!({"location": "New York"})),
        "get-sum" => Some(json!({"a": 1, "b": 2})),
        "trigger-long-running-operation" => Some(json!({"duration": 0.1, "steps": 1})),
        "gzip-file-as-resource" => {
            let told = json!({"name": "a.gz", "data": "data:text/plain,hi", "outputType": "resource"});
            (!is_child).then_some(told)
        }
        "toggle-simulated-logging" | "toggle-subscriber-updates" => (!is_child).then(|| json!({})),
        // It is for tasks alone.
        "simulate-research-query" => None,
        _ => Some(json!({})),
    },
    is_same: |tool| !["get-env", "get-resource-reference"].contains(&tool) && !tool.starts_with("toggle-"),
};

const PYTHON: Peer = Peer {
    name: "python",
    one: "test_simple_text",
    high: "test_error_handling",
    least: 25,
    others: &[
        ("prompts/list", "{}"),
        ("prompts/get", r#"{"name":"test_simple_prompt"}"#),
        ("resources/list", "{}"),
        ("resources/templates/list", "{}"),
        ("resources/read", r#"{"uri":"test://static-text"}"#),
    ],
    usage: |_, tool, _| {
        // These ask, whatever a client declares: see `asking`.
        let asks = tool.starts_with("test_input_required") || tool.starts_with("test_elicitation");
        // These change the lists of all, or are answered with what another session with the same id was.
        let disturbs = tool.starts_with("test_trigger_") || tool == "test_reconnection";
        (!asks && !disturbs && tool != "test_sampling").then(|| json!({}))
    },
    is_same: |_| true,
};

const FILESYSTEM: Peer = Peer {
    name: "filesystem",
    one: "read_text_file",
    high: "write_file",
    least: 14,
    others: &[],
    usage: |folder, tool, _| Some(file_arguments(folder, tool)),
    is_same: |_| true,
};

fn file_arguments(folder: &Path, tool: &str) -> Value {
    let at = |name: &str| folder.join(name);
    match tool {
        "read_multiple_files" => json!({"paths": [at("one.txt"), at("two.txt")]}),
        "write_file" => json!({"path": at("written.txt"), "content": "what it is\n"}),
        "edit_file" => {
            json!({"path": at("one.txt"), "edits": [{"oldText": "is", "newText": "was"}], "dryRun": true})
        }
        "create_directory" => json!({"path": at("made")}),
        // That it is not there the server says, not the gateway.
        "move_file" => json!({"source": at("three.txt"), "destination": at("four.txt")}),
        "search_files" => json!({"path": at("read"), "pattern": "**/*.txt"}),
        // Reading it would change what is said of it.
        "get_file_info" => json!({"path": at("still.txt")}),
        "list_directory" | "list_directory_with_sizes" | "directory_tree" => json!({"path": at("read")}),
        "list_allowed_directories" => json!({}),
        _ => json!({"path": at("one.txt")}),
    }
}

fn files() -> Folder {
    let folder = Folder::new("levels");
    for name in ["read", "made"] {
        std::fs::create_dir(folder.path.join(name)).unwrap();
    }
    for name in ["one.txt", "two.txt", "written.txt", "still.txt", "read/one.txt"] {
        std::fs::write(folder.path.join(name), "what it is\n").unwrap();
    }
    folder
}

impl Peer {
    /// Why a tool is not there in a case.
    fn refusal(&self, case: Case, tool: &str) -> Option<&'static str> {
        match case {
            ("trusted", _, _) => None,
            _ if tool == self.high => Some("server.tool_sensitive"),
            (_, Some(listed), _) if listed.contains(&Pick::One) && tool == self.one => None,
            (_, Some(_), _) => Some("server.tool_not_listed"),
            ("untrusted", None, true) => None,
            (_, None, _) => Some("server.no_allowlist"),
        }
    }

    fn lines(&self, (_, listed, may_do_without): Case) -> String {
        let name = |pick: &Pick| if *pick == Pick::One { self.one } else { self.high };
        let listed = listed.map(|listed| format!("tool_allowlist = {:?}\n", Vec::from_iter(listed.iter().map(name))));
        let listed = listed.unwrap_or_default();
        let high = self.high;
        format!(
            "{listed}allow_untrusted_without_allowlist = {may_do_without}\nmedia_passthrough = true\n\
             tool_metadata = {{ {high} = {{ data_sensitivity = \"high\" }} }}"
        )
    }
}

/// A server that is reached in one way, in all cases.
struct Front<'a> {
    peer: &'a Peer,
    is_child: bool,
    clients: &'static [Client],
    /// Where it is without the gateway.
    bare: String,
    transport: String,
    folder: &'a Path,
    /// The names of its tools.
    tools: Vec<String>,
}

impl Front<'_> {
    fn entries(&self) -> impl Iterator<Item = Entry> {
        CASES
            .into_iter()
            .enumerate()
            .map(|(nth, case)| Entry::new(self.id(nth), &self.transport, case.0, self.peer.lines(case)))
    }

    fn name(&self) -> String {
        format!("{}-{}", self.peer.name, if self.is_child { "child" } else { "http" })
    }

    fn id(&self, nth: usize) -> String {
        format!("{}-{nth}", self.name())
    }

    fn usage(&self, tool: &str) -> Option<Value> {
        (self.peer.usage)(self.folder, tool, self.is_child)
    }

    fn others(&self) -> Steps {
        let told = |told: &str| serde_json::from_str(told).unwrap();
        let others = self.peer.others.iter().map(|(step, json)| ((*step).to_owned(), told(json)));
        [("tools/list".to_owned(), json!({}))].into_iter().chain(others).collect()
    }

    /// Everything that the server does, without a gateway.
    fn bare_steps(&self) -> Steps {
        let calls = self.tools.iter().filter_map(|tool| Some((tool.clone(), self.usage(tool)?)));
        self.others().into_iter().chain(calls).collect()
    }

    /// What is tried in a case, the tools that are not there among it. The last step shows that the session goes on.
    fn steps(&self, case: Case) -> Steps {
        let call = |tool: &String| {
            let refused = self.peer.refusal(case, tool).map(|_| json!({}));
            Some((tool.clone(), self.usage(tool).or(refused)?))
        };
        let calls = self.tools.iter().filter_map(call);
        let last = ("tools/list".to_owned(), json!({}));
        self.others().into_iter().chain(calls).chain([last]).collect()
    }

    fn check(&self, place: &str, client: Client, case: Case, bare: &[Value], told: &[Value]) -> (usize, usize) {
        let (others, calls) = told.split_at(self.others().len());
        let (last, calls) = calls.split_last().unwrap();
        self.check_list(place, case, &bare[0], &others[0]);
        assert_eq!(last, &others[0], "{place}");
        assert_eq!(others[1..], bare[1..others.len()], "{place}");
        assert!(others.iter().all(|step| step["ok"] == true), "{place} {others:?}");
        let mut counts = (0, 0);
        for step in calls {
            let tool = step["step"].as_str().unwrap();
            match self.peer.refusal(case, tool) {
                Some(reason) => {
                    assert_denied(client, step, reason);
                    counts.1 += 1;
                }
                None => {
                    self.check_call(place, bare, step);
                    counts.0 += 1;
                }
            }
        }
        counts
    }

    fn check_list(&self, place: &str, case: Case, bare: &Value, list: &Value) {
        let members = |step: &Value| step["result"]["members"].as_array().expect("it lists").clone();
        let mut expected = members(bare);
        assert_eq!(expected.len(), self.tools.len(), "{place}");
        expected.retain(|tool| self.peer.refusal(case, tool["name"].as_str().unwrap()).is_none());
        assert_eq!(members(list), expected, "{place}");
    }

    fn check_call(&self, place: &str, bare: &[Value], step: &Value) {
        let tool = step["step"].as_str().unwrap();
        let bare = bare.iter().find(|bare| bare["step"] == tool).expect("it was called without the gateway");
        assert_eq!(step["ok"], bare["ok"], "{place} {step}");
        if (self.peer.is_same)(tool) {
            assert_eq!(step, bare, "{place}");
        }
    }
}

/// One process of a client sees all servers in all cases.
async fn check_client(client: Client, peers: &Path, gateway: &str, fronts: &[Front<'_>]) {
    let fronts = Vec::from_iter(fronts.iter().filter(|front| front.clients.contains(&client)));
    let mut visits = Vec::new();
    for front in &fronts {
        visits.push((front.bare.clone(), front.bare_steps()));
        visits.extend(
            CASES.into_iter().enumerate().map(|(nth, case)| (format!("{gateway}{}", front.id(nth)), front.steps(case))),
        );
    }
    let told = visit(client, peers, &visits).await;
    for (front, told) in fronts.iter().zip(told.chunks(CASES.len() + 1)) {
        let mut counts = (0, 0);
        for (nth, case) in CASES.into_iter().enumerate() {
            let place = format!("{client:?} {} {case:?}", front.id(nth));
            let (called, denied) = front.check(&place, client, case, &told[0], &told[nth + 1]);
            counts = (counts.0 + called, counts.1 + denied);
        }
        println!("{client:?} {}: {} calls answered, {} denied", front.name(), counts.0, counts.1);
    }
}

async fn check_clients(clients: &[Client], peers: &Path, gateway: &str, fronts: &[Front<'_>]) {
    for client in clients {
        check_client(*client, peers, gateway, fronts).await;
    }
}

async fn tools(peer: &Peer, port: u16) -> Vec<String> {
    let pages = Session::open(&format!("http://127.0.0.1:{port}/mcp"), "k-admin").await.list("tools/list").await;
    let tools = pages.iter().flat_map(|page| page.result["tools"].as_array().unwrap());
    let tools = Vec::from_iter(tools.map(|tool| tool["name"].as_str().unwrap().to_owned()));
    assert!(tools.len() >= peer.least, "{} {tools:?}", peer.name);
    assert!([peer.one, peer.high].iter().all(|name| tools.iter().any(|tool| tool == name)), "{tools:?}");
    tools
}

/// Each era has a child of its own; those of TypeScript know one era.
#[tokio::test(flavor = "multi_thread")]
async fn tools_of_real_servers_at_each_level_with_each_allowlist() {
    let Some(peers) = peers("tools_of_real_servers_at_each_level_with_each_allowlist") else { return };
    let folder = files();
    let typescript = Server::everything_in_typescript(&peers);
    let (python, filesystem) = (Server::python(&peers, "everything", &[]), filesystem_over_http(&peers, &folder.path));
    let mut fronts = Vec::new();
    // Those in events, of the two modes.
    for (peer, port, [clients, of_child], child) in [
        (&TYPESCRIPT, typescript.port(), [&LEGACY[..], &LEGACY], Command::typescript(&peers)),
        (&PYTHON, python.ports[1], [&ALL, &ALL], Command::python(&peers)),
        (&FILESYSTEM, filesystem.ports[1], [&ALL, &LEGACY], Command::filesystem(&peers, &folder.path)),
    ] {
        let (folder, tools) = (&*folder.path, tools(peer, port).await);
        let (bare, transport) = (format!("http://127.0.0.1:{port}/mcp"), over_http(port));
        fronts.push(Front { peer, is_child: false, clients, bare, transport, folder, tools: tools.clone() });
        let (bare, transport) = (child.url(), child.transport());
        fronts.push(Front { peer, is_child: true, clients: of_child, bare, transport, folder, tools });
    }
    let entries = Vec::from_iter(fronts.iter().flat_map(Front::entries));
    let gateway = gateway_of(&entries).await;
    let (some, others) = LEGACY.split_at(2);
    tokio::join!(check_clients(some, &peers, &gateway, &fronts), check_clients(others, &peers, &gateway, &fronts));
    let (some, others) = MODERN.split_at(1);
    tokio::join!(check_clients(some, &peers, &gateway, &fronts), check_clients(others, &peers, &gateway, &fronts));
}
