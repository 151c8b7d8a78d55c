//! Servers behind a gate: reached over Streamable HTTP, or run as a child process and spoken to over stdio.
//!
//! Both are services of requests as a gate hands them on, and never fail: what goes wrong is an answer that the caller
//! can read, with a [`Denial`](crate::answer::Denial) in its extensions that names an
//! [`UpstreamFault`](crate::answer::UpstreamFault).
//!
//! What is [declared](crate::server::ServerEntry) of a server says how to reach it:
//! [`connect`](crate::server::ServerEntry::connect) gives an [`Upstream`] that is either. Written out:
//!
//! ```no_run
//! use tower::Layer;
//! use tower_toolgate::layer::argument_allowlist::ArgumentAllowlistLayer;
//! use tower_toolgate::policy::{Policy, PolicyConfig, RoleConfig};
//! use tower_toolgate::upstream::{HttpConfig, HttpUpstream, StdioConfig, StdioUpstream};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let policy = Policy::new(&PolicyConfig::new().with_role(RoleConfig::new("analyst").with_allow(["read_*"])))?;
//! let gate = ArgumentAllowlistLayer::new(policy);
//! let files = StdioUpstream::start(StdioConfig::new("mcp-server-files").with_args(["/srv/files"]))?;
//! let files = gate.clone().layer(files);
//! let web = gate.layer(HttpUpstream::new(HttpConfig::new("https://mcp.example/mcp")?)?);
//! # _ = (files, web);
//! # Ok(())
//! # }
//! ```
//!
//! # A child process
//!
//! Of [`StdioUpstream`]:
//!
//! 1. **One child, many clients.** Each request is sent under a number of ours, and its answer handed on under the id
//!    that it came with, to the letter. So is a progress token: notices of progress, and the events of a subscription,
//!    reach only whose request it is, as a stream of events that ends with the answer. All else of a message stays as
//!    it is.
//! 2. **One handshake.** The child is greeted as a client of ours, with 2025-11-25 unless
//!    [otherwise](StdioConfig::with_revision), and no capabilities but `roots`, if the operator has given any. Each
//!    client's `initialize` is answered with what the child said, its `notifications/initialized` and `ping` from here.
//!    No session ids are given out. What has no handshake, from 2026-07-28 on, is passed on as it is: to the same
//!    child, or to [one of its own](StdioConfig::with_child_per_era), which is asked by `server/discover` what it
//!    knows. If that is no such revision, such requests are answered with -32022 and the revision that there is, by
//!    which clients that know both eras fall back, and the second child is ended. One that ends at the question, or
//!    takes longer for it than half the time for an answer, is given up likewise, and asked anew when the next such
//!    request comes after a pause; meanwhile nobody waits for it.
//! 3. **What the child asks** is answered from here: `ping`, `roots/list` with the operator's roots, and all else with
//!    -32601. No client is bothered. What clients say of their roots, and their answers, end here.
//! 4. **News.** What the child says to nobody in particular goes to every stream that was opened by GET. One that does
//!    not keep up ends. What it says of a task goes only to those of the [`Principal`](crate::Principal) that it gave
//!    the task to, as far as that is remembered: of 4096 tasks.
//! 5. **Going away.** Dropping the future of a response, or its body, tells the child `notifications/cancelled`. A
//!    client's own is passed on if exactly one request of the same [`Principal`](crate::Principal) has that id.
//! 6. **Bounds.** Messages have a length, requests in flight a number, messages to the child and events to each client
//!    a number and a length, answers a time. What is beyond is refused at once. Nobody waits for a child that does not
//!    read, and a child waits for no client.
//! 7. **The end of a child.** Whoever waits is told at once, and so is whoever comes while there is none; while one is
//!    being started they wait. It is started anew after a pause, which doubles each time. It is at the head of a group
//!    of processes, all of which are killed with it, and once the last clone of the service is dropped: after its
//!    standard input has been closed for a second, or at once if the runtime ends first.
//! 8. **Environment.** Unless isolation is turned off the child knows of this process's environment only what it needs
//!    to run, and what the operator has given it.
//! 9. **Lines.** What is no JSON, is too long, is a batch, or answers nobody is logged and dropped, without its
//!    content. What the child writes to its standard error is logged line by line, escaped and bounded.
//! 10. **Batches** of clients are refused with -32600: the revision that has them is older than the one that the child
//!     is greeted with.
//!
//! # HTTP
//!
//! Of [`HttpUpstream`]:
//!
//! 1. **To the server** go neither `Authorization`, `Cookie`, `Origin`, `Proxy-*` nor what concerns one connection;
//!    `Host` is the server's. The operator's [headers](HttpConfig::with_header) take the place of the client's.
//! 2. **From the server** come neither `Proxy-*`, `Access-Control-*`, nor what concerns one connection. From one that
//!    is not trusted come no `Set-Cookie`, `WWW-Authenticate`, `Location` and the like, and no redirects. None is
//!    followed. What holds for headers holds for trailers.
//! 3. **Addresses.** A name of a server that is not trusted must lead to a public address: not to this machine, a link,
//!    a private network, a provider's, a group, or nobody, nor in disguise (IPv4-mapped, 6to4, NAT64). What is
//!    connected to is the very address that was judged; there is no second resolution. An address that the operator has
//!    written as one is meant, and is not judged.
//! 4. **Answers.** The head has a time, and so has an answer in JSON, which must answer what was asked, as far as a
//!    gate has read that; streams of events pass as they come. HTTP/1.1 only; TLS 1.2 and 1.3, with Mozilla's roots and
//!    the operator's.
//! 5. **What the server asks**, on a stream or in a batch, is looked at if its [reach](HttpConfig::with_reach) is
//!    known, which it is of one that is declared. What it may not ask, and the roots that the operator has given, are
//!    answered from here: an elicitation is declined, `roots/list` answered with the roots, all else with -32601; and
//!    the request is not handed on. `ping` and what it may ask are. Answers go to the server's address in the session
//!    of the request whose stream it was, 64 at a time; until there is room for more, the stream waits.
//! 6. **Users** have the time that the reach gives them. Then what they have been asked is declined from here, and a
//!    later answer of theirs ends here. So does that of another [`Principal`](crate::Principal) in the same session, or
//!    where there are no sessions, while theirs is waited for. No more than 1024 are waited for; of more the server is told at once that
//!    they decline.
//! 7. **Events** of such a server pass each as soon as it is complete, with their bytes. One that is longer than an
//!    [answer](HttpConfig::with_max_answer_bytes) may be ends its stream. What cannot be read, is coded, or is a batch
//!    of more than 1024 messages, passes untouched: a [layer](crate::layer::server_trust) in front judges it.
//!
//! # What this does not protect against
//!
//! - All clients of a child are one client to it: what one of them sets (`logging/setLevel`, subscriptions) is set for
//!   all, and news of it reaches all who listen. A child that keeps secrets for one user must not be shared.
//! - A child runs with the rights of this process: it can read its files, and talk to whom it likes. Only its
//!   environment is kept from it. One that moves itself or its own into another group of processes is not killed with
//!   it, and where there are no groups (Windows) only the child itself is. If this process is itself killed at once,
//!   nothing is left to kill the child; it sees the end of its standard input. Files that this process has inherited
//!   open are the child's as well.
//! - One client can take all places of a child, and all streams by GET: limit in front how many requests one client
//!   has.
//! - A message of a child that is too long is dropped, and whoever waits for it learns that by the time for an answer.
//! - What is answered from here is what the entry says: a level that falls later is not known.
//! - A child that gives notice of progress for ever keeps a request, and its place, for as long as its client stays.
//! - Where no [`Principal`](crate::Principal) is in the extensions of requests all clients are one, and can cancel each
//!   other's requests if they guess the id.
//! - What `Connection` names is removed from answers, not from requests: a client must not be able to remove what a
//!   gateway has added. Remove it where requests come in.
//! - A stream of events over HTTP may be silent, or go on, for ever.
//! - Of servers without sessions, an answer to what is no elicitation is any client's that names its id.

mod body;
mod connect;
mod envelope;
mod future;
mod http;
mod replies;
mod stdio;
mod user;

pub use self::body::{UpstreamBody, UpstreamBodyError};
pub use self::connect::{ConnectError, Upstream, UpstreamConfig};
pub use self::future::UpstreamFuture;
pub use self::http::{HttpConfig, HttpUpstream, InvalidHttpConfig, Resolution, Resolve};
pub use self::stdio::{NoRuntime, StdioConfig, StdioUpstream};
