//! What sessions have received, and what they may do then.

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use tower::Layer;
use tower_toolgate::Principal;
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::content_trust::ContentTrustLayer;
use tower_toolgate::store::{MemoryTaintStore, TaintKey, TaintStore, Visit};
use tower_toolgate::trust::{
    Classifier, ClassifierConfig, ContentTrustConfig, DeclaredServer, Facts, RuleAction, ServerTrust, SessionRules,
    SessionTaint, Verdict,
};

use super::support::*;

/// The server `kg` is the operator's own, but for `scrape`; `remember` and `send_*` write.
pub(crate) fn classifier() -> Classifier {
    let lists = ContentTrustConfig::new([], ["scrape"], []).unwrap();
    let server = DeclaredServer::new("kg").with_trust(ServerTrust::Trusted);
    Classifier::new(&ClassifierConfig::new().with_content_trust(lists).with_server(server)).unwrap()
}

pub(crate) fn trust<T: TaintStore>(store: &T) -> ContentTrustLayer<T> {
    let rules = SessionRules::new().with_sinks(["remember", "send_*"], RuleAction::Deny).unwrap();
    ContentTrustLayer::new(classifier(), store.clone()).with_rules(rules)
}

pub(crate) fn call(tool: &str) -> Request<Full<Bytes>> {
    by("ana", post_text(tool_call("1", tool, "{}")).with_server("kg"))
}

pub(crate) fn by<B>(subject: &str, mut request: Request<B>) -> Request<B> {
    request.extensions_mut().insert(Principal::new("key", subject).unwrap());
    request
}

pub(crate) fn json(body: &str) -> Response<Full<Bytes>> {
    Response::builder().header("content-type", "application/json").body(Full::from(body.to_owned())).unwrap()
}

/// One request through a layer alone.
pub(crate) fn send<T: TaintStore, R>(
    layer: &ContentTrustLayer<T>,
    request: Request<Full<Bytes>>,
    answer: Response<R>,
) -> Exchange
where
    R: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    through::<_, RequestBody<Full<Bytes>>, _, _, _>(|mock| layer.layer(mock), request, answer)
}

/// A request of ana's to a server, by any method.
pub(crate) fn ask(server: &str, method: &str, params: &str) -> Request<Full<Bytes>> {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    by("ana", post_text(body).with_server(server))
}

/// The stream that ana opens without asking for anything.
pub(crate) fn listen(server: &str) -> Request<Full<Bytes>> {
    let mut request = by("ana", post_text("").with_server(server)).with_header("accept", "text/event-stream");
    request.headers_mut().remove("content-type");
    *request.method_mut() = http::Method::GET;
    request
}

/// An answer that is said to be of some type.
pub(crate) fn typed(media: &str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    Response::builder().header("content-type", media).body(Full::new(body.into())).unwrap()
}

pub(crate) fn events(body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    typed("text/event-stream", body)
}

/// What is known of somebody as a whole.
pub(crate) fn facts(store: &MemoryTaintStore, subject: &str) -> Facts {
    let key = TaintKey::of(&Principal::new("key", subject).unwrap());
    store.visit(Visit::read(key, 0)).into_inner().unwrap().before.facts
}

pub(crate) fn is_tainted(store: &MemoryTaintStore, subject: &str) -> bool {
    facts(store, subject).contains(Facts::OUTSIDE)
}

pub(crate) const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;

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
