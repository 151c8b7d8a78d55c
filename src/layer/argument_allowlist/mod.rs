//! Gates the calls in the bodies of requests by role and argument.
//!
//! The rules are those of rmcp-server-kit's argument allowlists, compiled and closed: see [`policy`](crate::policy).
//!
//! # When a request passes
//!
//! All of these hold, and are looked at in this order:
//!
//! 1. No header or query overrides the HTTP method. No protocol upgrade is asked for, unless it is allowed by name. A
//!    transfer coding, if named, is exactly `chunked`.
//! 2. It is a POST with one Content-Type that the dialect has (in any case; with no charset but UTF-8) and no content
//!    coding but identity. Under MCP also a GET or DELETE without a body, of a caller whose role may reach the server.
//!    Or a preflight of CORS without a body, which is not judged: it carries no identity and calls nothing.
//! 3. The body arrives, within the limit and the shared budget.
//! 4. It is JSON that every parser reads alike: see [`json::Fault`](crate::json::Fault).
//! 5. It is a message of JSON-RPC, or a legal batch of them, that every server reads alike: see
//!    [`message::Fault`](crate::message::Fault). Under MCP the headers that mirror it (`MCP-Protocol-Version`,
//!    `Mcp-Method`, `Mcp-Name`) are there where the revision requires them, and agree with it.
//! 6. One role of the caller permits each message whole: see [`policy`](crate::policy). Of a batch every message
//!    passes, or none.
//!
//! Under gRPC ([`ArgumentAllowlistLayer::grpc`]) only the first holds as it stands; the second is a POST of a type that
//! starts with `application/grpc`, to a path of a service and a method in plain letters; and the last is about that.
//!
//! Then the inner service is called once, with the same head and the very bytes that were read. Its response is handed
//! on as it is, unless it is a list.
//!
//! # Lists agree with calls
//!
//! Under MCP the answers to `tools/list`, `prompts/list`, `resources/list` and `resources/templates/list` lose what no
//! role of the caller may use in any way, in JSON and in streams of events; on the stream of a GET lists are known by
//! their shape. A tool whose calls depend on arguments is listed if some arguments would pass. Nothing else changes:
//! entries are cut out of the bytes, and order, cursors, unknown members and the text of numbers stay. A modern list
//! is marked as private, `Content-Length` is corrected, and what says something of the bytes (`ETag`, `Digest` and the
//! like) is dropped. Such requests ask for the coding `identity`.
//!
//! What cannot be read exactly (no JSON, no list, two members of one name where it matters, a coding, another media
//! type, more than [the limit](ArgumentAllowlistLayer::with_max_list_bytes)) is never handed on: the caller gets an error
//! with the request's id, a stream ends with it, and on a GET's stream the event is dropped; the observer hears of
//! each. An answer that says that the request failed keeps its status and its headers, so that a client learns that it
//! has to log in or to begin anew. What the stream of a GET brings has to be events or JSON, unless the client asked
//! for neither. Answers without a body stay as they are. A coded answer is read where a layer between the gate and the
//! server decodes it, such as tower-http's `DecompressionLayer`; compress outside of the gate. Events go on one by one,
//! each before the next arrives.
//!
//! Several gates each filter what they let pass, since what stands between them may change it, keep it or put it
//! together. Gates with nothing between them are [joined](ArgumentAllowlistLayer::join): the outermost does what all of
//! them want, in one reading.
//!
//! # What a refusal looks like
//!
//! A response, in the shape that the client reads best (see [`answer`](crate::answer)), with a
//! [`Denial`](crate::answer::Denial) in its extensions. The inner service sees nothing of the request. `S::Error`
//! remains the inner service's own.
//!
//! # What it does not protect against
//!
//! - **Argument rules are a coarse gate, not a sandbox.** Only the first word of a value is looked at: `ls -la; id`
//!   and `/tmp/evil/ls` pass where `ls` is listed. Set `reject_control_chars` where a shell may read the value, and
//!   let the tool execute without one.
//! - A rule on an argument that may be omitted fails open when it is; [`Policy::lints`](crate::policy::Policy::lints)
//!   says so.
//! - What the tool itself does, and what comes back: of responses only lists are read.
//! - A list only discloses: each call is judged by itself, whatever a list said.
//! - `Mcp-Param-*` headers are passed on: what they mirror, only the tool's schema says. Repeated ones are refused.
//! - A server that sends a list as the answer to another request, or as the text of one: it can tell a client
//!   whatever it likes. Calls are judged all the same.
//! - A cache outside of the gate: lists that are kept must be kept for each role, or not at all.
//! - Routes that do not lead through it. Wrap the finished router; `route_layer` does not cover fallbacks.
//! - Upgrades that are allowed by name: what is said after the switch is not read.
//! - An object of very many members in `params` or `arguments` takes up to twelve times its size in memory while it is
//!   read; the limit of a body bounds it.
//!
//! # Body types
//!
//! The inner service receives [`RequestBody<B>`](crate::http::RequestBody) and the response has a
//! [`ResponseBody<R>`](crate::http::ResponseBody). axum's routers and tonic's take any body. For an inner service with
//! a body type of its own, such as axum's `from_fn` within one `ServiceBuilder`, convert it:
//!
//! ```
//! use axum::body::Body;
//! use axum::extract::Request;
//! use axum::middleware::{Next, from_fn};
//! use axum::{Router, routing::post};
//! use tower::ServiceBuilder;
//! # use tower_toolgate::policy::{Policy, PolicyConfig};
//! use tower_toolgate::http::RequestBody;
//! use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
//!
//! # let policy = Policy::new(&PolicyConfig::new())?;
//! let stack = ServiceBuilder::new()
//!     .layer(ArgumentAllowlistLayer::new(policy))
//!     .map_request(|request: http::Request<RequestBody<Body>>| request.map(Body::new))
//!     .layer(from_fn(|request: Request, next: Next| next.run(request)));
//! let app: Router = Router::new().route("/mcp", post(|| async { "behind the gate" })).layer(stack);
//! # let _ = app;
//! # Ok::<(), tower_toolgate::policy::ConfigError>(())
//! ```
//!
//! # Example: a plain JSON-RPC API
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response, StatusCode};
//! use http_body_util::{Empty, Full};
//! use tower::{Layer, ServiceExt, service_fn};
//! use tower_toolgate::http::RequestBody;
//! use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
//! use tower_toolgate::message::PlainJsonRpc;
//! use tower_toolgate::policy::{Policy, PolicyConfig, RoleConfig};
//! use tower_toolgate::{Role, Roles};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let policy = Policy::new(&PolicyConfig::new().with_role(RoleConfig::new("reader").with_allow(["get_*"])))?;
//! let gate = ArgumentAllowlistLayer::new(policy)
//!     .with_dialect(PlainJsonRpc::new())
//!     // The role of whoever the outer proxy has authenticated.
//!     .with_roles(|head: &http::request::Parts| match head.extensions.get::<&str>() {
//!         Some(&"ana") => Role::new("reader").into(),
//!         Some(_) | None => Roles::NONE,
//!     });
//! let service = gate.layer(service_fn(|_: Request<RequestBody<Full<Bytes>>>| async {
//!     Ok::<_, std::convert::Infallible>(Response::new(Empty::<Bytes>::new()))
//! }));
//!
//! let call = |caller: &'static str, method: &str| {
//!     let body = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"{method}","params":{{"of":"x"}}}}"#);
//!     let request = Request::post("/").header("content-type", "application/json").extension(caller);
//!     service.clone().oneshot(request.body(Full::new(Bytes::from(body))).unwrap())
//! };
//! assert_eq!(call("ana", "get_balance").await?.status(), StatusCode::OK);
//! assert_eq!(call("ana", "set_balance").await?.status(), StatusCode::FORBIDDEN);
//! assert_eq!(call("bob", "get_balance").await?.status(), StatusCode::FORBIDDEN);
//! # Ok(())
//! # }
//! ```

mod future;
mod gate;
mod judge;
mod layer;
mod service;
mod tell;

pub use self::future::ResponseFuture;
pub use self::layer::ArgumentAllowlistLayer;
pub use self::service::ArgumentAllowlistService;
