//! Servers that are down, slow, or say something that is no answer.

use std::sync::mpsc::channel;
use std::thread;

use crate::support::{Gateway, Reply, Setup, Stage, Upstream, call, nowhere, ok, response, result};
use crate::wire::{Message, Request};

fn echo(id: &str) -> Request {
    Request::post("/mcp/a", call(id, "echo"))
}

/// Both kinds of client learn of a fault: in band with the id, or by the status with the same body.
fn assert_fault(gateway: &Gateway, status: u16, reason: &str) {
    for (request, status) in [(echo("\"q-1\""), status), (echo("\"q-1\"").streamable(), 200)] {
        assert_told(&gateway.send(&request), "\"q-1\"", status, reason);
    }
}

fn assert_told(answer: &Message, id: &str, status: u16, reason: &str) {
    assert_eq!((answer.status(), &*answer.id(), &*answer.reason()), (status, id, reason), "{answer}");
    let code = if reason == "upstream.timed_out" { 504 } else { 502 };
    assert_eq!(answer.json()["error"]["code"], code);
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[test]
fn a_server_that_is_down() {
    let gateway = Setup::of(nowhere()).start();
    assert_fault(&gateway, 502, "upstream.unreachable");
    let counter = "toolgate_upstream_faults_total{server=\"a\",reason=\"upstream.unreachable\"}";
    assert_eq!(gateway.counter(counter), 2);
}

#[test]
fn a_server_that_comes_back_is_served_again() {
    let address = nowhere();
    let gateway = Setup::of(address).start();
    assert_fault(&gateway, 502, "upstream.unreachable");
    let listener = std::net::TcpListener::bind(address).unwrap();
    let server = thread::spawn(move || {
        let mut connection = crate::wire::Connection::new(listener.accept().unwrap().0);
        connection.receive().unwrap();
        connection.send(ok(result("2")));
    });
    assert_eq!(gateway.send(&echo("2")).id(), "2");
    server.join().unwrap();
}

#[test]
fn a_server_that_hangs_before_its_head_or_in_its_body() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let body = result("\"q-1\"");
    for said in [
        String::new(),
        "HTTP/1.1 200".to_owned(),
        head.to_owned(),
        format!("{head}content-length: 10\r\n\r\n"),
        format!("{head}content-length: {}\r\n\r\n{}", body.len() + 1, &body),
        format!("{head}content-length: {}\r\n\r\n{}", body.len(), &body[..body.len() - 1]),
        format!("{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n", body.len()),
        "HTTP/1.1 100 Continue\r\n\r\n".to_owned(),
    ] {
        let (sender, receiver) = channel();
        let upstream = Upstream::new(move |_| {
            sender.send(()).unwrap();
            Reply::Hang(said.clone().into_bytes())
        });
        let gateway = Setup::of(upstream.address).timeout("300ms").start();
        assert_fault(&gateway, 504, "upstream.timed_out");
        assert_eq!(receiver.try_iter().count(), 2, "nothing is sent twice");
        let counter = "toolgate_upstream_faults_total{server=\"a\",reason=\"upstream.timed_out\"}";
        assert_eq!(gateway.counter(counter), 2);
    }
}

#[test]
fn a_connection_that_is_given_up_is_closed() {
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).timeout("300ms").start();
    let answer = gateway.send(&echo("1"));
    assert_eq!(answer.reason(), "upstream.timed_out");
    let (_, server) = stage.next();
    server.ended();
}

fn assert_no_answer(said: &str, reason: &str) {
    let upstream = Upstream::blurting(said);
    let gateway = Setup::of(upstream.address).start();
    assert_fault(&gateway, 502, reason);
    gateway.assert_forwarded(&upstream, 2);
}

#[test]
fn what_is_not_http() {
    let body = result("\"q-1\"");
    for said in [
        "",
        "hello\r\n\r\n",
        "\0\u{1}\u{2}\r\n\r\n",
        "SSH-2.0-OpenSSH_9.6\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno header\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{}",
        &body,
    ] {
        assert_no_answer(said, "upstream.invalid_answer");
    }
    let switched = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    assert_no_answer(switched, "upstream.switched_protocols");
}

#[test]
fn th_047_048_what_is_no_answer_to_the_request() {
    let good = result("\"q-1\"");
    let html = "<!doctype html><title>500</title>";
    for (name, said) in [
        ("HTML", response("200 OK", "text/html", html)),
        ("HTML as JSON", ok(html)),
        ("HTML of an error", response("500 Internal Server Error", "text/html", html)),
        ("a page that redirects", response("302 Found", "text/html", html)),
        ("no media type", format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{good}", good.len()).into_bytes()),
        ("text", response("200 OK", "text/plain", &good)),
        ("another media type", response("200 OK", "application/jsonx", &good)),
        ("202 to a request", b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_vec()),
        ("202 with a media type", response("202 Accepted", "application/json", "")),
        ("204", b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()),
        ("empty", ok("")),
        ("blank", ok(" \n")),
        ("an object", ok("{}")),
        ("a scalar", ok("1")),
        ("null", ok("null")),
        ("text", ok("\"ok\"")),
        ("another id", ok(result("\"q-2\""))),
        ("another id's type", ok(result("1"))),
        ("no id", ok(r#"{"jsonrpc":"2.0","result":{}}"#)),
        ("an id that is null", ok(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#)),
        ("no version", ok(r#"{"id":"q-1","result":{}}"#)),
        ("another version", ok(r#"{"jsonrpc":"1.0","id":"q-1","result":{}}"#)),
        ("neither", ok(r#"{"jsonrpc":"2.0","id":"q-1"}"#)),
        ("result and error", ok(r#"{"jsonrpc":"2.0","id":"q-1","result":{},"error":{"code":1,"message":"x"}}"#)),
        ("a request with the id", ok(r#"{"jsonrpc":"2.0","id":"q-1","method":"roots/list"}"#)),
        ("a method beside", ok(r#"{"jsonrpc":"2.0","id":"q-1","method":"roots/list","result":{}}"#)),
        ("two values", ok(format!("{good}{good}"))),
        ("two lines", ok(format!("{good}\n{good}"))),
        ("a batch", ok(format!("[{good}]"))),
        ("an id twice", ok(r#"{"jsonrpc":"2.0","id":"q-1","id":"q-1","result":{}}"#)),
        ("a result twice", ok(r#"{"jsonrpc":"2.0","id":"q-1","result":{},"result":{}}"#)),
        ("a byte order mark", ok(format!("\u{feff}{good}"))),
        ("not UTF-8", ok(b"{\"jsonrpc\":\"2.0\",\"id\":\"q-1\",\"result\":{\"x\":\"\xff\"}}")),
        ("UTF-16", ok(good.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>())),
        ("cut short", ok(&good[..good.len() - 1])),
    ] {
        let upstream = Upstream::saying(said);
        let gateway = Setup::of(upstream.address).start();
        for (request, status) in [(echo("\"q-1\""), 502), (echo("\"q-1\"").streamable(), 200)] {
            let answer = gateway.send(&request);
            assert_eq!(answer.status(), status, "{name}: {answer}");
            assert_told(&answer, "\"q-1\"", status, "upstream.invalid_answer");
        }
        gateway.assert_forwarded(&upstream, 2);
    }
}

#[test]
fn a_batch_is_answered_whole_or_not() {
    let batch = format!("[{},{}]", call("1", "echo"), call("\"1\"", "run").replace("{}", r#"{"cmd":"ls"}"#));
    let ask = |said: String| {
        let upstream = Upstream::saying(ok(said));
        Setup::of(upstream.address).start().send(&Request::post("/mcp/a", batch.clone()).streamable())
    };
    for said in [
        result("1"),
        format!("[{}]", result("1")),
        format!("[{},{}]", result("1"), result("2")),
        format!("[{},{}]", result("1"), result("1")),
        format!("[{},{},{}]", result("1"), result("\"1\""), result("3")),
        format!("[{},[{}]]", result("1"), result("\"1\"")),
        "[]".to_owned(),
    ] {
        let answer = ask(said.clone());
        let told = answer.json();
        let told = told.as_array().unwrap_or_else(|| panic!("{said}: {answer}"));
        let ids: Vec<_> = told.iter().map(|told| told["id"].to_string()).collect();
        assert_eq!((answer.status(), ids), (200, vec!["1".to_owned(), "\"1\"".to_owned()]), "{said}");
        assert!(told.iter().all(|told| told["error"]["data"]["reason"] == "upstream.invalid_answer"), "{answer}");
    }
    let good = format!("[{}, {}]", result("\"1\""), result("1"));
    assert_eq!(ask(good.clone()).text(), good, "in any order");
}

#[test]
fn th_049_ids_of_two_types_get_their_own_answers() {
    let stage = Stage::new();
    let gateway = Setup::of(stage.address).start();
    let (mut one, mut other) = (gateway.connect(), gateway.connect());
    one.send(echo("1").bytes());
    let (first, mut first_server) = stage.next();
    other.send(echo("\"1\"").bytes());
    let (second, mut second_server) = stage.next();
    assert_eq!((&*first.id(), &*second.id()), ("1", "\"1\""));
    // The later one is answered first.
    second_server.send(ok(result("\"1\"")));
    assert_eq!(other.receive().unwrap().id(), "\"1\"");
    first_server.send(ok(result("1")));
    assert_eq!(one.receive().unwrap().id(), "1");
}

#[test]
fn th_049_answers_that_are_swapped_reach_nobody() {
    let upstream =
        Upstream::new(|request| Reply::Keep(ok(if request.id() == "1" { result("\"1\"") } else { result("1") })));
    let gateway = Setup::of(upstream.address).start();
    for id in ["1", "\"1\""] {
        assert_told(&gateway.send(&echo(id).streamable()), id, 200, "upstream.invalid_answer");
    }
}

#[test]
fn ids_are_compared_by_what_they_mean() {
    for (asked, answered) in [
        ("\"a\"", "\"\\u0061\""),
        ("\"\\u0061\"", "\"a\""),
        ("9007199254740993", "9007199254740993"),
        ("-1", "-1"),
        ("18446744073709551615", "18446744073709551615"),
        ("0", "0"),
        ("\"\"", "\"\""),
    ] {
        let upstream = Upstream::saying(ok(result(answered)));
        let answer = Setup::of(upstream.address).start().send(&echo(asked));
        assert_eq!((answer.status(), answer.text()), (200, result(answered)), "{asked}");
    }
    for (asked, answered) in
        [("9007199254740993", "9007199254740992"), ("1", "1.5"), ("0", "false"), ("\"a\"", "\"A\"")]
    {
        let upstream = Upstream::saying(ok(result(answered)));
        let answer = Setup::of(upstream.address).start().send(&echo(asked));
        assert_eq!((answer.status(), &*answer.reason()), (502, "upstream.invalid_answer"), "{asked}");
    }
}

#[test]
fn a_dead_server_does_not_affect_another() {
    let (stuck, alive) = (Stage::new(), Upstream::echo());
    let gateway = Setup::of(nowhere()).server("b", alive.address, "20s").server("c", stuck.address, "20s").start();
    let mut waiting: Vec<_> = (0..50).map(|_| gateway.connect()).collect();
    waiting.iter_mut().for_each(|waiting| waiting.send(Request::post("/mcp/c", call("1", "echo")).bytes()));
    let held: Vec<_> = (0..50).map(|_| stuck.next()).collect();
    for _ in 0..10 {
        assert_eq!(gateway.send(&echo("1")).reason(), "upstream.unreachable");
        assert_eq!(gateway.send(&Request::post("/mcp/b", call("1", "echo"))).status(), 200);
    }
    drop(held);
}

#[test]
fn refusals_of_the_server_pass_unchanged() {
    let body = r#"{ "id" :"q-1","error":{"code":-32020,"message":"no","data":{"n":1.0}},"jsonrpc":"2.0"}"#;
    for status in ["400 Bad Request", "401 Unauthorized", "403 Forbidden", "404 Not Found", "429 Too Many Requests"] {
        let upstream = Upstream::saying(response(status, "application/json", body));
        let gateway = Setup::of(upstream.address).start();
        for request in [echo("\"q-1\""), echo("\"q-1\"").streamable()] {
            let answer = gateway.send(&request);
            assert_eq!(answer.status().to_string(), status[..3]);
            assert_eq!((&*answer.text(), answer.header("content-type")), (body, Some("application/json")));
        }
    }
    let upstream = Upstream::saying(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    let answer = Setup::of(upstream.address).start().send(&echo("1").streamable());
    assert_eq!((answer.status(), &*answer.text()), (404, ""), "a session that is gone");
}

#[test]
fn errors_of_json_rpc_pass_unchanged() {
    let body = r#"{"jsonrpc":"2.0","id":"q-1","error":{"code":-32602,"message":"Unknown tool: echo"}}"#;
    let upstream = Upstream::saying(ok(body));
    let answer = Setup::of(upstream.address).start().send(&echo("\"q-1\"").streamable());
    assert_eq!((answer.status(), &*answer.text()), (200, body));
}

#[test]
fn th_045_replies_and_notifications_are_accepted_by_the_server() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let messages = [
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"e-1","error":{"code":-1,"message":"declined"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    ];
    for message in messages {
        let answer = gateway.send(&Request::post("/mcp/a", message).streamable());
        assert_eq!((answer.status(), &*answer.text()), (202, ""), "{message}");
        assert_eq!(upstream.seen().last().unwrap().text(), message);
    }
    let mixed = r#"{"jsonrpc":"2.0","id":7,"result":{},"method":"tools/call","params":{"name":"other"}}"#;
    assert_eq!(gateway.send(&Request::post("/mcp/a", mixed)).status(), 400, "TH-046");
    gateway.assert_forwarded(&upstream, messages.len());
}

#[test]
fn what_a_server_asks_and_may_not_is_counted() {
    let asks = r#"{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"message":"?"}}"#;
    let stream = format!("data: {asks}\n\ndata: {}\n\n", result("1"));
    let upstream = Upstream::saying(response("200 OK", "text/event-stream", stream));
    let gateway = Setup::of(upstream.address).start();
    let answer = gateway.send(&echo("1").streamable());
    assert_eq!((answer.status(), answer.text().contains("elicitation")), (200, false), "{answer}");
    assert!(answer.text().contains(&result("1")), "{answer}");
    let counter = r#"toolgate_decisions_total{outcome="deny",reason="server.reach_elicitation",server="a"}"#;
    assert_eq!(gateway.counter(counter), 1);
}
