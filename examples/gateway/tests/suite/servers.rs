//! What is declared of servers, as clients see it.

use serde_json::{Value, json};

use crate::offers::{Child, Client, Era, Offers, OverHttp, named};
use crate::support::{Reply, Setup, Upstream, call, ok, response, result};
use crate::wire::{Message, Request};

/// What a server offers, what is declared of it, and what becomes of its tools.
#[derive(Clone, Copy)]
struct Row {
    name: &'static str,
    offers: &'static [&'static str],
    lines: &'static str,
    exposed: &'static [&'static str],
    hidden: &'static [(&'static str, &'static str)],
}

const TRUSTED: &str = "trust_level = \"trusted\"\n";
const UNTRUSTED: &str = "trust_level = \"untrusted\"\n";
const SANDBOXED: &str = "trust_level = \"sandboxed\"\n";
const FLAGS: [&str; 3] =
    ["", "allow_untrusted_without_allowlist = false\n", "allow_untrusted_without_allowlist = true\n"];

impl Row {
    fn offering(self, offers: &'static [&'static str]) -> Self {
        Self { offers, ..self }
    }

    fn hiding(self, hidden: &'static [(&'static str, &'static str)]) -> Self {
        Self { hidden, ..self }
    }

    fn check(&self, before: &str) {
        let (offers, name) = (named(self.offers), format!("{} {before}", self.name));
        let json = OverHttp::new(Era::Any, false, offers.clone());
        let events = OverHttp::new(Era::Any, true, offers);
        let child = Child::new(self.offers);
        let lines = format!("{before}{}", self.lines);
        let servers: [(&str, &dyn Offers); 3] = [("json", &json), ("events", &events), ("stdio", &child)];
        let setup =
            servers.iter().fold(Setup::open(), |setup, (id, server)| setup.entry(id, &server.transport(), &lines));
        let gateway = setup.start();
        for (id, server) in servers {
            self.assert_seen(&Client::streaming(gateway.address, id), server, &format!("{name} {id} as a stream"));
            if id != "events" {
                self.assert_seen(&Client::plain(gateway.address, id), server, &format!("{name} {id}"));
            }
        }
    }

    /// SE-42: what is listed is what can be called, and the server sees nothing of other calls.
    fn assert_seen(&self, client: &Client, server: &dyn Offers, case: &str) {
        let before = server.called().len();
        self.hidden.iter().for_each(|(tool, reason)| client.assert_refused(tool, reason, case));
        self.exposed.iter().for_each(|tool| client.assert_served(tool, case));
        assert_eq!(client.list(), self.exposed, "{case}: listed");
        // The list has come through as well: the server has seen all that it will ever see.
        assert_eq!(server.called()[before..], *self.exposed, "{case}: forwarded");
    }
}

/// A row of a server that offers `a` and `b`.
const fn row(name: &'static str, lines: &'static str, exposed: &'static [&'static str]) -> Row {
    Row { name, offers: &["a", "b"], lines, exposed, hidden: &[] }
}

const NO_LIST: &str = "server.no_allowlist";
const UNLISTED: &str = "server.tool_not_listed";
const UNEXPECTED: &str = "server.tool_unexpected";
const SENSITIVE: &str = "server.tool_sensitive";
const NAME: &str = "server.tool_name";

fn check_all(before: &[&str], rows: &[Row]) {
    for row in rows {
        assert_eq!(
            row.exposed.len() + row.hidden.len(),
            row.offers.len(),
            "{}: of every tool something is said",
            row.name
        );
        before.iter().for_each(|before| row.check(before));
    }
}

fn each(level: &str, flags: &[&str]) -> Vec<String> {
    flags.iter().map(|flag| format!("{level}{flag}")).collect()
}

fn check_level(level: &str, flags: &[&str], rows: &[Row]) {
    let before = each(level, flags);
    check_all(&before.iter().map(String::as_str).collect::<Vec<_>>(), rows);
}

#[test]
fn se_01_to_03_se_18_se_24_all_tools_of_a_trusted_server_are_exposed() {
    let rows = [
        row("SE-01", "", &["a", "b"]),
        row("SE-02", "tool_allowlist = []", &["a", "b"]),
        row("SE-03", "tool_allowlist = [\"a\"]", &["a", "b"]),
        row("SE-18", "expected_tools = [\"a\"]", &["a", "b"]),
        row("SE-18 with a list", "tool_allowlist = [\"b\"]\nexpected_tools = [\"a\"]", &["a", "b"]),
    ];
    check_level(TRUSTED, &FLAGS[1..], &rows);
    let rows = [
        row("SE-24", "", &["shell", "write_x"]).offering(&["shell", "write_x"]),
        row("SE-24 with a list", "tool_allowlist = []", &["shell", "write_x"]).offering(&["shell", "write_x"]),
    ];
    check_level(TRUSTED, &FLAGS[..1], &rows);
}

#[test]
fn se_04_to_09_an_untrusted_server_exposes_what_is_listed() {
    let rows = [
        row("SE-06", "tool_allowlist = []", &[]).hiding(&[("a", UNLISTED), ("b", UNLISTED)]),
        row("SE-08", "tool_allowlist = [\"a\"]", &["a"]).hiding(&[("b", UNLISTED)]),
        row("SE-09", "tool_allowlist = [\"zzz\"]", &[]).hiding(&[("a", UNLISTED), ("b", UNLISTED)]),
        row("SE-20", "tool_allowlist = [\"a\", \"b\"]\nexpected_tools = []", &["a", "b"]),
    ];
    // SE-07: an empty list is a list.
    check_level(UNTRUSTED, &FLAGS[1..], &rows);
    let none = row("SE-04", "", &[]).hiding(&[("a", NO_LIST), ("b", NO_LIST)]);
    check_level(UNTRUSTED, &FLAGS[..2], &[none]);
    check_level(UNTRUSTED, &FLAGS[2..], &[row("SE-05", "", &["a", "b"])]);
}

#[test]
fn se_10_to_12_a_sandboxed_server_exposes_what_is_listed_whatever_the_flag_says() {
    let rows = [
        row("SE-10", "", &[]).hiding(&[("a", NO_LIST), ("b", NO_LIST)]),
        row("SE-11", "tool_allowlist = []", &[]).hiding(&[("a", UNLISTED), ("b", UNLISTED)]),
        row("SE-12", "tool_allowlist = [\"b\"]", &["b"]).hiding(&[("a", UNLISTED)]),
    ];
    check_level(SANDBOXED, &FLAGS[1..], &rows);
}

#[test]
fn se_14_to_20_what_is_expected_filters_and_allows_nothing() {
    let expected = "expected_tools = [\"a\"]";
    let none = row("SE-14", expected, &[]).hiding(&[("a", NO_LIST), ("b", UNEXPECTED)]);
    check_level(UNTRUSTED, &FLAGS[1..2], &[none]);
    check_level(UNTRUSTED, &FLAGS[2..], &[row("SE-15", expected, &["a"]).hiding(&[("b", UNEXPECTED)])]);
    let both = "tool_allowlist = [\"a\", \"b\"]\nexpected_tools = [\"a\"]";
    check_level(UNTRUSTED, &FLAGS[1..], &[row("SE-16", both, &["a"]).hiding(&[("b", UNEXPECTED)])]);
    let other = row("SE-17", "tool_allowlist = [\"b\"]\nexpected_tools = [\"a\"]", &[]);
    check_level(SANDBOXED, &FLAGS[1..], &[other.hiding(&[("a", UNLISTED), ("b", UNEXPECTED)])]);
    let fewer =
        row("SE-19", "tool_allowlist = [\"a\", \"b\"]\nexpected_tools = [\"a\", \"b\"]", &["a"]).offering(&["a"]);
    check_all(&[TRUSTED, UNTRUSTED, SANDBOXED], &[fewer]);
    check_level(UNTRUSTED, &FLAGS[2..], &[row("SE-20 without a list", "expected_tools = []", &["a", "b"])]);
}

#[test]
fn se_22_names_are_compared_as_they_are() {
    let spaced = row("SE-22", "tool_allowlist = [\"read_file\"]", &[]).offering(&["read file"]);
    check_all(&[TRUSTED, UNTRUSTED, SANDBOXED], &[spaced.hiding(&[("read file", NAME)])]);
    let listed = row("SE-22 listed", "tool_allowlist = [\"read file\"]", &[]).offering(&["read file"]);
    check_all(&[UNTRUSTED], &[listed.hiding(&[("read file", NAME)])]);
    let others: &[&str] = &["Read_file", "read-file", "read_file_", "read_file\u{200b}"];
    let hidden: &[_] =
        &[("Read_file", UNLISTED), ("read-file", UNLISTED), ("read_file_", UNLISTED), ("read_file\u{200b}", NAME)];
    let others = row("SE-22 others", "tool_allowlist = [\"read_file\"]", &[]).offering(others).hiding(hidden);
    check_all(&[UNTRUSTED], &[others]);
}

#[test]
fn se_23_se_24_se_27_what_can_do_much_harm_needs_a_trusted_server() {
    let listed = "tool_allowlist = [\"a\", \"shell\", \"executive_summary\"]";
    let high = row("SE-23 SE-27", listed, &["a"]).offering(&["a", "shell", "executive_summary"]);
    let hidden: &[_] = &[("shell", SENSITIVE), ("executive_summary", SENSITIVE)];
    let medium = row("SE-24 SE-27", "tool_allowlist = [\"write_x\", \"remove_tag\"]", &["write_x", "remove_tag"]);
    check_all(&[UNTRUSTED, SANDBOXED], &[high.hiding(hidden), medium.offering(&["write_x", "remove_tag"])]);
    let all = row("SE-23 without a list", "", &["a"]).offering(&["a", "shell"]).hiding(&[("shell", SENSITIVE)]);
    check_level(UNTRUSTED, &FLAGS[2..], &[all]);
}

#[test]
fn se_25_what_the_operator_says_of_a_tool_replaces_what_is_guessed() {
    let lines = "tool_allowlist = [\"a\", \"shell\"]\n\
                 tool_metadata = { shell = { data_sensitivity = \"low\" }, a = { data_sensitivity = \"high\" } }";
    let both = row("SE-25", lines, &["shell"]).offering(&["a", "shell"]).hiding(&[("a", SENSITIVE)]);
    check_all(&[UNTRUSTED, SANDBOXED], &[both]);
    // One that says nothing of it says that there is none.
    let lines = "tool_allowlist = [\"shell\"]\ntool_metadata = { shell = { capabilities = [\"shell\"] } }";
    check_all(&[UNTRUSTED], &[row("SE-25 unsaid", lines, &["shell"]).offering(&["shell"])]);
    let lines = "tool_metadata = { a = { data_sensitivity = \"high\" } }";
    check_all(&[TRUSTED], &[row("SE-25 trusted", lines, &["a", "b"])]);
}

#[test]
fn se_36_who_is_not_said_to_be_trusted_is_not() {
    let none = row("SE-36", "", &[]).hiding(&[("a", NO_LIST), ("b", NO_LIST)]);
    // Of one that is trusted the flag changes nothing, and one in a sandbox exposes nothing with it.
    check_all(&[""], &[none, row("SE-36 with the flag", "allow_untrusted_without_allowlist = true", &["a", "b"])]);
}

#[test]
fn the_operators_headers_take_the_place_of_the_clients() {
    let server = OverHttp::new(Era::Any, false, named(&["a"]));
    let gateway = Setup::open().entry("files", &server.transport(), TRUSTED).start();
    let client = Client::plain(gateway.address, "files");
    let request = client.request("tools/call", json!({ "name": "a", "arguments": {} }));
    let answer = client.send(&request.with("X-Key", "k-client").with("x-other", "1"));
    assert_eq!(answer.status(), 200, "{answer}");
    let seen = server.upstream.only();
    assert_eq!((seen.header("x-key"), seen.header("x-other")), (Some("k-operator"), Some("1")));
    assert_eq!(seen.header("authorization"), None, "the key of the gateway is nobody else's business");
}

const ASKED: [&str; 3] = ["elicitation/create", "roots/list", "sampling/createMessage"];

/// A server that asks for all that there is before it answers a call.
fn asking() -> Upstream {
    Upstream::new(|request| {
        let asked = request.json();
        if asked["method"] == "initialize" {
            return Reply::Keep(ok(result(&request.id())));
        }
        let ask =
            |method: &&str| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":\"{method}\",\"method\":\"{method}\"}}\n\n");
        let answer = format!("data: {}\n\n", result(&request.id()));
        Reply::Keep(response("200 OK", "text/event-stream", ASKED.iter().map(ask).collect::<String>() + &answer))
    })
}

#[test]
fn a_server_over_http_asks_its_clients_for_no_more_than_it_may() {
    let (asks, roots) = ("elicitation_enabled = true", "roots = [{ uri = \"file:///srv\" }]");
    let able =
        json!({ "elicitation": {}, "roots": { "listChanged": true }, "sampling": {}, "experimental": { "x": {} } });
    for (lines, may) in [
        (format!("{SANDBOXED}{asks}\n{roots}\ntool_allowlist = [\"a\"]"), &[][..]),
        ("tool_allowlist = [\"a\"]".to_owned(), &[]),
        (format!("{asks}\ntool_allowlist = [\"a\"]"), &["elicitation"]),
        (format!("{roots}\ntool_allowlist = [\"a\"]"), &["roots"]),
        (TRUSTED.to_owned(), &["sampling"]),
        (format!("{TRUSTED}{asks}\n{roots}"), &["elicitation", "roots", "sampling"]),
    ] {
        let server = asking();
        let transport = format!("{{ http = {{ url = \"http://{}/\" }} }}", server.address);
        let gateway = Setup::open().entry("files", &transport, &lines).start();
        let client = Client::streaming(gateway.address, "files");
        let messages = client.call("a", &json!({})).messages();
        let (answer, asked) = messages.split_last().unwrap();
        assert_eq!(answer["result"]["content"], json!([]), "{lines}");
        let asked: Vec<_> = asked.iter().map(|asked| asked["method"].as_str().unwrap()).collect();
        // The roots are the operator's to tell.
        let permitted = |method: &&&str| may.iter().any(|may| *may != "roots" && method.starts_with(may));
        assert_eq!(asked, ASKED.iter().filter(permitted).copied().collect::<Vec<_>>(), "{lines}");
        client.ask("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": able }));
        let told = server.seen().iter().map(Message::json).find(|told| told["method"] == "initialize").unwrap();
        let told = &told["params"]["capabilities"];
        let told: Vec<_> = told.as_object().unwrap().keys().filter(|able| *able != "experimental").cloned().collect();
        assert_eq!(told, may, "{lines}");
        let is_answer = |message: &Value| message["method"].is_null();
        let answers = wait_for(|| {
            let answers = server.seen().iter().map(Message::json).filter(is_answer).collect::<Vec<_>>();
            (answers.len() == ASKED.len() - asked.len()).then_some(answers)
        });
        for answer in answers {
            let (id, tells) = (answer["id"].as_str().unwrap(), may.contains(&"roots"));
            match id {
                "elicitation/create" => assert_eq!(answer["result"], json!({ "action": "decline" }), "{lines}"),
                "roots/list" if tells => assert_eq!(answer["result"]["roots"][0]["uri"], "file:///srv", "{lines}"),
                _ => assert_eq!(answer["error"]["code"], -32601, "{lines} {answer}"),
            }
        }
    }
}

/// What comes sooner or later.
fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// An untrusted server with the id `files` that exposes `a`, and offers `b` as well.
fn one_of_two() -> (OverHttp, Setup) {
    let server = OverHttp::new(Era::Any, false, named(&["a", "b"]));
    let setup = Setup::open().entry("files", &server.transport(), "tool_allowlist = [\"a\"]");
    (server, setup)
}

#[test]
fn se_42_a_batch_passes_whole_or_not() {
    let (server, setup) = one_of_two();
    let gateway = setup.start();
    let send = |tools: [&str; 2]| {
        let batch = format!("[{},{}]", call("1", tools[0]), call("2", tools[1]));
        gateway.send(&Request::post("/mcp/files", batch).streamable())
    };
    for tools in [["a", "b"], ["b", "a"], ["b", "b"]] {
        let answer = send(tools).json();
        let reasons: Vec<_> = answer.as_array().unwrap().iter().map(|one| &one["error"]["data"]["reason"]).collect();
        assert!(reasons.contains(&&json!(UNLISTED)) && reasons.iter().all(|reason| !reason.is_null()), "{answer}");
    }
    assert_eq!(Client::plain(gateway.address, "files").list(), ["a"]);
    assert_eq!(server.called(), [""; 0], "nothing of a batch is forwarded that is refused");
}

#[test]
fn se_42_whatever_looks_like_a_call_of_a_tool_is_none_or_judged() {
    let (server, setup) = one_of_two();
    let gateway = setup.start();
    for method in ["tools/Call", "TOOLS/CALL", "tools/call ", "tools/invoke", "tools/calls"] {
        let message =
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "name": "a", "arguments": {} } });
        let answer = gateway.send(&Request::post("/mcp/files", message.to_string()));
        assert!(answer.status() == 403 || answer.status() == 400, "{method}: {answer}");
    }
    for name in ["A", " a", "a ", "a\u{0}", "\u{ff41}", "files__a", "b"] {
        let answer = Client::plain(gateway.address, "files").call(name, &json!({}));
        assert!(answer.status() == 403 || answer.status() == 400, "{name:?}: {answer}");
    }
    assert_eq!(Client::plain(gateway.address, "files").list(), ["a"]);
    assert_eq!(server.seen().len(), 1, "the list alone is forwarded: {:#?}", server.seen());
}

#[test]
fn what_the_entry_refuses_is_counted_and_is_refused_in_the_shadow_too() {
    let (server, setup) = one_of_two();
    let gateway = setup.gateway("shadow = true").start();
    let client = Client::plain(gateway.address, "files");
    client.assert_refused("b", UNLISTED, "in the shadow");
    client.assert_served("a", "in the shadow");
    assert_eq!((client.list(), server.called()), (vec!["a".to_owned()], vec!["a".to_owned()]));
    let counter = "toolgate_decisions_total{outcome=\"deny\",reason=\"server.tool_not_listed\",server=\"files\"}";
    assert_eq!(gateway.counter(counter), 1);
}

#[test]
fn what_is_masked_does_not_say_which_tools_there_are() {
    let (server, setup) = one_of_two();
    let gateway = setup.gateway("denial = \"masked\"").start();
    for client in [Client::plain(gateway.address, "files"), Client::streaming(gateway.address, "files")] {
        let (hidden, absent) = (client.call("b", &json!({})), client.call("c", &json!({})));
        assert_eq!((hidden.status(), absent.status()), (200, 200), "{hidden}{absent}");
        assert_eq!(hidden.text().replace("'b'", "'c'").replace(": b", ": c"), absent.text());
        assert!(!hidden.text().contains("server."), "{hidden}");
    }
    assert_eq!(server.called(), [""; 0]);
}

#[test]
fn only_the_name_of_a_trusted_server_leads_to_this_machine() {
    for (lines, status, seen) in [(TRUSTED, 200, 1), ("tool_allowlist = [\"a\"]", 502, 0)] {
        let server = OverHttp::new(Era::Any, false, named(&["a"]));
        let transport = server.transport().replace("127.0.0.1", "localhost");
        let gateway = Setup::open().entry("files", &transport, lines).start();
        let answer = Client::plain(gateway.address, "files").call("a", &json!({}));
        assert_eq!((answer.status(), server.seen().len()), (status, seen), "{lines}: {answer}");
    }
}
