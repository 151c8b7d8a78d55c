//! Who may come in: keys, hosts, origins, and what browsers are told.

use crate::support::{Gateway, Setup, Upstream, call};
use crate::wire::{Message, Request};

fn echo() -> Request {
    Request::post("/mcp/a", call("1", "echo"))
}

fn pair() -> (Gateway, Upstream) {
    let upstream = Upstream::echo();
    (Setup::of(upstream.address).start(), upstream)
}

#[test]
fn without_a_valid_key_nobody_comes_in() {
    let (gateway, upstream) = pair();
    for value in [
        "",
        "Bearer",
        "Bearer ",
        "k-user",
        "Bearer k",
        "Bearer k-use",
        "Bearer k-userx",
        "Bearer k-user-",
        "Bearer k-user-22",
        "Bearer K-USER",
        "Bearer k-user k-user",
        "Bearer k-user, Bearer k-user",
        "Bearer \"k-user\"",
        "Bearerk-user",
        "Basic k-user",
        "Basic ay11c2Vy",
        "Digest k-user",
        "Token k-user",
        "Bearer k-\u{75}ser\u{e9}",
    ] {
        for request in [echo().set("authorization", value), echo().set("authorization", value).streamable()] {
            assert_unauthorized(&gateway.send(&request), value);
        }
    }
    assert_unauthorized(&gateway.send(&echo().without("authorization")), "none");
    let elsewhere = [("x-api-key", "k-user"), ("proxy-authorization", "Bearer k-user"), ("cookie", "key=k-user")];
    for (name, value) in elsewhere {
        assert_unauthorized(&gateway.send(&echo().without("authorization").with(name, value)), name);
    }
    gateway.assert_forwarded_nothing(&upstream);
}

fn assert_unauthorized(answer: &Message, what: &str) {
    assert_eq!(answer.status(), 401, "{what}: {answer}");
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{what}");
    assert_eq!(answer.id(), "null", "nothing of the body has been read");
}

#[test]
fn a_repeated_authorization_is_none_even_if_both_are_valid() {
    let (gateway, upstream) = pair();
    for second in ["Bearer k-user", "Bearer k-user-2", "Bearer wrong", "Basic x"] {
        assert_unauthorized(&gateway.send(&echo().with("authorization", second)), second);
        let first = echo().without("authorization").with("authorization", second);
        assert_unauthorized(&gateway.send(&first.with("authorization", "Bearer k-user")), second);
    }
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn keys_with_a_common_prefix_are_different_callers() {
    let (gateway, upstream) = pair();
    for (key, subject) in [("k-user", "ana"), ("k-user-2", "bob"), ("k-user", "ana")] {
        let answer = gateway.send(&echo().set("authorization", &format!("bEaReR {key}")));
        assert_eq!(answer.status(), 200, "the scheme is compared without case: {answer}");
        assert_eq!(upstream.seen().last().unwrap().header("x-toolgate-principal"), Some(subject));
    }
    let denied = gateway.send(&echo().set("authorization", "Bearer k-stranger"));
    assert_eq!((denied.status(), &*denied.reason()), (403, "policy.server_not_allowed"));
    gateway.assert_forwarded(&upstream, 3);
}

#[test]
fn unauthorized_requests_are_counted() {
    let (gateway, _upstream) = pair();
    let before = gateway.counter("toolgate_unauthorized_total");
    gateway.send(&echo().without("authorization"));
    gateway.send(&echo().set("authorization", "Bearer wrong"));
    assert_eq!(gateway.counter("toolgate_unauthorized_total"), before + 2);
}

#[test]
fn th_073_074_foreign_hosts_are_refused() {
    let (gateway, upstream) = pair();
    for host in [
        "attacker.example",
        "attacker.example:80",
        "localhost.attacker.example",
        "127.0.0.1.attacker.example",
        "attacker.example.localhost",
        "localhost.",
        "user@localhost",
        "localhost@attacker.example",
        "localhost:80@attacker.example",
        "attacker.example#@localhost",
        "localhost, attacker.example",
        "localhost/",
        "http://localhost",
        "0.0.0.0",
        "127.0.0.1.",
        "[::1",
        "[::ffff:127.0.0.1]",
        "[::]",
        "8.8.8.8",
        "",
        "\u{6c}ocalhost\u{e9}",
    ] {
        let answer = gateway.send(&echo().set("host", host));
        assert!(matches!(answer.status(), 400 | 403), "{host:?}: {answer}");
    }
    for request in [
        echo().without("host"),
        echo().with("host", "localhost"),
        echo().with("host", "attacker.example"),
        echo().set("host", "attacker.example").with("host", "localhost"),
        echo().without("host").with("x-forwarded-host", "localhost"),
        echo().without("host").with("forwarded", "host=localhost"),
        echo().set("host", "attacker.example").with("x-forwarded-host", "localhost"),
    ] {
        assert_eq!(gateway.send(&request).status(), 403);
    }
    gateway.assert_forwarded_nothing(&upstream);
    for path in ["/metrics", "/healthz"] {
        let answer = gateway.send(&Request::new("GET", path).set("host", "attacker.example"));
        assert_eq!(answer.status(), 403, "{path}: a rebound page reads nothing here either");
    }
}

#[test]
fn an_absolute_target_without_a_host_is_checked_like_one() {
    let (gateway, upstream) = pair();
    let foreign = Request::post("http://attacker.example/mcp/a", call("1", "echo")).without("host");
    assert_eq!(gateway.send(&foreign).status(), 403);
    let foreign = Request::post("http://attacker.example/mcp/a", call("1", "echo"));
    assert_eq!(gateway.send(&foreign.set("host", "attacker.example")).status(), 403);
    gateway.assert_forwarded_nothing(&upstream);
    let own = Request::post("http://localhost/mcp/a", call("1", "echo"));
    assert_eq!(gateway.send(&own).status(), 200);
}

#[test]
fn names_and_addresses_of_the_loopback_are_served() {
    let (gateway, upstream) = pair();
    let own = gateway.address.to_string();
    let hosts = ["localhost", "LocalHost", "localhost:1", "127.0.0.1", "127.9.9.9:80", "[::1]", "[::1]:8970", &own];
    for host in hosts {
        assert_eq!(gateway.send(&echo().set("host", host)).status(), 200, "{host}");
    }
    gateway.assert_forwarded(&upstream, hosts.len());
}

#[test]
fn listed_hosts_are_served_and_the_loopback_only_where_one_listens_on_it() {
    let upstream = Upstream::echo();
    let hosts = "allowed_hosts = [\"Gateway.Example\", \"other.example:8970\"]";
    let setup = |listen: &str| Setup::of(upstream.address).gateway(hosts).gateway(&format!("listen = \"{listen}\""));
    let status = |gateway: &Gateway, host: &str| gateway.send(&echo().set("host", host)).status();
    let (local, public) = (setup("127.0.0.1:0").start(), setup("0.0.0.0:0").start());
    for gateway in [&local, &public] {
        for (host, expected) in [
            ("gateway.example", 200),
            ("GATEWAY.EXAMPLE:1234", 200),
            ("other.example:8970", 200),
            ("other.example", 403),
            ("other.example:8971", 403),
            ("other.example:89700", 403),
            ("sub.gateway.example", 403),
            ("gateway.example.", 403),
        ] {
            assert_eq!(status(gateway, host), expected, "{host}");
        }
    }
    assert_eq!(status(&local, "localhost"), 200);
    for host in ["localhost", "127.0.0.1", "[::1]"] {
        assert_eq!(status(&public, host), 403, "{host} is not what it listens on");
    }
}

#[test]
fn th_128_foreign_origins_are_refused_and_not_mirrored() {
    let (gateway, upstream) = pair();
    for origin in [
        "https://evil.example",
        "null",
        "",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "http://evil.example#localhost",
        "http://user@localhost",
        "http://localhost@evil.example",
        "http://evil.example, http://localhost",
        "file://",
        "http://[::ffff:127.0.0.1]",
        "http://0.0.0.0",
    ] {
        let answer = gateway.send(&echo().with("origin", origin));
        assert_eq!(answer.status(), 403, "{origin:?}: {answer}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{origin:?}");
        let unauthorized = gateway.send(&echo().with("origin", origin).without("authorization"));
        assert_eq!(unauthorized.status(), 403, "{origin:?}: the origin is looked at first");
    }
    let repeated = echo().with("origin", "http://localhost").with("origin", "https://evil.example");
    assert_eq!(gateway.send(&repeated).status(), 403);
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn origins_of_the_loopback_and_listed_ones_pass_and_are_named_in_the_answer() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).gateway("allowed_origins = [\"https://app.example\"]").start();
    let origins =
        ["http://localhost", "http://localhost:5173", "http://127.0.0.1:80", "http://[::1]:3", "https://app.example"];
    for origin in origins {
        let answer = gateway.send(&echo().with("origin", origin));
        assert_eq!(answer.status(), 200, "{origin}: {answer}");
        assert_eq!(answer.header("access-control-allow-origin"), Some(origin));
        assert_eq!(answer.header("access-control-allow-credentials"), None);
        assert!(answer.header("access-control-expose-headers").unwrap().contains("mcp-session-id"));
        assert!(answer.all("vary").join(",").to_ascii_lowercase().contains("origin"), "{answer}");
    }
    for origin in ["http://app.example", "https://app.example:8443", "https://app.example.evil.example"] {
        assert_eq!(gateway.send(&echo().with("origin", origin)).status(), 403, "{origin}");
    }
    gateway.assert_forwarded(&upstream, origins.len());
}

#[test]
fn th_126_refusals_carry_cors_headers() {
    let (gateway, upstream) = pair();
    let page = |request: Request| request.with("origin", "http://localhost:5173");
    for (request, status) in [
        (page(echo().without("authorization")), 401),
        (page(echo().set("host", "attacker.example")), 403),
        (page(Request::post("/mcp/a", call("1", "other"))), 403),
        (page(Request::post("/mcp/a", call("1", "other")).streamable()), 200),
        (page(Request::post("/mcp/a", "{")), 400),
        (page(Request::post("/mcp/a", "{}").set("content-type", "text/plain")), 415),
        (page(echo().method("PUT")), 405),
        (page(Request::post("/mcp/nobody", call("1", "echo"))), 404),
    ] {
        let answer = gateway.send(&request);
        assert_eq!(answer.status(), status, "{answer}");
        assert_eq!(answer.header("access-control-allow-origin"), Some("http://localhost:5173"), "{answer}");
        let exposed = answer.header("access-control-expose-headers").unwrap_or_default();
        assert!(exposed.contains("www-authenticate") && exposed.contains("mcp-session-id"), "{answer}");
    }
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn th_127_a_preflight_is_answered_without_a_key_and_never_forwarded() {
    let (gateway, upstream) = pair();
    let preflight = Request::new("OPTIONS", "/mcp/a")
        .without("authorization")
        .with("access-control-request-method", "POST")
        .with("access-control-request-headers", "authorization, content-type, mcp-session-id");
    let answer = gateway.send(&preflight.clone().with("origin", "http://localhost:5173"));
    assert_eq!(answer.status(), 200, "{answer}");
    assert_eq!(answer.header("access-control-allow-origin"), Some("http://localhost:5173"));
    assert_eq!(answer.header("access-control-allow-headers"), Some("authorization, content-type, mcp-session-id"),);
    assert!(answer.header("access-control-allow-methods").unwrap().contains("DELETE"));
    let evil = gateway.send(&preflight.clone().with("origin", "https://evil.example"));
    assert_eq!(evil.header("access-control-allow-origin"), None, "{evil}");
    // What only looks like a preflight reaches nobody either.
    let body = call("1", "echo");
    let with_body = preflight.with("origin", "http://localhost:5173").with("content-type", "application/json");
    for request in [
        with_body.clone().body(body.clone()),
        with_body.without("access-control-request-method").body(body.clone()),
        echo().method("OPTIONS"),
        echo().method("OPTIONS").with("origin", "http://localhost:5173").streamable(),
    ] {
        let answer = gateway.send(&request);
        assert!(!answer.text().contains("result"), "{answer}");
    }
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn th_122_123_no_path_leads_around_the_gate() {
    let (gateway, upstream) = pair();
    for target in [
        "/mcp/a/",
        "/MCP/a",
        "/mcp/A",
        "//mcp/a",
        "/mcp//a",
        "/mcp/./a",
        "/mcp/x/../a",
        "/mcp/%61",
        "/mcp/a%2f",
        "/mcp/a;x",
        "/mcp",
        "/mcp/",
        "/",
        "*",
        "/mcp/nobody",
        "/healthz/../mcp/a",
        "/mcp/a\\",
    ] {
        for key in ["k-user", "k-stranger"] {
            let request = Request::post(target, call("1", "echo")).set("authorization", &format!("Bearer {key}"));
            let answer = gateway.send(&request);
            assert!(matches!(answer.status(), 400 | 403 | 404 | 405), "{target}: {answer}");
        }
        let answer = gateway.send(&Request::post(target, call("1", "echo")).without("authorization"));
        assert!(matches!(answer.status(), 400 | 401), "{target}: {answer}");
    }
    let query = gateway.send(&Request::post("/mcp/a?server=b&role=admin", call("1", "other")));
    assert_eq!(query.reason(), "policy.tool_not_allowed");
    gateway.assert_forwarded_nothing(&upstream);
}
