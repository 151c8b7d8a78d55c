//! A plain hyper service behind a gate: JSON-RPC, one connection after another, no router.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tower::{Layer, service_fn};
use tower_toolgate::Role;
use tower_toolgate::http::RequestBody;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::message::PlainJsonRpc;
use tower_toolgate::policy::{Policy, PolicyConfig, RoleConfig};

/// Serves connections until the listener fails. Everybody is a reader here; a real host authenticates first.
///
/// # Errors
///
/// The listener fails.
pub async fn serve(listener: TcpListener) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let policy = Policy::new(&PolicyConfig::new().with_role(RoleConfig::new("reader").with_allow(["get_*"])))?;
    let gate = ArgumentAllowlistLayer::new(policy)
        .with_dialect(PlainJsonRpc::new())
        .with_roles(|_: &http::request::Parts| Role::new("reader").into());
    let service = gate.layer(service_fn(answer));
    loop {
        let (stream, _) = listener.accept().await?;
        let connection =
            http1::Builder::new().serve_connection(TokioIo::new(stream), TowerToHyperService::new(service.clone()));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                eprintln!("connection: {error}");
            }
        });
    }
}

/// Says how many bytes it received.
async fn answer(request: Request<RequestBody<Incoming>>) -> Result<Response<Full<Bytes>>, Infallible> {
    let received = request.into_body().collect().await.map(|body| body.to_bytes().len()).unwrap_or_default();
    Ok(Response::new(Full::from(format!("{received} bytes"))))
}
