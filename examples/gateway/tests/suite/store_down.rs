//! A Redis that dies, stops or cannot be relied upon, and the gateway that goes on.

use std::time::Instant;

use serde_json::json;

use crate::content_trust::with_operators;
use crate::contract::run;
use crate::redis::Redis;
use crate::support::{Gateway, Reply, Setup, Upstream, call, ok, result};
use crate::wire::{Message, PATIENCE, Request};

const UNAVAILABLE: &str = "trust.store_unavailable";
const TAINTED_SINK: &str = "trust.tainted_sink";
const FOREIGN: &str = r#"{"content":[],"_meta":{"ifc":{"integrity":"untrusted"}}}"#;

/// Ana (`k-user`), Bob (`k-user-2`) and Eve (`k-stranger`) may bring content from outside with `run`, write with
/// `echo`, and `look`.
fn setup(upstream: &Upstream, redis: &Redis) -> String {
    let text = Setup::of(upstream.address).text().replace("allowed = [\"ls\"]", "allowed = []");
    let text =
        text.replace("[\"echo\", \"run\"]", "[\"echo\", \"look\", \"run\"]").replace("[\"stranger\"]", "[\"user\"]");
    format!("{text}\n[content_trust]\nuntrusted_tools = [\"run\"]\nsinks = [\"echo\"]\n{}\n", redis.section())
}

/// A server whose answer is foreign when it is asked for `foreign`.
fn upstream() -> Upstream {
    Upstream::new(|request| {
        let foreign = request.text().contains("foreign");
        Reply::Keep(ok(result("1").replace(r#"{"content":[]}"#, if foreign { FOREIGN } else { r#"{"content":[]}"# })))
    })
}

fn request(key: &str, tool: &str, cmd: &str) -> Request {
    let body = call("1", tool).replace("{}", &json!({"cmd": cmd}).to_string());
    Request::post("/mcp/a", body).set("authorization", &format!("Bearer {key}"))
}

/// The answer of a store that is there. On a busy machine it may have no time for a call, which may then come again.
fn settled(gateway: &Gateway, key: &str, tool: &str) -> Message {
    let start = Instant::now();
    loop {
        let answer = gateway.send(&request(key, tool, "ls"));
        if answer.status() != 503 || start.elapsed() > PATIENCE {
            return answer;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn session(upstream: &Upstream) -> Option<String> {
    upstream.seen().last().and_then(|message| message.header("x-toolgate-session").map(str::to_owned))
}

fn events(gateway: &Gateway, event: &str) -> u64 {
    gateway.counter(&format!("toolgate_sessions_total{{event=\"{event}\",rule=\"\"}}"))
}

/// Before anything happens to the store: Ana has received something, the others have not.
fn begin(gateway: &Gateway, upstream: &Upstream) {
    assert_eq!(settled(gateway, "k-user", "run").status(), 200);
    assert_eq!(settled(gateway, "k-user", "echo").reason(), TAINTED_SINK);
    assert_eq!(settled(gateway, "k-stranger", "echo").status(), 200);
    assert_eq!(session(upstream).as_deref(), Some("clean"));
}

/// What becomes of calls while the store gives no answer.
fn assert_closed(gateway: &Gateway, upstream: &Upstream) {
    let before = upstream.seen().len();
    for (key, tool) in [("k-user-2", "run"), ("k-stranger", "echo"), ("k-user", "run"), ("k-user", "echo")] {
        let plain = gateway.send(&request(key, tool, "ls"));
        assert_eq!((plain.status(), plain.reason().as_str()), (503, UNAVAILABLE), "{key} {tool}");
        assert!(plain.header("retry-after").is_some_and(|seconds| seconds.parse::<u32>().is_ok()), "{plain}");
        let streamable = gateway.send(&request(key, tool, "ls").streamable());
        assert_eq!((streamable.status(), streamable.reason().as_str()), (200, UNAVAILABLE), "{key} {tool}");
    }
    assert_eq!(upstream.seen().len(), before, "forwarded");
    let local = gateway.send(&request("k-stranger", "look", "ls"));
    assert_eq!((local.status(), local.json()["result"].clone()), (200, json!({"content": []})), "{local}");
    assert_eq!(upstream.seen().len(), before + 1);
    assert_eq!(session(upstream).as_deref(), Some("tainted"));
}

/// What could not be recorded is not handed on, though the server has been asked.
fn assert_withheld(gateway: &Gateway, upstream: &Upstream) {
    let before = (upstream.seen().len(), events(gateway, "withheld"));
    let withheld = gateway.send(&request("k-user-2", "look", "foreign").streamable());
    assert_eq!(withheld.reason(), "trust.content_withheld", "{withheld}");
    assert!(!withheld.text().contains("integrity"), "{withheld}");
    assert_eq!((upstream.seen().len(), events(gateway, "withheld")), (before.0 + 1, before.1 + 1));
}

/// The store is there again: what was known is known, and who was clean is.
fn assert_open(gateway: &Gateway, upstream: &Upstream) {
    assert_eq!(settled(gateway, "k-stranger", "echo").status(), 200);
    assert_eq!(session(upstream).as_deref(), Some("clean"));
    let before = upstream.seen().len();
    assert_eq!(settled(gateway, "k-user", "echo").reason(), TAINTED_SINK);
    // What was to be recorded of Bob in the meantime is recorded now.
    assert_eq!(settled(gateway, "k-user-2", "echo").reason(), TAINTED_SINK);
    assert_eq!(upstream.seen().len(), before);
    assert_eq!(settled(gateway, "k-user", "run").status(), 200);
    assert_eq!(session(upstream).as_deref(), Some("tainted"));
}

#[test]
fn a_redis_that_is_killed_and_comes_back_empty() {
    let Some(mut redis) = Redis::start("a_redis_that_is_killed_and_comes_back_empty", &[]) else { return };
    let upstream = upstream();
    let gateway = Gateway::start(&setup(&upstream, &redis));
    begin(&gateway, &upstream);
    let before = ["store_failed", "assumed"].map(|event| events(&gateway, event));
    redis.kill();
    assert_closed(&gateway, &upstream);
    assert_withheld(&gateway, &upstream);
    // Eight refused, two let pass, and one mark that was not made.
    assert_eq!(["store_failed", "assumed"].map(|event| events(&gateway, event)), [before[0] + 11, before[1] + 2]);
    redis.restart();
    // Another gateway learns from the store what only the first one knows.
    let other = Gateway::start(&setup(&upstream, &redis));
    assert_eq!(settled(&gateway, "k-stranger", "echo").status(), 200);
    let start = Instant::now();
    while settled(&other, "k-user", "echo").status() == 200 {
        assert!(start.elapsed() < PATIENCE, "the store is not told");
    }
    assert_open(&gateway, &upstream);
    assert_open(&other, &upstream);
}

#[test]
fn a_redis_that_stands_still_for_a_while() {
    let Some(redis) = Redis::start("a_redis_that_stands_still_for_a_while", &[]) else { return };
    let upstream = upstream();
    let gateway = Gateway::start(&setup(&upstream, &redis));
    begin(&gateway, &upstream);
    redis.pause();
    assert_closed(&gateway, &upstream);
    assert_withheld(&gateway, &upstream);
    assert_closed(&gateway, &upstream);
    redis.resume();
    assert_open(&gateway, &upstream);
}

#[test]
fn a_session_is_cleared_only_where_a_redis_says_so() {
    let Some(mut redis) = Redis::start("a_session_is_cleared_only_where_a_redis_says_so", &[]) else { return };
    let upstream = upstream();
    let admin = "[gateway.admin]\nlisten = \"127.0.0.1:0\"\nkey = \"k-admin\"\n";
    let config = setup(&upstream, &redis) + admin;
    let (first, second) = (Gateway::start(&config), with_operators(&config));
    begin(&first, &upstream);
    assert_eq!(settled(&second.0, "k-user", "echo").reason(), TAINTED_SINK);
    let ask = |method: &'static str, path: &str| {
        let request = Request::new(method, path).set("authorization", "Bearer k-admin");
        second.1.send(&request.body(r#"{"actor":"olga","reason":"read by hand"}"#))
    };
    let path = format!("/sessions/{}", ask("GET", "/principals/ana").json()["principal"].as_str().unwrap());
    redis.kill();
    for (method, path) in [("DELETE", &*path), ("GET", &*path), ("GET", "/sessions")] {
        assert_eq!(ask(method, path).status(), 503, "{method} {path}");
    }
    redis.restart();
    // It was not cleared, and both gateways remember; then it is, and both forget.
    let both = [&first, &second.0];
    assert_eq!(both.map(|gateway| settled(gateway, "k-user", "echo").reason()), [TAINTED_SINK; 2]);
    assert_eq!(ask("DELETE", &path).status(), 200);
    assert_eq!(both.map(|gateway| settled(gateway, "k-user", "echo").status()), [200; 2]);
    assert_eq!(session(&upstream).as_deref(), Some("clean"));
    // What an operator has cleared comes back with no other restart.
    redis.restart();
    assert_eq!(both.map(|gateway| settled(gateway, "k-user", "echo").status()), [200; 2]);
}

#[test]
fn a_store_that_cannot_be_relied_upon_keeps_the_gateway_from_starting() {
    let name = "a_store_that_cannot_be_relied_upon_keeps_the_gateway_from_starting";
    let arguments = ["--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"];
    let Some(mut redis) = Redis::start(name, &arguments) else { return };
    let config = setup(&upstream(), &redis);
    let line = 1 + config.lines().position(|line| line == "[content_trust.store]").unwrap();
    let refused = |why: &str| {
        let (code, out, err) = run(&config, &["--listen", "127.0.0.1:0"]);
        assert_eq!((code, &*out), (2, ""), "{err}");
        let place = format!("error: line {line}, content_trust.store: ");
        assert!(err.contains(&place) && err.contains(why), "{place}{why}: {err}");
    };
    refused("`maxmemory-policy` is not `noeviction`");
    redis.kill();
    refused("the store cannot be reached");
    // The same, with a server that is fit.
    redis.restart();
    drop(Gateway::start(&config));
}
