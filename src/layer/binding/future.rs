//! The future.

use super::guard::BindingGuard;
use crate::layer::exchange::future_of;

future_of! {
    /// The future of [`BindingService`](super::BindingService).
    ResponseFuture { BindingGuard }
}
