//! The command: what it prints, how it exits, when it stops.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use tower_toolgate::provenance::unfence;

use crate::provenance::TAG;
use crate::support::{Setup, Stage, Upstream, call, nowhere, ok, result};
use crate::wire::{Connection, PATIENCE, Request};

/// The example is built beside the tests by `cargo test`; it has no variable of its own that says where.
fn gateway() -> Command {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().unwrap().parent().unwrap().join("examples").join("gateway");
    assert!(path.exists(), "{} is missing: build it with `cargo build --examples`", path.display());
    Command::new(path)
}

/// A configuration in a file of its own.
fn file(text: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("gateway-{}-{count}.toml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

pub(crate) fn run(config: &str, arguments: &[&str]) -> (i32, String, String) {
    let path = file(config);
    let output = gateway().arg("--config").arg(&path).args(arguments).stdin(Stdio::null()).output().unwrap();
    std::fs::remove_file(path).unwrap();
    told(&output)
}

fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().expect("an exit code"), text(&output.stdout), text(&output.stderr))
}

/// A gateway in a process of its own.
pub(crate) struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
    first: String,
}

impl Running {
    fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = gateway();
        command
            .envs(environment.iter().copied())
            .args(arguments)
            .args(["--listen", "127.0.0.1:0"])
            .env("RUST_LOG", "trace");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        out.read_line(&mut first).unwrap();
        Self { child, out, first }
    }

    pub(crate) fn with(config: &str) -> Self {
        Self::within(config, &[])
    }

    /// The same with more in its environment.
    pub(crate) fn within(config: &str, environment: &[(&str, &str)]) -> Self {
        let path = file(config);
        let running = Self::start(&["--config", path.to_str().unwrap()], environment);
        std::fs::remove_file(path).unwrap();
        running
    }

    pub(crate) fn address(&self) -> SocketAddr {
        let address = self.first.strip_prefix("ready http://").and_then(|rest| rest.strip_suffix('\n'));
        address.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("{:?}", self.first))
    }

    pub(crate) fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }

    /// Whether it succeeded, and all that it printed after the first line and to standard error.
    pub(crate) fn ended(mut self) -> (bool, String, String) {
        let mut err = self.child.stderr.take().unwrap();
        let (sender, receiver) = channel();
        let pid = self.child.id().to_string();
        thread::spawn(move || {
            let (mut out, mut log) = (String::new(), String::new());
            // Logs fill the pipe long before the process ends.
            let logs = thread::spawn(move || {
                err.read_to_string(&mut log).unwrap();
                log
            });
            self.out.read_to_string(&mut out).unwrap();
            let success = self.child.wait().unwrap().success();
            let _ = sender.send((success, out, logs.join().unwrap()));
        });
        receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            let _ = Command::new("kill").args(["-KILL", &pid]).status();
            panic!("still running")
        })
    }
}

/// A test that fails leaves nobody behind.
impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ask(address: SocketAddr, request: &Request) -> crate::wire::Message {
    let mut connection = Connection::to(address);
    connection.send(request.bytes());
    connection.receive().unwrap()
}

#[test]
fn the_first_line_says_where_it_listens_and_logs_go_to_standard_error() {
    let upstream = Upstream::echo();
    let running = Running::with(&Setup::of(upstream.address).text());
    let address = running.address();
    assert_ne!(address.port(), 0);
    let health = ask(address, &Request::new("GET", "/healthz").without("authorization"));
    assert_eq!(health.status(), 200);
    assert_eq!(ask(address, &Request::post("/mcp/a", call("1", "echo"))).status(), 200);
    assert_eq!(ask(address, &Request::post("/mcp/a", call("1", "other"))).status(), 403);
    running.terminate();
    let (success, out, log) = running.ended();
    assert!(success);
    assert_eq!(out, "", "only the one line");
    assert!(log.contains("tool_not_allowed"), "{log}");
    assert!(!log.contains("k-user"), "a key is in the log: {log}");
}

#[test]
fn the_demo_permits_and_denies_what_its_tour_says() {
    let running = Running::start(&[], &[]);
    let address = running.address();
    let ask = |key: &str, server: &str, tool: &str, arguments: &str| {
        let body = call("1", tool).replace("{}", arguments);
        let request = Request::post(&format!("/mcp/{server}"), body).streamable();
        ask(address, &request.set("authorization", &format!("Bearer {key}"))).json()
    };
    let allowed = ask("k-analyst", "files", "run_query", r#"{"cmd":"ls notes"}"#);
    assert_eq!(allowed["result"]["isError"], false, "{allowed}");
    for (key, server, tool, arguments, reason) in [
        ("k-analyst", "files", "run_query", r#"{"cmd":"rm notes"}"#, "policy.argument_value"),
        ("k-analyst", "files", "remember", r#"{"text":"x"}"#, "policy.tool_not_allowed"),
        ("k-guest", "web", "web_fetch", r#"{"url":"demo://"}"#, "policy.server_not_allowed"),
    ] {
        let denied = ask(key, server, tool, arguments);
        assert_eq!(denied["error"]["data"]["reason"], reason, "{denied}");
    }
    let other = ask("k-operator", "files", "remember", r#"{"text":"x"}"#);
    assert_eq!(other["result"]["isError"], false, "{other}");
    assert_eq!(other["result"]["_meta"][TAG]["origin"], "internal", "{other}");
    let page = ask("k-operator", "web", "web_fetch", r#"{"url":"demo://forum"}"#);
    assert_eq!(
        (&page["result"]["isError"], &page["result"]["_meta"][TAG]["origin"]),
        (&false.into(), &"external".into())
    );
    let text = page["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("<<EXT ") && text.contains(" server=web ") && unfence(text).is_ok(), "{text}");
    let refused = ask("k-operator", "files", "remember", r#"{"text":"Bob is the admin"}"#);
    assert_eq!(refused["error"]["data"]["reason"], "trust.tainted_sink", "{refused}");
    running.terminate();
    let (success, tour, _) = running.ended();
    assert!(success);
    assert_eq!(tour.matches(&format!("curl -s http://{address}/")).count(), 8, "{tour}");
}

#[test]
fn a_request_in_flight_is_answered_before_it_stops() {
    let stage = Stage::new();
    let running = Running::with(&Setup::of(stage.address).text());
    let address = running.address();
    let mut client = Connection::to(address);
    client.send(Request::post("/mcp/a", call("1", "echo")).bytes());
    let (_, mut server) = stage.next();
    running.terminate();
    // It has heard the signal when it takes no more connections.
    while std::net::TcpStream::connect(address).is_ok() {
        thread::yield_now();
    }
    server.send(ok(result("1")));
    let answer = client.receive().expect("an answer");
    assert_eq!((answer.status(), &*answer.id()), (200, "1"));
    assert!(running.ended().0);
}

#[test]
fn an_address_that_is_taken_is_told_with_its_place() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let (code, out, err) = run(&Setup::of(nowhere()).text(), &["--listen", &listen]);
    assert_eq!((code, &*out), (2, ""));
    assert!(err.contains("gateway.listen"), "{err}");
}

/// Without a doubt: every role has a key, every rule can match.
pub(crate) const CLEAN: &str = r#"[gateway]
listen = "127.0.0.1:0"
[[gateway.api_keys]]
key = "k-1"
subject = "ana"
roles = ["a"]
[policy]
[[policy.roles]]
name = "a"
servers = ["files"]
allow = ["read_file", "run_query"]
[[policy.roles.argument_allowlists]]
tool = "run_query"
argument = "cmd"
allowed = ["ls"]
required = true
deny_unknown_arguments = true
reject_control_chars = true
[[mcp.servers]]
id = "files"
transport = { builtin = "files" }
"#;

#[test]
fn check_exits_with_0_1_or_2_and_names_places() {
    assert_eq!(run(CLEAN, &["--check"]), (0, String::new(), String::new()));
    for (from, to, code, told) in [
        ("listen", "shadow = true\nlisten", 1, &["doubt: line 2, gateway.shadow: "][..]),
        (
            "roles = [\"a\"]",
            "roles = [\"a\"]\n[[gateway.api_keys]]\nkey = \"k-2\"\nsubject = \"b\"\nroles = [\"b\"]",
            2,
            &["error: line 10, gateway.api_keys[1].roles[0]: "],
        ),
        ("listen", "lissten", 2, &["error: line 2, gateway.lissten: ", "`listen`"]),
        (
            "\"run_query\"\nargument",
            "\"run_qury\"\nargument",
            1,
            &["doubt: line 13, policy.roles[0].argument_allowlists[0].tool: "],
        ),
        ("allowed = [\"ls\"]", "allowed = 1", 2, &["error: line 15, policy.roles[0].argument_allowlists[0].allowed"]),
        (
            "[[mcp.servers]]",
            "[[policy.roles]]\nname = \"a\"\nservers = [\"*\"]\n[[mcp.servers]]",
            2,
            &["error: line 20, policy.roles[1].name: "],
        ),
        ("127.0.0.1:0", "0.0.0.0:0", 1, &["doubt: line 1, gateway.allowed_hosts: ", "403"]),
        ("[policy]", "[provenance]\nfence = \"of\"\n[policy]", 2, &["error: line 8, provenance.fence: ", "`off`"]),
        ("[policy]", "[policy", 2, &["error: line 7: not valid TOML"]),
    ] {
        let config = CLEAN.replacen(from, to, 1);
        assert_ne!(config, CLEAN);
        let (exit, out, err) = run(&config, &["--check"]);
        assert_eq!((exit, &*err), (code, ""), "{to}: {out}");
        for part in told {
            assert!(out.contains(part), "{part} is not in {out}");
        }
    }
    let missing = gateway().args(["--check", "--config", "/nowhere/gateway.toml"]).output().unwrap();
    let (code, out, _) = told(&missing);
    assert_eq!(code, 2);
    assert!(out.contains("/nowhere/gateway.toml"), "{out}");
}

#[test]
fn explain_exits_with_0_1_or_2() {
    for (role, tool, json, code, said) in [
        ("a", "run_query", r#"{"cmd":"ls -l"}"#, 0, "files: allow\n"),
        ("a", "run_query", r#"{"cmd":"rm"}"#, 1, "files: deny (policy.argument_value)"),
        ("a", "run_query", "{}", 1, "files: deny (policy.argument_required)"),
        ("a", "remember", "{}", 1, "files: deny (policy.tool_not_allowed)"),
        ("b", "read_file", "{}", 1, "files: deny (policy.role_unknown)"),
        ("a", "run_query", r#"{"cmd":"ls","cmd":"rm"}"#, 2, ""),
        ("a", "run_query", "not json", 2, ""),
        ("a", "run_query", "[]", 2, ""),
    ] {
        let (exit, out, err) = run(CLEAN, &["--explain", role, tool, json]);
        assert_eq!(exit, code, "{role} {tool} {json}: {out}{err}");
        assert!(out.starts_with(said) && (code != 2 || out.is_empty() && err.starts_with("error: ")), "{out}{err}");
    }
    let broken = CLEAN.replace("allow = ", "alow = ");
    let (code, out, err) = run(&broken, &["--explain", "a", "read_file", "{}"]);
    assert_eq!((code, &*out), (2, ""));
    assert!(err.contains("line 11, policy.roles[0].alow"), "{err}");
}

#[test]
fn a_mistake_in_the_configuration_or_the_command_line_keeps_it_from_starting() {
    let (code, out, err) = run(&CLEAN.replace("subject", "subjekt"), &[]);
    assert_eq!((code, &*out), (2, ""));
    assert!(err.contains("gateway.api_keys[0].subjekt"), "{err}");
    let (code, out, err) = run(CLEAN, &["--listen", "nowhere"]);
    assert_eq!((code, &*out), (2, ""), "{err}");
    let (code, out, _) = run(CLEAN, &["--check", "--explain", "a", "b", "{}"]);
    assert_eq!((code, &*out), (2, ""));
}

#[test]
fn what_this_release_does_not_serve_keeps_it_from_starting() {
    let lines = "[content_trust.store]\nkind = \"redis\"\nurl = \"rediss://:secret@127.0.0.1:1\"";
    let (code, out, err) = run(&format!("{CLEAN}{lines}\n"), &[]);
    assert_eq!((code, &*out), (2, ""), "{lines}: {err}");
    assert!(err.contains("content_trust.store.url") && err.contains("by this release"), "{lines}: {err}");
    assert!(!err.contains("secret"), "{err}");
}
