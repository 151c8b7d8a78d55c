//! Tags on every carrier, in JSON and in event streams.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use serde_json::{Value, json as value};
use tower::Layer;
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::provenance_tag::ProvenanceTagLayer;
use tower_toolgate::observe::TagEvent;
use tower_toolgate::provenance::Provenance;

use super::content_trust::{events, json};
use super::support::*;

pub(crate) const KEY: &str = "org.tower-toolgate/provenance";

/// A layer to which everything comes from one side.
pub(crate) fn tags(provenance: Provenance) -> ProvenanceTagLayer {
    ProvenanceTagLayer::new()
        .with_provenance(move |_: &http::request::Parts, _: &tower_toolgate::message::Call<'_>| Some(provenance))
}

pub(crate) fn tagged(layer: &ProvenanceTagLayer, answer: Response<Full<Bytes>>) -> Exchange {
    let request = post_text(legal()).with_header("mcp-protocol-version", "2025-11-25").with_server("kg");
    through::<_, RequestBody<Full<Bytes>>, _, _, _>(|mock| layer.layer(mock), request, answer)
}

pub(crate) fn result(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
}

fn tag(origin: &str) -> Value {
    value!({ "v": 1, "origin": origin, "class": origin, "rule": "operator", "server": "kg", "tool": "echo" })
}

#[test]
fn wf_01_a_result_and_its_blocks_are_tagged() {
    let text = result(r#"{"content":[{"type":"text","text":"x"},{"type":"text","text":"y","_meta":{"a":1}}],"n":1e2}"#);
    for (side, origin) in [(Provenance::External, "external"), (Provenance::Internal, "internal")] {
        let mut answer = json(&text);
        answer.headers_mut().insert("content-length", text.len().into());
        let exchange = tagged(&tags(side), answer);
        let got: Value = serde_json::from_slice(&exchange.body).unwrap();
        assert_eq!(got["result"]["_meta"][KEY], tag(origin));
        assert_eq!(got["result"]["content"][0]["_meta"][KEY], tag(origin));
        assert_eq!(got["result"]["content"][1]["_meta"][KEY], tag(origin));
        assert_eq!(exchange.text().matches(KEY).count(), 3, "{origin}");
        assert_eq!(exchange.header("x-toolgate-provenance"), Some(origin));
        assert_eq!(exchange.head.extensions.get::<Provenance>(), Some(&side));
    }
}

#[test]
fn ss_01_events_are_tagged() {
    let text = result(r#"{"content":[]}"#);
    let exchange = tagged(&tags(Provenance::External), events(format!(": hello\n\nid: 7\ndata: {text}\n\n")));
    let tag = r#"{"v":1,"origin":"external","class":"external","rule":"operator","server":"kg","tool":"echo"}"#;
    let expected = result(&format!(r#"{{"content":[],"_meta":{{"{KEY}":{tag}}}}}"#));
    assert_eq!(exchange.text(), format!(": hello\n\nid: 7\ndata: {expected}\n\n"));
}

#[test]
fn what_is_forged_is_told() {
    let found = Arc::new(Mutex::new(0));
    let told = Arc::clone(&found);
    let layer = tags(Provenance::External).on_tag(move |event: &TagEvent<'_>| *told.lock().unwrap() += event.stripped);
    let forged = result(&format!(r#"{{"_meta":{{"{KEY}":{{"origin":"internal"}},"x":1}},"content":[]}}"#));
    let exchange = tagged(&layer, json(&forged));
    assert_eq!(exchange.text().matches(KEY).count(), 1);
    assert!(!exchange.text().contains("internal") && exchange.text().contains(r#""x":1,"#));
    assert_eq!(*found.lock().unwrap(), 1);
}
