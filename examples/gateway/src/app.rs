//! The whole gateway, from its configuration.

use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use http::{HeaderName, HeaderValue, Request};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};
use tower_http::request_id::{MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer};
use tower_http::timeout::RequestBodyDeadlineLayer;
use tower_http::trace::TraceLayer;
use tower_toolgate::binding::BindingKey;
use tower_toolgate::http::BufferBudget;
use tower_toolgate::policy::Policy;
use tower_toolgate::server::Pins;

use crate::builtin::Builtin;
use crate::config::{GatewayConfig, Parsed, Problem, Secret, ServerConfig};
use crate::edge::{self, CORS_METHODS, Edge};
use crate::metrics::Metrics;
use crate::provenance::Tags;
use crate::stack::Stack;
use crate::trust::Trust;
use crate::{check, servers, upstream};

/// What a gateway is made of.
#[derive(Debug)]
pub struct Gateway<'p> {
    pub(crate) parsed: &'p Parsed,
    pub(crate) policy: Policy,
    pub(crate) metrics: Metrics,
    pub(crate) trust: Option<Trust>,
    pub(crate) tags: Option<Tags>,
    pub(crate) pins: Option<Pins>,
    pub(crate) key: BindingKey,
    pub(crate) budget: BufferBudget,
}

/// How many bodies of the largest size may be buffered at once, over all servers.
const BODIES_AT_ONCE: usize = 64;

impl<'p> Gateway<'p> {
    /// Opens what the configuration names: the memory of sessions, the lock file, the keys.
    ///
    /// # Errors
    ///
    /// The first mistake, or what cannot be opened, with its place in the file.
    pub async fn open(parsed: &'p Parsed) -> Result<Self, Problem> {
        let (policy, metrics, config) = (check::compile(parsed)?, Metrics::new(), &parsed.config.gateway);
        let key = binding_key(config).map_err(|message| parsed.places.problem("gateway.binding_key", message))?;
        Ok(Self {
            policy,
            trust: Trust::open(parsed, &metrics).await?,
            tags: Tags::new(parsed)?,
            pins: servers::pins(parsed)?,
            key,
            budget: BufferBudget::new(config.max_body_bytes.saturating_mul(BODIES_AT_ONCE)),
            parsed,
            metrics,
        })
    }

    /// Its memory of sessions, if it has one.
    #[must_use]
    pub fn trust(&self) -> Option<&Trust> {
        self.trust.as_ref()
    }

    /// The gateway as a service. Servers that are child processes are started.
    ///
    /// # Errors
    ///
    /// What is declared of a server has a mistake.
    pub fn router(&self) -> Result<Router, Problem> {
        let config = &self.parsed.config.gateway;
        let honest = self.trust.as_ref().is_some_and(|trust| trust.honest);
        let edge = Edge::new(config, honest, self.metrics.clone());
        let mut servers = Router::new();
        for (at, server) in self.parsed.config.mcp.servers.iter().enumerate() {
            servers = self.mount(servers, at, server)?;
        }
        let metrics = self.metrics.clone();
        let text = move || async move { metrics.text() };
        Ok(servers
            .layer(RequestBodyDeadlineLayer::new(config.body_timeout))
            .layer(from_fn_with_state(edge.clone(), edge::authenticate))
            .route("/healthz", get(|| async { "ok" }))
            .route("/metrics", get(text))
            .layer(from_fn_with_state(edge.clone(), edge::guard_place))
            .layer(cors(edge, self.tags.as_ref().map(Tags::header)))
            .layer(PropagateRequestIdLayer::new(REQUEST_ID))
            .layer(TraceLayer::new_for_http())
            .layer(SetRequestIdLayer::new(REQUEST_ID, NewRequestId)))
    }

    fn mount(&self, router: Router, at: usize, server: &ServerConfig) -> Result<Router, Problem> {
        let (stack, path) = (Stack::new(self, at, server)?, format!("/mcp/{}", server.entry.id));
        Ok(match server.builtin {
            Some(which) => stack.mount(router, &path, Builtin::new(which)),
            None => {
                let upstream = upstream::connect(self, at, server, stack.exposure())?;
                stack.mount(router, &path, upstream)
            }
        })
    }
}

/// The key that the configuration has, or one that ends with the process.
fn binding_key(config: &GatewayConfig) -> Result<BindingKey, String> {
    let Some(key) = &config.binding_key else { return BindingKey::random().map_err(|error| error.to_string()) };
    let new = |key: &Secret| BindingKey::new(key.expose().as_bytes()).map_err(|error| error.to_string());
    config.previous_binding_keys.iter().try_fold(new(key)?, |key, previous| {
        key.with_previous(previous.expose().as_bytes()).map_err(|error| error.to_string())
    })
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
