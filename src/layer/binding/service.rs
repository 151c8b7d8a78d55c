//! The service.

use super::future::ResponseFuture;
use super::guard::BindingGuard;
use crate::layer::exchange::service_of;

service_of! {
    /// What [`BindingLayer`](super::BindingLayer) makes of a service.
    BindingService { guard: BindingGuard } -> ResponseFuture
}
