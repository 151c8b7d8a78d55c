//! The body of an answer.

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;

/// The body of an answer: one that is complete, or the server's, frame by frame. Dropping it drops the server's.
pub type UpstreamBody = Either<Full<Bytes>, Incoming>;

pub(super) fn complete(bytes: Bytes) -> UpstreamBody {
    Either::Left(Full::new(bytes))
}

pub(super) fn streaming(body: Incoming) -> UpstreamBody {
    Either::Right(body)
}
