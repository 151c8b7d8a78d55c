//! The stack.

use std::error::Error;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use http::{HeaderName, HeaderValue, Request};
use tower::Layer;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};
use tower_http::request_id::{MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer};
use tower_http::timeout::{RequestBodyDeadlineLayer, TimeoutError};
use tower_http::trace::TraceLayer;
use tower_toolgate::Server;
use tower_toolgate::answer::{AlwaysForbidden, AlwaysInBand, AsToolError, AsUnknown};
use tower_toolgate::http::BufferBudget;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::policy::Policy;

use crate::builtin::Builtin;
use crate::config::{Config, DenialShape, GatewayConfig, ServerConfig, Transport};
use crate::edge::{self, CORS_METHODS, Edge};
use crate::metrics::Metrics;
use crate::upstream::HttpUpstream;

/// The whole gateway.
pub fn router(config: &Config, policy: &Policy) -> Router {
    let metrics = Metrics::new();
    let edge = Edge::new(&config.gateway, metrics.clone());
    let budget = BufferBudget::new(config.gateway.max_body_bytes.saturating_mul(BODIES_AT_ONCE));
    let servers = config.mcp.servers.iter().fold(Router::new(), |router, server| {
        let gate = gate(&config.gateway, policy, server, metrics.clone(), &budget);
        let path = format!("/mcp/{}", server.id);
        match &server.transport {
            Transport::Builtin(which) => router.route_service(&path, gate.layer(Builtin::new(*which))),
            Transport::Http { url } => {
                let upstream = HttpUpstream::new(&server.id, url, server.timeout, metrics.clone());
                router.route_service(&path, gate.layer(upstream))
            }
            // Refused before anything is started.
            Transport::Stdio { .. } => router,
        }
    });
    let text = move || async move { metrics.text() };
    servers
        .layer(RequestBodyDeadlineLayer::new(config.gateway.body_timeout))
        .layer(from_fn_with_state(edge.clone(), edge::authenticate))
        .route("/healthz", get(|| async { "ok" }))
        .route("/metrics", get(text))
        .layer(from_fn_with_state(edge.clone(), edge::guard_place))
        .layer(cors(edge))
        .layer(PropagateRequestIdLayer::new(REQUEST_ID))
        .layer(TraceLayer::new_for_http())
        .layer(SetRequestIdLayer::new(REQUEST_ID, NewRequestId))
}

/// How many bodies of the largest size may be buffered at once, over all servers.
const BODIES_AT_ONCE: usize = 64;

/// The gate in front of one server.
fn gate(
    config: &GatewayConfig,
    policy: &Policy,
    server: &ServerConfig,
    metrics: Metrics,
    budget: &BufferBudget,
) -> ArgumentAllowlistLayer {
    let gate = ArgumentAllowlistLayer::new(policy.clone())
        .with_server(Server::new(server.id.as_str()))
        .with_max_body_bytes(config.max_body_bytes)
        .with_timeout_errors(is_timeout)
        .with_insecure_shadow(config.shadow)
        // Java's client offers it with every first request. No server behind the gateway sees the offer.
        .with_insecure_upgrade("h2c")
        .with_budget(budget.clone())
        .on_decision(metrics);
    match config.denial {
        DenialShape::Http403 => gate.with_response(AlwaysForbidden),
        DenialShape::JsonRpcError => gate.with_response(AlwaysInBand),
        DenialShape::Masked => gate.with_response(AsUnknown),
        DenialShape::Negotiate => gate,
        DenialShape::ToolError => gate.with_response(AsToolError),
    }
}

fn is_timeout(error: &(dyn Error + 'static)) -> bool {
    error.is::<TimeoutError>()
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

#[derive(Clone, Debug)]
struct NewRequestId;

impl MakeRequestId for NewRequestId {
    fn make_request_id<B>(&mut self, _: &Request<B>) -> Option<RequestId> {
        HeaderValue::from_str(&uuid::Uuid::new_v4().to_string()).ok().map(RequestId::new)
    }
}

/// The origins that may call, and the headers that pages may send and read. Refusals are decorated too.
fn cors(edge: Edge) -> CorsLayer {
    let origins =
        AllowOrigin::predicate(move |origin, _| origin.to_str().is_ok_and(|origin| edge.permits_origin(origin)));
    let exposed = ["mcp-protocol-version", "mcp-session-id", "www-authenticate", "x-request-id"];
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods(CORS_METHODS)
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(exposed.map(HeaderName::from_static))
        .max_age(Duration::from_secs(600))
}
