//! Children that die, hang, or say what they should not.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tower::ServiceExt;
use tracing::field::{Field, Visit};
use tracing::span;

use super::upstream_support::{ask, call, call_with_token, eventually, get, next_event, post, python, send, started};

#[tokio::test]
async fn a_child_that_dies_leaves_nobody_waiting_and_is_followed_by_another() {
    for way in ["die", "close"] {
        let upstream = started(python(&[])).await;
        let before = ask(&upstream, "spawn", json!({})).await;
        let mut waiting = JoinSet::new();
        for client in 0..50 {
            let upstream = upstream.clone();
            waiting.spawn(async move { send(&upstream, post(&call(&json!(client), "hang", &json!({})))).await });
        }
        let streaming =
            call_with_token(&json!("s"), &json!(1), "progress", &json!({"steps": 100, "who": 1, "pause": 1}));
        let streaming = tokio::spawn({
            let upstream = upstream.clone();
            async move { send(&upstream, post(&streaming)).await }
        });
        tokio::time::sleep(Duration::from_millis(300)).await;
        let start = Instant::now();
        let last = send(&upstream, post(&call(&json!("k"), way, &json!({})))).await;
        assert_eq!(last.reason(), "upstream.unavailable");
        for answer in waiting.join_all().await {
            assert_eq!((answer.status.as_u16(), answer.reason()), (200, json!("upstream.unavailable")), "{answer:?}");
        }
        let event = streaming.await.unwrap().events().pop().unwrap();
        assert_eq!((&event["id"], &event["error"]["data"]["reason"]), (&json!("s"), &json!("upstream.unavailable")));
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        eventually("a new child serves", || async {
            let answer = send(&upstream, post(&call(&json!(1), "echo", &json!({"payload": 7})))).await;
            answer.json()["result"].is_object()
        })
        .await;
        assert_gone(&before).await;
    }
}

/// A process that is gone, or waits only for its parent to hear of it.
pub(crate) async fn assert_gone(pids: &Value) {
    let pids: Vec<_> = pids.as_array().unwrap().iter().map(|pid| pid.as_u64().unwrap()).collect();
    eventually("the processes are gone", || async {
        pids.iter().all(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.is_empty() || stat.rsplit(") ").next().unwrap().starts_with('Z')
        })
    })
    .await;
}

#[tokio::test]
async fn a_child_is_gone_with_its_own_after_its_service() {
    let upstream = started(python(&[])).await;
    let pids = ask(&upstream, "spawn", json!({})).await;
    for pid in pids.as_array().unwrap() {
        assert!(std::fs::exists(format!("/proc/{pid}")).unwrap());
    }
    let clone = upstream.clone();
    drop(upstream);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(ask(&clone, "echo", json!({"payload": 1})).await, json!(1), "not before the last clone");
    drop(clone);
    assert_gone(&pids).await;
}

#[test]
fn a_child_is_gone_with_its_own_after_the_runtime() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (upstream, pids) = runtime.block_on(async {
        let upstream = started(python(&[])).await;
        let pids = ask(&upstream, "spawn", json!({})).await;
        (upstream, pids)
    });
    drop(runtime);
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        assert_gone(&pids).await;
        let answer = send(&upstream, post(&call(&json!(1), "echo", &json!({"payload": 1})))).await;
        assert_eq!(answer.reason(), "upstream.unavailable");
    });
}

#[tokio::test]
async fn a_child_that_does_not_answer_is_told_that_nobody_waits() {
    let upstream = started(python(&[]).with_timeout(Duration::from_millis(500))).await;
    let start = Instant::now();
    let answer = send(&upstream, post(&call(&json!("a"), "hang", &json!({})))).await;
    assert_eq!((answer.reason(), answer.json()["id"].clone()), (json!("upstream.timed_out"), json!("a")));
    assert!(start.elapsed() < Duration::from_secs(10));
    let mut plain = post(&call(&json!("b"), "hang", &json!({})));
    plain.headers_mut().remove("accept");
    assert_eq!(send(&upstream, plain).await.status, 504);
    assert_eq!(ask(&upstream, "cancelled", json!({})).await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_child_that_does_not_greet_is_given_up() {
    let config = python(&["mute"]).with_start_timeout(Duration::from_millis(300));
    let upstream = tower_toolgate::upstream::StdioUpstream::start(config).unwrap();
    let start = Instant::now();
    assert!(upstream.started().await.is_err());
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn more_than_may_wait_is_refused() {
    let upstream = started(python(&[]).with_max_in_flight(3).with_timeout(Duration::from_secs(2))).await;
    let mut waiting = JoinSet::new();
    for client in 0..10 {
        let upstream = upstream.clone();
        waiting.spawn(async move { send(&upstream, post(&call(&json!(client), "hang", &json!({})))).await.reason() });
    }
    let mut reasons = waiting.join_all().await;
    reasons.sort_by_key(Value::to_string);
    assert_eq!(reasons[..3], vec![json!("upstream.timed_out"); 3]);
    assert_eq!(reasons[3..], vec![json!("upstream.unavailable"); 7]);
}

#[tokio::test]
async fn more_than_may_wait_for_a_start_is_refused() {
    let config = python(&["mute"]).with_max_in_flight(3).with_timeout(Duration::from_secs(1));
    let upstream = tower_toolgate::upstream::StdioUpstream::start(config).unwrap();
    let mut waiting = JoinSet::new();
    for client in 0..10 {
        let upstream = upstream.clone();
        waiting.spawn(async move { send(&upstream, post(&call(&json!(client), "hang", &json!({})))).await.reason() });
    }
    let reasons = waiting.join_all().await;
    assert_eq!(reasons.iter().filter(|reason| **reason == "upstream.timed_out").count(), 3, "{reasons:?}");
    assert_eq!(reasons.iter().filter(|reason| **reason == "upstream.unavailable").count(), 7, "{reasons:?}");
}

#[tokio::test]
async fn a_child_that_does_not_read_is_not_waited_for() {
    let upstream = started(python(&[]).with_queue(2).with_timeout(Duration::from_secs(3))).await;
    // It reads no more; a pipe holds some of what it is told, the queue two messages.
    assert_eq!(ask(&upstream, "deafen", json!({})).await, "deaf");
    let large = json!({"payload": "x".repeat(200_000)});
    let mut waiting = JoinSet::new();
    for client in 0..20 {
        let (upstream, large) = (upstream.clone(), large.clone());
        waiting.spawn(async move { send(&upstream, post(&call(&json!(client), "echo", &large))).await.reason() });
    }
    let reasons = waiting.join_all().await;
    let refused = reasons.iter().filter(|reason| **reason == "upstream.unavailable").count();
    let late = reasons.iter().filter(|reason| **reason == "upstream.timed_out").count();
    assert_eq!(refused + late, 20, "{reasons:?}");
    assert!(refused >= 15, "{reasons:?}");
}

#[tokio::test]
async fn what_waits_for_a_child_that_does_not_read_is_bounded_by_bytes() {
    let upstream = started(python(&[]).with_queue_bytes(1_000_000).with_timeout(Duration::from_secs(3))).await;
    assert_eq!(
        ask(&upstream, "echo", json!({"payload": "x".repeat(2_000_000)})).await.as_str().unwrap().len(),
        2_000_000
    );
    assert_eq!(ask(&upstream, "deafen", json!({})).await, "deaf");
    // Of these a pipe holds one in part, the queue two.
    let large = json!({"payload": "x".repeat(400_000)});
    let mut waiting = JoinSet::new();
    for client in 0..20 {
        let (upstream, large) = (upstream.clone(), large.clone());
        waiting.spawn(async move { send(&upstream, post(&call(&json!(client), "echo", &large))).await.reason() });
    }
    let reasons = waiting.join_all().await;
    let refused = reasons.iter().filter(|reason| **reason == "upstream.unavailable").count();
    let late = reasons.iter().filter(|reason| **reason == "upstream.timed_out").count();
    assert_eq!(refused + late, 20, "{reasons:?}");
    assert!((15..20).contains(&refused), "{reasons:?}");
}

#[tokio::test]
async fn what_waits_for_a_client_that_does_not_read_is_bounded_by_bytes() {
    let upstream = started(python(&[]).with_event_bytes(1000)).await;
    let mut slow = upstream.clone().oneshot(get()).await.unwrap().into_body();
    let news = json!({"method": "notifications/message", "params": {"data": "x".repeat(400)}, "times": 4});
    ask(&upstream, "notify", news).await;
    for _ in 0..2 {
        assert!(next_event(&mut slow).await.is_some());
    }
    assert!(next_event(&mut slow).await.is_none(), "a gap would go unnoticed");
    let mut large = upstream.clone().oneshot(get()).await.unwrap().into_body();
    let news = json!({"method": "notifications/message", "params": {"data": "x".repeat(4000)}});
    ask(&upstream, "notify", news).await;
    assert!(next_event(&mut large).await.is_some(), "one may always wait");
}

#[tokio::test]
async fn what_is_no_message_is_dropped() {
    let upstream = started(python(&[]).with_max_message_bytes(10_000)).await;
    assert_eq!(ask(&upstream, "garbage", json!({})).await, "after garbage");
    assert_eq!(ask(&upstream, "long", json!({"bytes": 1_000_000})).await, "after a long line");
    let answer = send(&upstream, post(&call(&json!(1), "malformed", &json!({})))).await;
    assert_eq!(answer.reason(), "upstream.invalid_answer");
    let answer = send(&upstream, post(&call(&json!("r"), "break", &json!({})))).await;
    assert!(!answer.text.contains('\r'), "it would break a line of a stream: {}", answer.text);
    assert_eq!(answer.json()["id"], "r");
    assert_eq!(ask(&upstream, "echo", json!({"payload": 1})).await, json!(1));
}

#[tokio::test]
async fn the_environment_is_isolated() {
    let allowed = ["HOME", "LANG", "OWN", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];
    let passes = |name: &str| allowed.contains(&name) || name.starts_with("LC_");
    // Any that this process has and that is not passed on; cargo sets several.
    let secret = std::env::vars().map(|(name, _)| name).find(|name| !passes(name) && name.starts_with("CARGO"));
    let secret = secret.expect("these tests are run by cargo");
    let secret = secret.as_str();
    let isolated = started(python(&[]).with_env("OWN", "1").with_env("LC_ALL", "C.UTF-8")).await;
    let environment = ask(&isolated, "environment", json!({})).await;
    let environment = environment.as_object().unwrap();
    assert_eq!((environment.get(secret), &environment["OWN"]), (None, &json!("1")));
    // A shell that finds the Python to run has some of its own.
    let shell = |name: &str| name.contains("PYENV") || ["OLDPWD", "PWD", "SHLVL", "_"].contains(&name);
    assert!(environment.keys().all(|name| passes(name) || shell(name)), "{:?}", environment.keys());
    let open = started(python(&[]).with_env_isolation(false)).await;
    assert!(ask(&open, "environment", json!({})).await[secret].is_string());
}

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0.lock().unwrap(), "{field}={value:?} ").unwrap();
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
        self.0.lock().unwrap().push('\n');
    }
}

#[tokio::test]
async fn what_the_child_says_beside_the_protocol_is_logged() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let upstream = started(python(&[]).with_name("files")).await;
    let text = format!("plain\n\u{1b}[31mred\n{}\n", "x".repeat(5000));
    let lines =
        ["stderr=plain ", "stderr=\\u{1b}[31mred ", "too long", "it answers nobody", "it is no message", "no text"];
    eventually("all is logged", || async {
        // Another test may have met a place first, and told it that nobody listens.
        tracing::callsite::rebuild_interest_cache();
        ask(&upstream, "garbage", json!({})).await;
        ask(&upstream, "stderr", json!({"text": text})).await;
        let logged = log.0.lock().unwrap();
        lines.iter().all(|line| logged.contains(line))
    })
    .await;
    let logged = log.0.lock().unwrap().clone();
    assert!(logged.contains("server.name=files"));
    assert!(!logged.contains("xxxx") && !logged.contains("no JSON at all") && !logged.contains('\u{1b}'));
}
