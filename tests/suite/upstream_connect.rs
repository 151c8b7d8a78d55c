//! Servers as they are declared: each field of an entry that says how one is reached.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::{Layer, ServiceExt};
use tower_toolgate::layer::server_trust::ServerTrustLayer;
use tower_toolgate::server::{McpTransport, McpTrustLevel, Root, ServerEntry};
use tower_toolgate::upstream::{ConnectError, Upstream};

use super::support::{With, legal, mcp, post_text};
use super::upstream_http::{RESULT, listener, ok, server};
use super::upstream_support::{call, post, told};

const LEVELS: [McpTrustLevel; 3] = [McpTrustLevel::Trusted, McpTrustLevel::Untrusted, McpTrustLevel::Sandboxed];

fn over_http(host: &str, address: SocketAddr) -> ServerEntry {
    let transport = McpTransport::http(&format!("http://{host}:{}/mcp", address.port())).unwrap();
    ServerEntry::new("web", transport, Duration::from_secs(10))
}

fn over_stdio() -> ServerEntry {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/upstream_server.py");
    ServerEntry::new("files", McpTransport::stdio("python3").with_args([script]), Duration::from_secs(20))
}

async fn answer(upstream: Upstream, request: Request<Full<Bytes>>) -> Value {
    let response = mcp().layer(upstream).oneshot(request).await.unwrap();
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

async fn ask(upstream: &Upstream, tool: &str, arguments: Value) -> Value {
    let response = upstream.clone().oneshot(post(&call(&json!(1), tool, &arguments))).await.unwrap();
    told(&serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap())
}

fn reason(answer: &Value) -> &str {
    answer["error"]["data"]["reason"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn a_name_leads_to_a_private_address_only_of_who_is_trusted() {
    let (address, heard) = server(&ok("", RESULT)).await;
    for level in LEVELS {
        let upstream = over_http("localhost", address).with_trust_level(level).connect().unwrap();
        assert!(upstream.started().await.is_ok());
        let said = answer(upstream, post_text(legal())).await;
        let trusted = level == McpTrustLevel::Trusted;
        assert_eq!(heard.lock().unwrap().drain(..).count(), usize::from(trusted), "{level}");
        assert_eq!(said["result"] == json!({}), trusted, "{level}");
        if !trusted {
            assert_eq!(reason(&said), "upstream.unreachable");
        }
        // An address that the operator has written is meant.
        let literal = over_http("127.0.0.1", address).with_trust_level(level).connect().unwrap();
        assert_eq!(answer(literal, post_text(legal())).await["result"], json!({}), "{level}");
        assert_eq!(heard.lock().unwrap().drain(..).count(), 1, "{level}");
    }
}

#[tokio::test]
async fn headers_are_the_operators() {
    let (address, heard) = server(&ok("", RESULT)).await;
    let mut entry = over_http("127.0.0.1", address);
    entry.transport = entry.transport.with_header("Authorization", "Bearer operator").with_header("X-Own", "\u{fc}");
    let request = post_text(legal()).with_header("authorization", "Bearer caller").with_header("x-own", "caller");
    assert_eq!(answer(entry.connect().unwrap(), request).await["result"], json!({}));
    let heard = heard.lock().unwrap()[0].clone();
    assert!(heard.contains("authorization: Bearer operator\r\n") && !heard.contains("caller"), "{heard}");
    assert_eq!(heard.matches("x-own: ").count(), 1);
    assert!(!format!("{:?}", entry.upstream_config().unwrap()).contains("Bearer"));
}

#[tokio::test]
async fn answers_have_the_time_of_the_entry() {
    let (silent, address) = listener().await;
    let mut entry = over_http("127.0.0.1", address);
    entry.timeout = Duration::from_millis(300);
    let mut child = over_stdio();
    child.timeout = Duration::from_millis(300);
    let child = child.connect().unwrap();
    child.started().await.unwrap();
    let hang = post(&call(&json!(1), "hang", &json!({})));
    let both = async {
        let hung = child.oneshot(hang).await.unwrap().into_body().collect().await.unwrap().to_bytes();
        (answer(entry.connect().unwrap(), post_text(legal())).await, serde_json::from_slice(&hung).unwrap())
    };
    // The default is longer than this.
    let (web, hung): (Value, Value) = tokio::time::timeout(Duration::from_secs(20), both).await.unwrap();
    assert_eq!((reason(&web), reason(&hung)), ("upstream.timed_out", "upstream.timed_out"));
    drop(silent);
}

#[tokio::test]
async fn a_child_sees_of_the_environment_what_the_entry_says() {
    // Something that this process has and that is not passed on.
    let secret = "CARGO_MANIFEST_DIR";
    assert!(std::env::var_os(secret).is_some(), "these tests are run by cargo");
    let isolated = |entry: &ServerEntry| entry.isolates_env();
    for (level, own) in LEVELS.into_iter().flat_map(|level| [None, Some(true), Some(false)].map(|own| (level, own))) {
        let mut entry = over_stdio().with_trust_level(level);
        entry.env_isolation = own;
        entry.transport = entry.transport.with_env("OWN", "1");
        let upstream = entry.connect().unwrap();
        let seen = ask(&upstream, "environment", json!({})).await;
        assert_eq!(seen["OWN"], "1");
        assert_eq!(seen.get(secret).is_none(), isolated(&entry), "{level} {own:?}");
        assert_eq!(isolated(&entry), own.unwrap_or(level != McpTrustLevel::Trusted));
    }
}

#[tokio::test]
async fn a_child_is_told_of_roots_unless_it_is_in_a_sandbox() {
    for level in LEVELS {
        let roots = [Root::new("file:///srv").with_name("srv"), Root::new("file:///tmp")];
        let upstream = over_stdio().with_trust_level(level).with_roots(roots).connect().unwrap();
        let said = ask(&upstream, "ask", json!({"method": "roots/list"})).await;
        let told = json!([{"uri": "file:///srv", "name": "srv"}, {"uri": "file:///tmp"}]);
        match level {
            McpTrustLevel::Sandboxed => assert_eq!(said["error"]["code"], -32601),
            _ => assert_eq!(said["result"]["roots"], told, "{level}"),
        }
    }
}

#[tokio::test]
async fn behind_its_layer_a_server_is_held_to_its_entry() {
    let entry = over_stdio().with_tool_allowlist(["echo"]);
    let gated = ServerTrustLayer::new(&entry).unwrap().layer(entry.connect().unwrap());
    for (tool, passes) in [("echo", true), ("seen", false)] {
        let request = post(&call(&json!(1), tool, &json!({"payload": 7})));
        let response = gated.clone().oneshot(request).await.unwrap();
        let said: Value = serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap();
        assert_eq!(said["result"].is_object(), passes, "{said}");
    }
}

/// Without a runtime.
#[test]
fn a_mistake_is_named_by_its_place() {
    let http = |url: &str| McpTransport::http(url).unwrap();
    let web = || http("https://a.example/");
    let rows = [
        (http("https://agent:pa55@a.example/"), "transport.http.url", "credentials belong into a header"),
        (http("https://agent@a.example/"), "transport.http.url", "credentials belong into a header"),
        (web().with_header("a b", "pa55"), "transport.http.headers.a b", "no name"),
        (web().with_header("X", "pa55\n"), "transport.http.headers.X", "control"),
        (web().with_header("Content-Length", "0"), "transport.http.headers.Content-Length", "each connection"),
        (web().with_header("Connection", "pa55"), "transport.http.headers.Connection", "each connection"),
        (McpTransport::stdio(" "), "transport.stdio.command", "blank"),
        (McpTransport::stdio("a").with_env("A=B", "pa55"), "transport.stdio.env.A=B", "no name"),
    ];
    for (transport, place, problem) in rows {
        let entry = ServerEntry::new("files", transport, Duration::from_secs(1));
        let error = entry.check_connect().unwrap_err();
        assert_eq!(error.place(), Some(place), "{error}");
        let text = format!("{error} {error:?}");
        assert!(text.contains(problem) && text.starts_with(place) && !text.contains("pa55"), "{text}");
        assert_eq!(entry.connect().unwrap_err(), error);
    }
    let mut zero = over_stdio();
    zero.timeout = Duration::ZERO;
    assert_eq!(zero.check_connect().unwrap_err().place(), Some("timeout"));
    assert_eq!(over_stdio().check_connect(), Ok(()));
    let error = over_stdio().connect().unwrap_err();
    assert!(matches!(error, ConnectError::NoRuntime(_)) && error.place().is_none(), "{error}");
    assert!(ServerEntry::new("web", web(), Duration::from_secs(1)).connect().is_ok());
}
