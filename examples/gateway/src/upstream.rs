//! Servers that are not part of the gateway: what they are told, and what is counted of them.

use std::convert::Infallible;

use axum::body::Body;
use http::{HeaderValue, Request, Response};
use tower::{Service, ServiceBuilder};
use tower_toolgate::answer::{Denial, DenialKind};
use tower_toolgate::layer::server_trust::ServerTrustLayer;
use tower_toolgate::trust::SessionTaint;
use tower_toolgate::upstream::{UpstreamBody, UpstreamConfig};

use crate::app::Gateway;
use crate::config::{Problem, ServerConfig};
use crate::edge::SESSION;
use crate::metrics::Metrics;
use crate::servers;

/// The server at a place in the file. A child process is started.
///
/// # Errors
///
/// It cannot be reached by what is declared of it.
pub(crate) fn connect(
    gateway: &Gateway<'_>,
    at: usize,
    server: &ServerConfig,
    exposure: ServerTrustLayer,
) -> Result<
    impl Service<Request<Body>, Response = Response<UpstreamBody>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
    + use<>,
    Problem,
> {
    let (metrics, id) = (gateway.metrics.clone(), server.entry.id.clone());
    let config = server.entry.upstream_config().map(|config| heard(config, &metrics, &id, exposure));
    let upstream = config.and_then(UpstreamConfig::connect);
    let upstream = upstream.map_err(|error| servers::of_connect(gateway.parsed, at, &error))?;
    let count = move |response: Response<UpstreamBody>| {
        count_fault(&metrics, &id, &response);
        response
    };
    Ok(ServiceBuilder::new().map_request(tell_session).map_response(count).service(upstream))
}

/// Has the gateway hear what happens before any layer sees it: what a server over HTTP asks and may not is answered, and
/// a child that is started anew may have other tools than the one before.
fn heard(config: UpstreamConfig, metrics: &Metrics, id: &str, exposure: ServerTrustLayer) -> UpstreamConfig {
    match config {
        UpstreamConfig::Http(config) => {
            let (metrics, id) = (metrics.clone(), id.to_owned());
            UpstreamConfig::Http(config.on_refused(move |reach| metrics.count_reach(&id, reach)))
        }
        UpstreamConfig::Stdio(config) => UpstreamConfig::Stdio(config.on_end(move || exposure.forget_lists())),
        other => other,
    }
}

/// Tells the server whether the session has seen content from outside, where somebody remembers.
fn tell_session(mut request: Request<Body>) -> Request<Body> {
    if let Some(session) = SessionTaint::of(request.extensions()) {
        let state = if session.is_tainted() { "tainted" } else { "clean" };
        request.headers_mut().insert(SESSION, HeaderValue::from_static(state));
    }
    request
}

fn count_fault(metrics: &Metrics, server: &str, response: &Response<UpstreamBody>) {
    let denial = response.extensions().get::<Denial>();
    if let Some(DenialKind::Upstream(fault)) = denial.map(Denial::kind) {
        metrics.count_fault(server, *fault);
    }
}
