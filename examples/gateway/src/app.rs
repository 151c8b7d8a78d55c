//! The stack.

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use axum::body::Body;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use axum::{BoxError, Router};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response};
use tower::util::MapRequest;
use tower::{Layer, Service};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};
use tower_http::request_id::{MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer};
use tower_http::timeout::{RequestBodyDeadlineLayer, TimeoutError};
use tower_http::trace::TraceLayer;
use tower_toolgate::Server;
use tower_toolgate::answer::{
    AlwaysForbidden, AlwaysInBand, AsToolError, AsUnknown, Denial, Negotiate, RespondToDenial,
};
use tower_toolgate::binding::BindingKey;
use tower_toolgate::http::BufferBudget;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::layer::binding::BindingLayer;
use tower_toolgate::layer::content_trust::ContentTrustLayer;
use tower_toolgate::layer::provenance_tag::ProvenanceTagLayer;
use tower_toolgate::policy::Policy;

use crate::builtin::Builtin;
use crate::config::{Config, DenialShape, GatewayConfig, Secret, ServerConfig, Transport};
use crate::edge::{self, CORS_METHODS, Edge};
use crate::metrics::Metrics;
use crate::provenance::Tags;
use crate::store::AnyStore;
use crate::trust::Trust;
use crate::upstream::HttpUpstream;

/// The whole gateway.
pub fn router(
    config: &Config,
    policy: &Policy,
    metrics: &Metrics,
    trust: Option<&Trust>,
    tags: Option<&Tags>,
    key: &BindingKey,
) -> Router {
    let edge = Edge::new(&config.gateway, trust.is_some_and(|trust| trust.honest), metrics.clone());
    let budget = BufferBudget::new(config.gateway.max_body_bytes.saturating_mul(BODIES_AT_ONCE));
    let shared = Shared { config: &config.gateway, policy, metrics, trust, tags, key, budget };
    let servers = config.mcp.servers.iter().fold(Router::new(), |router, server| {
        let (stack, path) = (shared.stack(server), format!("/mcp/{}", server.id));
        match &server.transport {
            Transport::Builtin(which) => stack.mount(router, &path, Builtin::new(*which)),
            Transport::Http { url } => {
                let upstream = HttpUpstream::new(&server.id, url, server.timeout, metrics.clone());
                stack.mount(router, &path, upstream)
            }
            // Refused before anything is started.
            Transport::Stdio { .. } => router,
        }
    });
    let metrics = metrics.clone();
    let text = move || async move { metrics.text() };
    servers
        .layer(RequestBodyDeadlineLayer::new(config.gateway.body_timeout))
        .layer(from_fn_with_state(edge.clone(), edge::authenticate))
        .route("/healthz", get(|| async { "ok" }))
        .route("/metrics", get(text))
        .layer(from_fn_with_state(edge.clone(), edge::guard_place))
        .layer(cors(edge, tags.map(Tags::header)))
        .layer(PropagateRequestIdLayer::new(REQUEST_ID))
        .layer(TraceLayer::new_for_http())
        .layer(SetRequestIdLayer::new(REQUEST_ID, NewRequestId))
}

/// How many bodies of the largest size may be buffered at once, over all servers.
const BODIES_AT_ONCE: usize = 64;

/// What binds the ids of one server's sessions and tasks.
fn binding(
    config: &GatewayConfig,
    key: &BindingKey,
    server: &ServerConfig,
    metrics: Metrics,
    budget: &BufferBudget,
) -> BindingLayer {
    BindingLayer::new(key.clone())
        .with_server(Server::new(server.id.as_str()))
        .with_max_body_bytes(config.max_body_bytes)
        .with_timeout_errors(is_timeout)
        .with_insecure_upgrade("h2c")
        .with_budget(budget.clone())
        .on_decision(metrics)
        .with_response(shape(config))
}

/// The key that the configuration has, or one that ends with the process.
///
/// # Errors
///
/// The operating system has no randomness.
pub fn binding_key(config: &GatewayConfig) -> Result<BindingKey, String> {
    let Some(key) = &config.binding_key else { return BindingKey::random().map_err(|error| error.to_string()) };
    let new = |key: &Secret| BindingKey::new(key.expose().as_bytes()).map_err(|error| error.to_string());
    config.previous_binding_keys.iter().try_fold(new(key)?, |key, previous| {
        key.with_previous(previous.expose().as_bytes()).map_err(|error| error.to_string())
    })
}

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
    gate.with_response(shape(config))
}

/// What refusals look like.
fn shape(config: &GatewayConfig) -> impl RespondToDenial + use<> {
    let shape = config.denial;
    move |denial: &Denial| match shape {
        DenialShape::Http403 => AlwaysForbidden.respond(denial),
        DenialShape::JsonRpcError => AlwaysInBand.respond(denial),
        DenialShape::Masked => AsUnknown.respond(denial),
        DenialShape::Negotiate => Negotiate.respond(denial),
        DenialShape::ToolError => AsToolError.respond(denial),
    }
}

/// What the layers of all servers have in common.
struct Shared<'a> {
    config: &'a GatewayConfig,
    policy: &'a Policy,
    metrics: &'a Metrics,
    trust: Option<&'a Trust>,
    tags: Option<&'a Tags>,
    key: &'a BindingKey,
    budget: BufferBudget,
}

impl Shared<'_> {
    fn stack(&self, server: &ServerConfig) -> Stack {
        let Self { config, policy, metrics, trust, tags, key, budget } = self;
        let metrics = || Metrics::clone(metrics);
        let trust = trust.map(|trust| trust.layer(server, config, budget, metrics()).with_response(shape(config)));
        let tags = tags.map(|tags| tags.layer(server, config, budget, metrics()).with_response(shape(config)));
        Stack {
            binding: binding(config, key, server, metrics(), budget),
            gate: gate(config, policy, server, metrics(), budget),
            trust,
            tags,
        }
    }
}

/// The layers in front of one server, outside in.
struct Stack {
    binding: BindingLayer,
    gate: ArgumentAllowlistLayer,
    trust: Option<ContentTrustLayer<AnyStore>>,
    tags: Option<ProvenanceTagLayer>,
}

impl Stack {
    /// Puts a server behind its layers at a path.
    fn mount<S, R>(self, router: Router, path: &str, server: S) -> Router
    where
        S: Service<Request<Body>, Response = Response<R>, Error = Infallible> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        R: http_body::Body<Data = Bytes> + Send + 'static,
        R::Error: Into<BoxError>,
    {
        let Self { binding, gate, trust, tags } = self;
        // Each combination is a type of its own, and hands on a body of its own.
        macro_rules! route {
            ($layers:expr) => {
                router.route_service(path, $layers.layer(MapRequest::new(server, boxed)))
            };
        }
        match (trust, tags) {
            (None, None) => route!(binding.join(gate)),
            (None, Some(tags)) => route!(binding.join(gate.join(tags))),
            (Some(trust), None) => route!(binding.join(gate.join(trust))),
            (Some(trust), Some(tags)) => route!(binding.join(gate.join(trust.join(tags)))),
        }
    }
}

fn boxed<B>(request: Request<B>) -> Request<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    request.map(Body::new)
}

pub(crate) fn is_timeout(error: &(dyn Error + 'static)) -> bool {
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
fn cors(edge: Edge, provenance: Option<&HeaderName>) -> CorsLayer {
    let origins =
        AllowOrigin::predicate(move |origin, _| origin.to_str().is_ok_and(|origin| edge.permits_origin(origin)));
    let exposed = ["mcp-protocol-version", "mcp-session-id", "www-authenticate", "x-request-id"];
    let exposed = exposed.map(HeaderName::from_static).into_iter().chain(provenance.cloned());
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods(CORS_METHODS)
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(exposed.collect::<Vec<_>>())
        .max_age(Duration::from_secs(600))
}
