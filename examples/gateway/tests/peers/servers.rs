//! Real servers under three roles, in both forms that an answer has: JSON and a stream of events.

use std::path::Path;

use serde_json::{Value, json};

use super::clients::{ALL, Client};
use super::roles::{Peer, check};
use super::support::{Folder, Server, peers};

/// Every client is run with these servers by `sdks`: here are two, for the modes.
const TWO: [Client; 2] = [Client::TypeScript(1, "legacy"), Client::Python(2, "legacy")];

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_the_everything_servers() {
    let Some(peers) = peers("lists_of_the_everything_servers") else { return };
    let typescript = Peer {
        id: "everything",
        clients: &TWO,
        start: &|| Server::everything_of_typescript(&peers),
        least: [(10, 1), (4, 0), (7, 0), (2, 0)],
        reader: |_, name| name == "echo",
        usage: |_, name| match name {
            "echo" => Some(json!({"message": "hi"})),
            "get-sum" => Some(json!({"a": 1, "b": 2})),
            _ => None,
        },
    };
    let python = Peer {
        start: &|| Server::python(&peers, "everything", &[]),
        least: [(20, 1), (4, 0), (3, 0), (1, 0)],
        reader: |_, name| name == "test_simple_text",
        usage: |_, name| ["test_simple_text", "test_image_content"].contains(&name).then(|| json!({})),
        ..typescript
    };
    check(&peers, &[typescript, python]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_the_filesystem_server_and_of_a_fastmcp_server() {
    let Some(peers) = peers("lists_of_the_filesystem_server_and_of_a_fastmcp_server") else { return };
    let folder = files();
    let script = peers.join("typescript-1/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    let arguments = [&folder.path, Path::new("node"), &script].map(|path| path.to_str().unwrap());
    // It speaks stdio: fastmcp's proxy stands before it.
    let filesystem = Peer {
        id: "filesystem",
        clients: &ALL,
        start: &|| Server::python(&peers, "filesystem", &arguments),
        least: [(14, 10), (0, 0), (0, 0), (0, 0)],
        reader: |_, name| {
            let names = ["directory_tree", "get_file_info", "search_files"];
            names.contains(&name) || name.starts_with("read_") || name.starts_with("list_")
        },
        usage: |_, tool| Some(file_arguments(tool)),
    };
    let notes = Peer {
        id: "notes",
        clients: &ALL,
        start: &|| Server::python(&peers, "notes", &[]),
        least: [(7, 2), (4, 2), (5, 3), (4, 2)],
        reader: may_see_note,
        usage: note_usage,
    };
    check(&peers, &[filesystem, notes]).await;
}

fn may_see_note(list: &str, name: &str) -> bool {
    match list {
        "tools" => ["note_find", "note_count"].contains(&name),
        "prompts" => name.starts_with("summarise"),
        // The folder may be the public one.
        _ => name.starts_with("notes://public/") || name.starts_with("notes://{folder}/"),
    }
}

fn note_usage(list: &str, name: &str) -> Option<Value> {
    let values = [("{name}", "hello"), ("{folder}", "public"), ("{?since}", "")];
    let uri = || values.iter().fold(name.to_owned(), |uri, (expression, value)| uri.replace(expression, value));
    Some(match list {
        "tools" => json!({"text": "hi", "times": 2}),
        "prompts" => json!({"name": name}),
        _ => json!({"uri": uri()}),
    })
}

/// What is read and what is written are apart: several clients are at it at once.
fn files() -> Folder {
    let folder = Folder::new("files");
    for name in ["read", "read/in", "written", "written/in"] {
        std::fs::create_dir(folder.path.join(name)).unwrap();
    }
    for name in ["read/one.txt", "read/two.txt", "read/in/three.txt", "written/one.txt", "still.txt"] {
        std::fs::write(folder.path.join(name), "what it is\n").unwrap();
    }
    folder
}

/// Arguments with which a call may be repeated. The folder is where the server runs.
fn file_arguments(tool: &str) -> Value {
    match tool {
        "read_multiple_files" => json!({"paths": ["read/one.txt", "read/two.txt"]}),
        "write_file" => json!({"path": "written/one.txt", "content": "what it is\n"}),
        "edit_file" => json!({"path": "read/one.txt", "edits": [{"oldText": "is", "newText": "was"}], "dryRun": true}),
        "create_directory" => json!({"path": "written/in"}),
        // That it is not there the server says, not the gateway.
        "move_file" => json!({"source": "written/two.txt", "destination": "written/three.txt"}),
        "search_files" => json!({"path": "read", "pattern": "**/*.txt"}),
        // Reading it would change what is said of it.
        "get_file_info" => json!({"path": "still.txt"}),
        "list_directory" | "list_directory_with_sizes" | "directory_tree" => json!({"path": "read"}),
        "list_allowed_directories" => json!({}),
        _ => json!({"path": "read/one.txt"}),
    }
}
