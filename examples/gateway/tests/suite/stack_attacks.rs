//! What goes wrong between layers, each of which does what it promises.

use serde_json::{Value, json};

use crate::offers::Client;
use crate::support::{Reply, Setup, Upstream, ok};

const UNTRUSTED: &str = "tool_allowlist = [\"a\"]";

/// A server that answers every request with the same result.
fn bringing(result: Value) -> Upstream {
    Upstream::new(move |request| {
        Reply::Keep(ok(json!({ "jsonrpc": "2.0", "id": request.json()["id"], "result": result }).to_string()))
    })
}

fn transport(upstream: &Upstream) -> String {
    format!("{{ http = {{ url = \"http://{}/mcp\" }} }}", upstream.address)
}

/// What fences write into a form must not hide from its server's exposure what the form is.
#[test]
fn media_go_from_structured_content_whatever_is_done_with_it() {
    let blob = "aGVsbG8gd29ybGQhIGhlbGxvIHdvcmxkIQ==";
    for structured in [
        json!({ "type": "image", "data": blob, "note": "kept" }),
        json!({ "items": [{ "type": "audio", "blob": blob }], "note": "kept" }),
        json!({ "mimeType": "image/png", "data": blob, "note": "kept" }),
    ] {
        for mode in ["tag", "strip", "fence_leaves", "text_only"] {
            let upstream = bringing(json!({ "content": [], "structuredContent": structured }));
            let section = format!("[provenance]\nfence = \"delimit\"\nstructured_content = \"{mode}\"\n");
            let setup = Setup::open().entry("files", &transport(&upstream), UNTRUSTED).section(&section);
            let answer = Client::streaming(setup.start().address, "files").call("a", &json!({}));
            assert!(answer.answer()["result"]["content"].is_array(), "{mode}: {answer}");
            assert!(!answer.text().contains(blob), "{mode}: {answer}");
            assert_eq!(answer.text().contains("kept"), mode != "strip", "{mode}: {answer}");
        }
    }
}
