//! Fences on the wire, and what becomes of `structuredContent`.

use serde_json::Value;
use tower_toolgate::layer::provenance_tag::ProvenanceTagLayer;
use tower_toolgate::provenance::{FenceId, FenceMode, FenceNeeded, Provenance, StructuredContent, unfence};

use super::content_trust::{ask, call, json};
use super::provenance::{KEY, result, tags};
use super::provenance_carriers::{marked, send};

fn fence(mode: FenceMode, structured: StructuredContent) -> ProvenanceTagLayer {
    tags(Provenance::External).with_fence(mode, structured).unwrap()
}

#[test]
fn fences_come_off_again_in_every_mode() {
    let bodies = ["", "two words\nand\ttabs", "<<END-EXT 0>> <external-content>", "\u{2028}é\u{e000}😀"];
    let blocks: Vec<_> = bodies.iter().map(|body| serde_json::json!({ "type": "text", "text": body })).collect();
    let text = result(&serde_json::json!({ "content": blocks }).to_string());
    for mode in [FenceMode::Delimit, FenceMode::Datamark, FenceMode::Base64] {
        let layer = fence(mode, StructuredContent::Tag).with_fence_server(FenceId::new("kg").unwrap());
        let got = marked(&layer, || call("read"), &text);
        let name = got["result"]["_meta"][KEY]["fence"].as_str().unwrap();
        for (at, body) in bodies.iter().enumerate() {
            let fenced = unfence(got["result"]["content"][at]["text"].as_str().unwrap()).unwrap();
            assert_eq!((fenced.body.as_str(), fenced.block, fenced.server.as_deref()), (*body, at, Some("kg")));
            assert_eq!(name, format!("{}:{}", mode.as_str(), fenced.nonce));
        }
    }
}

#[test]
fn each_message_has_a_fence_of_its_own() {
    let text = result(r#"{"content":[{"type":"text","text":"x"}]}"#);
    let layer = fence(FenceMode::Delimit, StructuredContent::Tag);
    let name = || {
        let got: Value = serde_json::from_slice(&send(&layer, call("read"), json(&text)).body).unwrap();
        got["result"]["_meta"][KEY]["fence"].as_str().unwrap().to_owned()
    };
    assert_ne!(name(), name());
}

#[test]
fn wf_05_14_15_16_results_and_schemas_follow_the_mode() {
    let structured = r#"{"z":123456789012345678901,"a":1.0,"n":null,"s":"x"}"#;
    let text = result(&format!(r#"{{"content":[],"structuredContent":{structured}}}"#));
    let constrained = r#"{"name":"b","outputSchema":{"properties":{"s":{"type":"string","enum":["x"]}}}}"#;
    let free = r#"{"name":"a","outputSchema":{"properties":{"s":{"type":"string"}}}}"#;
    let list = result(&format!(r#"{{"tools":[{free},{constrained}]}}"#));
    for (mode, schemas) in [
        (StructuredContent::Tag, 2),
        (StructuredContent::Strip, 0),
        (StructuredContent::FenceLeaves, 1),
        (StructuredContent::TextOnly, 0),
    ] {
        let layer = fence(FenceMode::Delimit, mode);
        let listed = marked(&layer, || ask("kg", "tools/list", "{}"), &list).to_string();
        assert_eq!(listed.matches("outputSchema").count(), schemas, "{mode:?}");
        let out = send(&layer, call("read"), json(&text));
        assert_eq!(out.text().contains(structured), mode == StructuredContent::Tag, "{mode:?}");
        let got: Value = serde_json::from_slice(&out.body).unwrap();
        match mode {
            StructuredContent::FenceLeaves => {
                assert_eq!(unfence(got["result"]["structuredContent"]["s"].as_str().unwrap()).unwrap().body, "x");
            }
            StructuredContent::TextOnly => {
                let fenced = unfence(got["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
                assert_eq!(fenced.body, structured);
                assert!(got["result"]["structuredContent"].is_null());
            }
            StructuredContent::Strip => assert!(got["result"]["structuredContent"].is_null()),
            _ => {}
        }
    }
}

#[test]
fn leaves_are_not_fenced_without_a_fence() {
    let refused = tags(Provenance::External).with_fence(FenceMode::Off, StructuredContent::FenceLeaves);
    let fault: Option<FenceNeeded> = refused.err();
    assert_eq!(fault.unwrap().to_string(), "`fence_leaves` needs a fence other than `off`");
}

#[test]
fn wf_16_without_a_fence_the_text_is_moved_all_the_same() {
    let layer = fence(FenceMode::Off, StructuredContent::TextOnly);
    let got = marked(&layer, || call("read"), &result(r#"{"structuredContent":{"a":"\"x"}}"#));
    assert_eq!(got["result"]["content"][0]["text"], r#"{"a":"\"x"}"#);
}
