//! The future.

use super::tagger::Tagger;
use crate::layer::exchange::future_of;

future_of! {
    /// The future of [`ProvenanceTagService`](super::ProvenanceTagService).
    ResponseFuture { Tagger }
}
