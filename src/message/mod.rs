//! Which calls does a body make? Envelopes, ids, eras and dialects of JSON-RPC.
//!
//! Everything here is read strictly and once, by [`json`](crate::json), and tied to the bytes that it was
//! read from: see [`Inspection`].

mod dialect;
mod fault;
mod headers;
mod id;
mod inspection;
mod mcp;
mod method;
mod plain;
mod read;
mod revision;
mod salvage;
#[cfg(any(feature = "content-trust", feature = "upstream"))]
mod tasks;
mod view;

pub use self::dialect::{Batches, Dialect, DialectRules, Name, Target, ToolArguments};
pub use self::fault::Fault;
pub(crate) use self::headers::Mirror;
pub use self::headers::{HeaderMismatch, MirrorFault};
#[cfg(feature = "provenance")]
pub(crate) use self::id::meaning;
#[cfg(any(feature = "provenance", feature = "upstream"))]
pub(crate) use self::id::same_id;
pub use self::inspection::Inspection;
pub(crate) use self::inspection::ReadError;
pub use self::mcp::Mcp;
#[cfg(any(feature = "content-trust", feature = "provenance"))]
pub(crate) use self::method::EMPTY;
pub use self::method::{Direction, Judged, MethodRow, Revisions, method_row, method_table};
pub use self::plain::PlainJsonRpc;
pub use self::revision::{Era, Revision};
pub use self::view::{Call, Message, MessageKind};

pub(crate) use self::salvage::IdSalvage;
#[cfg(feature = "content-trust")]
pub(crate) use self::tasks::mentions_task;
#[cfg(any(feature = "content-trust", feature = "upstream"))]
pub(crate) use self::tasks::{TaskMentions, TaskPlace};

#[cfg(test)]
mod tests;
