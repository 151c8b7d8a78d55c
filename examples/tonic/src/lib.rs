//! A gRPC service behind a gate that judges methods by their path: whoever may check health may not watch it.

use http::request::Parts;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::Router;
use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
use tower_toolgate::policy::{ConfigError, Policy, PolicyConfig, RoleConfig};
use tower_toolgate::{Role, Roles};

/// The gate: a prober may check, an operator may do everything.
///
/// # Errors
///
/// None, since the policy is right.
pub fn gate() -> Result<ArgumentAllowlistLayer, ConfigError> {
    let policy = Policy::new(
        &PolicyConfig::new()
            .with_role(RoleConfig::new("prober").with_allow(["grpc.health.v1.Health/Check"]))
            .with_role(RoleConfig::new("operator").with_allow(["*"])),
    )?;
    Ok(ArgumentAllowlistLayer::grpc(policy).with_roles(authenticated))
}

/// Stands for an authentication that has verified the header.
fn authenticated(head: &Parts) -> Roles {
    let role = head.headers.get("x-demo-role").and_then(|role| role.to_str().ok());
    role.map_or(Roles::NONE, |role| Role::new(role).into())
}

/// The server, all of whose routes are behind the gate.
///
/// # Errors
///
/// As for [`gate`].
pub fn server()
-> Result<Router<tower::layer::util::Stack<ArgumentAllowlistLayer, tower::layer::util::Identity>>, ConfigError> {
    let (_, health) = tonic_health::server::health_reporter();
    Ok(Server::builder().layer(gate()?).add_routes(Routes::new(health)))
}
