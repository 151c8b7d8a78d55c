//! Starting peers and the gateway.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use axum::extract::Request;
use http::HeaderValue;
use toolgate_gateway::app;
use toolgate_gateway::config::Config;

/// The folder with the peers; `None`, with a word about it, where nobody asked for them.
pub(crate) fn peers(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("TOOLGATE_PEERS").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED {test}: TOOLGATE_PEERS is not set");
    }
    folder
}

/// A server process that ends with the test.
pub(crate) struct Server {
    process: Child,
    /// One, or that of the mode json and that of the mode sse.
    pub(crate) ports: Vec<u16>,
}

impl Server {
    pub(crate) fn everything_in_typescript(peers: &Path) -> Self {
        let script = "typescript-1/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
        Self::start(|port| {
            let mut command = Command::new("node");
            command.arg(peers.join(script)).arg("streamableHttp").env("PORT", port);
            command
        })
    }

    pub(crate) fn everything_in_python(peers: &Path) -> Self {
        Self::start(|port| {
            let mut command = Command::new(peers.join("python-2/bin/python"));
            command.args(["-m", "mcp_everything_server", "--log-level", "WARNING", "--port", port]);
            command.env("PYTHONPATH", peers.join("mcp-2.3.0/examples/servers/everything-server"));
            command
        })
    }

    /// The same server with another front, in both modes.
    pub(crate) fn everything_of_typescript(peers: &Path) -> Self {
        Self::start_on(|ports: [String; 2]| {
            let mut command = Command::new("node");
            command.arg(script("everything.mjs")).arg(peers.join("typescript-1")).args(ports);
            command
        })
    }

    /// One of those that `serve.py` knows, in both modes.
    pub(crate) fn python(peers: &Path, name: &str, arguments: &[&str]) -> Self {
        Self::start_on(|ports: [String; 2]| {
            let mut command = Command::new(peers.join("python-2/bin/python"));
            command.arg(script("serve.py")).arg(name).args(ports).args(arguments);
            command.env("PYTHONPATH", peers.join("mcp-2.3.0/examples/servers/everything-server"));
            command.env("PYTHONDONTWRITEBYTECODE", "1");
            command
        })
    }

    fn start(command: impl Fn(&str) -> Command) -> Self {
        Self::start_on(|[port]: [String; 1]| command(&port))
    }

    pub(crate) fn start_on<const N: usize>(command: impl Fn([String; N]) -> Command) -> Self {
        let ports = std::array::from_fn::<_, N, _>(|_| free_port());
        let mut command = command(ports.map(|port| port.to_string()));
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the server starts");
        let server = Self { process, ports: ports.to_vec() };
        let deadline = Instant::now() + Duration::from_secs(60);
        for port in ports {
            while TcpStream::connect(("127.0.0.1", port)).is_err() {
                assert!(Instant::now() < deadline, "the server does not listen");
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        server
    }

    pub(crate) fn port(&self) -> u16 {
        self.ports[0]
    }
}

/// A port below those that the system gives to whoever asks for any, since nobody holds it until the server does.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + u16::try_from(std::process::id() % 200).expect("it is small") * 100;
    let mut ports = std::iter::repeat_with(|| first + NEXT.fetch_add(1, Ordering::Relaxed) % 100).take(100);
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("some port is free")
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The example is built beside the tests by `cargo test`.
pub(crate) fn example() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().and_then(Path::parent).unwrap().join("examples").join("gateway");
    assert!(path.exists(), "{} is missing: build it with `cargo build --examples`", path.display());
    path
}

pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/servers").join(name)
}

/// A folder that ends with the test.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("toolgate-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).expect("the folder is new");
        Self { path }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is the system's to clear.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A gateway with the roles of the tests in front of an upstream. `key`, if any, is put on every request: the
/// conformance runner cannot send one.
pub(crate) async fn gateway(upstream: u16, key: Option<&'static str>) -> SocketAddr {
    gateway_with(upstream, key, "").await
}

/// The same with further sections.
pub(crate) async fn gateway_with(upstream: u16, key: Option<&'static str>, sections: &str) -> SocketAddr {
    let text = include_str!("gateway.toml").replace("UPSTREAM_PORT", &upstream.to_string()) + sections;
    let parsed = Config::parse(&text).expect("the configuration is right");
    let gateway = app::Gateway::open(&parsed).await.expect("the configuration is right");
    let mut router = gateway.router().expect("the servers are declared rightly");
    if let Some(key) = key {
        let value = HeaderValue::from_str(&format!("Bearer {key}")).unwrap();
        router = router.layer(axum::middleware::map_request(move |mut request: Request| {
            request.headers_mut().insert("authorization", value.clone());
            std::future::ready(request)
        }));
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// Runs a command to its end, away from the runtime: its standard output.
pub(crate) async fn output(mut command: Command) -> (bool, String) {
    let run = tokio::task::spawn_blocking(move || command.stdin(Stdio::null()).output().expect("the command starts"));
    let output = run.await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        eprintln!("{text}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    (output.status.success(), text)
}
