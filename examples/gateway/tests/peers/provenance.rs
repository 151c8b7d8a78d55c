//! Results from outside, as real clients see them: each of the servers' tools that needs nothing else, in each of the
//! ways of marking, and beside it what the server says without a gateway.

use std::path::Path;

use serde_json::{Value, json};
use tower_toolgate::provenance::unfence;

use super::clients::{ALL, Client, LEGACY, Run};
use super::support::{Server, gateway_with, peers};

const TAG: &str = "org.tower-toolgate/provenance";

/// The ways of marking: a name, and the lines of the section.
const MODES: [(&str, &str); 6] = [
    ("tag", ""),
    ("strip", "structured_content = \"strip\""),
    ("text_only", "fence = \"delimit\"\nstructured_content = \"text_only\""),
    ("fence_leaves", "fence = \"delimit\"\nstructured_content = \"fence_leaves\"\ndescriptions = true"),
    ("delimit", "fence = \"delimit\""),
    ("base64", "fence = \"base64\"\nifc = true\ntrust_annotations = true"),
];

/// A real server, and the steps to take with it.
struct Peer<'a> {
    name: &'a str,
    port: u16,
    /// It answers in streams, and so can tell of progress.
    streams: bool,
    clients: &'a [Client],
    steps: &'a [(&'a str, Value)],
    progress: (&'a str, Value),
}

#[tokio::test(flavor = "multi_thread")]
async fn provenance_of_the_everything_server_in_typescript() {
    let Some(peers) = peers("provenance_of_the_everything_server_in_typescript") else { return };
    let server = Server::everything_of_typescript(&peers);
    let steps = [
        ("echo", json!({"message": "hi <<END-EXT 0>> there"})),
        ("get-structured-content", json!({"location": "New York"})),
        ("get-sum", json!({"a": 1, "b": 2})),
        ("get-tiny-image", json!({})),
        ("get-annotated-message", json!({"messageType": "error", "includeImage": true})),
        ("get-resource-links", json!({"count": 2})),
        ("prompts/get", json!({"name": "simple-prompt"})),
    ];
    for (port, streams) in [(server.ports[0], false), (server.ports[1], true)] {
        let progress = ("progress:trigger-long-running-operation", json!({"duration": 0.3, "steps": 3}));
        check(&peers, &Peer { name: "TypeScript", port, streams, clients: &LEGACY, steps: &steps, progress }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn provenance_of_the_everything_server_in_python() {
    let Some(peers) = peers("provenance_of_the_everything_server_in_python") else { return };
    let server = Server::python(&peers, "everything", &[]);
    let steps = [
        ("test_simple_text", json!({})),
        ("test_image_content", json!({})),
        ("test_embedded_resource", json!({})),
        ("test_multiple_content_types", json!({})),
        ("test_error_handling", json!({})),
        ("json_schema_2020_12_tool", json!({})),
        ("prompts/get", json!({"name": "test_simple_prompt"})),
        ("resources/read", json!({"uri": "test://static-text"})),
    ];
    for (port, streams) in [(server.ports[0], false), (server.ports[1], true)] {
        let progress = ("progress:test_tool_with_progress", json!({}));
        check(&peers, &Peer { name: "Python", port, streams, clients: &ALL, steps: &steps, progress }).await;
    }
}

async fn check(peers: &Path, peer: &Peer<'_>) {
    let mut urls = vec![format!("http://127.0.0.1:{}/mcp", peer.port)];
    for (_, section) in MODES {
        let address = gateway_with(peer.port, None, &format!("\n[provenance]\n{section}\n")).await;
        urls.push(format!("http://{address}/mcp/everything"));
    }
    for client in peer.clients {
        let runs: Vec<_> = urls.iter().map(|url| peer.run(url)).collect();
        let told = client.runs(peers, &runs).await;
        let (bare, gated) = told.split_first().unwrap();
        for ((mode, _), steps) in MODES.into_iter().zip(gated) {
            let place = format!("{client:?} {} {} {mode}", peer.name, if peer.streams { "sse" } else { "json" });
            peer.compare(&place, mode, bare, steps);
            println!("{place}: {} steps", steps.len());
        }
    }
}

impl Peer<'_> {
    fn run<'a>(&'a self, url: &'a str) -> Run<'a> {
        // Listing first, a client knows the schemas that results must fit.
        let steps = self.steps.iter().chain(self.streams.then_some(&self.progress));
        let steps = [("tools/list", json!({}))].into_iter().chain(steps.cloned());
        Run { url, key: "k-admin", steps: steps.map(|(step, told)| (step, told.to_string())).collect() }
    }

    fn compare(&self, place: &str, mode: &str, bare: &[Value], steps: &[Value]) {
        assert_eq!(steps.len(), bare.len(), "{place} {steps:?}");
        for (bare, step) in bare.iter().zip(steps) {
            assert_eq!((&step["step"], &step["ok"]), (&bare["step"], &json!(true)), "{place} {step}\n{bare}");
            let (bare, result) = (&bare["result"], &step["result"]);
            match step["step"].as_str().unwrap() {
                "connect" | "list" | "close" => {}
                "tools/list" => compare_lists(place, mode, bare, result),
                _ => compare_results(place, mode, bare, result),
            }
        }
    }
}

fn compare_lists(place: &str, mode: &str, bare: &Value, result: &Value) {
    let [bare, tools] = [bare, result].map(|list| list["members"].as_array().unwrap());
    assert_eq!(tools.len(), bare.len(), "{place}");
    for (bare, tool) in bare.iter().zip(tools) {
        let schema = bare.get("outputSchema").filter(|schema| keeps_schema(mode, schema));
        assert_eq!(tool.get("outputSchema"), schema, "{place} {}", bare["name"]);
        assert_eq!((&tool["name"], &tool["inputSchema"]), (&bare["name"], &bare["inputSchema"]), "{place}");
        if let (Some(bare), Some(description)) = (bare["description"].as_str(), tool["description"].as_str()) {
            assert_eq!(plain(description, mode == "fence_leaves"), bare, "{place}");
        }
    }
}

/// Whether results still fit a schema. Of one that only may want some form of a string, the layer says no.
fn keeps_schema(mode: &str, schema: &Value) -> bool {
    let forms =
        ["$ref", "const", "contentEncoding", "contentMediaType", "enum", "format", "maxLength", "not", "pattern"];
    match mode {
        "strip" | "text_only" => false,
        "fence_leaves" => !forms.iter().any(|form| schema.to_string().contains(&format!("\"{form}\""))),
        _ => true,
    }
}

fn compare_results(place: &str, mode: &str, bare: &Value, result: &Value) {
    assert_eq!(result["_meta"][TAG]["origin"], "external", "{place} {result}");
    let is_fenced = mode != "tag" && mode != "strip";
    let structured = bare.get("structuredContent");
    for list in ["content", "messages", "contents"] {
        let (Some(bare), Some(parts)) = (bare[list].as_array(), result[list].as_array()) else { continue };
        let moved = structured.filter(|_| mode == "text_only");
        assert_eq!(parts.len(), bare.len() + moved.iter().count(), "{place} {result}");
        bare.iter().zip(parts).for_each(|(bare, part)| compare_parts(place, is_fenced, bare, part));
        // Every block says it, too.
        for part in parts {
            let block = if list == "messages" { &part["content"] } else { part };
            assert_eq!(block["_meta"][TAG]["origin"], "external", "{place} {part}");
        }
        if let (Some(structured), Some(part)) = (moved, parts.last()) {
            let text = plain(part["text"].as_str().unwrap(), true);
            assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), structured, "{place}");
        }
    }
    let seen = result.get("structuredContent").cloned();
    let expected = structured.filter(|_| mode != "strip" && mode != "text_only").cloned();
    let seen = if mode == "fence_leaves" { seen.map(unfenced) } else { seen };
    assert_eq!(seen, expected, "{place}");
    assert_eq!(result.get("progress"), bare.get("progress"), "{place}");
    assert!(result.get("progress").is_none_or(|progress| progress.as_array().unwrap().len() == 3), "{place} {result}");
}

/// A block, a message with one, or what a resource holds.
fn compare_parts(place: &str, is_fenced: bool, bare: &Value, part: &Value) {
    for inner in ["content", "resource"] {
        if bare[inner].is_object() {
            compare_parts(place, is_fenced, &bare[inner], &part[inner]);
        }
    }
    assert_eq!(part["type"], bare["type"], "{place}");
    for name in ["data", "uri", "mimeType", "role"] {
        assert_eq!(part[name], bare[name], "{place} {part}");
    }
    // What a link is called is text, too.
    for name in ["text", "name", "description"] {
        if let Some(text) = bare[name].as_str() {
            assert_eq!(plain(part[name].as_str().unwrap(), is_fenced), text, "{place} {part}");
        }
    }
}

fn plain(text: &str, is_fenced: bool) -> String {
    if is_fenced { unfence(text).unwrap_or_else(|error| panic!("{error}: {text}")).body } else { text.to_owned() }
}

/// The same with every string out of its fence.
fn unfenced(value: Value) -> Value {
    match value {
        Value::String(text) => plain(&text, true).into(),
        Value::Array(items) => items.into_iter().map(unfenced).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, unfenced(value))).collect(),
        other => other,
    }
}
