//! Inputs at the borders: what a client may remove, how long things may take, what is an answer.

use std::thread;
use std::time::Duration;

use toolgate_gateway::check;
use toolgate_gateway::config::Config;

use crate::contract::Running;
use crate::support::{Setup, Stage, Upstream, call, nowhere, ok, response};
use crate::wire::{Connection, Request};

fn echo() -> Request {
    post(call("1", "echo"))
}

fn post(body: impl Into<Vec<u8>>) -> Request {
    Request::post("/mcp/a", body)
}

#[test]
fn connection_cannot_name_the_gateways_own_headers() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    gateway.send(&echo().with("connection", "x-toolgate-role, x-toolgate-principal"));
    assert_eq!(upstream.only().all("x-toolgate-role"), ["user"]);
    assert_eq!(upstream.only().all("x-toolgate-principal"), ["ana"]);
}

#[test]
fn connection_cannot_remove_what_was_judged() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    for name in ["content-type", "mcp-protocol-version", "accept"] {
        let request = echo().with("mcp-protocol-version", "2025-06-18").with("connection", name);
        let before = upstream.seen().len();
        gateway.send(&request);
        // What is removed is removed before it is judged, and so for both.
        for seen in &upstream.seen()[before..] {
            assert!(name != "content-type" && seen.all(name).is_empty(), "{name}");
        }
    }
}

#[test]
fn the_gateways_headers_have_no_other_spelling() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    gateway.send(&echo().with("x_toolgate_role", "admin").with("X_Toolgate-Principal", "root"));
    let ours = |name: &str| name.to_ascii_lowercase().replace('_', "-").starts_with("x-toolgate");
    assert_eq!(upstream.only().headers.iter().filter(|(name, _)| ours(name)).count(), 2);
}

#[test]
fn sigterm_ends_the_process_whatever_is_open() {
    let stage = Stage::new();
    let running = Running::with(&Setup::of(stage.address).text());
    let mut streaming = Connection::to(running.address());
    streaming.send(Request::new("GET", "/mcp/a").streamable().bytes());
    let (_, mut server) = stage.next();
    server.send(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n5\r\n: hi\n\r\n",
    );
    streaming.until(b": hi").unwrap();
    let mut half = Connection::to(running.address());
    half.send("POST /mcp/a HTTP/1.1\r\nhost: loc");
    running.terminate();
    assert!(running.ended().0);
}

#[test]
fn a_body_that_trickles_is_given_up() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).gateway("body_timeout = \"300ms\"").start();
    let body = call("7", "echo");
    let mut connection = gateway.connect();
    connection.send(post("").with("content-length", &body.len().to_string()).head());
    let mut writer = Connection::new(connection.stream().try_clone().unwrap());
    let writing = thread::spawn(move || {
        for byte in body.bytes() {
            writer.try_send([byte]);
            thread::sleep(Duration::from_millis(50));
        }
    });
    assert_eq!(connection.receive().expect("an answer").status(), 408);
    gateway.assert_forwarded_nothing(&upstream);
    writing.join().unwrap();
}

#[test]
fn a_length_beyond_all_bounds_is_answered_before_it_comes() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    for length in ["6000000", "99999999999", "18446744073709551615"] {
        let mut connection = gateway.connect();
        connection.send(post("").with("content-length", length).streamable().bytes());
        let answer = connection.receive().expect("an answer");
        assert!(matches!(answer.status(), 400 | 413 | 431), "{length}: {answer}");
        connection.ended();
    }
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn an_array_is_no_reply() {
    let upstream = Upstream::saying(ok(r#"["2.0","q-1",{"content":[]}]"#));
    let gateway = Setup::of(upstream.address).start();
    let answer = gateway.send(&post(call("\"q-1\"", "echo")).streamable());
    assert_eq!(answer.reason(), "upstream.invalid_answer");
    let upstream = Upstream::saying(ok(r#"[["2.0",1,{"content":[]}]]"#));
    let gateway = Setup::of(upstream.address).start();
    let answer = gateway.send(&post(format!("[{}]", call("1", "echo"))).streamable());
    assert_eq!(answer.json()[0]["error"]["data"]["reason"], "upstream.invalid_answer");
}

#[test]
fn what_is_no_reply_is_refused_whatever_its_status() {
    for status in ["500 Internal Server Error", "503 Service Unavailable", "302 Found"] {
        for body in ["<html>", r#"{"detail":"x"}"#, r#"{"jsonrpc":"2.0","id":99,"result":{}}"#] {
            let upstream = Upstream::saying(response(status, "application/json", body));
            let gateway = Setup::of(upstream.address).start();
            let answer = gateway.send(&post(call("\"q-1\"", "echo")).streamable());
            assert_eq!((answer.status(), &*answer.reason()), (200, "upstream.invalid_answer"), "{status} {body}");
        }
    }
}

#[test]
fn replies_are_text_with_exactly_the_members_of_one() {
    for said in [
        &b"{\"jsonrpc\":\"2.0\",\"id\":\"q-1\",\"result\":{},\"x\":\"\xff\"}"[..],
        br#"{"jsonrpc":"2.0","id":"q-1","result":{},"error":null}"#,
        br#"{"jsonrpc":"2.0","id":"q-1","result":{},"method":null}"#,
        br#"{"jsonrpc":"2.0","id":"q-1","error":1}"#,
    ] {
        let upstream = Upstream::saying(ok(said));
        let gateway = Setup::of(upstream.address).start();
        let status = gateway.send(&post(call("\"q-1\"", "echo"))).status();
        assert_eq!(status, 502, "{}", String::from_utf8_lossy(said));
    }
}

#[test]
fn a_refusal_that_hangs_is_given_up() {
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).timeout("300ms").start();
    let mut client = gateway.connect();
    client.send(echo().bytes());
    let (_, mut server) = stage.next();
    server.send("HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{");
    assert_eq!(client.receive().unwrap().reason(), "upstream.timed_out");
}

#[test]
fn hosts_are_hosts() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).gateway("allowed_hosts = [\"gateway.example\"]").start();
    for host in ["user@gateway.example", "gateway.example:x", "localhost:x", "localhost:99999999", "[::1]x"] {
        // Some of them do not get as far as the gateway's own check.
        let status = gateway.send(&echo().set("host", host)).status();
        assert!(matches!(status, 400 | 403), "{host}: {status}");
    }
    let foreign = Request::post("http://attacker.example/mcp/a", call("1", "echo"));
    assert_eq!(gateway.send(&foreign).status(), 403);
    gateway.assert_forwarded_nothing(&upstream);
    assert_eq!(gateway.send(&echo().set("host", "gateway.example:80")).status(), 200);
}

#[test]
fn a_role_is_one_role_in_a_header() {
    let text = Setup::of(nowhere()).text().replace("\"user\"", "\"user,admin\"");
    assert!(!Config::parse(&text).is_ok_and(|parsed| check::compile(&parsed).is_ok()));
}
