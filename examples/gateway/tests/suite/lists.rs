//! Lists through the gateway, as they come.

use crate::support::{Setup, Stage, Upstream, ok, response};
use crate::wire::Request;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"rm"},{"name":"echo"}],"nextCursor":"2"}}"#;
const SEEN: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo"}],"nextCursor":"2"}}"#;

fn list() -> Request {
    Request::post("/mcp/a", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).streamable()
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

#[test]
fn an_event_of_a_list_arrives_before_the_next_is_written() {
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).start();
    for request in [list(), Request::new("GET", "/mcp/a").streamable()] {
        let mut client = gateway.connect();
        client.send(request.bytes());
        let (_, mut server) = stage.next();
        server.send(HEAD);
        let event = |text: &str| chunk(&format!("id: 1\r\ndata: {text}\r\n\r\n"));
        client.receive_head().expect("a head, before any event");
        for (sent, seen) in [(r#"{"method":"x"}"#, r#"{"method":"x"}"#), (LIST, SEEN)] {
            server.send(event(sent));
            client.until(format!("id: 1\r\ndata: {seen}\r\n").as_bytes()).expect("what was sent");
        }
        drop(client);
        server.ended();
    }
}

#[test]
fn a_client_that_leaves_while_a_list_is_received_ends_the_servers_connection() {
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).start();
    let mut client = gateway.connect();
    client.send(list().bytes());
    let (_, mut server) = stage.next();
    server
        .send(format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{{", LIST.len()));
    drop(client);
    server.ended();
}

#[test]
fn th_114_th_115_the_length_is_that_of_what_is_left() {
    let upstream = Upstream::saying(ok(LIST));
    let gateway = Setup::of(upstream.address).start();
    let mut client = gateway.connect();
    // Two on one connection: a wrong length would lose the second.
    for _ in 0..2 {
        client.send(list().bytes());
        let message = client.receive().unwrap();
        assert_eq!(message.text(), SEEN);
        assert_eq!(message.header("content-length"), Some(&*SEEN.len().to_string()));
    }
}

#[test]
fn an_answer_that_fails_goes_on_failing() {
    let page = response("404 Not Found", "text/html", "<p>no such session, and no rm</p>");
    let gateway = Setup::of(Upstream::saying(page).address).start();
    let message = gateway.send(&list());
    assert_eq!((message.status(), message.id()), (404, "1".to_owned()));
    assert!(!message.text().contains("rm"));
}
