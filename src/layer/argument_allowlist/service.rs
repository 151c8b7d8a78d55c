//! The service.

use super::future::ResponseFuture;
use super::gate::Gate;
use crate::layer::exchange::service_of;

service_of! {
    /// What [`ArgumentAllowlistLayer`](super::ArgumentAllowlistLayer) makes of a service.
    ArgumentAllowlistService { gate: Gate } -> ResponseFuture
}
