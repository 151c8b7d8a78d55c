//! The future.

use super::guard::ServerGuard;
use crate::layer::exchange::future_of;

future_of! {
    /// The future of [`ServerTrustService`](super::ServerTrustService).
    ResponseFuture { ServerGuard }
}
