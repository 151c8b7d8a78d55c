//! Sessions through the gateway: what they have received, and what they may do then.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use toolgate_gateway::config::Config;
use toolgate_gateway::metrics::Metrics;
use toolgate_gateway::trust::Trust;
use toolgate_gateway::{admin, app};

use crate::support::{Gateway, Setup, Upstream, call};
use crate::wire::{Message, PATIENCE, Request};

/// Ana and Bob may use all of one server, which is the operator's own but for what `run` brings.
fn setup(upstream: &Upstream, section: &str) -> String {
    let text = Setup::of(upstream.address).text().replace("allowed = [\"ls\"]", "allowed = []");
    format!("{text}\n[content_trust]\nuntrusted_tools = [\"run\"]\nsinks = [\"echo\"]\n{section}\n")
}

fn sent(gateway: &Gateway, key: &str, tool: &str) -> Message {
    let body = call("1", tool).replace("{}", r#"{"cmd":"ls"}"#);
    gateway.send(&Request::post("/mcp/a", body).set("authorization", &format!("Bearer {key}")))
}

fn session_header(upstream: &Upstream) -> Option<String> {
    upstream.seen().last().and_then(|message| message.header("x-toolgate-session").map(str::to_owned))
}

#[test]
fn a_session_is_clean_until_it_has_received_something() {
    let upstream = Upstream::echo();
    let gateway = Gateway::start(&setup(&upstream, ""));
    assert_eq!(sent(&gateway, "k-user", "echo").status(), 200);
    assert_eq!(session_header(&upstream).as_deref(), Some("clean"));
    assert_eq!(sent(&gateway, "k-user", "run").status(), 200);
    assert_eq!(session_header(&upstream).as_deref(), Some("clean"));
    let before = upstream.seen().len();
    let refused = sent(&gateway, "k-user", "echo");
    assert_eq!((refused.status(), refused.reason().as_str()), (403, "trust.tainted_sink"));
    // It says what helps, and not what has marked the session.
    let text = refused.text();
    assert!(text.contains("a clean conversation may") && !text.contains("run"), "{text}");
    assert_eq!(upstream.seen().len(), before);
    assert_eq!(sent(&gateway, "k-user", "run").status(), 200);
    assert_eq!(session_header(&upstream).as_deref(), Some("tainted"));
    // Somebody else is clean.
    assert_eq!(sent(&gateway, "k-user-2", "echo").status(), 200);
    assert_eq!(gateway.counter("toolgate_sessions_total{event=\"marked\",rule=\"\"}"), 2);
    assert_eq!(gateway.counter("toolgate_sessions_total{event=\"refused\",rule=\"tainted_sink\"}"), 1);
    assert_eq!(gateway.counter("toolgate_coarsenings_total"), 0);
}

#[test]
fn ct_68_a_client_cannot_say_what_its_session_is() {
    let upstream = Upstream::echo();
    let gateway = Gateway::start(&setup(&upstream, "on_tainted_sink = \"flag\""));
    sent(&gateway, "k-user", "run");
    for name in ["x-toolgate-session", "X-Toolgate_Session"] {
        let request = Request::post("/mcp/a", call("1", "echo")).with(name, "clean");
        assert_eq!(gateway.send(&request).status(), 200);
        let seen = upstream.seen();
        let last = seen.last().unwrap();
        assert_eq!(last.all("x-toolgate-session"), ["tainted"]);
        assert_eq!(last.all("x-toolgate_session"), [""; 0]);
    }
    assert_eq!(gateway.counter("toolgate_sessions_total{event=\"flagged\",rule=\"tainted_sink\"}"), 2);
}

#[test]
fn an_agent_brings_what_it_can_reach() {
    let upstream = Upstream::echo();
    let text = Setup::of(upstream.address).text().replace("allowed = [\"ls\"]", "allowed = []");
    let config = format!(
        "{text}\n[content_trust]\nsinks = [\"echo\"]\n[[content_trust.delegation]]\nserver = \"a\"\ntool = \"run\"\n\
         argument = \"cmd\"\nfaces = [{{ name = \"local\", allow_tools = [\"read\"] }}, {{ name = \"all\" }}, \
         {{ name = \"no-web\", deny_tools = [\"browse\"] }}, {{ name = \"web\", allow_tools = [\"browse\"] }}, \
         {{ name = \"chief\", allow_tools = [\"read\"], can_redelegate = true }}]\n\
         pool = [{{ name = \"read\", server = \"a\" }}, {{ name = \"fetch\", aliases = [\"browse\"], server = \"a\", \
         content_origin = \"external\" }}]\n"
    );
    for (agent, taints) in
        [("local", false), ("no-web", false), ("all", true), ("web", true), ("chief", true), ("somebody", true)]
    {
        let gateway = Gateway::start(&config);
        let body = call("1", "run").replace("{}", &format!(r#"{{"cmd":"{agent}"}}"#));
        let request = Request::post("/mcp/a", body).set("authorization", "Bearer k-user");
        assert_eq!(gateway.send(&request).status(), 200, "{agent}");
        assert_eq!(sent(&gateway, "k-user", "echo").status(), if taints { 403 } else { 200 }, "{agent}");
        assert_eq!(sent(&gateway, "k-user-2", "echo").status(), 200, "{agent}");
    }
}

fn journal() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("toolgate-{}-{count}.journal", std::process::id()))
}

#[test]
fn sk_18_a_file_remembers_over_a_restart() {
    let (upstream, path) = (Upstream::echo(), journal());
    let config = setup(&upstream, &format!("[content_trust.store]\nkind = \"file\"\npath = {path:?}"));
    let gateway = Gateway::start(&config);
    sent(&gateway, "k-user", "run");
    gateway.stop();
    // Connections that are ending hold the journal a moment longer; two at once are refused.
    let parsed = Config::parse(&config).unwrap();
    let until = Instant::now() + PATIENCE;
    while let Err(problem) = Gateway::block_on(Trust::open(&parsed, &Metrics::new())) {
        assert!(Instant::now() < until, "{problem}");
        thread::sleep(Duration::from_millis(10));
    }
    let gateway = Gateway::start(&config);
    assert_eq!(sent(&gateway, "k-user", "echo").reason(), "trust.tainted_sink");
    assert_eq!(sent(&gateway, "k-user-2", "echo").status(), 200);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn conversations_are_told_apart_where_the_operator_believes_in_them() {
    let upstream = Upstream::echo();
    let gateway = Gateway::start(&setup(&upstream, "conversation = [\"x-conversation\"]"));
    let sent = |tool: &str, conversation: &[&str]| {
        let body = call("1", tool).replace("{}", r#"{"cmd":"ls"}"#);
        let request = conversation
            .iter()
            .fold(Request::post("/mcp/a", body), |request, name| request.with("x-conversation", name));
        gateway.send(&request)
    };
    assert_eq!(sent("run", &["one"]).status(), 200);
    assert_eq!(sent("echo", &["one"]).reason(), "trust.tainted_sink");
    assert_eq!(sent("echo", &["two"]).status(), 200);
    assert_eq!(sent("echo", &["one", "two"]).reason(), "trust.conversation_ambiguous");
    // Without a name it is the principal's.
    assert_eq!(sent("run", &[]).status(), 200);
    assert_eq!(sent("echo", &["two"]).reason(), "trust.tainted_sink");
}

/// A gateway whose operators are answered beside it.
pub(crate) fn with_operators(config: &str) -> (Gateway, Gateway) {
    let parsed = Config::parse(config).unwrap();
    let (gateway, operators) = Gateway::block_on(async {
        let gateway = app::Gateway::open(&parsed).await.unwrap();
        let key = &parsed.config.gateway.admin.as_ref().unwrap().key;
        let operators = admin::router(key, gateway.trust().unwrap().store().clone());
        (gateway.router().unwrap(), operators)
    });
    (Gateway::serve(gateway), Gateway::serve(operators))
}

#[test]
fn th_142_operators_see_and_clear_sessions() {
    let upstream = Upstream::echo();
    let admin = "[gateway.admin]\nlisten = \"127.0.0.1:0\"\nkey = \"k-admin\"";
    let (gateway, operators) = with_operators(&setup(&upstream, admin));
    sent(&gateway, "k-user", "run");
    let ask = |method: &'static str, path: &str| {
        operators.send(&Request::new(method, path).set("authorization", "Bearer k-admin"))
    };
    let list = ask("GET", "/sessions").json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list}");
    let principal = ask("GET", "/principals/ana").json()["principal"].as_str().unwrap().to_owned();
    assert_eq!(list["sessions"][0]["principal"], *principal);
    assert_eq!(list["sessions"][0]["cause"], "configured untrusted tool 'run'");
    let path = format!("/sessions/{principal}");
    let label = ask("GET", &path).json();
    assert_eq!(label, list["sessions"][0]);
    assert_eq!((&label["tainted"], &label["facts"], &label["marks"]), (&true.into(), &1.into(), &1.into()), "{label}");
    assert_eq!((&label["coarse"], &label["conversation"]), (&false.into(), &serde_json::Value::Null), "{label}");
    assert!(label["first"].as_u64().unwrap() > 0 && label["first"] == label["last"], "{label}");
    // Nobody clears without saying who and why.
    assert_eq!(ask("DELETE", &path).status(), 400);
    let clear = |body: &str| {
        let request = Request::new("DELETE", &path).set("authorization", "Bearer k-admin");
        operators.send(&request.with("content-type", "application/json").body(body))
    };
    assert_eq!(clear(r#"{"actor":"olga","reason":" "}"#).status(), 400);
    assert_eq!(sent(&gateway, "k-user", "echo").reason(), "trust.tainted_sink");
    assert_eq!(clear(r#"{"actor":"olga","reason":"read by hand"}"#).status(), 200);
    assert_eq!(ask("GET", &path).json()["tainted"], false);
    assert_eq!(sent(&gateway, "k-user", "echo").status(), 200);
}

#[test]
fn operators_have_a_key_of_their_own() {
    let upstream = Upstream::echo();
    let admin = "[gateway.admin]\nlisten = \"127.0.0.1:0\"\nkey = \"k-admin\"";
    let (gateway, operators) = with_operators(&setup(&upstream, admin));
    for key in ["Bearer k-user", "Bearer ", "Bearer k-admi", "Basic k-admin", "k-admin", ""] {
        let request = Request::new("GET", "/sessions").set("authorization", key);
        assert_eq!(operators.send(&request).status(), 401, "{key}");
    }
    assert_eq!(operators.send(&Request::new("GET", "/sessions").without("authorization")).status(), 401);
    // And no place at the gateway's address.
    assert_eq!(gateway.send(&Request::new("GET", "/sessions").set("authorization", "Bearer k-user")).status(), 404);
    for path in ["/sessions/x", "/sessions/00", &format!("/sessions/{}/x", "0".repeat(32))] {
        let request = Request::new("GET", path).set("authorization", "Bearer k-admin");
        assert_eq!(operators.send(&request).status(), 400, "{path}");
    }
}
