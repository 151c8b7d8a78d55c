//! What of a request's head, and of an answer's, is passed on.

use crate::support::{Setup, Upstream, call, ok, result, session};
use crate::wire::Request;

fn echo() -> Request {
    Request::post("/mcp/a", call("1", "echo"))
}

#[test]
fn th_065_who_calls_is_said_by_the_gateway_alone() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let request = echo()
        .with("x-toolgate-role", "admin")
        .with("X-Toolgate-Role", "root")
        .with("x-toolgate-principal", "root")
        .with("x-toolgate-session", "clean")
        .with("X-TOOLGATE-ANYTHING", "1")
        .with("x-allowed-tools", "*")
        .with("x-role", "admin");
    assert_eq!(gateway.send(&request).status(), 200);
    let seen = upstream.only();
    assert_eq!(seen.all("x-toolgate-role"), ["user"]);
    assert_eq!(seen.all("x-toolgate-principal"), ["ana"]);
    assert_eq!(seen.all("x-toolgate-session"), [""; 0]);
    assert_eq!(seen.all("x-toolgate-anything"), [""; 0]);
}

#[test]
fn a_header_of_the_client_changes_no_decision() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    for (name, value) in [
        ("x-toolgate-role", "admin"),
        ("x-role", "admin"),
        ("x-allowed-tools", "other"),
        ("x-original-url", "/mcp/elsewhere"),
        ("x-rewrite-url", "/mcp/elsewhere"),
        ("x-forwarded-user", "root"),
    ] {
        let answer = gateway.send(&Request::post("/mcp/a", call("1", "other")).with(name, value));
        assert_eq!((answer.status(), &*answer.reason()), (403, "policy.tool_not_allowed"), "{name}");
    }
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn credentials_and_places_stay_here() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let request = echo()
        .with("cookie", "session=1")
        .with("cookie", "other=2")
        .with("proxy-authorization", "Bearer p")
        .with("Proxy-Connection", "keep-alive")
        .with("proxy-anything", "1")
        .with("origin", "http://localhost:5173");
    assert_eq!(gateway.send(&request).status(), 200);
    let seen = upstream.only();
    for (name, value) in &seen.headers {
        let lower = name.to_ascii_lowercase();
        assert!(!lower.starts_with("proxy-"), "{name}");
        assert!(!["authorization", "cookie", "origin"].contains(&&*lower), "{name}");
        assert!(!value.contains("k-user"), "{name}: the key");
    }
    assert_eq!(seen.header("host"), Some(&*upstream.address.to_string()));
    assert_eq!(seen.start, "POST /mcp HTTP/1.1");
}

#[test]
fn the_query_of_the_client_is_not_the_servers() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    assert_eq!(gateway.send(&Request::post("/mcp/a?token=1&x=%0d%0a", call("1", "echo"))).status(), 200);
    assert_eq!(upstream.only().start, "POST /mcp HTTP/1.1");
}

#[test]
fn what_concerns_one_connection_is_not_passed_to_the_server() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let request = echo()
        .with("connection", "x-one, X-Two")
        .with("connection", "x-three")
        .with("x-one", "1")
        .with("x-two", "2")
        .with("x-three", "3")
        .with("x-four", "4")
        .with("keep-alive", "timeout=5")
        .with("te", "trailers")
        .with("trailer", "x-sum");
    assert_eq!(gateway.send(&request).status(), 200);
    let seen = upstream.only();
    for name in ["x-one", "x-two", "x-three", "keep-alive", "te", "trailer", "upgrade", "transfer-encoding"] {
        assert_eq!(seen.all(name), [""; 0], "{name}");
    }
    let connection = seen.all("connection").join(",");
    assert!(!connection.contains("x-"), "{connection}");
    assert_eq!(seen.header("x-four"), Some("4"));
}

#[test]
fn the_host_cannot_be_dropped_by_naming_it() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    assert_eq!(gateway.send(&echo().with("connection", "host")).status(), 200);
    assert_eq!(upstream.only().header("host"), Some(&*upstream.address.to_string()));
}

#[test]
fn headers_of_the_protocol_reach_the_server() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let request = echo()
        .streamable()
        .with("mcp-session-id", &session("s-1"))
        .with("mcp-protocol-version", "2025-06-18")
        .with("last-event-id", "7")
        .with("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    assert_eq!(gateway.send(&request).status(), 200);
    let seen = upstream.only();
    assert_eq!(seen.header("mcp-session-id"), Some("s-1"));
    assert_eq!(seen.header("mcp-protocol-version"), Some("2025-06-18"));
    assert_eq!(seen.header("last-event-id"), Some("7"));
    assert!(seen.header("traceparent").is_some());
    assert_eq!(seen.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("accept-encoding"), Some("identity"), "what comes back is to be read");
    assert!(seen.header("x-request-id").is_some());
}

#[test]
fn the_very_bytes_that_were_judged_are_forwarded() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let body = " {\"params\" : {\"arguments\":{\"n\":1.0E+2,\"b\":12345678901234567890,\"s\":\"\\u00e9\\/\u{e9}\"}, \
                \"name\":\"ec\\u0068o\"},\r\n\t\"method\":\"tools/call\",\"id\":\"\\u0031\",\"jsonrpc\":\"2.0\", \"x\":[]} ";
    assert_eq!(gateway.send(&Request::post("/mcp/a", body)).status(), 200);
    let mut pieces = Vec::new();
    body.as_bytes().iter().for_each(|byte| pieces.extend([b'1', b'\r', b'\n', *byte, b'\r', b'\n']));
    pieces.extend(b"0\r\n\r\n");
    let request = Request::post("/mcp/a", pieces).with("transfer-encoding", "chunked");
    assert_eq!(gateway.send(&request).status(), 200);
    let seen = upstream.seen();
    assert_eq!(seen.len(), 2);
    for request in seen {
        assert_eq!(request.text(), body);
        assert_eq!(request.header("content-length"), Some(&*body.len().to_string()));
    }
}

#[test]
fn headers_of_the_answer_pass_except_for_those_of_the_connection() {
    let body = result("1");
    let upstream = Upstream::saying(
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nmcp-session-id: s-1\r\n\
             mcp-protocol-version: 2025-06-18\r\nx-own: 1\r\nconnection: close, x-hop\r\nx-hop: 1\r\nkeep-alive: timeout=5\r\n\
             proxy-authenticate: Basic\r\nupgrade: h2c\r\n\r\n{body}",
            body.len()
        )
        .into_bytes(),
    );
    let gateway = Setup::of(upstream.address).start();
    let answer = gateway.send(&echo());
    assert_eq!((answer.status(), answer.text()), (200, body));
    // Known to the client by another name, which is its own.
    assert!(answer.header("mcp-session-id").is_some_and(|id| id.starts_with("v1.") && !id.contains("s-1")));
    assert_eq!(answer.header("mcp-protocol-version"), Some("2025-06-18"));
    assert_eq!(answer.header("x-own"), Some("1"));
    for name in ["x-hop", "keep-alive", "proxy-authenticate", "upgrade", "connection"] {
        assert_eq!(answer.all(name), [""; 0], "{name}");
    }
}

#[test]
fn big_and_odd_numbers_in_a_result_survive_byte_for_byte() {
    let body = "{ \"result\":{\"n\":[123456789012345678901234567890,1.0,1E5,-0,-0.0,1e-7,0.10,3.141592653589793238462643],\r\n\
                \"s\":\"\\ud83d\\ude00 \\/ \\u0000 \u{e9}\",\"a\":1,\"a\":2},\t\"id\" : 1 ,\"jsonrpc\":\"2.0\"}\n";
    let upstream = Upstream::saying(ok(body));
    let gateway = Setup::of(upstream.address).start();
    let answer = gateway.send(&echo().streamable());
    assert_eq!((answer.status(), &*answer.text()), (200, body));
    let chunked = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: Application/JSON; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    let upstream = Upstream::saying(chunked.into_bytes());
    let gateway = Setup::of(upstream.address).start();
    let answer = gateway.send(&echo());
    assert_eq!((answer.status(), &*answer.text()), (200, body));
}
