//! Bodies that are too long, too slow, cut short, or framed so that two readers see two requests.

use std::thread;

use crate::support::{Gateway, Setup, Upstream, call};
use crate::wire::{Connection, Message, Request};

const LIMIT: usize = 4 << 20;

/// A call of exactly so many bytes.
fn padded(id: &str, length: usize) -> Vec<u8> {
    let mut body = call(id, "echo").replace("{}", "{\"s\":\"\"}").into_bytes();
    let at = body.len() - 4;
    let missing = length - body.len();
    body.splice(at..at, std::iter::repeat_n(b'x', missing));
    body
}

fn chunked(body: &[u8], size: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in body.chunks(size) {
        bytes.extend(format!("{:x}\r\n", piece.len()).bytes());
        bytes.extend(piece);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

fn post(body: impl Into<Vec<u8>>) -> Request {
    Request::post("/mcp/a", body)
}

fn assert_too_large(answer: &Message, status: u16, id: &str) {
    assert_eq!((answer.status(), &*answer.id(), &*answer.reason()), (status, id, "body.too_large"), "{answer}");
    assert_eq!(answer.json()["error"]["code"], 413);
}

#[test]
fn four_mebibytes_pass_and_one_byte_more_does_not() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let (fits, large) = (padded("7", LIMIT), padded("7", LIMIT + 1));
    for (body, framed) in [(&large, false), (&large, true)] {
        let request = |body: &[u8]| match framed {
            true => post(chunked(body, 64 << 10)).with("transfer-encoding", "chunked"),
            false => post(body),
        };
        assert_too_large(&gateway.send(&request(body)), 413, "7");
        assert_too_large(&gateway.send(&request(body).streamable()), 200, "7");
    }
    gateway.assert_forwarded_nothing(&upstream);
    let requests = [post(fits.clone()), post(chunked(&fits, 1 << 20)).with("transfer-encoding", "chunked")];
    for request in &requests {
        assert_eq!(gateway.send(request).status(), 200);
        assert_eq!(upstream.seen().last().unwrap().body, fits);
    }
}

#[test]
fn a_smaller_limit_can_be_configured() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).gateway("max_body_bytes = 200").start();
    assert_too_large(&gateway.send(&post(padded("\"x\"", 201))), 413, "\"x\"");
    gateway.assert_forwarded_nothing(&upstream);
    assert_eq!(gateway.send(&post(padded("1", 200))).status(), 200);
}

fn with_little_patience(upstream: &Upstream) -> Gateway {
    Setup::of(upstream.address).gateway("body_timeout = \"300ms\"").start()
}

#[test]
fn a_body_that_stalls_is_given_up() {
    let upstream = Upstream::echo();
    let gateway = with_little_patience(&upstream);
    let body = call("7", "echo");
    for (sent, id) in [("", "null"), (&body[..10], "null"), (&body[..body.len() - 1], "7")] {
        for (request, in_band) in [(post(""), false), (post("").streamable(), true)] {
            let request = request.with("content-length", &body.len().to_string());
            let mut connection = gateway.connect();
            connection.send(request.head());
            connection.send(sent);
            let answer = connection.receive().expect("an answer");
            let status = if in_band && id != "null" { 200 } else { 408 };
            assert_eq!((answer.status(), &*answer.id(), &*answer.reason()), (status, id, "body.timed_out"), "{sent}");
            // What might still come must not be taken for a request.
            connection.ended();
        }
    }
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn a_body_that_comes_in_time_in_pieces_is_served() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let body = call("7", "echo");
    let mut connection = gateway.connect();
    connection.send(post("").with("content-length", &body.len().to_string()).head());
    body.bytes().for_each(|byte| connection.send([byte]));
    assert_eq!(connection.receive().unwrap().id(), "7");
}

#[test]
fn a_body_that_ends_early_is_not_forwarded() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let body = call("7", "echo");
    for announced in [body.len() + 1, body.len() * 2] {
        for request in [post(""), post("").streamable()] {
            let mut connection = gateway.connect();
            connection.send(request.with("content-length", &announced.to_string()).head());
            connection.send(&body);
            connection.finish();
            // Whoever says that nothing more comes may or may not be listening still.
            if let Some(answer) = connection.receive() {
                assert_eq!(answer.reason(), "body.failed", "{answer}");
            }
        }
    }
    for cut in ["1", "5\r\n{\"a\"", "3\r\nabc\r\n", "3\r\nabc\r\n0\r\n"] {
        let mut connection = gateway.connect();
        connection.send(post("").with("transfer-encoding", "chunked").head());
        connection.send(cut);
        connection.finish();
        if let Some(answer) = connection.receive() {
            assert_eq!(answer.status(), 400, "{cut:?}: {answer}");
        }
    }
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn a_client_that_is_gone_in_the_middle_leaves_nothing_behind() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let body = call("7", "echo");
    for cut in [0, 1, 40] {
        let mut connection = gateway.connect();
        connection.send(&post(&*body).bytes()[..cut]);
        drop(connection);
        let mut connection = gateway.connect();
        let bytes = post(&*body).bytes();
        connection.send(&bytes[..bytes.len() - 1 - cut]);
        drop(connection);
    }
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn th_033_transfer_codings_that_readers_disagree_about() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let body = chunked(call("7", "echo").as_bytes(), 16);
    for codings in [
        &["chunked", "identity"][..],
        &["chunked", "gzip"],
        &["identity", "chunked"],
        &["gzip", "chunked"],
        &["chunked", "chunked"],
        &["gzip, chunked"],
        &["chunked, chunked"],
        &["chunked, identity"],
        &["identity"],
        &["gzip"],
        &["xchunked"],
        &["chunked;q=1"],
        &["\u{b}chunked"],
        &[""],
    ] {
        let mut request = post(&*body);
        for coding in codings {
            request = request.with("transfer-encoding", coding);
        }
        let mut connection = gateway.connect();
        connection.send(request.bytes());
        let answer = connection.receive().expect("an answer");
        assert!(matches!(answer.status(), 400 | 415 | 501), "{codings:?}: {answer}");
        // The chunks must not be read as a request: whatever else is said, it is that they are none.
        while let Some(answer) = connection.receive() {
            assert_eq!(answer.status(), 400, "{codings:?}: {answer}");
        }
    }
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn lengths_that_readers_disagree_about() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let body = call("7", "echo");
    let length = body.len();
    for lengths in [
        vec![format!("{length}"), format!("{}", length + 1)],
        vec![format!("{length}, {}", length + 1)],
        vec![format!("+{length}")],
        vec![format!("-{length}")],
        vec![format!("0x{length:x}")],
        vec![format!("{length}.0")],
        vec![format!("{length} {length}")],
        vec!["x".to_owned()],
        vec![String::new()],
    ] {
        let mut request = post(&*body);
        for length in &lengths {
            request = request.with("content-length", length);
        }
        let answer = gateway.send_raw(request.bytes());
        assert_eq!(answer.status(), 400, "{lengths:?}: {answer}");
    }
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn a_length_beside_chunks_hides_no_second_request() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let hidden = post(call("\"hidden\"", "echo")).bytes();
    let whole = [chunked(call("7", "echo").as_bytes(), 64), hidden].concat();
    for length in ["0", "5", &whole.len().to_string()] {
        let request = post(&*whole).with("content-length", length).with("transfer-encoding", "chunked");
        let mut connection = gateway.connect();
        connection.send(request.bytes());
        let answer = connection.receive().expect("an answer");
        // RFC 9112, section 6.3: the chunks count, or the request is refused. Never the length.
        assert!(answer.status() == 400 || answer.id() == "7", "{length}: {answer}");
    }
    for seen in upstream.seen() {
        // A request that is forwarded has one framing, and is one that was judged.
        assert!(seen.header("content-length").is_some() != seen.header("transfer-encoding").is_some(), "{seen}");
        assert!(["7", "\"hidden\""].contains(&&*seen.id()), "{seen}");
    }
}

#[test]
fn th_121_what_follows_a_refusal_with_an_unread_body_is_its_own_request() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    // A body that is a request itself, should somebody take it for one.
    let mut body = post(call("\"smuggled\"", "echo")).bytes();
    let filled = body.len();
    for length in [filled, 64 << 10, 5 << 20] {
        body.resize(length, b' ');
        for (request, status) in [
            (post(&*body).set("content-type", "text/plain"), 415),
            (post(&*body).with("x-http-method-override", "GET"), 400),
            (post(&*body).without("authorization"), 401),
            (post(&*body).set("host", "attacker.example"), 403),
            (post(&*body).method("PUT"), 405),
            (post(&*body).method("GET"), 400),
            (Request::post("/mcp/nobody", &*body), 404),
            (post(&*body), if length > LIMIT { 413 } else { 400 }),
        ] {
            let mut connection = gateway.connect();
            let second = post(call("\"second\"", "echo")).with("x-witness", "1").with("connection", "close");
            let mut writer = Connection::new(connection.stream().try_clone().unwrap());
            let bytes = [request.bytes(), second.bytes()].concat();
            let sending = thread::spawn(move || writer.try_send(bytes));
            // An answer can be lost when a connection is closed on what is still being sent.
            let first = connection.receive();
            assert!(first.is_some() || length > 1 << 20, "{status}: no answer");
            assert!(first.is_none_or(|first| first.status() == status), "{status} with {length} bytes");
            // Then it is closed, or what comes next is answered as what it is.
            while let Some(next) = connection.receive() {
                assert_eq!((next.status(), &*next.id()), (200, "\"second\""), "{status} with {length} bytes: {next}");
            }
            sending.join().unwrap();
        }
    }
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn what_follows_a_denial_with_a_read_body_is_answered_on_the_same_connection() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let mut connection = gateway.connect();
    let requests = [
        post(call("1", "other")),
        post(call("2", "echo")).with("x-witness", "1"),
        post("{").streamable(),
        post(call("4", "other")).streamable(),
        post(call("5", "echo")).with("x-witness", "1"),
    ];
    connection.send(requests.map(|request| request.bytes()).concat());
    let answers: Vec<_> =
        (0..5).map(|_| connection.receive().unwrap()).map(|answer| (answer.status(), answer.id())).collect();
    let expected = [(403, "1"), (200, "2"), (400, "null"), (200, "4"), (200, "5")];
    assert_eq!(answers, expected.map(|(status, id)| (status, id.to_owned())));
    gateway.assert_forwarded_nothing(&upstream);
}

#[test]
fn heads_that_are_no_http_end_the_connection_only() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let body = call("7", "echo");
    let good = String::from_utf8(post(&*body).head()).unwrap();
    for head in [
        "\0\0\0\0\r\n\r\n".to_owned(),
        "GET\r\n\r\n".to_owned(),
        "\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n".to_owned(),
        good.replace("HTTP/1.1", "HTTP/9.9"),
        good.replace("host:", "host :"),
        good.replace("host: localhost", "host: localhost\r\n folded: x"),
        good.replace("host: localhost", "host: local\0host"),
        good.replace("host: localhost", "x: a\rhost: localhost"),
        good.replace("POST ", "POST  "),
        good.replace("/mcp/a", "/mcp/a b"),
        good.replace("host", "ho st"),
        good.replace("host: localhost", &"x: y\r\n".repeat(10_000)),
        good.replace("/mcp/a", &"/a".repeat(500_000)),
    ] {
        let mut connection = gateway.connect();
        connection.try_send(&head);
        connection.try_send(&body);
        connection.finish();
        if let Some(answer) = connection.receive() {
            assert!((400..500).contains(&answer.status()), "{}: {answer}", &head[..40.min(head.len())]);
        }
        gateway.assert_forwarded_nothing(&upstream);
    }
}

#[test]
fn a_client_that_waits_for_leave_to_send_gets_it() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let body = call("7", "echo");
    let mut connection = gateway.connect();
    let request = post("").with("content-length", &body.len().to_string()).with("expect", "100-continue");
    connection.send(request.head());
    let interim = connection.until(b"\r\n\r\n").expect("leave to send");
    assert!(interim.starts_with(b"HTTP/1.1 100 "));
    connection.send(body);
    assert_eq!(connection.receive().unwrap().id(), "7");
}

#[test]
fn trailers_break_nothing_and_say_nothing() {
    let upstream = Upstream::echo();
    let gateway = Setup::of(upstream.address).start();
    let body = call("7", "echo");
    let mut pieces = chunked(body.as_bytes(), 20);
    pieces.truncate(pieces.len() - 2);
    pieces.extend(b"x-sum: 1\r\nx-toolgate-role: admin\r\nauthorization: Bearer k-stranger\r\n\r\n");
    for request in [post(&*pieces), post(&*pieces).with("trailer", "x-sum, x-toolgate-role, authorization")] {
        let answer = gateway.send(&request.with("transfer-encoding", "chunked"));
        assert_eq!((answer.status(), &*answer.id()), (200, "7"));
    }
    for seen in upstream.seen() {
        assert_eq!((seen.text(), seen.all("x-toolgate-role")), (body.clone(), vec!["user"]));
        let trailers: Vec<_> = seen.trailers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
        assert!(!trailers.iter().any(|name| name == "authorization" || name.starts_with("x-toolgate")), "{trailers:?}");
    }
}
