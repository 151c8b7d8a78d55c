//! Tower layers that gate the tool calls of agents.
//!
//! They wrap any HTTP service that speaks JSON-RPC: an MCP server, a reverse proxy in front of one, a plain
//! JSON-RPC API, a gRPC service by method name. An axum, hyper or tonic gateway gains role-scoped gating by
//! stacking layers.
//!
//! # A stack in five minutes
//!
//! 1. Write down what each role may do: a [`PolicyConfig`](policy::PolicyConfig), in code or from any serde format.
//! 2. Compile it into a [`Policy`](policy::Policy): mistakes are found here, with their place.
//! 3. Let your authentication put a [`Role`] (and a [`Principal`]) into the request's extensions.
//! 4. Put an [`ArgumentAllowlistLayer`](layer::argument_allowlist::ArgumentAllowlistLayer) behind it, around the
//!    *finished* service: a route that is added to a router after `.layer()` is not behind it.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::{BodyExt, Full};
//! use tower::{Layer, ServiceExt, service_fn};
//! use tower_toolgate::Role;
//! use tower_toolgate::http::RequestBody;
//! use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
//! use tower_toolgate::policy::{ArgumentAllowlist, Policy, PolicyConfig, RoleConfig};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let policy = Policy::new(&PolicyConfig::new().with_role(
//!     RoleConfig::new("analyst")
//!         .with_allow(["run_query"])
//!         .with_argument_allowlist(ArgumentAllowlist::new_required("run_query", "cmd", ["ls"])),
//! ))?;
//! // The service to protect: here one that says back what it received.
//! let server = service_fn(|request: Request<RequestBody<Full<Bytes>>>| async {
//!     let body = request.into_body().collect().await?.to_bytes();
//!     Ok::<_, std::convert::Infallible>(Response::new(Full::new(body)))
//! });
//! let gated = ArgumentAllowlistLayer::new(policy).layer(server);
//!
//! let call = |cmd: &str| {
//!     let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"run_query","arguments":{{"cmd":"{cmd}"}}}}}}"#);
//!     Request::post("/mcp")
//!         .header("content-type", "application/json")
//!         .header("accept", "application/json, text/event-stream")
//!         .extension(Role::new("analyst"))
//!         .body(Full::new(Bytes::from(body)))
//!         .unwrap()
//! };
//! let allowed = gated.clone().oneshot(call("ls /srv")).await?;
//! assert!(allowed.extensions().get::<tower_toolgate::answer::Denial>().is_none());
//!
//! let denied = gated.oneshot(call("rm -rf /srv")).await?;
//! let answer = denied.into_body().collect().await?.to_bytes();
//! assert!(answer.starts_with(br#"{"jsonrpc":"2.0","id":7,"error":{"code":403,"#));
//! # Ok(())
//! # }
//! ```
//!
//! # The way of a request
//!
//! ```text
//! bytes ─▶ http     collect (bounded), one context for the whole stack
//!       ─▶ json     read strictly, once
//!       ─▶ message  which calls are these?
//!       ─▶ server   does the server expose this tool, as it was approved?  ── no ─▶ answer
//!       ─▶ policy   may this role make this call?  ── no ─▶ answer
//!       ─▶ trust    what will it bring back, and may this session make it?  ── no ─▶ answer
//!       ─▶ inner service, with the very bytes that were judged
//!       ◀─ response forged tags gone, texts fenced, results tagged, lists cut down, sessions marked
//! ```
//!
//! Layers that meet one request share one reading of it: the outermost puts an [`Inspection`](message::Inspection)
//! into the request's extensions, and the next uses it if bytes, method, URI and judged headers are still the same.
//! Layers that are [joined](layer::Joined) share one reading of the response as well.
//!
//! # Order
//!
//! Outside in: time limits for bodies, tracing and CORS (so that refusals are traced and decorated too);
//! authentication; the binding of ids (`layer::binding`); the gate; what is declared of the server (`layer::server_trust`); content trust; tags (`layer::provenance_tag`); the service. Compression belongs outside of the gate, decompression of requests nowhere:
//! a compressed body is refused.
//!
//! # Features
//!
//! None is on by default, and turning one on changes no decision.
//!
//! - `content-trust`: the memory of sessions, the layer that keeps it, and the one that binds ids of sessions and tasks to
//!   their principal. Costs base64, hmac, sha2, getrandom.
//! - `digest`: keyed digests of argument values in audit events. Costs hmac, sha2, getrandom.
//! - `provenance`: tags that say where results come from, fences around texts from outside, and the layer that writes both.
//!   Costs base64, hmac, sha2, getrandom, unicode-normalization.
//! - `redis`: the memory of sessions that gateways share. Costs redis and tokio.
//! - `server-trust`: what is declared of each server: the tools that it exposes, what it may ask for, and the definitions
//!   that were approved; and the layer that holds it to that. Costs ryu-js, sha2.
//! - `tracing`: [`observe`] gains an observer that emits an event a decision. Costs tracing.
//! - `upstream`: [services](upstream) that reach a server over HTTP, or a child process over stdio, as `server-trust`
//!   declares it, which comes with it. Costs hyper, hyper-util, hyper-rustls, rustls, rustix, tokio, tokio-util, tracing,
//!   webpki-roots.
//! - `full`: all of them.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    test,
    allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::string_slice, clippy::unwrap_used)
)]

pub mod answer;
pub mod binding;
mod bits;
pub mod http;
mod identity;
pub mod json;
pub mod layer;
pub mod message;
mod names;
pub mod observe;
mod placed;
pub mod policy;
#[cfg(feature = "provenance")]
#[cfg_attr(docsrs, doc(cfg(feature = "provenance")))]
pub mod provenance;
mod response;
#[cfg(any(feature = "content-trust", feature = "provenance"))]
mod secret;
#[cfg(feature = "server-trust")]
#[cfg_attr(docsrs, doc(cfg(feature = "server-trust")))]
pub mod server;
#[cfg(feature = "content-trust")]
#[cfg_attr(docsrs, doc(cfg(feature = "content-trust")))]
pub mod store;
pub mod trust;
#[cfg(feature = "upstream")]
#[cfg_attr(docsrs, doc(cfg(feature = "upstream")))]
pub mod upstream;

pub use self::identity::{
    BlankPrincipal, ExtractRoles, HonestHost, Principal, Role, Roles, RolesFromExtensions, Server,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
