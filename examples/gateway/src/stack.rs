//! The layers in front of one server.

use std::convert::Infallible;
use std::error::Error;

use axum::body::Body;
use axum::{BoxError, Router};
use bytes::Bytes;
use http::{Request, Response};
use tower::util::MapRequest;
use tower::{Layer, Service};
use tower_http::timeout::TimeoutError;
use tower_toolgate::Server;
use tower_toolgate::answer::{
    AlwaysForbidden, AlwaysInBand, AsToolError, AsUnknown, Denial, Negotiate, RespondToDenial,
};
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::layer::binding::BindingLayer;
use tower_toolgate::layer::content_trust::ContentTrustLayer;
use tower_toolgate::layer::provenance_tag::ProvenanceTagLayer;
use tower_toolgate::layer::server_trust::ServerTrustLayer;

use crate::app::Gateway;
use crate::config::{DenialShape, GatewayConfig, Problem, ServerConfig};
use crate::metrics::Metrics;
use crate::servers;
use crate::store::AnyStore;

/// The layers in front of one server, outside in.
pub(crate) struct Stack {
    binding: BindingLayer,
    gate: ArgumentAllowlistLayer,
    /// Inside of the gate: whoever may not call a tool does not make it ask the server.
    exposure: ServerTrustLayer,
    trust: Option<ContentTrustLayer<AnyStore>>,
    tags: Option<ProvenanceTagLayer>,
}

impl Stack {
    /// The layers in front of the server at a place in the file.
    ///
    /// # Errors
    ///
    /// What is declared of the server has a mistake.
    pub(crate) fn new(gateway: &Gateway<'_>, at: usize, server: &ServerConfig) -> Result<Self, Problem> {
        let Gateway { parsed, metrics, budget, pins, .. } = gateway;
        let config = &parsed.config.gateway;
        let exposure = servers::layer(parsed, at, server, pins.as_ref())?;
        let exposure = exposure.with_max_body_bytes(config.max_body_bytes).with_timeout_errors(is_timeout);
        let exposure = exposure.with_insecure_upgrade("h2c").with_budget(budget.clone()).on_decision(metrics.clone());
        let trust = gateway.trust.as_ref().map(|trust| trust.layer(server, config, budget, metrics.clone()));
        let tags = gateway.tags.as_ref().map(|tags| tags.layer(server, config, budget, metrics.clone()));
        Ok(Self {
            binding: binding(gateway, server).with_response(shape(config)),
            gate: gate(gateway, server).with_response(shape(config)),
            exposure: exposure.with_response(shape(config)),
            trust: trust.map(|trust| trust.with_response(shape(config))),
            tags: tags.map(|tags| tags.with_response(shape(config))),
        })
    }

    /// What holds the server to what is declared of it.
    pub(crate) fn exposure(&self) -> ServerTrustLayer {
        self.exposure.clone()
    }

    /// Puts a server behind its layers at a path.
    pub(crate) fn mount<S, R>(self, router: Router, path: &str, server: S) -> Router
    where
        S: Service<Request<Body>, Response = Response<R>, Error = Infallible> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        R: http_body::Body<Data = Bytes> + Send + 'static,
        R::Error: Into<BoxError>,
    {
        let Self { binding, gate, exposure, trust, tags } = self;
        // Each combination is a type of its own, and hands on a body of its own.
        macro_rules! route {
            ($layers:expr) => {
                router.route_service(path, binding.join(gate.join($layers)).layer(MapRequest::new(server, boxed)))
            };
        }
        match (trust, tags) {
            (None, None) => route!(exposure),
            (None, Some(tags)) => route!(exposure.join(tags)),
            (Some(trust), None) => route!(exposure.join(trust)),
            (Some(trust), Some(tags)) => route!(exposure.join(trust.join(tags))),
        }
    }
}

/// What binds the ids of one server's sessions and tasks.
fn binding(gateway: &Gateway<'_>, server: &ServerConfig) -> BindingLayer {
    let config = &gateway.parsed.config.gateway;
    BindingLayer::new(gateway.key.clone())
        .with_server(Server::new(server.entry.id.as_str()))
        .with_max_body_bytes(config.max_body_bytes)
        .with_timeout_errors(is_timeout)
        .with_insecure_upgrade("h2c")
        .with_budget(gateway.budget.clone())
        .on_decision(gateway.metrics.clone())
}

/// The gate in front of one server.
fn gate(gateway: &Gateway<'_>, server: &ServerConfig) -> ArgumentAllowlistLayer {
    let config = &gateway.parsed.config.gateway;
    ArgumentAllowlistLayer::new(gateway.policy.clone())
        .with_server(Server::new(server.entry.id.as_str()))
        .with_max_body_bytes(config.max_body_bytes)
        .with_timeout_errors(is_timeout)
        .with_insecure_shadow(config.shadow)
        // Java's client offers it with every first request. No server behind the gateway sees the offer.
        .with_insecure_upgrade("h2c")
        .with_budget(gateway.budget.clone())
        .on_decision(Metrics::clone(&gateway.metrics))
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
