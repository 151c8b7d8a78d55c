//! Servers that list what a test says, over HTTP and as a child process, and a client of theirs.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Value, json};

use crate::support::{Reply, Upstream, ok, response};
use crate::wire::{Connection, Message, Request};

/// A list of tools: its pages, each with the texts of its definitions.
pub(crate) type Pages = Vec<Vec<String>>;

/// A list of one page with tools of which nothing but the name is said.
pub(crate) fn named(tools: &[&str]) -> Pages {
    vec![tools.iter().map(|tool| json!({ "name": tool, "inputSchema": {} }).to_string()).collect()]
}

/// A server whose list of tools can change.
pub(crate) trait Offers {
    /// How it is reached, as a configuration says it.
    fn transport(&self) -> String;
    fn offer(&self, pages: Pages);
    /// Every message so far.
    fn seen(&self) -> Vec<Value>;

    /// The tools that were called.
    fn called(&self) -> Vec<String> {
        let calls = self.seen().into_iter().filter(|seen| seen["method"] == "tools/call");
        calls.map(|call| call["params"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// Which requests a server over HTTP knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Any,
    /// Only those of a session.
    Legacy,
    /// Only those without one.
    Modern,
}

/// A server over HTTP.
pub(crate) struct OverHttp {
    pub(crate) upstream: Upstream,
    pages: Arc<Mutex<Pages>>,
}

const SESSION: &str = "s-1";

impl OverHttp {
    pub(crate) fn new(era: Era, events: bool, pages: Pages) -> Self {
        let pages = Arc::new(Mutex::new(pages));
        let offered = Arc::clone(&pages);
        let upstream = Upstream::new(move |request| Reply::Keep(reply(era, events, request, &offered.lock().unwrap())));
        Self { upstream, pages }
    }
}

impl Offers for OverHttp {
    fn transport(&self) -> String {
        format!(
            r#"{{ http = {{ url = "http://{}/mcp", headers = {{ x-key = "k-operator" }} }} }}"#,
            self.upstream.address
        )
    }

    fn offer(&self, pages: Pages) {
        *self.pages.lock().unwrap() = pages;
    }

    fn seen(&self) -> Vec<Value> {
        let bodies = self.upstream.seen().into_iter().filter(|seen| !seen.body.is_empty());
        bodies.map(|seen| seen.json()).collect()
    }
}

fn reply(era: Era, events: bool, request: &Message, pages: &Pages) -> Vec<u8> {
    assert_eq!(request.header("x-key"), Some("k-operator"), "{request}");
    if request.body.is_empty() {
        return response("200 OK", "text/plain", "");
    }
    let asked = request.json();
    let (id, greets) = (&asked["id"], asked["method"] == "initialize");
    let session = request.header("mcp-session-id");
    let is_modern = asked["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28";
    match era {
        Era::Any => {}
        Era::Legacy if greets || session == Some(SESSION) => {}
        Era::Legacy => return response("400 Bad Request", "text/plain", "no session"),
        Era::Modern if is_modern && request.header("mcp-method") == asked["method"].as_str() => {}
        Era::Modern => return ok(failure(id, "no such revision")),
    }
    let Some(answer) = answer(&asked, pages) else {
        return b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_vec();
    };
    let mut sent = if events {
        // A notice before the answer, and an event without data.
        let notice = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "data": "x" } });
        response(
            "200 OK",
            "text/event-stream",
            format!(": hello\r\n\r\ndata: {notice}\r\n\r\nid: 1\r\ndata: {answer}\r\n\r\n"),
        )
    } else {
        ok(answer)
    };
    if greets && era == Era::Legacy {
        let header = format!("mcp-session-id: {SESSION}\r\n");
        sent.splice("HTTP/1.1 200 OK\r\n".len().., [header.as_bytes(), &sent["HTTP/1.1 200 OK\r\n".len()..]].concat());
    }
    sent
}

fn failure(id: &Value, message: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": message } }).to_string()
}

/// `None` to what is no request.
fn answer(asked: &Value, pages: &Pages) -> Option<String> {
    let id = asked.get("id").filter(|_| asked.get("method").is_some())?;
    let params = &asked["params"];
    Some(match asked["method"].as_str().unwrap() {
        "initialize" => {
            let server = json!({ "name": "offers", "version": "1" });
            let result =
                json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": server });
            json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
        }
        "tools/list" => {
            let at = params["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
            let more = if at + 1 < pages.len() { format!(r#","nextCursor":"{}""#, at + 1) } else { String::new() };
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{}]{more}}}}}"#, pages[at].join(","))
        }
        "tools/call" => {
            let content = json!([{ "type": "text", "text": params["arguments"].to_string() }]);
            json!({ "jsonrpc": "2.0", "id": id, "result": { "content": content } }).to_string()
        }
        _ => failure(id, "Method not found"),
    })
}

/// A folder that goes when it is no longer needed.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("gateway-suite-{}-{count}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The names of what is in it, in their order.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server that the gateway runs as a child process: `child.py`, which says what calls of it can ask for.
pub(crate) struct Child(Folder);

impl Child {
    pub(crate) fn new(tools: &[&str]) -> Self {
        let child = Self(Folder::new());
        child.offer(named(tools));
        child
    }

    /// The same with more said of its transport.
    pub(crate) fn transport_with(&self, more: &str) -> String {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/child.py");
        let (tools, seen) = (self.0.file("tools"), self.0.file("seen"));
        // Without what is installed beside it, it starts sooner.
        let args = ["-IS", script, "--tools", tools.to_str().unwrap(), "--seen", seen.to_str().unwrap()];
        format!("{{ stdio = {{ command = {:?}, args = {args:?}{more} }} }}", python())
    }
}

impl Offers for Child {
    fn transport(&self) -> String {
        self.transport_with("")
    }

    fn offer(&self, pages: Pages) {
        std::fs::write(self.0.file("tools"), json!(pages).to_string()).unwrap();
    }

    fn seen(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.0.file("seen")).unwrap_or_default();
        // The last one may be half written.
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The interpreter itself: what is found in `PATH` may be a script that looks for it.
fn python() -> &'static str {
    static PYTHON: OnceLock<String> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let told = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        String::from_utf8(told.expect("Python 3 is installed").stdout).unwrap().trim().to_owned()
    })
}

/// The caller `k-user` of one server of a gateway.
pub(crate) struct Client {
    address: SocketAddr,
    target: String,
    streams: bool,
    modern: bool,
    session: Option<String>,
}

impl Client {
    /// One that reads no events, and is told of faults by the status.
    pub(crate) fn plain(address: SocketAddr, server: &str) -> Self {
        Self { address, target: format!("/mcp/{server}"), streams: false, modern: false, session: None }
    }

    /// One that reads events, and wants to be told of progress.
    pub(crate) fn streaming(address: SocketAddr, server: &str) -> Self {
        Self { streams: true, ..Self::plain(address, server) }
    }

    /// One that speaks as a server wants it.
    pub(crate) fn of(era: Era, address: SocketAddr, server: &str) -> Self {
        let mut client = Self { modern: era == Era::Modern, ..Self::streaming(address, server) };
        if era == Era::Legacy {
            let greeting = json!({
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "suite", "version": "1" },
            });
            let welcome = client.ask("initialize", greeting);
            client.session = welcome.header("mcp-session-id").map(str::to_owned);
        }
        client
    }

    pub(crate) fn request(&self, method: &str, mut params: Value) -> Request {
        let mut meta = HashMap::new();
        if self.streams {
            meta.insert("progressToken".to_owned(), json!("p"));
        }
        if self.modern {
            let said = [("protocolVersion", json!("2026-07-28")), ("clientCapabilities", json!({}))];
            meta.extend(said.map(|(name, value)| (format!("io.modelcontextprotocol/{name}"), value)));
        }
        if !meta.is_empty() {
            params["_meta"] = json!(meta);
        }
        let name = params["name"].as_str().map(str::to_owned);
        let message = json!({ "jsonrpc": "2.0", "id": "q", "method": method, "params": params });
        let mut request = Request::post(&self.target, message.to_string());
        if self.streams {
            request = request.streamable();
        }
        if self.modern {
            request = request.with("mcp-protocol-version", "2026-07-28").with("mcp-method", method);
            request = name.map_or(request.clone(), |name| request.with("mcp-name", &name));
        }
        match &self.session {
            Some(session) => request.with("mcp-session-id", session),
            None => request,
        }
    }

    pub(crate) fn ask(&self, method: &str, params: Value) -> Message {
        self.send(&self.request(method, params))
    }

    pub(crate) fn send(&self, request: &Request) -> Message {
        let mut connection = Connection::to(self.address);
        connection.send(request.bytes());
        connection.receive().expect("an answer")
    }

    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Message {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// The text that a call brings.
    pub(crate) fn told(&self, arguments: &Value) -> String {
        let answer = self.call("act", arguments);
        let text = answer.answer()["result"]["content"][0]["text"].as_str().map(str::to_owned);
        text.unwrap_or_else(|| panic!("{answer}"))
    }

    /// The names of all tools, page by page.
    pub(crate) fn list(&self) -> Vec<String> {
        let (mut names, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let page = self.ask("tools/list", if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) });
            let result = page.answer()["result"].take();
            let tools = result["tools"].as_array().unwrap_or_else(|| panic!("no list: {page}"));
            names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
            cursor = result["nextCursor"].clone();
            if cursor.is_null() {
                return names;
            }
        }
    }

    /// Makes sure that a call is refused for a reason, in the shape that the client reads.
    pub(crate) fn assert_refused(&self, tool: &str, reason: &str, case: &str) {
        let answer = self.call(tool, &json!({}));
        let (status, error) = (if self.streams { 200 } else { 403 }, &answer.answer()["error"]);
        assert_eq!((answer.status(), &error["data"]["reason"]), (status, &json!(reason)), "{case}: {tool}: {answer}");
        assert_eq!((&error["code"], &answer.answer()["id"]), (&json!(403), &json!("q")), "{case}: {tool}: {answer}");
    }

    /// Makes sure that a call is answered by the server.
    pub(crate) fn assert_served(&self, tool: &str, case: &str) {
        let answer = self.call(tool, &json!({ "n": 7 }));
        assert_eq!(answer.status(), 200, "{case}: {tool}: {answer}");
        let message = answer.answer();
        assert_eq!(message["id"], "q", "{case}: {tool}: {answer}");
        let text =
            message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{case}: {tool}: {answer}"));
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), json!({ "n": 7 }), "{case}: {tool}");
    }
}
