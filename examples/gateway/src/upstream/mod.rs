//! Servers that are reached over HTTP.

mod body;
mod headers;
mod reply;
mod service;

pub use self::body::UpstreamBody;
pub use self::service::HttpUpstream;
