//! Servers that are reached over HTTP.

mod body;
mod headers;
mod reply;
mod service;

pub use self::body::UpstreamBody;
pub(crate) use self::headers::drop_named_by_connection;
pub use self::service::HttpUpstream;
