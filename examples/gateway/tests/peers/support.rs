//! Starting peers and the gateway.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use axum::extract::Request;
use http::HeaderValue;
use toolgate_gateway::config::Config;
use toolgate_gateway::{app, check};

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
    pub(crate) port: u16,
}

impl Server {
    pub(crate) fn everything_in_typescript(peers: &Path) -> Self {
        let script = "typescript-1/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
        Self::start(|port| {
            let mut command = Command::new("node");
            command.arg(peers.join(script)).arg("streamableHttp").env("PORT", port.to_string());
            command
        })
    }

    pub(crate) fn everything_in_python(peers: &Path) -> Self {
        Self::start(|port| {
            let mut command = Command::new(peers.join("python-2/bin/python"));
            command.args(["-m", "mcp_everything_server", "--log-level", "WARNING", "--port", &port.to_string()]);
            command.env("PYTHONPATH", peers.join("mcp-2.3.0/examples/servers/everything-server"));
            command
        })
    }

    fn start(command: impl Fn(u16) -> Command) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = command(port).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the server starts");
        let server = Self { process, port };
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "the server does not listen");
            std::thread::sleep(Duration::from_millis(100));
        }
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A gateway with the roles of the tests in front of an upstream. `key`, if any, is put on every request: the
/// conformance runner cannot send one.
pub(crate) async fn gateway(upstream: u16, key: Option<&'static str>) -> SocketAddr {
    let text = include_str!("gateway.toml").replace("UPSTREAM_PORT", &upstream.to_string());
    let parsed = Config::parse(&text).expect("the configuration is right");
    let policy = check::compile(&parsed).expect("the policy is right");
    let mut router = app::router(&parsed.config, &policy);
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
