//! From a configuration to a listening gateway.

use std::io::Write;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use crate::app::Gateway;
use crate::config::{Parsed, Problem};
use crate::trust::Trust;
use crate::{admin, check};

/// Serves until it is told to stop.
///
/// # Errors
///
/// The policy has a mistake, or the address cannot be listened on.
pub fn run(parsed: &Parsed, demo: bool) -> Result<(), Problem> {
    for doubt in check::doubts(parsed, &check::compile(parsed)?)? {
        tracing::warn!("{doubt}");
    }
    let failed = |error: std::io::Error| parsed.places.problem("gateway.listen", error.to_string());
    let runtime = Runtime::new().map_err(failed)?;
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(parsed.config.gateway.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let gateway = Gateway::open(parsed).await?;
        let (router, admin) = (gateway.router()?, admin(parsed, gateway.trust()).await?);
        announce(address, demo).map_err(failed)?;
        if parsed.config.gateway.binding_key.is_none() {
            tracing::info!(
                "without gateway.binding_key sessions end with this process, and no other gateway knows them"
            );
        }
        // Both hear that they are to stop, and each waits for what it has in flight.
        tokio::join!(serve(listener, router), admin);
        Ok(())
    });
    // The look-up of a name may hang for longer than anybody wants to wait.
    runtime.shutdown_timeout(GRACE);
    served
}

/// The operator's own address, if there is one.
async fn admin(parsed: &Parsed, trust: Option<&Trust>) -> Result<impl Future<Output = ()> + use<>, Problem> {
    let listening = match (&parsed.config.gateway.admin, trust) {
        (Some(config), Some(trust)) => {
            let failed = |error: std::io::Error| parsed.places.problem("gateway.admin.listen", error.to_string());
            let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
            let address = listener.local_addr().map_err(failed)?;
            tracing::info!("operators are answered at http://{address}");
            Some((listener, admin::router(&config.key, trust.store().clone())))
        }
        _ => None,
    };
    Ok(async move {
        if let Some((listener, router)) = listening {
            serve(listener, router).await;
        }
    })
}

/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long requests in flight are waited for: streams of events have no end of their own.
const GRACE: Duration = Duration::from_secs(5);

async fn serve(listener: TcpListener, router: Router) {
    let connections = GracefulShutdown::new();
    let mut stop = pin!(stopped());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, _)) => converse(&connections, stream, router.clone()),
            Err(error) => {
                // Out of descriptors, say: some connection has to end first.
                tracing::warn!("accept: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(GRACE, connections.shutdown()).await;
}

fn converse(connections: &GracefulShutdown, stream: TcpStream, router: Router) {
    // Without it small events wait for each other; a connection that refuses it is as good as any.
    let _ = stream.set_nodelay(true);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let connection = connections.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!("connection: {error}");
        }
    });
}

fn announce(address: SocketAddr, demo: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "ready http://{address}")?;
    if demo {
        writeln!(out, "{}", tour(address))?;
    }
    out.flush()
}

/// Resolves when the process is asked to stop. Requests in flight are waited for only by whoever asks kindly.
async fn stopped() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}

/// The commands for a newcomer to try.
fn tour(address: SocketAddr) -> String {
    let call = |key: &str, server: &str, body: &str| {
        format!(
            "curl -s http://{address}/mcp/{server} -H 'authorization: Bearer {key}' -H 'content-type: application/json' \
             -H 'accept: application/json, text/event-stream' -d '{body}'"
        )
    };
    let tool = |name: &str, arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
        )
    };
    let steps = [
        ("an allowed call", call("k-analyst", "files", &tool("run_query", r#"{"cmd":"ls notes"}"#))),
        ("a denied argument", call("k-analyst", "files", &tool("run_query", r#"{"cmd":"rm notes"}"#))),
        ("a tool that the role may not call", call("k-analyst", "files", &tool("remember", r#"{"text":"x"}"#))),
        ("the same tool, another role", call("k-operator", "files", &tool("remember", r#"{"text":"x"}"#))),
        (
            "content from outside: tagged, fenced, and it marks the session",
            call("k-operator", "web", &tool("web_fetch", r#"{"url":"demo://forum"}"#)),
        ),
        (
            "what a marked session may not do",
            call("k-operator", "files", &tool("remember", r#"{"text":"Bob is the admin"}"#)),
        ),
        ("a server that the role may not reach", call("k-guest", "web", &tool("web_fetch", r#"{"url":"demo://"}"#))),
        ("what was decided", format!("curl -s http://{address}/metrics")),
    ];
    let lines = steps.iter().map(|(what, command)| format!("\n# {what}\n{command}"));
    format!("\nTry, in another terminal:\n{}\n", lines.collect::<Vec<_>>().join("\n"))
}
