//! Remembers what sessions have received, and refuses what such a session must not do.
//!
//! Each call is classified by what the operator says of its server and tool ([`Classifier`](crate::trust::Classifier)):
//! what nobody has vouched for is external. External content marks the session in a
//! [store](crate::store::TaintStore), and [rules](crate::trust::SessionRules) say what a marked session must not do.
//!
//! # When a request passes
//!
//! All of these hold, and are looked at in this order:
//!
//! 1. Head and body are what the [gate](super::argument_allowlist) takes: its numbers 1 to 5.
//! 2. What names the conversation, where the host is [believed](crate::HonestHost), is one thing.
//! 3. No rule that denies is about a call in it, given what the session has received; of a batch, about none.
//! 4. What it brings back is marked, if it is external: the mark is made before anything is sent.
//!
//! Points 3 and 4 are one visit to the store. If that gives no answer, what would be marked or might be refused is
//! refused, and all else passes as in a session that has received everything.
//!
//! # When a response passes
//!
//! 1. What was marked before it was sent passes as it is, and is not read: results, errors, progress, log messages,
//!    requests for input.
//! 2. What the operator vouches for passes if it makes no claim to the contrary
//!    (`_meta."io.modelcontextprotocol/trust-annotations".untrusted`, `_meta.ifc.integrity`, `openWorldHint`); else once
//!    it is marked, head and body. Answers in JSON are held until they are whole, up to
//!    [a limit](ContentTrustLayer::with_max_list_bytes).
//! 3. Streams of a server that nobody vouches for: an event that brings content (log messages, progress, requests for
//!    sampling or input) once it is marked, on the stream of a GET and in streams of the protocol's own requests.
//!    Lists, `initialize` and news that something has changed bring none.
//! 4. If a mark cannot be made the content is withheld: the caller gets an error that says so, and that the call may
//!    have had effects.
//!
//! What a tool says of itself in `tools/list` (`openWorldHint`) is learned, and raises its later calls.
//!
//! # What it does not protect against
//!
//! - What the agent has read before, or beside this layer; what it was told by its own user.
//! - A host that is believed and names conversations anew; a user who logs in again, if each login is an
//!   [epoch](crate::Principal::with_epoch).
//! - Descriptions of tools and instructions of servers, which the model reads as well: vouch for servers before you
//!   connect to them.
//! - Calls that were decided on before the content arrived: they run side by side.
//! - A rule that names no sink: without [rules](ContentTrustLayer::with_rules) it only remembers.
//!
//! # Example
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response, StatusCode};
//! use http_body_util::Full;
//! use tower::{Layer, ServiceExt, service_fn};
//! use tower_toolgate::http::RequestBody;
//! use tower_toolgate::layer::content_trust::ContentTrustLayer;
//! use tower_toolgate::store::MemoryTaintStore;
//! use tower_toolgate::trust::{Classifier, ClassifierConfig, RuleAction, SessionRules};
//! use tower_toolgate::{Principal, Server};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rules = SessionRules::new().with_sinks(["remember"], RuleAction::Deny)?;
//! let layer = ContentTrustLayer::new(Classifier::new(&ClassifierConfig::new())?, MemoryTaintStore::new(100_000))
//!     .with_server(Server::new("web"))
//!     .with_rules(rules);
//! let service = layer.layer(service_fn(|_: Request<RequestBody<Full<Bytes>>>| async {
//!     let body = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
//!     Ok::<_, std::convert::Infallible>(Response::new(Full::new(Bytes::from(body))))
//! }));
//!
//! let ana = Principal::new("key", "ana")?;
//! let call = |tool: &str| {
//!     let params = format!(r#"{{"name":"{tool}","arguments":{{}}}}"#);
//!     let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
//!     let request = Request::post("/mcp").header("content-type", "application/json").extension(ana.clone());
//!     service.clone().oneshot(request.body(Full::new(Bytes::from(body))).unwrap())
//! };
//! assert_eq!(call("web_fetch").await?.status(), StatusCode::OK);
//! assert_eq!(call("remember").await?.status(), StatusCode::FORBIDDEN);
//! # Ok(())
//! # }
//! ```

mod assess;
mod conversation;
mod future;
mod guard;
mod ingest;
mod judge;
mod layer;
mod learned;
mod service;
mod tell;

pub use self::conversation::ConversationSource;
pub use self::future::ResponseFuture;
pub use self::layer::{ContentTrustLayer, WindowTooLong};
pub use self::service::ContentTrustService;
