//! What sessions have received, and what they may do then.

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use tower::Layer;
use tower_toolgate::Principal;
use tower_toolgate::answer::AsToolError;
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

#[test]
fn ct_69_an_answer_that_nobody_asked_for_is_foreign() {
    for (event, marks) in [
        (RESULT, true),
        (r#"{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"x"}}"#, true),
        (r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#, false),
    ] {
        let layer = trust(&MemoryTaintStore::new(100));
        let mut get = by("ana", post_text("")).with_server("kg").with_header("accept", "text/event-stream");
        *get.method_mut() = http::Method::GET;
        let stream = format!("data: {event}\n\n");
        let answer = Response::builder().header("content-type", "text/event-stream").body(Full::from(stream.clone()));
        assert_eq!(send(&layer, get, answer.unwrap()).text(), stream);
        assert_eq!(send(&layer, call("remember"), json(RESULT)).seen.is_none(), marks, "{event}");
    }
}

#[test]
fn what_a_foreign_server_says_beside_a_tool_that_is_vouched_for_is_foreign() {
    let lists = ContentTrustConfig::new([], [], ["mcp__web__clock"]).unwrap();
    let web = DeclaredServer::new("web").with_trust(ServerTrust::Untrusted);
    let classes = ClassifierConfig::new().with_content_trust(lists).with_server(web);
    let said = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#;
    for (events, marks) in
        [(format!("data: {RESULT}\n\n"), false), (format!("data: {said}\n\ndata: {RESULT}\n\n"), true)]
    {
        let rules = SessionRules::new().with_sinks(["clock"], RuleAction::Deny).unwrap();
        let classifier = Classifier::new(&classes).unwrap();
        let layer = ContentTrustLayer::new(classifier, MemoryTaintStore::new(100)).with_rules(rules);
        let clock = || by("ana", post_text(tool_call("1", "clock", "{}")).with_server("web"));
        let answer = Response::builder().header("content-type", "text/event-stream").body(Full::from(events.clone()));
        assert_eq!(send(&layer, clock(), answer.unwrap()).text(), events);
        assert_eq!(send(&layer, clock(), json(RESULT)).seen.is_none(), marks, "{events}");
    }
}

#[test]
fn rc_10_marks_that_end_with_a_login_do_not_vouch_for_tasks() {
    for (epoch, marks) in [(None, false), (Some("login-2"), true)] {
        let layer = trust(&MemoryTaintStore::new(100));
        let ana = Principal::new("key", "ana").unwrap();
        let ana = epoch.map_or(ana.clone(), |epoch| ana.with_epoch(epoch));
        let of_ana = |body: String| {
            let mut request = post_text(body).with_server("kg");
            request.extensions_mut().insert(ana.clone());
            request
        };
        let task = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":"t"}}"#;
        assert!(send(&layer, of_ana(task.to_owned()), json(RESULT)).seen.is_some());
        let sink = of_ana(tool_call("1", "remember", "{}"));
        assert_eq!(send(&layer, sink, json(RESULT)).seen.is_none(), marks, "{epoch:?}");
    }
}

#[test]
fn a_refusal_has_the_shape_of_other_denials() {
    let read = r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///a/1"}}"#;
    let rules = SessionRules::new().with_sinks(["remember", "resources/*"], RuleAction::Deny).unwrap();
    let layer = trust(&MemoryTaintStore::new(100)).with_rules(rules).with_response(AsToolError);
    send(&layer, call("scrape"), json(RESULT));
    let exchange = send(&layer, call("remember"), json(RESULT));
    assert!(exchange.seen.is_none() && exchange.text().contains(r#""isError":true"#), "{}", exchange.text());
    // What is no tool has no result of one; and what the protocol needs is met by no pattern with a slash.
    let exchange = send(&layer, by("ana", post_text(read).with_server("kg")), json(RESULT));
    exchange.refused("a method", 200, "1", 403, "trust.tainted_sink");
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert!(send(&layer, by("ana", post_text(ping).with_server("kg")), json(RESULT)).seen.is_some());
}
