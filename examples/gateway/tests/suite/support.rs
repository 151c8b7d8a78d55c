//! Gateways, servers behind them, and what every test says.

use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::SystemTime;

use axum::Router;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use toolgate_gateway::app;
use toolgate_gateway::config::Config;
use tower_toolgate::Principal;
use tower_toolgate::binding::{Binder, BindingKey};

use crate::wire::{Connection, Message, PATIENCE, Request};

/// A call of a tool; `id` is JSON.
pub(crate) fn call(id: &str, tool: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}}}}}"#)
}

/// A result; `id` is JSON.
pub(crate) fn result(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#)
}

/// A response with JSON.
pub(crate) fn ok(body: impl AsRef<[u8]>) -> Vec<u8> {
    response("200 OK", "application/json", body)
}

pub(crate) fn response(status: &str, media: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {media}\r\ncontent-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// The configuration of a gateway. The key `k-user` may call `echo` and `run` everywhere, `k-stranger` nothing at
/// `a`, and `k-user-2` differs from the first only at its end.
pub(crate) struct Setup {
    gateway: String,
    allow: &'static str,
    servers: String,
    sections: String,
}

const KEY: &str = "a key of at least thirty-two bytes, for tests";

/// The id under which ana knows a session of the server `a`.
pub(crate) fn session(id: &str) -> String {
    let (key, ana) = (BindingKey::new(KEY).unwrap(), Principal::new("api-key", "ana").unwrap());
    Binder::new(&key, Some("a"), Some(&ana)).bind_session(id, SystemTime::now()).unwrap()
}

impl Setup {
    /// In front of a server with the id `a`.
    pub(crate) fn of(upstream: SocketAddr) -> Self {
        Self { allow: r#"["echo", "run"]"#, ..Self::open() }.server("a", upstream, "20s")
    }

    /// In front of no server yet. The key `k-user` may call everything.
    pub(crate) fn open() -> Self {
        Self { gateway: String::new(), allow: r#"["*"]"#, servers: String::new(), sections: String::new() }
    }

    /// Adds a server of which the lines say all but how it is reached.
    pub(crate) fn entry(mut self, id: &str, transport: &str, lines: &str) -> Self {
        self.servers += &format!("[[mcp.servers]]\nid = \"{id}\"\ntransport = {transport}\n{lines}\n");
        if !lines.contains("timeout") {
            self.servers += "timeout = \"20s\"\n";
        }
        self
    }

    /// Adds a section.
    pub(crate) fn section(mut self, lines: &str) -> Self {
        self.sections += lines;
        self.sections += "\n";
        self
    }

    /// Adds lines to the section `gateway`.
    pub(crate) fn gateway(mut self, lines: &str) -> Self {
        self.gateway += lines;
        self.gateway += "\n";
        self
    }

    pub(crate) fn server(mut self, id: &str, address: SocketAddr, timeout: &str) -> Self {
        self.servers += &format!(
            "[[mcp.servers]]\nid = \"{id}\"\ntransport = {{ http = {{ url = \"http://{address}/mcp\" }} }}\n\
             timeout = \"{timeout}\"\ntrust_level = \"trusted\"\n"
        );
        self
    }

    /// The same with another time for the server's answers.
    pub(crate) fn timeout(mut self, timeout: &str) -> Self {
        self.servers = self.servers.replace("\"20s\"", &format!("\"{timeout}\""));
        self
    }

    pub(crate) fn text(&self) -> String {
        let key = |key: &str, subject: &str, role: &str| {
            format!("[[gateway.api_keys]]\nkey = \"{key}\"\nsubject = \"{subject}\"\nroles = [\"{role}\"]\n")
        };
        let keys = [key("k-user", "ana", "user"), key("k-user-2", "bob", "user"), key("k-stranger", "eve", "stranger")];
        format!(
            "[gateway]\nbinding_key = \"{KEY}\"\n{}\n{}\n[policy]\n[[policy.roles]]\nname = \"user\"\nservers = [\"*\"]\n\
             allow = {}\n[[policy.roles.argument_allowlists]]\ntool = \"run\"\nargument = \"cmd\"\n\
             allowed = [\"ls\"]\n[[policy.roles]]\nname = \"stranger\"\nservers = [\"elsewhere\"]\nallow = [\"echo\"]\n\
             {}\n[[mcp.servers]]\nid = \"elsewhere\"\ntransport = {{ builtin = \"files\" }}\n{}",
            self.gateway,
            keys.concat(),
            self.allow,
            self.servers,
            self.sections,
        )
    }

    pub(crate) fn start(&self) -> Gateway {
        Gateway::start(&self.text())
    }
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().unwrap())
}

/// A gateway that listens on a port of its own.
pub(crate) struct Gateway {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Gateway {
    pub(crate) fn start(config: &str) -> Self {
        let parsed = Config::parse(config).unwrap_or_else(|problems| panic!("{problems:?}\n{config}"));
        assert_eq!(parsed.not_yet(), []);
        // Child processes are looked after on the runtime.
        let router = Self::block_on(async { app::Gateway::open(&parsed).await?.router() });
        Self::serve(router.unwrap_or_else(|problem| panic!("{problem}\n{config}")))
    }

    /// Serves what is served beside a gateway, too.
    pub(crate) fn serve(router: Router) -> Self {
        let listener = Self::block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let task = runtime().spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, task }
    }

    pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
        runtime().block_on(future)
    }

    /// Stops it, and waits until all that it held is let go.
    pub(crate) fn stop(mut self) {
        self.task.abort();
        let _ = Self::block_on(&mut self.task);
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::to(self.address)
    }

    /// The answer to a request on a connection of its own.
    pub(crate) fn send(&self, request: &Request) -> Message {
        let mut connection = self.connect();
        connection.send(request.bytes());
        let method = String::from_utf8(request.head()).unwrap();
        connection.receive_for(method.split(' ').next().unwrap()).expect("an answer")
    }

    /// The answer to bytes on a connection of their own.
    pub(crate) fn send_raw(&self, bytes: impl AsRef<[u8]>) -> Message {
        let mut connection = self.connect();
        connection.send(bytes);
        connection.receive().expect("an answer")
    }

    /// What a counter stands at; 0 if it has not been touched.
    pub(crate) fn counter(&self, line: &str) -> u64 {
        let metrics = self.send(&Request::new("GET", "/metrics").without("authorization")).text();
        let value = metrics.lines().find_map(|known| known.strip_prefix(line)?.trim().parse().ok());
        value.unwrap_or_default()
    }

    /// Sends one call that is permitted, and makes sure that the server has seen nothing else: that nothing before
    /// was forwarded, and that the gateway still serves.
    pub(crate) fn assert_forwarded_nothing(&self, upstream: &Upstream) {
        self.assert_forwarded(upstream, 0);
    }

    /// The same after so many requests that were to be forwarded.
    pub(crate) fn assert_forwarded(&self, upstream: &Upstream, before: usize) {
        let witness = self.send(&Request::post("/mcp/a", call("\"witness\"", "echo")).with("x-witness", "1"));
        assert_eq!((witness.status(), &*witness.id()), (200, "\"witness\""), "{witness}");
        let seen = upstream.seen();
        let others: Vec<_> = seen.iter().filter(|seen| seen.header("x-witness").is_none()).collect();
        assert_eq!(others.len(), before, "forwarded: {others:#?}");
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a server does with a request.
pub(crate) enum Reply {
    /// Sends these bytes and waits for the next request.
    Keep(Vec<u8>),
    /// Sends these bytes and closes.
    Close(Vec<u8>),
    /// Sends these bytes and nothing more, until the other side closes.
    Hang(Vec<u8>),
}

/// A server that answers what it is asked, and remembers it.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Message>>>,
}

impl Upstream {
    pub(crate) fn new(answer: impl Fn(&Message) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<Message>>>::default());
        let (all, answer) = (Arc::clone(&seen), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut connection, all, answer) =
                    (Connection::new(stream.unwrap()), Arc::clone(&all), Arc::clone(&answer));
                thread::spawn(move || {
                    // Kept alive by a pool, it may be silent for longer than a test may.
                    connection.stream().set_read_timeout(None).unwrap();
                    while let Some(request) = connection.receive() {
                        all.lock().unwrap().push(request.clone());
                        match answer(&request) {
                            Reply::Keep(bytes) => connection.try_send(bytes),
                            Reply::Close(bytes) => return connection.try_send(bytes),
                            Reply::Hang(bytes) => {
                                connection.try_send(bytes);
                                return connection.ended();
                            }
                        }
                    }
                });
            }
        });
        Self { address, seen }
    }

    /// A server that gives every request its result, and accepts all else.
    pub(crate) fn echo() -> Self {
        Self::new(|request| Reply::Keep(echo(request)))
    }

    /// A server that answers everything with the same response, except for witnesses.
    pub(crate) fn saying(response: impl Into<Vec<u8>>) -> Self {
        let response = response.into();
        Self::new(move |request| match request.header("x-witness") {
            Some(_) => Reply::Keep(echo(request)),
            None => Reply::Keep(response.clone()),
        })
    }

    /// The same with bytes that need not be a response. It hangs up after them.
    pub(crate) fn blurting(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::new(move |request| match request.header("x-witness") {
            Some(_) => Reply::Keep(echo(request)),
            None => Reply::Close(bytes.clone()),
        })
    }

    /// Every request so far.
    pub(crate) fn seen(&self) -> Vec<Message> {
        self.seen.lock().unwrap().clone()
    }

    /// The only request so far.
    pub(crate) fn only(&self) -> Message {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:#?}");
        seen[0].clone()
    }
}

fn echo(request: &Message) -> Vec<u8> {
    let asked = serde_json::from_slice::<serde_json::Value>(&request.body).unwrap_or_default();
    let answered =
        |asked: &serde_json::Value| asked.get("method").and(asked.get("id")).map(|id| result(&id.to_string()));
    match asked.as_array() {
        Some(batch) => ok(format!("[{}]", batch.iter().filter_map(answered).collect::<Vec<_>>().join(","))),
        None => answered(&asked).map_or_else(|| b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_vec(), ok),
    }
}

/// A server that the test itself plays, request by request.
pub(crate) struct Stage {
    pub(crate) address: SocketAddr,
    arrivals: Receiver<(Message, Connection)>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, arrivals) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut connection, sender) = (Connection::new(stream.unwrap()), sender.clone());
                thread::spawn(move || {
                    if let Some(request) = connection.receive() {
                        let _ = sender.send((request, connection));
                    }
                });
            }
        });
        Self { address, arrivals }
    }

    /// The next request, and the connection that waits for its answer.
    pub(crate) fn next(&self) -> (Message, Connection) {
        self.arrivals.recv_timeout(PATIENCE).expect("a request reaches the server")
    }
}

/// An address where nobody listens.
pub(crate) fn nowhere() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
