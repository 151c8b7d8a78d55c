//! The service.

use super::future::ResponseFuture;
use super::tagger::Tagger;
use crate::layer::exchange::service_of;

service_of! {
    /// What [`ProvenanceTagLayer`](super::ProvenanceTagLayer) makes of a service.
    ProvenanceTagService { tagger: Tagger } -> ResponseFuture
}
