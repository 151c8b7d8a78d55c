//! Responses: lists that agree with what may be called.
//!
//! Layers register what they want done in the request's context; the outermost does it, in one pass over the
//! response. What need not be read is handed on as it comes.

mod body;
mod events;
mod gather;
#[cfg_attr(not(feature = "content-trust"), allow(dead_code, reason = "nobody looks at content"))]
mod ingest;
mod lists;
mod plan;
#[cfg_attr(
    not(all(feature = "content-trust", feature = "provenance")),
    allow(dead_code, reason = "nobody changes a response, or its head")
)]
mod rewrite;

pub(crate) use self::body::{EventBody, Failure};
pub(crate) use self::events::Splitter;
#[cfg(feature = "upstream")]
pub(crate) use self::events::{Event, TooLong};
pub(crate) use self::gather::{Gather, Gathered, Missing};
pub(crate) use self::ingest::{Carrier, Markings};
#[cfg(feature = "content-trust")]
pub(crate) use self::ingest::{Ingest, Marking, Unmarked};
#[cfg(any(feature = "content-trust", feature = "provenance", feature = "server-trust"))]
pub(crate) use self::lists::Unreadable;
#[cfg(feature = "server-trust")]
pub(crate) use self::plan::Expose;
pub(crate) use self::plan::{ListRule, Permissions, Plan, Stage, Stages, Watch};
pub(crate) use self::rewrite::Origin;
#[cfg(any(feature = "content-trust", feature = "provenance", feature = "server-trust"))]
pub(crate) use self::rewrite::Rewrite;
