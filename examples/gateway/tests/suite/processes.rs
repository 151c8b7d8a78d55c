//! The lives of child processes behind the gateway: their ends, their time, what they know of its environment.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::contract::Running;
use crate::offers::{Child, Client, Offers};
use crate::stdio::{CLIENTS, OPEN, TRUSTED, act, child, gateway, greeted, signal, until};
use crate::support::{Setup, call};
use crate::wire::{Connection, Message, Request};

/// Whether there is such a process. One that nobody has asked for its end yet is none.
fn runs(pid: &str) -> bool {
    let told = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let state = String::from_utf8(told.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

/// A fault as each kind of client learns of it.
fn assert_fault(answer: &Message, streams: bool, status: u16, reason: &str) {
    let error = &answer.answer()["error"];
    assert_eq!(
        (answer.status(), &error["data"]["reason"]),
        (if streams { 200 } else { status }, &json!(reason)),
        "{answer}"
    );
    assert_eq!((&answer.answer()["id"], &error["code"]), (&json!(1), &json!(status)), "{answer}");
}

#[test]
fn all_who_wait_for_a_child_that_is_killed_are_told_and_the_next_one_serves() {
    let child = child();
    let gateway = gateway(&child, OPEN);
    let client = Client::plain(gateway.address, "child");
    let pid = greeted(&client);
    let before = child.called().len();
    let mut waiting: Vec<_> = (0..CLIENTS).map(|_| gateway.connect()).collect();
    for (number, connection) in waiting.iter_mut().enumerate() {
        let request = act(&json!({ "do": "hang", "client": number }), None);
        connection.send(if number % 2 == 1 { request.streamable() } else { request }.bytes());
    }
    until("two hundred calls", || child.called().len() == before + CLIENTS);
    signal("KILL", &pid);
    for (number, connection) in waiting.iter_mut().enumerate() {
        let answer = connection.receive().expect("an answer");
        assert_fault(&answer, number % 2 == 1, 503, "upstream.unavailable");
    }
    let faults = gateway.counter("toolgate_upstream_faults_total{server=\"child\",reason=\"upstream.unavailable\"}");
    assert_eq!(faults, CLIENTS as u64);
    assert_ne!(greeted(&client), pid);
    assert_eq!(
        child.called().iter().filter(|tool| *tool == "act").count(),
        child.called().len(),
        "nothing else is sent"
    );
    let hanging = child.seen().into_iter().filter(|seen| seen["params"]["arguments"]["do"] == "hang").count();
    assert_eq!(hanging, CLIENTS, "nothing is sent twice");
    waiting.iter_mut().for_each(|connection| {
        connection.send(act(&json!({ "do": "pid" }), None).bytes());
        assert_eq!(connection.receive().expect("an answer").status(), 200, "the connection goes on");
    });
}

#[test]
fn streams_that_have_begun_end_with_an_error_when_the_child_is_killed() {
    let child = child();
    let gateway = gateway(&child, OPEN);
    let client = Client::plain(gateway.address, "child");
    let pid = greeted(&client);
    let mut waiting: Vec<_> = (0..20).map(|_| gateway.connect()).collect();
    for connection in &mut waiting {
        connection.send(act(&json!({ "do": "hang" }), Some("p")).bytes());
        connection.until(b"notifications/progress").expect("a notice");
    }
    signal("KILL", &pid);
    for connection in &mut waiting {
        connection.until(b"\"error\"").expect("an error for whoever waits");
    }
    assert_ne!(greeted(&client), pid);
}

#[test]
fn a_child_that_cannot_be_started_is_a_fault_of_that_server_only() {
    let alive = child();
    let missing = "{ stdio = { command = \"/nowhere/server\" } }";
    let gateway = Setup::open().entry("child", missing, OPEN).entry("alive", &alive.transport(), OPEN).start();
    for streams in [false, true] {
        let request = act(&json!({}), None);
        let answer = gateway.send(&if streams { request.streamable() } else { request });
        assert_fault(&answer, streams, 502, "upstream.unreachable");
    }
    let counter = "toolgate_upstream_faults_total{server=\"child\",reason=\"upstream.unreachable\"}";
    assert_eq!(gateway.counter(counter), 2);
    Client::plain(gateway.address, "alive").assert_served("act", "alive");
    assert_eq!(gateway.counter(&counter.replace("child", "alive")), 0);
}

#[test]
fn a_stuck_child_does_not_block_another() {
    let (stuck, alive) = (child(), child());
    let setup = Setup::open().entry("child", &stuck.transport(), OPEN).entry("alive", &alive.transport(), OPEN);
    let gateway = setup.start();
    let pid = greeted(&Client::plain(gateway.address, "child"));
    greeted(&Client::plain(gateway.address, "alive"));
    // It does not even read: what is written to it fills the pipe, and then its queue.
    signal("STOP", &pid);
    let mut waiting: Vec<_> = (0..100).map(|_| gateway.connect()).collect();
    let long = "x".repeat(10_000);
    waiting.iter_mut().for_each(|connection| connection.send(act(&json!({ "long": long }), None).bytes()));
    for _ in 0..20 {
        let before = Instant::now();
        Client::plain(gateway.address, "alive").assert_served("act", "alive");
        assert!(before.elapsed() < Duration::from_secs(5), "it waits for the stuck one");
    }
    signal("CONT", &pid);
    for connection in &mut waiting {
        let answer = connection.receive().expect("an answer");
        assert_eq!(answer.status(), 200, "{answer}");
    }
}

#[test]
fn each_child_has_its_own_time() {
    let (quick, slow) = (child(), child());
    let setup = Setup::open().entry("child", &quick.transport(), &format!("{OPEN}\ntimeout = \"1s\""));
    let gateway = setup.entry("slow", &slow.transport(), OPEN).start();
    let clients = [Client::plain(gateway.address, "child"), Client::plain(gateway.address, "slow")];
    clients.iter().for_each(|client| drop(greeted(client)));
    let counter = "toolgate_upstream_faults_total{server=\"child\",reason=\"upstream.timed_out\"}";
    let before = gateway.counter(counter);
    let mut patient = gateway.connect();
    patient.send(
        clients[1]
            .request("tools/call", json!({ "name": "act", "arguments": { "do": "sleep", "seconds": 3 } }))
            .bytes(),
    );
    for streams in [false, true] {
        let request = act(&json!({ "do": "hang" }), None);
        let answer = gateway.send(&if streams { request.streamable() } else { request });
        assert_fault(&answer, streams, 504, "upstream.timed_out");
    }
    assert_eq!(gateway.counter(counter), before + 2);
    assert_eq!(patient.receive().expect("an answer").status(), 200, "the other one has more time");
    assert_eq!(gateway.counter(&counter.replace("child", "slow")), 0);
    // The child learns that nobody waits, by the numbers that it was asked under.
    let hanging = |seen: &Value| seen["params"]["arguments"]["do"] == "hang";
    let asked = child_numbers(&quick, hanging, |seen| seen["id"].clone());
    until("to be told", || {
        let is_cancelled = |seen: &Value| seen["method"] == "notifications/cancelled";
        let cancelled = child_numbers(&quick, is_cancelled, |seen| seen["params"]["requestId"].clone());
        asked.iter().all(|number| cancelled.contains(number))
    });
    Client::plain(gateway.address, "child").assert_served("act", "it serves all the same");
}

fn child_numbers(child: &Child, is: impl Fn(&Value) -> bool, number: impl Fn(&Value) -> Value) -> Vec<Value> {
    child.seen().iter().filter(|seen| is(seen)).map(number).collect()
}

const SECRETS: [(&str, &str); 3] = [("TOOLGATE_TEST_SECRET", "s3cret"), ("LD_TEST", "1"), ("TZ", "UTC")];
const PASSED: [&str; 8] = ["HOME", "LANG", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

fn environment(address: std::net::SocketAddr, server: &str) -> BTreeMap<String, String> {
    serde_json::from_str(&Client::plain(address, server).told(&json!({ "do": "env" }))).unwrap()
}

#[test]
fn only_a_child_that_is_not_isolated_sees_the_gateways_environment() {
    let child = child();
    let transport = child.transport_with(", env = { GIVEN = \"to it\", HOME = \"/its/own\" }");
    let sandboxed = format!("{OPEN}\ntrust_level = \"sandboxed\"");
    let cases = [
        ("untrusted", OPEN.to_owned(), true),
        ("sandboxed", sandboxed.clone(), true),
        ("trusted", TRUSTED.to_owned(), false),
        ("untrusted-isolated", format!("{OPEN}\nenv_isolation = true"), true),
        ("trusted-isolated", format!("{TRUSTED}\nenv_isolation = true"), true),
        ("untrusted-open", format!("{OPEN}\nenv_isolation = false"), false),
        ("sandboxed-open", format!("{sandboxed}\nenv_isolation = false"), false),
    ];
    let setup = cases.iter().fold(Setup::open(), |setup, (id, lines, _)| setup.entry(id, &transport, lines));
    let running = Running::within(&setup.text(), &SECRETS);
    for (id, _, isolated) in &cases {
        let seen = environment(running.address(), id);
        assert_ne!(seen.contains_key("TOOLGATE_TEST_SECRET"), *isolated, "{id}");
        assert_ne!(seen.contains_key("RUST_LOG"), *isolated, "{id}");
        assert_eq!((&*seen["GIVEN"], &*seen["HOME"], &*seen["TZ"]), ("to it", "/its/own", "UTC"), "{id}");
        assert_eq!(seen["PATH"], std::env::var("PATH").unwrap(), "{id}");
        let known = |name: &&String| PASSED.contains(&name.as_str()) || name.starts_with("LC_") || *name == "GIVEN";
        let others: Vec<_> = seen.keys().filter(|name| !known(name)).collect();
        assert!(!isolated || others.is_empty(), "{id}: {others:?}");
    }
    running.terminate();
    assert!(!running.ended().2.contains("s3cret"));
}

#[test]
fn children_and_those_that_they_started_end_with_the_gateway() {
    let child = child();
    let setup = Setup::open().entry("one", &child.transport(), OPEN).entry("two", &child.transport(), TRUSTED);
    let running = Running::with(&setup.text());
    let pids = ["one", "two"].map(|id| Client::plain(running.address(), id).told(&json!({ "do": "spawn" })));
    let pids: Vec<_> = pids.iter().flat_map(|pids| pids.split(' ')).collect();
    assert_eq!(pids.len(), 4);
    assert!(pids.iter().all(|pid| runs(pid)), "{pids:?}");
    // Somebody waits who will never be answered, and somebody listens.
    let mut clients = [Connection::to(running.address()), Connection::to(running.address())];
    let hanging = Client::plain(running.address(), "one")
        .request("tools/call", json!({ "name": "act", "arguments": { "do": "hang" } }));
    clients[0].send(hanging.bytes());
    clients[1].send(Request::new("GET", "/mcp/two").streamable().bytes());
    clients[1].receive_head().expect("a head");
    running.terminate();
    assert!(running.ended().0);
    until("the end of all", || !pids.iter().any(|pid| runs(pid)));
}

#[test]
fn those_that_a_child_started_end_with_it() {
    let child = child();
    let gateway = gateway(&child, OPEN);
    let client = Client::plain(gateway.address, "child");
    let pids = client.told(&json!({ "do": "spawn" }));
    let (pid, started) = pids.split_once(' ').unwrap();
    signal("KILL", pid);
    until("the end of it", || !runs(started));
    assert_ne!(greeted(&client), pid);
}

#[test]
fn a_call_in_flight_is_answered_before_the_gateway_stops() {
    let child = child();
    let running = Running::with(&Setup::open().entry("child", &child.transport(), OPEN).text());
    greeted(&Client::plain(running.address(), "child"));
    let mut connection = Connection::to(running.address());
    connection.send(act(&json!({ "do": "sleep", "seconds": 1 }), None).bytes());
    until("the call", || child.seen().iter().any(|seen| seen["params"]["arguments"]["do"] == "sleep"));
    running.terminate();
    assert_eq!(connection.receive().expect("an answer").status(), 200);
    assert!(running.ended().0);
}

#[test]
fn a_batch_for_a_child_is_refused_and_not_forwarded() {
    let child = child();
    let gateway = gateway(&child, OPEN);
    let client = Client::plain(gateway.address, "child");
    greeted(&client);
    let before = child.seen().len();
    let batch = format!("[{},{}]", call("1", "act"), call("2", "act"));
    for request in [Request::post("/mcp/child", batch.clone()), Request::post("/mcp/child", batch).streamable()] {
        let answer = gateway.send(&request);
        assert!(answer.text().contains("-32600"), "{answer}");
    }
    client.assert_served("act", "one by one");
    assert_eq!(child.seen().len(), before + 1);
}
