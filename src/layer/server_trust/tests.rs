use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tower::{Layer, ServiceExt, service_fn};

use super::*;
use crate::answer::Denial;
use crate::http::RequestBody;
use crate::server::{McpTransport, McpTrustLevel, Root, ServerEntry};
use McpTrustLevel::{Future, Trusted};

fn entry(level: McpTrustLevel) -> ServerEntry {
    let entry = ServerEntry::new("files", McpTransport::stdio("server"), std::time::Duration::from_secs(30));
    let entry = entry.with_trust_level(level).with_tool_allowlist(["a"]).with_elicitation_enabled(true);
    entry.with_allow_untrusted_without_allowlist(true).with_roots([Root::new("file:///srv")])
}

fn echoed(body: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"got":{body}}}}}"#)
}

/// What the client gets; the server answers with what it has received.
async fn sent(layer: &ServerTrustLayer, body: &str) -> (Option<&'static str>, Bytes) {
    let server = service_fn(|request: Request<RequestBody<Full<Bytes>>>| async {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let tools = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}"#;
        let body = str::from_utf8(&body).unwrap();
        let body = if body.contains("tools/list") { tools.to_owned() } else { echoed(body) };
        Ok::<_, Infallible>(
            Response::builder().header("content-type", "application/json").body(Full::from(body)).unwrap(),
        )
    });
    let request = Request::post("/").header("content-type", "application/json");
    let response = layer.layer(server).oneshot(request.body(Full::from(body.to_owned())).unwrap()).await.unwrap();
    let reason = response.extensions().get::<Denial>().map(Denial::reason);
    (reason, response.into_body().collect().await.unwrap().to_bytes())
}

#[tokio::test]
async fn se_13_a_level_that_is_not_known_exposes_nothing_and_permits_nothing() {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let begin = |capabilities: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"capabilities":{capabilities}}}}}"#)
    };
    for layer in [
        ServerTrustLayer::new(&entry(Future)).unwrap().with_level(|| Trusted),
        ServerTrustLayer::new(&entry(Future)).unwrap(),
        ServerTrustLayer::new(&entry(Trusted)).unwrap().with_level(|| Future),
    ] {
        assert_eq!(sent(&layer, call).await.0, Some("server.unknown_level"));
        assert_eq!(sent(&layer, list).await.1, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#);
        let all = begin(r#"{"sampling":{},"elicitation":{},"roots":{}}"#);
        assert_eq!(sent(&layer, &all).await.1, echoed(&begin("{}")));
    }
    let layer = ServerTrustLayer::new(&entry(Trusted)).unwrap().with_level(|| Trusted);
    assert_eq!(sent(&layer, call).await, (None, Bytes::from(echoed(call))));
}
