//! Marks results with where they come from, so that nobody can forge it.
//!
//! Each result, error and notification of a server gets a tag that says `internal` or `external`; tags that come from the
//! server or the client are removed first. Texts from outside can be fenced. It is meant for MCP, and stands innermost,
//! [joined](ProvenanceTagLayer::join) to the others: only what is behind it is marked.
//!
//! # Where a result comes from
//!
//! Of all that say something, one that says external is enough:
//!
//! 1. the [verdict](crate::trust::Verdict) of a [content trust layer](super::content_trust) further out, if there is one;
//! 2. the operator's [labels](ProvenanceTagLayer::with_labels) for tools. What a built-in label says is only heard if
//!    it says external: whose tool has that name is not known;
//! 3. a [closure](ProvenanceTagLayer::with_provenance) over the request's head and the call;
//! 4. the server itself: a claim in the message (`trust-annotations`, `ifc`, `openWorldHint`), or one that has not the form
//!    of a claim.
//!
//! If nobody says anything it is external; so is what a task has come to, and an answer on a stream that nobody asked a
//! question for, unless 2. or 3. vouch for it: which tool has made it is not remembered. What a gate of this crate refuses
//! further in is internal.
//!
//! What marks the session is external. The converse does not hold: errors and lists of the protocol's own, what 2. and 3.
//! say, and tags that were forged badly, mark no session.
//!
//! # When a request passes
//!
//! All of these hold:
//!
//! 1. Head and body are what the [gate](super::argument_allowlist) takes: its numbers 1 to 5.
//! 2. Members under the [tag's name](ProvenanceTagLayer::with_key) in its `_meta` are gone, and its header of the
//!    [name](ProvenanceTagLayer::with_header) that we write: what a client says of provenance is not handed on. The
//!    arguments of a tool are never changed.
//!
//! # When a response passes
//!
//! Answers in JSON are held until they are whole, up to [a limit](ProvenanceTagLayer::with_max_list_bytes); events are
//! marked one by one, and none is held back. All that is not changed is byte for byte what came. In this order:
//!
//! 1. It can be read: a body in a content coding, of another media type, beyond the limit, one in which a name that matters
//!    is there twice or in another case, a `_meta` that is no object, or an answer that nobody asked for, is not handed
//!    on. The caller gets an error with its id, or the stream ends with one. Of a stream that nobody asked a question for,
//!    only the event is lost. What is empty passes.
//! 2. What is forged goes: members under our name in any `_meta` or `error.data`, claims that something is trusted, or not
//!    sensitive, our header. An [observer](ProvenanceTagLayer::on_tag) is told.
//! 3. The tag is written: into the `_meta` of a result, of the result within a task, and of each block of content and
//!    resource, where the revision has one (from 2025-06-18 on, by `MCP-Protocol-Version`); into the `_meta` of the `params`
//!    of what the server sends by itself; into the `data` of an error, unless something else than an object stands there.
//! 4. Our header goes from heads and trailers, whatever was asked. It says `internal` or `external` for an answer in JSON. A stream is said to be external if it is bound to
//!    be; of another one nothing is said, for an event may still make a claim. The same value is a
//!    [`Provenance`](crate::provenance::Provenance) in the response's extensions.
//!
//! What brings nothing but the protocol's own is only cleaned: `initialize`, `ping`, lists (unless
//! [wanted](ProvenanceTagLayer::with_descriptions)), news that something has changed. Errors are always marked.
//!
//! # The tag
//!
//! ```json
//! {"v": 1, "origin": "external", "class": "external", "rule": "unknown", "server": "kg", "tool": "query",
//!  "fence": "delimit:8f3c…", "lossy": true, "session_tainted": true, "sig": "s1.…"}
//! ```
//!
//! | member | |
//! |---|---|
//! | `v` | 1 |
//! | `origin` | `internal` or `external`; a reader takes anything else, and no tag at all, for `external` |
//! | `class` | `local`, `execution` or `external`: the [verdict's](crate::trust::Verdict::class), or the origin |
//! | `rule` | what decided: a [step](crate::trust::Step), `label`, `operator` or `unknown` |
//! | `server`, `tool` | as the route and the request name them, if that is known |
//! | `fence` | the [mode](crate::provenance::FenceMode) and the nonce |
//! | `lossy` | a text cannot be had back byte for byte from behind its fence |
//! | `session_tainted` | whether the session has received content from outside, this included, if a layer remembers |
//! | `sig` | with a [key](ProvenanceTagLayer::with_signing_key), in the outermost tag of a message: see [`TagVerifier`](crate::provenance::TagVerifier) |
//!
//! Signatures are made last, when all joined layers have changed what they change. What a layer that is merely stacked
//! outside changes later does not verify.
//!
//! # Fences
//!
//! With [a fence](ProvenanceTagLayer::with_fence) texts from outside stand between two lines that nobody can guess:
//! blocks, resources, names and descriptions of links, messages of prompts, errors, progress and elicitation, what is
//! logged, the status of tasks. Look-alikes of these lines are escaped: see [`Fence`](crate::provenance::Fence). Images and
//! other blobs cannot be fenced: see [`MediaPolicy`](crate::provenance::MediaPolicy). The value of
//! `structuredContent` goes by its [mode](crate::provenance::StructuredContent), and `tools/list` with it.
//!
//! # What it does not protect against
//!
//! - **A fence is a hint to a model**, which may follow what stands in it all the same. The control is a rule of a
//!   [content trust layer](super::content_trust): what a session that has received such content must not do.
//! - **A model does not see `_meta`.** Tags are for policies and for programs that show results.
//! - Names of members: where the leaves of an object are fenced, its keys are not, and they are the server's text as well.
//! - Titles and descriptions in lists, and instructions of servers, unless
//!   [wanted](ProvenanceTagLayer::with_descriptions); descriptions within schemas never.
//! - A hop further on that drops tags: to it and to all behind it everything is external.
//! - Results of other dialects than MCP: they have no place for a tag, and only their head says something.
//! - Values under our name in `structuredContent` or in the arguments of a tool: they are data.
//!
//! # Example
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::{BodyExt, Full};
//! use tower::{Layer, ServiceExt, service_fn};
//! use tower_toolgate::Server;
//! use tower_toolgate::http::RequestBody;
//! use tower_toolgate::layer::provenance_tag::ProvenanceTagLayer;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let service = ProvenanceTagLayer::new().with_server(Server::new("web")).layer(service_fn(
//!     |_: Request<RequestBody<Full<Bytes>>>| async {
//!         let body = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
//!         let response = Response::builder().header("content-type", "application/json").body(Full::from(body));
//!         Ok::<_, std::convert::Infallible>(response.unwrap())
//!     },
//! ));
//! let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":{}}}"#;
//! let request = Request::post("/mcp").header("content-type", "application/json").body(Full::from(body))?;
//! let response = service.oneshot(request).await?;
//! assert_eq!(response.headers()["x-toolgate-provenance"], "external");
//! let body = response.into_body().collect().await?.to_bytes();
//! let tag = r#"{"v":1,"origin":"external","class":"external","rule":"unknown","server":"web","tool":"fetch"}"#;
//! let meta = format!(r#""_meta":{{"org.tower-toolgate/provenance":{tag}}}"#);
//! assert_eq!(body, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[],{meta}}}}}"#));
//! # Ok(())
//! # }
//! ```

mod future;
mod guard;
mod layer;
mod origin;
mod service;
mod tagger;
mod tagging;

pub use self::future::ResponseFuture;
pub use self::layer::ProvenanceTagLayer;
pub use self::service::ProvenanceTagService;
pub use self::tagger::DeriveProvenance;
