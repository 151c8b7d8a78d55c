//! The future.

use super::gate::Gate;
use crate::layer::exchange::future_of;

future_of! {
    /// The future of [`ArgumentAllowlistService`](super::ArgumentAllowlistService).
    ResponseFuture { Gate }
}
