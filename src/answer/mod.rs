//! What a caller is told when nothing was forwarded.
//!
//! A refusal is a response, never an error of the service, and carries a [`Denial`] in its extensions. What
//! the caller sees is chosen by a [`RespondToDenial`]; by default by [`Negotiate`]:
//!
//! | what was refused | answer |
//! |---|---|
//! | a notification, or an MCP call without an id | 202, no body |
//! | a session that is not the caller's | 404, JSON-RPC error |
//! | headers that mirror the body and contradict it | 400, code -32020 |
//! | a message with an id, of a client that announced the streamable transport | 200, JSON-RPC error with that id |
//! | a message with an id, of any other client | 403, or the status below, with the same body |
//! | what had no id that could be read | 400, 403, 405, 408, 413, 415 or 503, JSON-RPC error with `"id":null` |
//!
//! A client announces the streamable transport by an `Accept` that names `text/event-stream`, by the header
//! `MCP-Protocol-Version`, or by a modern `_meta`. Of many shapes tried on real clients the one with status 200 is the
//! only one that all of them report with code, message and data, and that ends no session.
//!
//! Codes are 403 for a policy's denials, -32700 for what is no JSON, -32600 for what is no message, and else the HTTP
//! status. `data.reason` is a stable name. Tools and arguments are named, values never.

mod denial;
mod grpc;
mod requester;
mod respond;

pub(crate) use self::denial::{Addressee, Client};
pub use self::denial::{Denial, DenialKind, Subject};
pub(crate) use self::grpc::grpc_status;
pub use self::requester::{Requester, UpstreamFault};
pub use self::respond::{
    AlwaysForbidden, AlwaysInBand, AsToolError, AsUnknown, Negotiate, RequestScope, RespondToDenial,
};
#[cfg(feature = "server-trust")]
#[cfg_attr(docsrs, doc(cfg(feature = "server-trust")))]
pub use crate::server::ServerRefusal;
pub use crate::trust::TrustFault;
