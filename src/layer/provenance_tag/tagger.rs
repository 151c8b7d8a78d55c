//! What every clone of the service shares.

use std::fmt;
use std::sync::Arc;

use http::header::HeaderName;
use http::request::Parts;

use crate::layer::exchange::Front;
use crate::message::Call;
use crate::observe::OnTag;
use crate::provenance::{Provenance, SigningKey, Style, ToolLabels};

#[derive(Clone)]
pub(crate) struct Tagger {
    pub(super) front: Front,
    pub(super) style: Style,
    pub(super) header: HeaderName,
    pub(super) signing: Option<SigningKey>,
    pub(super) labels: Option<Arc<ToolLabels>>,
    pub(super) derive: Option<Arc<dyn DeriveProvenance>>,
    pub(super) observer: Option<Arc<dyn OnTag>>,
}

impl Tagger {
    pub(super) fn new() -> Self {
        Self {
            front: Front::default(),
            style: Style::default(),
            header: HeaderName::from_static("x-toolgate-provenance"),
            signing: None,
            labels: None,
            derive: None,
            observer: None,
        }
    }
}

impl fmt::Debug for Tagger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tagger")
            .field("front", &self.front)
            .field("style", &self.style)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

/// Says where the result of a call will come from, from the request's head and the call; `None` if it does not know.
///
/// Closures implement it. It is asked for each call, and so should be quick.
pub trait DeriveProvenance: Send + Sync + 'static {
    /// Where the result will come from.
    fn provenance(&self, head: &Parts, call: &Call<'_>) -> Option<Provenance>;
}

impl<F> DeriveProvenance for F
where
    F: Fn(&Parts, &Call<'_>) -> Option<Provenance> + Send + Sync + 'static,
{
    fn provenance(&self, head: &Parts, call: &Call<'_>) -> Option<Provenance> {
        self(head, call)
    }
}
