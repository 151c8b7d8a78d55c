//! Streams of events: nothing is held back, nothing is kept, and whoever leaves is noticed.

use std::io::{ErrorKind, Read, Write};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::support::{Setup, Stage, Upstream, call, result, session};
use crate::wire::{Connection, PATIENCE, Request};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n";

fn echo() -> Request {
    Request::post("/mcp/a", call("1", "echo")).streamable()
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

#[test]
fn the_first_event_arrives_before_the_second_is_written() {
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).start();
    let mut client = gateway.connect();
    client.send(echo().bytes());
    let (_, mut server) = stage.next();
    server.send(format!("{HEAD}\r\n"));
    let head = client.receive_head().expect("a head, before any event");
    assert_eq!((head.status(), head.header("content-type")), (200, Some("text/event-stream")));
    for event in [
        "data: {\"first\":1}\n\n",
        ": comment\n",
        "data: half of\ndata: one\n\n",
        "\u{feff}: not at the start\n\n",
        "id: 3\r\ndata:\u{e9}\r\n\r\n",
    ] {
        server.send(chunk(event));
        // Nothing more is written until this has arrived.
        client.until(event.as_bytes()).unwrap_or_else(|| panic!("{event} does not arrive"));
    }
    server.send("0\r\n\r\n");
    client.until(b"0\r\n\r\n").expect("the end");
}

#[test]
fn a_stream_may_take_longer_than_the_server_has_to_begin() {
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).timeout("200ms").start();
    let mut client = gateway.connect();
    client.send(echo().bytes());
    let (_, mut server) = stage.next();
    server.send(format!("{HEAD}\r\n{}", chunk("data: 1\n\n")));
    client.until(b"data: 1\n\n").unwrap();
    // The one wait here is what is tested.
    thread::sleep(Duration::from_millis(500));
    server.send(chunk(&format!("data: {}\n\n", result("1"))));
    client.until(b"\"result\"").expect("the stream goes on");
}

#[test]
fn a_stream_that_breaks_is_broken_for_the_client_too() {
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).start();
    let mut client = gateway.connect();
    client.send(echo().bytes());
    let (_, mut server) = stage.next();
    server.send(format!("{HEAD}\r\n{}", chunk("data: 1\n\n")));
    client.until(b"data: 1\n\n").unwrap();
    drop(server);
    let rest = client.rest();
    assert!(!rest.ends_with(b"0\r\n\r\n"), "it must not look complete: {}", String::from_utf8_lossy(&rest));
}

#[test]
fn a_client_that_leaves_before_the_head_ends_the_servers_connection() {
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).start();
    for request in [echo(), Request::post("/mcp/a", call("1", "echo")), Request::new("GET", "/mcp/a").streamable()] {
        let mut client = gateway.connect();
        client.send(request.bytes());
        let (_, server) = stage.next();
        drop(client);
        server.ended();
    }
}

#[test]
fn a_client_that_leaves_in_mid_stream_ends_the_servers_connection() {
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).start();
    for request in [echo(), Request::new("GET", "/mcp/a").streamable()] {
        let mut client = gateway.connect();
        client.send(request.bytes());
        let (_, mut server) = stage.next();
        server.send(format!("{HEAD}\r\n{}", chunk("data: {}\n\n")));
        client.until(b"data: {}\n\n").unwrap();
        drop(client);
        server.ended();
    }
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_json_body_ends_the_servers_connection() {
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).start();
    let mut client = gateway.connect();
    client.send(echo().bytes());
    let (_, mut server) = stage.next();
    server.send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{");
    drop(client);
    server.ended();
}

#[test]
fn streams_and_ends_of_sessions_pass_for_a_known_role_only() {
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).start();
    for method in ["GET", "DELETE"] {
        let request = Request::new(method, "/mcp/a").streamable().with("mcp-session-id", &session("s-1"));
        // Who has another role has no session here; who is somebody else has not this one.
        for (key, status, reason) in
            [("k-stranger", 404, "binding.session_unknown"), ("k-user-2", 404, "binding.session_unknown")]
        {
            let other = gateway.send(&request.clone().set("authorization", &format!("Bearer {key}")));
            assert_eq!((other.status(), &*other.reason(), &*other.id()), (status, reason, "null"), "{method}");
        }
        let stranger = request.clone().without("mcp-session-id").set("authorization", "Bearer k-stranger");
        let stranger = gateway.send(&stranger);
        assert_eq!((stranger.status(), &*stranger.reason()), (403, "policy.server_not_allowed"), "{method}");
        assert_eq!(gateway.send(&request.clone().without("authorization")).status(), 401, "{method}");
        let mut client = gateway.connect();
        client.send(request.bytes());
        // The first that reaches the server is the one with the role.
        let (seen, mut server) = stage.next();
        assert_eq!(seen.start, format!("{method} /mcp HTTP/1.1"));
        assert_eq!((seen.header("mcp-session-id"), seen.header("x-toolgate-role")), (Some("s-1"), Some("user")));
        assert_eq!(seen.header("authorization"), None);
        server.send("HTTP/1.1 204 No Content\r\n\r\n");
        assert_eq!(client.receive_for(method).unwrap().status(), 204);
    }
}

#[test]
fn a_server_without_streams_says_so() {
    let upstream = Upstream::saying(b"HTTP/1.1 405 Method Not Allowed\r\nallow: POST\r\ncontent-length: 0\r\n\r\n");
    let gateway = Setup::of(upstream.address).start();
    let answer = gateway.send(&Request::new("GET", "/mcp/a").streamable());
    assert_eq!((answer.status(), answer.header("allow")), (405, Some("POST")));
}

#[test]
fn trouble_with_a_stream_has_its_own_status() {
    let gateway = Setup::of(crate::support::nowhere()).start();
    let answer = gateway.send(&Request::new("GET", "/mcp/a").streamable());
    assert_eq!((answer.status(), &*answer.id(), &*answer.reason()), (502, "null", "upstream.unreachable"));
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).timeout("200ms").start();
    let answer = gateway.send(&Request::new("GET", "/mcp/a").streamable());
    assert_eq!((answer.status(), &*answer.reason()), (504, "upstream.timed_out"));
}

#[test]
fn a_stream_cannot_become_another_protocol() {
    let upstream =
        Upstream::saying(b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nraw");
    let gateway = Setup::of(upstream.address).start();
    let answer = gateway.send(&Request::new("GET", "/mcp/a").streamable());
    assert_eq!(answer.status(), 502, "{answer}");
}

#[test]
fn headers_of_a_stream_pass_except_for_those_of_the_connection() {
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).start();
    let mut client = gateway.connect();
    client.send(echo().bytes());
    let (_, mut server) = stage.next();
    server.send(format!(
        "{HEAD}mcp-session-id: s-1\r\nmcp-protocol-version: 2025-06-18\r\ncache-control: no-cache\r\nx-accel-buffering: no\r\n\
         connection: x-hop\r\nx-hop: 1\r\nkeep-alive: timeout=5\r\nproxy-authenticate: Basic\r\ntrailer: x-sum\r\n\r\n"
    ));
    let head = client.receive_head().unwrap();
    for (name, value) in
        [("mcp-protocol-version", "2025-06-18"), ("cache-control", "no-cache"), ("x-accel-buffering", "no")]
    {
        assert_eq!(head.header(name), Some(value));
    }
    for name in ["x-hop", "keep-alive", "proxy-authenticate", "trailer", "connection", "content-length"] {
        assert_eq!(head.all(name), [""; 0], "{name}");
    }
}

#[test]
fn a_client_that_does_not_read_holds_the_server_back() {
    const PIECE: usize = 64 << 10;
    const PIECES: usize = 2048;
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).start();
    let mut client = gateway.connect();
    client.send(echo().bytes());
    let (_, server) = stage.next();
    let (blocked, told) = channel();
    let writing = thread::spawn(move || {
        let mut stream = server.stream().try_clone().unwrap();
        let body = "x".repeat(PIECE - 4) + "\n\n: ";
        stream.write_all(format!("{HEAD}\r\n").as_bytes()).unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        let (mut written, mut was_blocked) = (0, false);
        for _ in 0..PIECES {
            let piece = chunk(&body);
            let mut rest = piece.as_bytes();
            while !rest.is_empty() {
                match stream.write(rest) {
                    Ok(length) => (rest, written) = (&rest[length..], written + length),
                    Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                        if !was_blocked {
                            blocked.send(written).unwrap();
                        }
                        was_blocked = true;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let written = told.recv_timeout(PATIENCE).expect("the server cannot write all of it while nobody reads");
    assert!(written < PIECE * PIECES / 2, "{written} bytes were taken in");
    let received = client.receive().unwrap();
    // What comes behind the last event is ended, since it has no end of its own.
    assert_eq!(received.body.len(), PIECE * PIECES + 2);
    assert!(received.body.iter().all(|byte| b"x\n: ".contains(byte)));
    writing.join().unwrap();
}

#[test]
fn many_streams_at_once_stay_apart() {
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).start();
    let mut pairs: Vec<(String, Connection, Connection)> = (0..100)
        .map(|id| {
            let mut client = gateway.connect();
            client.send(Request::post("/mcp/a", call(&id.to_string(), "echo")).streamable().bytes());
            let (request, server) = stage.next();
            assert_eq!(request.id(), id.to_string());
            (format!("data: {}\n\n", result(&id.to_string())), client, server)
        })
        .collect();
    for (event, _, server) in pairs.iter_mut().rev() {
        server.send(format!("{HEAD}\r\n{}0\r\n\r\n", chunk(event)));
    }
    for (event, client, _) in &mut pairs {
        assert_eq!(&client.receive().unwrap().text(), event);
    }
}

#[test]
fn a_client_that_only_stops_sending_is_not_answered_by_another() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let mut client = gateway.connect();
    client.send(echo().bytes());
    client.finish();
    // HTTP/1.1 does not say whether such a client still listens. If it is answered, then rightly.
    if let Some(answer) = client.receive() {
        assert_eq!(answer.id(), "1");
    }
    let mut stream = client.stream();
    assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0);
    assert_eq!(gateway.send(&echo()).status(), 200);
}
