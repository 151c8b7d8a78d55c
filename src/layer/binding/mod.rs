//! Binds the ids of sessions and tasks to the principal that was given them.
//!
//! Whoever knows the id of a session or task can use it: servers seldom ask whose it is. Behind this layer clients see
//! bound ids only, which one principal can use at one server: see [`binding`](crate::binding). It is meant for MCP, as the
//! outermost layer of this crate, right inside of authentication; [join](BindingLayer::join) the others to it.
//!
//! # When a request passes
//!
//! All of these hold, and are looked at in this order:
//!
//! 1. Its head and body are as [the gate](super::argument_allowlist) wants them, in its points 1 to 5.
//! 2. There is a [`Principal`](crate::Principal) in its extensions, or callers without one are
//!    [allowed](BindingLayer::with_insecure_anonymous) and taken for one. A preflight needs none; it loses the name of a
//!    session.
//! 3. Its query names no session, by `sessionId` or `session_id`, unless that is
//!    [allowed](BindingLayer::with_insecure_url_sessions): no id in a URL is bound.
//! 4. It names no session, or one, once: a bound id in `Mcp-Session-Id`, made for this tenant, method, issuer and subject,
//!    and for this server, and not [too old](BindingLayer::with_max_session_age). That holds for POST, GET and DELETE alike. A GET that resumes a stream (`Last-Event-ID`) names
//!    one.
//! 5. It does not ask for `tasks/list`: that lists everybody's tasks, and does not say whose they are.
//! 6. Each task that it names is a bound id for the same principal and server: `params.taskId` of `tasks/get`, `result`,
//!    `cancel`, `update` and whatever else starts with `tasks/`; `taskIds` of `subscriptions/listen`; and
//!    `_meta["io.modelcontextprotocol/related-task"].taskId` of requests. In that of notifications and answers a client
//!    may also name a task that it runs itself, by an id of its own. Of a batch every message passes, or none.
//!    Where a task may be named no name differs from these only by case, folding or control characters.
//!
//! Then the inner service is called with the server's own ids: the header is replaced, and in the body only the ids are;
//! `Content-Length` is corrected, and so is `Mcp-Name` if it mirrors the task. A
//! [`VerifiedSession`](crate::binding::VerifiedSession) is in the request's extensions, with the time when the session
//! was given out.
//!
//! # What is bound on the way back
//!
//! - `Mcp-Session-Id` of any response, whatever its status. The id that the client has sent comes back as it was, so that
//!   no echo makes a session younger.
//! - In answers in JSON, and in every event of a stream: `result.task.taskId`, `result.taskId` beside a `status`,
//!   `params.taskId` of notifications on tasks, and `_meta["io.modelcontextprotocol/related-task"].taskId` of results,
//!   of the results within results, and of what the server sends by itself; and the `taskIds` that it confirms for a
//!   subscription. Only these bytes change.
//!
//! An answer in JSON is held, up to [a limit](BindingLayer::with_max_list_bytes), only if the request has the word `task`
//! in it: who wants a task says so, and who can take one for an answer declares it. Such requests, and GET, ask for the
//! coding `identity`; what is coded all the same goes on unread. The limit is that of an event, too: a longer one ends its
//! stream with an error, or is dropped from that of a GET. What names a task and cannot be read exactly, and an id that cannot be bound, is not handed on. A
//! task has one bound id as long as the key is the same; of a session each `initialize` makes one.
//!
//! # What a refusal looks like
//!
//! A session that is not the caller's is HTTP 404, for whatever reason: clients then begin a new one. A task is the error
//! -32602, `unknown task`, in the shape that the client reads best (see [`answer`](crate::answer)); `tasks/list` is
//! -32601. Without a principal it is 403; a session in a URL is 400. What is wrong with an id only the observer learns: see
//! [`BindingFault`](crate::binding::BindingFault). It is told of refusals alone; what passes, the gate tells of.
//!
//! # What it does not protect against
//!
//! - **Callers who share a principal share sessions and tasks**: a weaker token of the same user too. Roles are judged by
//!   the gate, at each request.
//! - A server that mixes up its clients, or gives one the content of another: only ids are bound.
//! - Use of a session that its client has ended: nothing is remembered here, and the server has to say 404. A bound id
//!   is never taken for a new one.
//! - Ids in other places: in the text of results, in `error.data`, in the `inputRequests` of a task, in URLs. They reach
//!   the client as they are. Where this layer looks they are worth nothing, since only bound ones are accepted there.
//!   Of URLs it looks at nothing but the two names of a query that the transport of 2024-11-05 has: a server that takes
//!   an id from another one, or from a path, should not be reached by those of clients.
//! - Notifications and answers to the server name tasks of the client's own too, so that what has not the form of a bound
//!   id passes there.
//! - Servers' ids of more than 1024 bytes: the answer that gives one is refused.
//! - A server that answers a call with a task that nobody declared to understand: its raw id, likewise.
//! - A client's own tasks: a server that relates a message to one gives its id in bound form.
//! - A stolen token: whoever has it is its principal.
//! - Two of these layers in one stack: what the outer one makes of an id, the inner one does not know.
//!
//! # Example
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response, StatusCode};
//! use http_body_util::Full;
//! use tower::{Layer, ServiceExt, service_fn};
//! use tower_toolgate::binding::{BindingKey, VerifiedSession};
//! use tower_toolgate::http::RequestBody;
//! use tower_toolgate::layer::binding::BindingLayer;
//! use tower_toolgate::{Principal, Server};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // From the configuration, where several processes serve one client or sessions outlive one.
//! let key = BindingKey::random()?;
//! let service = BindingLayer::new(key).with_server(Server::new("files")).layer(service_fn(
//!     |request: Request<RequestBody<Full<Bytes>>>| async move {
//!         let known = VerifiedSession::of(request.extensions()).map(|session| session.id().to_owned());
//!         let response = Response::builder().header("mcp-session-id", known.as_deref().unwrap_or("s-1"));
//!         Ok::<_, std::convert::Infallible>(response.body(Full::new(Bytes::new())).unwrap())
//!     },
//! ));
//! let call = |principal: &Principal, session: Option<&http::HeaderValue>| {
//!     let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
//!     let mut request = Request::post("/").header("content-type", "application/json");
//!     if let Some(session) = session {
//!         request = request.header("mcp-session-id", session);
//!     }
//!     service.clone().oneshot(request.extension(principal.clone()).body(Full::from(body)).unwrap())
//! };
//! let (ana, bob) = (Principal::new("oauth", "ana")?, Principal::new("oauth", "bob")?);
//! let bound = call(&ana, None).await?.headers()["mcp-session-id"].clone();
//! assert!(bound.to_str()?.starts_with("v1."));
//! // The id is hers, and stays what it is.
//! assert_eq!(call(&ana, Some(&bound)).await?.headers()["mcp-session-id"], bound);
//! assert_eq!(call(&bob, Some(&bound)).await?.status(), StatusCode::NOT_FOUND);
//! // Nobody can use the server's own.
//! assert_eq!(call(&ana, Some(&"s-1".parse()?)).await?.status(), StatusCode::NOT_FOUND);
//! # Ok(())
//! # }
//! ```

mod future;
mod guard;
mod ids;
mod layer;
mod service;

pub use self::future::ResponseFuture;
pub use self::layer::BindingLayer;
pub use self::service::BindingService;
