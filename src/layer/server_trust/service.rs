//! The service.

use super::future::ResponseFuture;
use super::guard::ServerGuard;
use crate::layer::exchange::service_of;

service_of! {
    /// What [`ServerTrustLayer`](super::ServerTrustLayer) makes of a service.
    ServerTrustService { guard: ServerGuard } -> ResponseFuture
}
