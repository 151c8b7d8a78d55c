//! Holds a server to what is declared of it.
//!
//! What an operator says of a server is a [`ServerEntry`](crate::server::ServerEntry). This layer stands in front of that
//! server, be it a proxy, a child process or a service in the same program, and sees to it that only the tools that the
//! entry exposes are listed and called, that the server asks its clients for nothing which it may not ask for, that its
//! images and sound pass only where the entry says so, and that tools are still those that were
//! [approved](ServerTrustLayer::with_pins). It stands right inside of the [gate](super::argument_allowlist), so that
//! whoever may not call a tool makes it ask for nothing, and outside of content trust and tags;
//! [join](ServerTrustLayer::join) those to it.
//!
//! # When a request passes
//!
//! All of these hold, and are looked at in this order:
//!
//! 1. Its head and body are as [the gate](super::argument_allowlist) wants them, in its points 1 to 5.
//! 2. Each tool that it calls is exposed: see [`Exposure`](crate::server::Exposure). Of a batch every message passes, or
//!    none. How far the server is trusted is what the entry says, or [less](ServerTrustLayer::with_level).
//! 3. Where definitions are compared, each tool that it calls has a pin, and the last list of this server that had the tool
//!    had it as it was approved. A tool that the server does not list is refused.
//! 4. Where definitions are compared, or the entry says which tools are expected, the last whole list of this server has
//!    the name once, and no other one with the same [id](crate::server::sanitized_id). As long as no whole list has been
//!    seen the layer asks for it first: see [below](#what-the-layer-asks-for-itself).
//! 5. Under MCP no other method than `tools/list` and `tools/call` begins with `tools/`, in any case.
//!
//! Then the [`Server`](crate::Server) of the entry is put into its extensions, in the place of whatever is there: the
//! route says whose tools they are, never the request. Layers further out are told by their own `with_server`.
//!
//! From what the client declares to be able to do, everything goes that the server may not ask for
//! ([`ReachBack`](crate::server::ReachBack)): `sampling`, `elicitation` and `roots`, and the tasks that a client runs for
//! the first two; of `initialize` in `params.capabilities`, and of every message in
//! `_meta["io.modelcontextprotocol/clientCapabilities"]`. All other bytes stay as they are; `Content-Length` is corrected.
//!
//! What a client answers to `roots/list` becomes the roots of the entry, an empty list if the server may not ask for them:
//! the member `roots` of a response's `result`, and of each value in `params.inputResponses`. Nothing else in it changes.
//!
//! # When a response passes
//!
//! 1. Lists of tools lose what a call would be refused for by points 2 to 4, in JSON, in streams of events and on the
//!    stream of a GET, in the same manner and with the same limits as [the gate's](super::argument_allowlist), and in
//!    answers to other requests as well, from which nothing is learnt. Where they are compared, there are no more than
//!    65,536. A definition is compared as it came from the server, whatever joined layers make of it. A name that is there
//!    twice hides both, and so do two with one id; a definition that two readers may read differently is hidden.
//! 2. Requests of the server for what it may not ask for (`sampling/createMessage`, `elicitation/create`, `roots/list`) go:
//!    the event that has one is dropped, and it is cut out of a batch. So do those of a method that no revision knows,
//!    unless the server is trusted. The observer is told of each; of joined layers, the outermost's.
//! 3. What else asks for it is replaced by an error for whoever waits, with the code 502, and ends a stream: results and
//!    tasks with `inputRequests` (of `tasks/get` and `notifications/tasks` as well), the error -32042, and errors with
//!    `data.elicitations`. On the stream of a GET the event is dropped.
//! 4. Unless the entry [passes media](crate::server::ServerEntry::passes_media), which it does for no server without
//!    `media_passthrough` and for no sandbox, a text takes the place of each, at any level of trust. A block of the type
//!    `image` or `audio` becomes `{"type":"text","text":"[image: image/png, 1234 bytes]"}`, with its `_meta`; so does,
//!    as a `file`, an embedded resource with a `blob`, and a block of any type but `text` that has a `blob` or a string
//!    for `data`, which may also stand in its `source`. Of what `resources/read` brings, the `blob` goes and a `text`
//!    comes, unless there is one. In `structuredContent`, whose form is the tool's, a `data` or `blob` beside a media type,
//!    or in an object of the type `image` or `audio`, becomes an empty text. That holds for results, those of tasks,
//!    messages of prompts and of sampling, blocks within blocks, and `content` in the `data` of errors. The length is
//!    that of the decoded bytes, the media type the server's word if it is a short one. All other bytes stay as they are.
//!    Joined layers further in get what is left.
//! 5. Unless the server may ask for everything, all answers under MCP are read for that; unless media pass, those are
//!    read that may have some; unless the server is trusted and nothing of its lists is compared, those that may be one.
//!    What cannot be read exactly, or has more than 65,536 media or messages, is not handed on, and requests ask for the coding
//!    `identity`.
//!
//! # What the layer asks for itself
//!
//! A call under MCP that all else permits, of a server whose definitions are compared or of which tools are expected, waits
//! while the layer sends `tools/list` to the inner service, page by page, if no whole list has been seen, or if the last one
//! lacks a tool that has a pin. The call follows as it came, or is refused. Of any other server nothing is asked.
//!
//! - The question is a POST with the call's URI, extensions and headers: whoever calls asks, in their session. It accepts
//!   JSON and events, has no header that is about the call, and of the call's body no more than a modern `_meta`, without
//!   its `progressToken`. Its id is `toolgate-` and what nobody can guess.
//! - Before each request the same service is ready. Calls that come at once ask each for itself. How long it may take is the
//!   host's to say, and the upstream's.
//! - All pages together may have what [a list](ServerTrustLayer::with_max_list_bytes) may have in bytes, and 65,536 tools;
//!   there may be 100 pages. Of a stream, what is there before the answer is passed over, requests of the server included.
//! - What is no such list, as an error, a status that is none of success, or a cursor that comes back, refuses the call by
//!   `server.list_unavailable`; the next one asks again. The statuses 401, with its challenges, and 404 become the
//!   refusal's: by them a client learns that it has to log in, or to begin a session anew. An error of the service
//!   while it answers is such a case; one while it gets ready is handed on.
//! - Joined layers further in hand back what the server has written. Those that are stacked leave out what they always do.
//!   A layer that refuses the question refuses the call.
//! - A client's own list counts as well, if it was asked for without a cursor and comes without one. Once the server says
//!   `notifications/tools/list_changed` the next call asks. It is heard in streams of events, and in JSON where that is read
//!   anyway, by point 5 above. One that was started anew says nothing: [whoever learns of it](ServerTrustLayer::forget_lists)
//!   has to.
//!
//! # One entry for several layers
//!
//! ```
//! # #[cfg(all(feature = "content-trust", feature = "provenance"))]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use tower_toolgate::layer::content_trust::ContentTrustLayer;
//! use tower_toolgate::layer::provenance_tag::ProvenanceTagLayer;
//! use tower_toolgate::layer::server_trust::ServerTrustLayer;
//! use tower_toolgate::server::{McpTransport, ServerEntry};
//! use tower_toolgate::store::MemoryTaintStore;
//! use tower_toolgate::trust::{Classifier, ClassifierConfig, DeclaredServer};
//!
//! let entry = ServerEntry::new("files", McpTransport::stdio("mcp-files"), Duration::from_secs(30));
//! let classifier = Classifier::new(&ClassifierConfig::new().with_server(DeclaredServer::from(&entry)))?;
//! let trust = ContentTrustLayer::new(classifier, MemoryTaintStore::new(100_000));
//! let layers = ServerTrustLayer::new(&entry)?.join(trust.join(ProvenanceTagLayer::new()));
//! # let _ = tower::ServiceBuilder::new().layer(layers);
//! # Ok(())
//! # }
//! # #[cfg(not(all(feature = "content-trust", feature = "provenance")))]
//! # fn main() {}
//! ```
//!
//! # What a refusal looks like
//!
//! The code is 403, in the shape that the client reads best, with the tool and a reason such as `server.tool_not_listed`:
//! see [`ServerRefusal`](crate::server::ServerRefusal). By [`AsUnknown`](crate::answer::AsUnknown) it looks like a tool
//! that is not there. What else is listed or approved is never said. The observer is told of refusals, and once of each tool
//! that a list puts in quarantine, and why: as of a tool that is refused, without a message or a caller.
//!
//! # What it does not protect against
//!
//! 1. A server that shows the layer another list than it shows a client: what is in a client's own list is compared as
//!    well, but a name on two pages of that is known only by a whole list. What one caller is shown may differ from what
//!    another one was: the last list counts for both. It is remembered in this process only, by all clones of the layer.
//! 2. **Servers of the 2024-11-05 transport, which answer on another stream: where the layer has to ask, no tool of them can
//!    be called.** A list on the stream of a GET is compared, but nobody knows whether it is all.
//! 3. A server that does what its tools do not say, or changes what they do without changing their definitions.
//! 4. Prompts and resources: an entry says nothing of them. The [gate](super::argument_allowlist) does.
//! 5. A definition that a layer further in has changed, where it is stacked and not joined, or in a list that nobody asked
//!    for: it is not the one that was approved, and hidden.
//! 6. What a server says in texts: that the model should ask the user, or read a URL.
//! 7. How long a user takes to answer, and what they answer. Modes of elicitation are not told apart.
//! 8. A server that does not keep to the roots that it is told.
//! 9. Media in other places than those of point 4: `data:` URIs and base64 in texts, a `structuredContent` in which
//!    nothing says what a text is, arguments of tools, `_meta`, icons, what is logged. Links to media: a client may
//!    follow them. Content at places that no revision knows. A `structuredContent` that a layer further in has fenced or
//!    put into a text, where it is stacked and not joined.
//! 10. A plain JSON-RPC API: calls are judged by their method, and responses are not read.
//! 11. Upgrades that are [allowed by name](ServerTrustLayer::with_insecure_upgrade): what is said after the switch is not
//!     read. On the stream of a GET, what is neither JSON nor events where the client asked for neither.
//! 12. A server that knows its tools by other methods than MCP's.
//! 13. Waiting: a request of the server that is dropped is not answered, and what is dropped from the stream of a GET may be
//!     what the client of the 2024-11-05 transport waits for.
//! 14. Trust that is lost on the way, unless [somebody says so](ServerTrustLayer::with_level), as a
//!     [`TrustScore`](crate::server::TrustScore) may: the layer scores nothing. A response, a stream of events as well, goes
//!     by the level of its request's time; a classifier and media by the entry's.
//!
//! # Example
//!
//! ```
//! use std::time::Duration;
//!
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::{BodyExt, Full};
//! use tower::{Layer, ServiceExt, service_fn};
//! use tower_toolgate::http::RequestBody;
//! use tower_toolgate::layer::server_trust::ServerTrustLayer;
//! use tower_toolgate::server::{McpTransport, ServerEntry};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let entry = ServerEntry::new("files", McpTransport::stdio("mcp-files"), Duration::from_secs(30))
//!     .with_tool_allowlist(["read_file"]);
//! let server = service_fn(|_: Request<RequestBody<Full<Bytes>>>| async {
//!     let list = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"read_file"},{"name":"run_shell"}]}}"#;
//!     Ok::<_, std::convert::Infallible>(
//!         Response::builder().header("content-type", "application/json").body(Full::from(list)).unwrap(),
//!     )
//! });
//! let service = ServerTrustLayer::new(&entry)?.layer(server);
//! let ask = async |body: &'static str| {
//!     let request = Request::post("/mcp").header("content-type", "application/json").body(Full::from(body)).unwrap();
//!     let response = service.clone().oneshot(request).await.unwrap();
//!     response.into_body().collect().await.unwrap().to_bytes()
//! };
//! let list = ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
//! assert_eq!(list, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"read_file"}]}}"#);
//! let call = ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_shell"}}"#).await;
//! assert!(call.starts_with(br#"{"jsonrpc":"2.0","id":2,"error":{"code":403,"#));
//! # Ok(())
//! # }
//! ```

mod enquiry;
mod future;
mod guard;
mod judge;
mod layer;
mod listing;
mod media;
mod reaching;
mod service;
mod shown;
mod standing;
mod stray;
mod told;

pub use self::future::ResponseFuture;
pub use self::layer::ServerTrustLayer;
pub use self::service::ServerTrustService;

#[cfg(test)]
mod tests;
