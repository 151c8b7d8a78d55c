//! What operators see of each decision.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::observe::{DecisionEvent, Outcome};
use tower_toolgate::{Principal, Server};

use super::support::{Script, Step, With, exchange, legal, mcp, policy, post, post_text, tool_call};

/// One event, in a line.
fn line(event: &DecisionEvent<'_>) -> String {
    let denial = event.denial.map_or("-", |denial| denial.reason());
    let id = event.message.and_then(|message| message.id()).unwrap_or("-");
    let roles: Vec<_> = event.roles.names().collect();
    let (tool, server) = (event.tool().unwrap_or("-".into()), event.server.unwrap_or("-"));
    let who = event.principal().map_or("-", Principal::subject);
    format!("{} {denial} {id} {tool} [{}] {server} {who}", event.outcome.name(), roles.join(","))
}

fn lines<B>(layer: ArgumentAllowlistLayer, request: Request<B>) -> Vec<String>
where
    B: http_body::Body<Data = Bytes, Error: Into<super::support::BoxError>> + Send + 'static,
{
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    exchange(&layer.on_decision(move |event: &DecisionEvent<'_>| log.lock().unwrap().push(line(event))), request);
    let lines = lines.lock().unwrap();
    lines.clone()
}

fn bare(method: &str) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::default());
    *request.method_mut() = method.parse().unwrap();
    request
}

#[test]
fn every_decision_is_told_once() {
    let (ok, no) = (tool_call("1", "echo", "{}"), tool_call("2", "rm", "{}"));
    let note = r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#;
    let mut known = post_text(ok.clone()).with_server("files");
    known.extensions_mut().insert(Principal::new("oauth", "ana").unwrap());
    let cases: [(&str, Request<_>, &[&str]); 15] = [
        ("allowed", known, &["allow - 1 echo [analyst] files ana"]),
        ("denied", post_text(no.clone()), &["deny policy.tool_not_allowed 2 rm [analyst] - -"]),
        ("no role", post_text(ok.clone()).with_role("x"), &["deny policy.role_unknown 1 echo [x] - -"]),
        ("no JSON", post_text("{"), &["deny json.truncated - - [analyst] - -"]),
        ("no message", post_text("{}"), &["deny message.jsonrpc_version - - [analyst] - -"]),
        (
            "a head",
            post_text(ok.clone()).with_header("content-encoding", "br"),
            &["deny http.content_coding - - [analyst] - -"],
        ),
        (
            "a header",
            post_text(ok.clone()).with_header("mcp-name", "x"),
            &["deny header.contradicts - - [analyst] - -"],
        ),
        ("a notification", post_text(note), &["allow - - - [analyst] - -"]),
        (
            "a call without an id",
            post_text(ok.replace(r#""id":1,"#, "")),
            &["deny message.call_without_id - - [analyst] - -"],
        ),
        (
            "a batch",
            post_text(format!("[{ok},{note}]")),
            &["allow - 1 echo [analyst] - -", "allow - - - [analyst] - -"],
        ),
        (
            "a denied batch",
            post_text(format!("[{ok},{no},{note}]")),
            &[
                "deny batch.refused 1 echo [analyst] - -",
                "deny policy.tool_not_allowed 2 rm [analyst] - -",
                "deny batch.refused - - [analyst] - -",
            ],
        ),
        ("a stream", bare("GET").with_role("analyst"), &["allow - - - [analyst] - -"]),
        ("a stream of nobody's", bare("GET"), &["deny policy.role_missing - - [] - -"]),
        ("a method", bare("PUT"), &["deny http.method_not_allowed - - [] - -"]),
        (
            "a preflight has nobody to tell of",
            bare("OPTIONS").with_header("origin", "x").with_header("access-control-request-method", "POST"),
            &[],
        ),
    ];
    for (name, request, expected) in cases {
        assert_eq!(lines(mcp(), request), expected, "{name}");
    }
    let long = mcp().with_max_body_bytes(10);
    assert_eq!(lines(long, post_text(ok)), ["deny body.too_large - - [analyst] - -"]);
    let failed = post(Script::new([Step::Fail("reset".into())]));
    assert_eq!(lines(mcp().with_server(Server::new("db-1")), failed), ["deny body.failed - - [analyst] db-1 -"]);
}

#[test]
fn grpc_is_told_of_by_its_head() {
    let call = |path: &str| {
        Request::post(path).header("content-type", "application/grpc").body(Full::<Bytes>::default()).unwrap()
    };
    let grpc = || ArgumentAllowlistLayer::grpc(policy());
    assert_eq!(lines(grpc(), call("/echo.Echo/Say").with_role("analyst")), ["allow - - - [analyst] - -"]);
    assert_eq!(lines(grpc(), call("/x.X/Y").with_role("analyst")), ["deny policy.tool_not_allowed - - [analyst] - -"]);
    assert_eq!(lines(grpc(), call("/x")), ["deny http.path_not_canonical - - [] - -"]);
}

#[test]
fn a_shadow_tells_what_it_would_have_done() {
    let shadow = || mcp().with_insecure_shadow(true);
    let (ok, no) = (legal(), tool_call("2", "rm", "{}"));
    assert_eq!(lines(shadow(), post_text(ok.clone())), ["allow - 1 echo [analyst] - -"]);
    assert_eq!(lines(shadow(), post_text(no.clone())), ["shadow_deny policy.tool_not_allowed 2 rm [analyst] - -"]);
    assert_eq!(
        lines(shadow(), post_text(format!("[{ok},{no}]"))),
        ["allow - 1 echo [analyst] - -", "shadow_deny policy.tool_not_allowed 2 rm [analyst] - -"]
    );
    assert_eq!(lines(shadow(), post_text("{")), ["deny json.truncated - - [analyst] - -"]);
    assert_eq!(lines(shadow(), bare("GET")), ["shadow_deny policy.role_missing - - [] - -"]);
    assert_eq!(
        [Outcome::Allow, Outcome::Deny, Outcome::ShadowDeny].map(Outcome::name),
        ["allow", "deny", "shadow_deny"]
    );
}

#[cfg(feature = "digest")]
mod digest {
    use std::sync::{Arc, Mutex};

    use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
    use tower_toolgate::observe::{DecisionEvent, DigestKey};

    use super::super::support::{exchange, mcp, post_text, tool_call};

    /// `ARGUMENT=HEX` of each value that is told of.
    fn values(layer: &ArgumentAllowlistLayer, tool: &str, arguments: &str) -> Vec<(String, String)> {
        let values = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&values);
        let layer = layer.clone().on_decision(move |event: &DecisionEvent<'_>| {
            let ruled = event.ruled_values().map(|value| (value.argument.to_string(), value.digest.to_string()));
            log.lock().unwrap().extend(ruled);
        });
        exchange(&layer, post_text(tool_call("1", tool, arguments)));
        let values = values.lock().unwrap();
        values.clone()
    }

    #[test]
    fn aa_66_ruled_and_denied_values_have_digests_and_others_none() {
        let key = DigestKey::new("of the operator").unwrap();
        let layer = mcp().with_digest_key(key.clone());
        let hex = |value: &str| key.digest(value.as_bytes()).to_string();
        let cmd = |value: &str| vec![("cmd".to_owned(), hex(value))];
        for (name, tool, arguments, expected) in [
            ("allowed", "run_query", r#"{"cmd":"ls -la"}"#, cmd("ls -la")),
            ("denied", "run_query", r#"{"cmd":"rm"}"#, cmd("rm")),
            ("a string's characters, not its spelling", "run_query", r#"{"cmd":"\u006cs"}"#, cmd("ls")),
            ("anything else's text", "run_query", r#"{"cmd":[1, 2]}"#, cmd("[1, 2]")),
            ("half a pair's text", "run_query", r#"{"cmd":"\ud800"}"#, cmd(r#""\ud800""#)),
            (
                "denied, and not ruled",
                "run_query",
                r#"{"cmd":"ls","x":"y"}"#,
                [cmd("ls"), vec![("x".to_owned(), hex("y"))]].concat(),
            ),
            ("missing", "run_query", "{}", vec![]),
            ("no rule", "echo", r#"{"cmd":"ls"}"#, vec![]),
        ] {
            assert_eq!(values(&layer, tool, arguments), expected, "{name}");
        }
        assert_eq!(hex("ls").len(), 64, "256 bits");
    }

    #[test]
    fn aa_66_a_digest_tells_nothing_without_its_key() {
        let one = |layer: &ArgumentAllowlistLayer| values(layer, "run_query", r#"{"cmd":"ls"}"#);
        let other = |key: &str| mcp().with_digest_key(DigestKey::new(key).unwrap());
        assert_eq!(one(&mcp()), one(&mcp()), "one key for the process");
        assert_ne!(one(&mcp()), one(&other("a")));
        assert_ne!(one(&other("a")), one(&other("b")));
        assert_ne!(one(&mcp()), values(&mcp(), "run_query", r#"{"cmd":"cat"}"#));
    }
}

#[cfg(feature = "tracing")]
mod trace {
    use std::fmt::Debug;
    use std::sync::{Arc, Mutex};

    use tower_toolgate::observe::TraceDecisions;
    use tower_toolgate::{Principal, Roles};
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Level, Metadata, Subscriber};

    use super::super::support::{With, exchange, mcp, post_text, tool_call};

    /// Keeps the events of one target as lines.
    struct Lines {
        level: Level,
        lines: Arc<Mutex<Vec<String>>>,
    }

    struct Line(String);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            self.0 += &format!(" {field}={value:?}");
        }

        fn record_str(&mut self, field: &Field, value: &str) {
            self.0 += &format!(" {field}={value}");
        }
    }

    impl Subscriber for Lines {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "tower_toolgate::decision" && *metadata.level() <= self.level
        }

        fn event(&self, event: &Event<'_>) {
            let mut line = Line(event.metadata().level().to_string());
            event.record(&mut line);
            self.lines.lock().unwrap().push(line.0);
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    /// The events of an allowed and of a denied call.
    fn lines(level: Level) -> Vec<String> {
        let lines = Arc::default();
        let subscriber = Lines { level, lines: Arc::clone(&lines) };
        tracing::subscriber::with_default(subscriber, || {
            for command in ["ls", "SECRET"] {
                let call = tool_call("7", "run_query", &format!(r#"{{"cmd":"{command}"}}"#));
                let mut request = post_text(call).with_server("files");
                request.extensions_mut().insert(Roles::from_iter(["analyst", "guest"]));
                request.extensions_mut().insert(Principal::new("key", "ana").unwrap());
                exchange(&mcp().on_decision(TraceDecisions), request);
            }
            exchange(
                &mcp().with_insecure_shadow(true).on_decision(TraceDecisions),
                post_text(tool_call("8", "rm", "{}")),
            );
        });
        let lines = lines.lock().unwrap();
        lines.iter().map(|line| line.split(" value.digests=").next().unwrap().to_owned()).collect()
    }

    #[test]
    fn aa_66_decisions_are_events_with_names_and_no_values() {
        let allowed = "DEBUG decision.outcome=allow rpc.method=tools/call rpc.id=7 tool.name=run_query server.id=files caller.roles=analyst,guest caller.subject=ana";
        let denied = "INFO decision.outcome=deny denial.reason=policy.argument_value denial.argument=cmd rpc.method=tools/call rpc.id=7 tool.name=run_query server.id=files caller.roles=analyst,guest caller.subject=ana";
        let shadow = "INFO decision.outcome=shadow_deny denial.reason=policy.tool_not_allowed rpc.method=tools/call rpc.id=8 tool.name=rm caller.roles=analyst";
        assert_eq!(lines(Level::DEBUG), [allowed, denied, shadow]);
        assert_eq!(lines(Level::INFO), [denied, shadow]);
        assert_eq!(lines(Level::WARN), [""; 0]);
    }

    #[cfg(feature = "digest")]
    #[test]
    fn aa_66_values_are_events_as_digests() {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let subscriber = Lines { level: Level::DEBUG, lines: Arc::clone(&lines) };
        let key = tower_toolgate::observe::DigestKey::new("key").unwrap();
        let layer = mcp().with_digest_key(key.clone()).on_decision(TraceDecisions);
        tracing::subscriber::with_default(subscriber, || {
            exchange(&layer, post_text(tool_call("7", "run_query", r#"{"cmd":"SECRET"}"#)));
        });
        let lines = lines.lock().unwrap();
        assert!(lines[0].ends_with(&format!(" value.digests=cmd={}", key.digest(b"SECRET"))), "{lines:?}");
        assert!(!lines[0].contains("SECRET"), "{lines:?}");
    }
}
