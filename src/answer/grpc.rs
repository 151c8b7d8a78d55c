//! Denials as gRPC has them.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};

use super::denial::{Denial, DenialKind};
use crate::http::HeadFault;

/// `PERMISSION_DENIED`, and `INVALID_ARGUMENT` for a path that names nothing.
const PERMISSION_DENIED: &str = "7";
const INVALID_ARGUMENT: &str = "3";

/// A response of headers only ("Trailers-Only" of gRPC over HTTP/2); what is no gRPC gets a plain status.
pub(crate) fn grpc_status(denial: &Denial) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    let status = match denial.kind() {
        DenialKind::Head(HeadFault::PathNotCanonical) => INVALID_ARGUMENT,
        DenialKind::Head(fault) => {
            *response.status_mut() = fault.status();
            return response;
        }
        _ => PERMISSION_DENIED,
    };
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert("grpc-status", HeaderValue::from_static(status));
    // Reasons are plain ASCII without a percent sign, so that they need no encoding.
    headers.insert("grpc-message", HeaderValue::from_static(denial.reason()));
    response
}
