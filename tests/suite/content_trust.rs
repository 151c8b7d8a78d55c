//! What sessions have received, and what they may do then.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower::Layer;
use tower_toolgate::Principal;
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::content_trust::ContentTrustLayer;
use tower_toolgate::store::MemoryTaintStore;
use tower_toolgate::trust::{
    Classifier, ClassifierConfig, ContentTrustConfig, DeclaredServer, RuleAction, ServerTrust, SessionRules,
    SessionTaint, Verdict,
};

use super::support::*;

type Trust = ContentTrustLayer<MemoryTaintStore>;

/// The server `kg` is the operator's own, but for `scrape`; `remember` and `send_*` write.
fn classifier() -> Classifier {
    let lists = ContentTrustConfig::new([], ["scrape"], []).unwrap();
    let server = DeclaredServer::new("kg").with_trust(ServerTrust::Trusted);
    Classifier::new(&ClassifierConfig::new().with_content_trust(lists).with_server(server)).unwrap()
}

fn trust(store: &MemoryTaintStore) -> Trust {
    let rules = SessionRules::new().with_sinks(["remember", "send_*"], RuleAction::Deny).unwrap();
    ContentTrustLayer::new(classifier(), store.clone()).with_rules(rules)
}

fn call(tool: &str) -> Request<Full<Bytes>> {
    by("ana", post_text(tool_call("1", tool, "{}")).with_server("kg"))
}

fn by<B>(subject: &str, mut request: Request<B>) -> Request<B> {
    request.extensions_mut().insert(Principal::new("key", subject).unwrap());
    request
}

fn json(body: &str) -> Response<Full<Bytes>> {
    Response::builder().header("content-type", "application/json").body(Full::from(body.to_owned())).unwrap()
}

fn send(layer: &Trust, request: Request<Full<Bytes>>, answer: Response<Full<Bytes>>) -> Exchange {
    through::<_, RequestBody<Full<Bytes>>, _, _, _>(|mock| layer.layer(mock), request, answer)
}

const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;

#[test]
fn a_session_that_has_received_foreign_content_may_not_write() {
    let layer = trust(&MemoryTaintStore::new(100));
    let exchange = send(&layer, call("remember"), json(RESULT));
    let seen = exchange.seen.as_ref().unwrap();
    assert!(!SessionTaint::of(&seen.head.extensions).unwrap().is_tainted());
    assert!(!Verdict::of(&seen.head.extensions).unwrap().pollutes());
    let exchange = send(&layer, call("scrape"), json(RESULT));
    assert!(Verdict::of(&exchange.seen.as_ref().unwrap().head.extensions).unwrap().pollutes());
    send(&layer, call("remember"), json(RESULT)).refused("a sink", 403, "1", 403, "trust.tainted_sink");
    let exchange = send(&layer, call("read"), json(RESULT));
    assert!(SessionTaint::of(&exchange.seen.unwrap().head.extensions).unwrap().is_tainted());
    let other = by("bob", call("remember"));
    assert_eq!(send(&layer, other, json(RESULT)).text(), RESULT);
}

#[test]
fn a_claim_of_the_server_marks_before_it_is_read() {
    for (media, body) in [
        (
            "application/json",
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"ifc":{"integrity":"untrusted"}}}}"#,
        ),
        (
            "text/event-stream",
            "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"_meta\":{\"ifc\":{\"integrity\":\"untrusted\"}}}}\n\n",
        ),
    ] {
        let layer = trust(&MemoryTaintStore::new(100));
        let answer = Response::builder().header("content-type", media).body(Full::from(body)).unwrap();
        assert_eq!(send(&layer, call("read"), answer).text(), body);
        send(&layer, call("remember"), json(RESULT)).refused("a sink", 403, "1", 403, "trust.tainted_sink");
    }
}
