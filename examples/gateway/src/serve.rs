//! From a configuration to a listening gateway.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::check;
use crate::config::{Parsed, Problem};

/// Serves until it is told to stop.
///
/// # Errors
///
/// The policy has a mistake, or the address cannot be listened on.
pub fn run(parsed: &Parsed, demo: bool) -> Result<(), Problem> {
    let policy = check::compile(parsed)?;
    for doubt in check::doubts(parsed, &policy) {
        tracing::warn!("{doubt}");
    }
    let failed = |error: std::io::Error| parsed.places.problem("gateway.listen", error.to_string());
    let runtime = Runtime::new().map_err(failed)?;
    runtime.block_on(async {
        let listener = TcpListener::bind(parsed.config.gateway.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        announce(address, demo).map_err(failed)?;
        let router = crate::app::router(&parsed.config, &policy);
        let (stop, stopping) = tokio::sync::oneshot::channel();
        let graceful = axum::serve(listener, router).with_graceful_shutdown(async {
            stopped().await;
            drop(stop);
        });
        tokio::select! {
            served = graceful => served.map_err(failed),
            // Streams of events have no end of their own, and half a request may never get one.
            () = grace(stopping) => Ok(()),
        }
    })
}

/// Resolves when requests in flight have had their time, counted from the moment that the process is asked to stop.
async fn grace(stopping: tokio::sync::oneshot::Receiver<()>) {
    // The sender is only ever dropped.
    let _ = stopping.await;
    tokio::time::sleep(GRACE).await;
}

/// How long requests in flight are waited for.
const GRACE: Duration = Duration::from_secs(5);

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
        ("a server that the role may not reach", call("k-guest", "web", &tool("web_fetch", r#"{"url":"demo://"}"#))),
        ("what was decided", format!("curl -s http://{address}/metrics")),
    ];
    let lines = steps.iter().map(|(what, command)| format!("\n# {what}\n{command}"));
    format!("\nTry, in another terminal:\n{}\n", lines.collect::<Vec<_>>().join("\n"))
}
