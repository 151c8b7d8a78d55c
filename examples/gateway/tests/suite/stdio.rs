//! Servers that are child processes, through the gateway's sockets.

use std::process::Command;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::contract::Running;
use crate::offers::{Child, Client, Offers};
use crate::support::{Gateway, Setup};
use crate::wire::{Connection, PATIENCE, Request};

pub(crate) const TRUSTED: &str = "trust_level = \"trusted\"";
pub(crate) const OPEN: &str = "tool_allowlist = [\"act\"]";
pub(crate) const CLIENTS: usize = 200;

pub(crate) fn child() -> Child {
    Child::new(&["act"])
}

/// A gateway in front of a child with the id `child`.
pub(crate) fn gateway(child: &Child, lines: &str) -> Gateway {
    Setup::open().entry("child", &child.transport(), lines).start()
}

/// Waits until something holds.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} takes too long");
        thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn signal(name: &str, pid: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), pid]).status().unwrap().success());
}

/// Waits until the child is there.
pub(crate) fn greeted(client: &Client) -> String {
    until("a child", || client.call("act", &json!({})).status() == 200);
    client.told(&json!({ "do": "pid" }))
}

pub(crate) fn act(arguments: &Value, token: Option<&str>) -> Request {
    act_as(1, arguments, token)
}

fn act_as(id: usize, arguments: &Value, token: Option<&str>) -> Request {
    let mut params = json!({ "name": "act", "arguments": arguments });
    if let Some(token) = token {
        params["_meta"] = json!({ "progressToken": token });
    }
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    let request = Request::post("/mcp/child", message.to_string());
    if token.is_some() { request.streamable() } else { request }
}

/// Every client asks under the same ids; every other one is told of progress, under the same tokens.
fn converse(gateway: &Gateway, number: usize) {
    let mut connection = gateway.connect();
    for id in 0..5 {
        let asked = json!({ "do": "later", "within": 0.05, "client": number, "call": id });
        let token = (number % 2 == 1).then(|| format!("p-{id}"));
        connection.send(act_as(id, &asked, token.as_deref()).bytes());
        let answer = connection.receive().expect("an answer");
        assert_eq!((answer.status(), &answer.answer()["id"]), (200, &json!(id)), "client {number}: {answer}");
        let text = answer.answer()["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), asked, "client {number}");
        let messages = answer.messages();
        let notices = &messages[..messages.len() - 1];
        let tokens: Vec<_> = notices.iter().map(|notice| notice["params"]["progressToken"].as_str().unwrap()).collect();
        assert_eq!(tokens, Vec::from_iter(token.as_deref()), "client {number}: {answer}");
    }
}

#[test]
fn two_hundred_clients_of_one_child_get_their_own_answers() {
    let child = child();
    let gateway = gateway(&child, OPEN);
    let start = Barrier::new(CLIENTS);
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (gateway, start) = (&gateway, &start);
            scope.spawn(move || {
                start.wait();
                converse(gateway, number);
            });
        }
    });
    let seen = child.seen();
    let greetings = seen.iter().filter(|seen| seen["method"] == "initialize").count();
    assert_eq!((greetings, child.called().len()), (1, 5 * CLIENTS), "each call is forwarded once");
    assert_eq!(gateway.counter("toolgate_decisions_total{outcome=\"allow\",reason=\"\",server=\"child\"}"), 1000);
}

#[test]
fn what_a_child_says_beside_the_protocol_is_logged_and_cannot_forge_lines() {
    let child = child();
    let running = Running::with(&Setup::open().entry("child", &child.transport(), OPEN).text());
    let client = Client::plain(running.address(), "child");
    let text = "red \u{1b}[31mred\u{7}\rovertype\u{202e}\nfake line of its own\n";
    assert_eq!(client.told(&json!({ "do": "stderr", "text": text })), "said");
    client.told(&json!({ "do": "stderr", "text": format!("{}\nafter\n", "x".repeat(5000)) }));
    // Whoever is told last has been heard.
    thread::sleep(Duration::from_secs(1));
    running.terminate();
    let (success, _, log) = running.ended();
    assert!(success);
    let lines: Vec<_> = log.lines().filter(|line| line.contains("a server says")).collect();
    let said = |part: &str| lines.iter().any(|line| line.contains(part) && line.contains("child"));
    assert!(said("red \\u{1b}[31mred\\u{7}\\rovertype"), "{lines:#?}");
    assert!(said("fake line of its own"), "{lines:#?}");
    assert!(said("(a line that is too long)") && said("after"), "{lines:#?}");
    assert!(log.lines().all(|line| !line.starts_with("fake line") && !line.starts_with("overtype")), "{log}");
    assert!(!log.contains("\u{1b}[31mred") && !log.contains('\u{7}') && !log.contains(&"x".repeat(2000)), "{log}");
}

#[test]
fn a_child_gives_out_no_sessions_and_takes_none() {
    let child = child();
    let gateway = gateway(&child, OPEN);
    let client = Client::streaming(gateway.address, "child");
    let info = json!({ "name": "suite", "version": "1" });
    let greeting = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let welcome = client.ask("initialize", greeting);
    assert_eq!(welcome.answer()["result"]["serverInfo"]["name"], "child");
    assert_eq!(welcome.header("mcp-session-id"), None);
    client.assert_served("act", "without a session");
    let before = child.seen().len();
    let request = client.request("tools/call", json!({ "name": "act", "arguments": {} }));
    for id in ["s-1", "", "v1.x"] {
        assert_eq!(client.send(&request.clone().with("mcp-session-id", id)).status(), 404, "{id:?}");
    }
    let ended = gateway.send(&Request::new("DELETE", "/mcp/child").with("mcp-session-id", "s-1"));
    assert_eq!(ended.status(), 404);
    client.assert_served("act", "after that");
    let greetings = child.seen().iter().filter(|seen| seen["method"] == "initialize").count();
    assert_eq!((child.seen().len(), greetings), (before + 1, 1));
    assert!(child.seen().iter().all(|seen| seen["params"]["clientInfo"] != info), "the client's greeting ends here");
}

/// What the child is answered when it asks for something.
fn asked(client: &Client, method: &str) -> Value {
    serde_json::from_str(&client.told(&json!({ "do": "ask", "method": method }))).unwrap()
}

#[test]
fn a_child_is_told_the_roots_of_its_entry() {
    let roots = "roots = [{ uri = \"file:///srv/a\", name = \"a\" }, { uri = \"file:///srv/b\" }]";
    let listed = json!([{ "uri": "file:///srv/a", "name": "a" }, { "uri": "file:///srv/b" }]);
    for (lines, told) in [
        (format!("{OPEN}\n{roots}"), Some(&listed)),
        (format!("{TRUSTED}\n{roots}"), Some(&listed)),
        (format!("{OPEN}\ntrust_level = \"sandboxed\"\n{roots}"), None),
        (OPEN.to_owned(), None),
        (TRUSTED.to_owned(), None),
    ] {
        let child = child();
        let gateway = gateway(&child, &lines);
        let answer = asked(&Client::streaming(gateway.address, "child"), "roots/list");
        match told {
            Some(roots) => assert_eq!(answer["result"]["roots"], *roots, "{lines}"),
            None => assert_eq!(answer["error"]["code"], -32601, "{lines}"),
        }
        let greeting = child.seen().into_iter().find(|seen| seen["method"] == "initialize").unwrap();
        let able = &greeting["params"]["capabilities"];
        assert_eq!(*able, if told.is_some() { json!({ "roots": {} }) } else { json!({}) }, "{lines}");
    }
}

/// The next message of a stream that a client has opened by GET.
fn next(stream: &mut Connection) -> Value {
    stream.until(b"data: ").expect("an event");
    serde_json::from_slice(&stream.until(b"\n").expect("a whole line")).unwrap()
}

fn listening(gateway: &Gateway) -> Connection {
    let mut stream = gateway.connect();
    stream.send(Request::new("GET", "/mcp/child").streamable().bytes());
    let head = stream.receive_head().expect("a head");
    assert_eq!((head.status(), head.header("content-type")), (200, Some("text/event-stream")));
    stream
}

#[test]
fn what_a_child_asks_for_reaches_no_client() {
    for lines in [OPEN, "trust_level = \"trusted\"\nelicitation_enabled = true"] {
        let child = child();
        let gateway = gateway(&child, lines);
        let client = Client::streaming(gateway.address, "child");
        greeted(&client);
        let mut stream = listening(&gateway);
        for method in ["sampling/createMessage", "elicitation/create", "tasks/list", "x/unknown"] {
            let answer = client.call("act", &json!({ "do": "ask", "method": method }));
            let methods: Vec<_> =
                answer.messages().iter().filter_map(|said| said["method"].as_str().map(str::to_owned)).collect();
            assert_eq!(methods, ["notifications/progress"], "{method}: {answer}");
            let told: Value =
                serde_json::from_str(answer.answer()["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
            assert_eq!(told["error"]["code"], -32601, "{method}");
        }
        // What comes next on the stream is what is sent next: nothing was sent before.
        client.told(&json!({ "do": "notify", "method": "notifications/message", "data": "a mark" }));
        assert_eq!(next(&mut stream)["params"]["data"], "a mark");
    }
}

#[test]
fn news_of_a_child_go_to_all_who_listen_and_survive_its_end() {
    let child = child();
    let gateway = gateway(&child, OPEN);
    let client = Client::plain(gateway.address, "child");
    let pid = greeted(&client);
    let mut streams: Vec<_> = (0..20).map(|_| listening(&gateway)).collect();
    let mut tell = |data: usize| {
        let told = json!({ "do": "notify", "method": "notifications/tools/list_changed", "data": data });
        assert_eq!(client.told(&told), "told");
        let expected =
            json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": { "data": data } });
        streams.iter_mut().for_each(|stream| assert_eq!(next(stream), expected));
    };
    (0..5).for_each(&mut tell);
    signal("KILL", &pid);
    assert_ne!(greeted(&client), pid);
    tell(5);
}

#[test]
fn who_listens_to_a_child_has_a_key_and_a_role() {
    let child = child();
    let gateway = gateway(&child, OPEN);
    let listen = Request::new("GET", "/mcp/child").streamable();
    assert_eq!(gateway.send(&listen.clone().without("authorization")).status(), 401);
    assert_eq!(gateway.send(&listen.set("authorization", "Bearer k-stranger")).status(), 403);
}
