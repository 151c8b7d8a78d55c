//! How far a server is trusted, as it falls while the layer is in use.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http::Request;
use http_body_util::Full;
use tower_toolgate::layer::server_trust::ServerTrustLayer;
use tower_toolgate::server::McpTrustLevel::{self, Sandboxed, Trusted, Untrusted};
use tower_toolgate::server::{Root, ServerEntry, TrustScore};

use super::lists::ask;
use super::server_trust::*;
use super::server_trust_enquiry::READ;
use super::support::*;

/// A layer, and the level that it is told.
fn told(entry: &ServerEntry) -> (ServerTrustLayer, Arc<Mutex<McpTrustLevel>>) {
    let level = Arc::new(Mutex::new(Trusted));
    let asked = Arc::clone(&level);
    (layer(entry).with_level(move || *asked.lock().unwrap()), level)
}

fn everything(level: McpTrustLevel) -> ServerEntry {
    let entry = entry(level).with_elicitation_enabled(true).with_roots([Root::new("file:///srv")]);
    entry.with_tool_allowlist(["read"])
}

/// Why a call is refused; empty if it is not.
fn called(layer: &ServerTrustLayer, tool: &str) -> &'static str {
    let exchange = send(layer, streamable(tool_call("1", tool, "{}")), answer_of_inner());
    if exchange.seen.is_some() {
        exchange.passed(tool)
    } else {
        return exchange.denial().reason();
    };
    ""
}

/// The names of the tools that a list leaves of `read` and `list`.
fn listed(layer: &ServerTrustLayer) -> Vec<&'static str> {
    let all = list(&[READ.to_owned(), r#"{"name":"list"}"#.to_owned()]);
    let exchange = send(layer, ask("tools/list").with_header("accept", STREAMABLE), json(&all));
    ["read", "list"].into_iter().filter(|tool| exchange.text().contains(&format!(r#""name":"{tool}""#))).collect()
}

fn initialize() -> Request<Full<bytes::Bytes>> {
    let capabilities = r#"{"x":{},"sampling":{},"elicitation":{},"roots":{}}"#;
    let params = format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{capabilities}}}"#);
    streamable(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#))
}

/// What a server may ask for: as the client declares it, as it is handed on from a stream, and the roots that it is told.
fn reached(layer: &ServerTrustLayer) -> Vec<&'static str> {
    let body = send(layer, initialize(), answer_of_inner()).passed("initialize").body();
    let body = String::from_utf8(body).unwrap();
    let kinds =
        [("sampling", "sampling/createMessage"), ("elicitation", "elicitation/create"), ("roots", "roots/list")];
    let found = kinds.into_iter().filter(|(kind, method)| {
        let declared = body.contains(&format!(r#""{kind}""#));
        let asked = format!(r#"{{"jsonrpc":"2.0","id":"s-1","method":"{method}"}}"#);
        let exchange = send(layer, get(), events(&format!("data: {asked}\n\n")));
        assert_eq!(exchange.text().contains(method), declared, "{kind}");
        declared
    });
    let found = Vec::from_iter(found.map(|(kind, _)| kind));
    let answer = streamable(r#"{"jsonrpc":"2.0","id":"s-1","result":{"roots":[1]}}"#);
    let told = send(layer, answer, answer_of_inner()).passed("roots").body();
    let told = String::from_utf8(told).unwrap();
    assert_eq!(told.contains("file:///srv"), found.contains(&"roots"));
    assert_eq!(told.contains(r#""roots":[]"#), !found.contains(&"roots"));
    found
}

#[test]
fn the_lower_of_both_levels_counts_and_none_promotes() {
    for configured in [Trusted, Untrusted, Sandboxed] {
        let (layer, level) = told(&everything(configured));
        for now in [Trusted, Untrusted, Sandboxed, Trusted] {
            *level.lock().unwrap() = now;
            let lower = configured.lower(now);
            let (tools, reach): (&[_], &[_]) = match lower {
                Trusted => (&["read", "list"], &["sampling", "elicitation", "roots"]),
                Untrusted => (&["read"], &["elicitation", "roots"]),
                _ => (&["read"], &[]),
            };
            assert_eq!(listed(&layer), tools, "{configured} {now}");
            assert_eq!(called(&layer, "read"), "", "{configured} {now}");
            let refused = if lower == Trusted { "" } else { "server.tool_not_listed" };
            assert_eq!(called(&layer, "list"), refused, "{configured} {now}");
            assert_eq!(reached(&layer), reach, "{configured} {now}");
        }
    }
}

#[test]
fn one_injection_on_a_fresh_server_ends_in_the_sandbox() {
    let entry = entry(Trusted).with_elicitation_enabled(true);
    let score = Arc::new(Mutex::new(TrustScore::new()));
    let seen = Arc::clone(&score);
    let layer = layer(&entry).with_level(move || seen.lock().unwrap().effective(Trusted));
    assert_eq!(listed(&layer), ["read", "list"]);
    assert_eq!((called(&layer, "read"), reached(&layer)), ("", vec!["sampling", "elicitation"]));
    score.lock().unwrap().register(1);
    assert_eq!(score.lock().unwrap().value(), 0.25);
    assert_eq!(listed(&layer), [""; 0]);
    assert_eq!((called(&layer, "read"), reached(&layer)), ("server.no_allowlist", vec![]));
    // What goes well afterwards brings nothing back.
    (0..50).for_each(|_| score.lock().unwrap().succeed());
    assert_eq!(called(&layer.clone(), "read"), "server.no_allowlist");
}

#[test]
fn the_level_is_asked_for_once_a_request_and_holds_for_its_response() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&asked);
    // The first time it is trusted, and never again.
    let level = move || if counts.fetch_add(1, Ordering::Relaxed) == 0 { Trusted } else { Sandboxed };
    let layer = layer(&entry(Trusted).with_expected_tools(["read"])).with_level(level);
    let exchange = sent(&layer, streamable(tool_call("1", "read", "{}")), answer_of_inner(), &[READ]);
    assert!(exchange.seen.is_some(), "a question of the layer's own is no request");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert_eq!(listed(&layer), [""; 0]);
    let (layer, level) = told(&entry(Trusted));
    let all = list(&[READ.to_owned()]);
    let mut falls = Some(json(&all));
    let served = served::<_, Inner, _, _, _>(
        |mock| tower::Layer::layer(&layer, mock),
        ask("tools/list").with_header("accept", STREAMABLE),
        |_| {
            *level.lock().unwrap() = Sandboxed;
            Ok(falls.take().unwrap())
        },
    );
    assert_eq!(served.body, all);
}
