//! Servers and clients that mean harm to each other, with an upstream between them.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;
use tower_toolgate::Principal;
use tower_toolgate::server::ReachBack;
use tower_toolgate::upstream::{HttpConfig, HttpUpstream, StdioUpstream, UpstreamBody};

use super::support::{With, legal, post_text};
use super::upstream_http::{RESULT, ok, server};
use super::upstream_support::{
    ask, call, call_with_token, eventually, get, next_event, parsed, post, python, send, started,
};

fn of(subject: &'static str, mut request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
    request.extensions_mut().insert(Principal::new("key", subject).unwrap());
    request
}

/// The news that somebody is told.
async fn news(upstream: &StdioUpstream, subject: &'static str) -> UpstreamBody {
    upstream.clone().oneshot(of(subject, get())).await.unwrap().into_body()
}

/// The child says something to nobody in particular.
async fn says(upstream: &StdioUpstream, method: &str, params: Value) {
    ask(upstream, "notify", json!({"method": method, "params": params})).await;
}

fn related(task: &Value) -> Value {
    json!({"_meta": {"io.modelcontextprotocol/related-task": {"taskId": task}}, "data": "related"})
}

/// Who is told the id of a task can ask for its result: what binds ids takes whoever is told one for whose it is.
#[tokio::test]
async fn news_of_a_task_reaches_only_whose_task_it_is() {
    let upstream = started(python(&[])).await;
    let (mut ana, mut bob) = (news(&upstream, "ana").await, news(&upstream, "bob").await);
    let begun = json!({"task": {"taskId": "t-1", "status": "working"}});
    let creates = call(&json!(1), "raw", &json!({"result": begun}));
    assert_eq!(send(&upstream, of("ana", post(&creates))).await.json()["result"], begun);
    // That somebody else is told of it does not make it theirs.
    let asks = call(&json!(2), "raw", &json!({"result": {"taskId": "t-1", "status": "working"}}));
    send(&upstream, of("bob", post(&asks))).await;

    let status = "notifications/tasks/status";
    says(&upstream, status, json!({"taskId": "t-1", "status": "completed"})).await;
    says(&upstream, "notifications/message", related(&json!("t-1"))).await;
    says(&upstream, status, json!({"taskId": "t-2", "status": "completed"})).await;
    says(&upstream, status, json!({"taskId": ["t-1"], "status": "completed"})).await;
    says(&upstream, "notifications/message", related(&json!("t-2"))).await;
    says(&upstream, "notifications/message", json!({"data": "for all"})).await;

    assert_eq!(next_event(&mut bob).await.unwrap()["params"], json!({"data": "for all"}));
    assert_eq!(next_event(&mut ana).await.unwrap()["params"]["status"], "completed");
    assert_eq!(next_event(&mut ana).await.unwrap()["params"], related(&json!("t-1")));
    assert_eq!(next_event(&mut ana).await.unwrap()["params"], json!({"data": "for all"}));
}

/// That a list has changed must not go unnoticed.
#[tokio::test]
async fn a_subscription_has_no_gaps() {
    let upstream = started(python(&[]).with_events(3)).await;
    let params = json!({"notifications": {}, "times": 50});
    let listen = json!({"jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params});
    let mut body = upstream.clone().oneshot(post(&listen)).await.unwrap().into_body();
    eventually("it is cancelled", || async {
        !ask(&upstream, "cancelled", json!({})).await.as_array().unwrap().is_empty()
    })
    .await;
    let mut events = Vec::new();
    while let Some(frame) = body.frame().await {
        events.push(parsed(&frame.unwrap().into_data().unwrap()));
    }
    let last = events.pop().unwrap();
    assert_eq!((&last["id"], &last["error"]["data"]["reason"]), (&json!("s"), &json!("upstream.unavailable")));
    assert_eq!(events.len(), 4, "what was there before: {events:?}");
}

const TRAILERS: &str = "x-end: 1\r\nset-cookie: a=b\r\nlocation: http://elsewhere.example\r\nproxy-x: 1\r\n";

async fn trailers(config: HttpConfig) -> Vec<String> {
    let upstream = HttpUpstream::new(config.with_timeout(Duration::from_secs(10))).unwrap();
    let request = Request::get("/mcp").header("te", "trailers").body(Full::<Bytes>::default()).unwrap();
    let body = upstream.oneshot(request).await.unwrap().into_body().collect().await.unwrap();
    let mut names: Vec<_> = body.trailers().unwrap().keys().map(ToString::to_string).collect();
    names.sort();
    names
}

#[tokio::test]
async fn trailers_are_sieved_like_heads() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n";
    let (address, _) = server(&format!("{head}\r\n4\r\n:ok\n\r\n0\r\n{TRAILERS}\r\n")).await;
    let config = || HttpConfig::new(&format!("http://{address}/mcp")).unwrap();
    let watched = || config().with_reach(ReachBack::NONE);
    for config in [config(), watched()] {
        assert_eq!(trailers(config.clone()).await, ["x-end"]);
        assert_eq!(trailers(config.with_trust(true)).await, ["location", "set-cookie", "x-end"]);
    }
}

#[tokio::test]
async fn what_a_browser_keeps_of_a_host_is_not_for_its_servers_to_say() {
    let reports = "nel: {\"report_to\":\"x\",\"max_age\":1}\r\nreport-to: {\"group\":\"x\"}\r\n\
                   reporting-endpoints: x=\"https://elsewhere.example\"\r\nx-kept: 1\r\n";
    let (address, _) = server(&ok(reports, RESULT)).await;
    for trusted in [false, true] {
        let config = HttpConfig::new(&format!("http://{address}/mcp")).unwrap().with_trust(trusted);
        let response = HttpUpstream::new(config).unwrap().oneshot(post_text(legal())).await.unwrap();
        for name in ["nel", "report-to", "reporting-endpoints"] {
            assert_eq!(response.headers().contains_key(name), trusted, "{name}");
        }
        assert_eq!(response.headers()["x-kept"], "1");
    }
}

#[tokio::test]
async fn a_time_may_be_for_ever() {
    let (address, _) = server(&ok("", RESULT)).await;
    let config = HttpConfig::new(&format!("http://{address}/mcp")).unwrap().with_timeout(Duration::MAX);
    let response = HttpUpstream::new(config).unwrap().oneshot(post_text(legal()).with_header("a", "b")).await.unwrap();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), RESULT);

    let config = python(&[]).with_timeout(Duration::MAX).with_start_timeout(Duration::MAX);
    let upstream = started(config.with_child_per_era(true)).await;
    let steps = call_with_token(&json!(1), &json!("t"), "progress", &json!({"steps": 2, "who": "x"}));
    assert_eq!(send(&upstream, post(&steps)).await.events().len(), 3);
}
