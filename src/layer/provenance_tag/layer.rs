//! The layer, which is its own builder.

use std::fmt;
use std::sync::Arc;

use http::header::HeaderName;
use tower_layer::Layer;

use super::service::ProvenanceTagService;
use super::tagger::{DeriveProvenance, Tagger};
use crate::layer::exchange::{Front, front_methods};
use crate::layer::join::{Join, Sealed};
use crate::observe::OnTag;
use crate::provenance::{
    FenceId, FenceMode, FenceNeeded, MediaPolicy, MetaKey, SigningKey, StructuredContent, Style, ToolLabels,
};

/// Marks results with where they come from.
///
/// See the [module](super) for what passes, what is marked, and examples.
#[derive(Clone)]
#[must_use]
pub struct ProvenanceTagLayer {
    tagger: Arc<Tagger>,
}

impl Default for ProvenanceTagLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl ProvenanceTagLayer {
    /// A layer that writes tags under the key of this crate, and fences nothing.
    pub fn new() -> Self {
        Self { tagger: Arc::new(Tagger::new()) }
    }

    /// Sets the name of the tag in `_meta`.
    pub fn with_key(self, key: MetaKey) -> Self {
        self.set_style(|style| style.key = key)
    }

    /// Sets the header that says what a tag's `origin` does. The default is `x-toolgate-provenance`.
    pub fn with_header(self, header: HeaderName) -> Self {
        self.set(|tagger| tagger.header = header)
    }

    /// Adds the operator's labels for tools. A tool that is external by its label is so whatever else is said.
    pub fn with_labels(self, labels: ToolLabels) -> Self {
        self.set(|tagger| tagger.labels = Some(Arc::new(labels)))
    }

    /// Adds something that says where the result of a call will come from. What is external by it is so whatever else is
    /// said.
    pub fn with_provenance(self, derive: impl DeriveProvenance) -> Self {
        self.set(|tagger| tagger.derive = Some(Arc::new(derive)))
    }

    /// Writes the experimental `io.modelcontextprotocol/trust-annotations` as well: `untrusted` for what is external,
    /// nothing for what is not.
    pub fn with_trust_annotations(self, write: bool) -> Self {
        self.set_style(|style| style.trust_annotations = write)
    }

    /// Writes `ifc` as well: the integrity `untrusted` for what is external, nothing for what is not.
    pub fn with_ifc(self, write: bool) -> Self {
        self.set_style(|style| style.ifc = write)
    }

    /// Signs the tags of results, errors and notifications, for a [verifier](crate::provenance::TagVerifier) further on.
    pub fn with_signing_key(self, key: SigningKey) -> Self {
        self.set(|tagger| tagger.signing = Some(key))
    }

    /// Puts fences around texts from outside, and sets what becomes of `structuredContent` then.
    ///
    /// # Errors
    ///
    /// Leaves are to be fenced, and there is no fence.
    pub fn with_fence(self, fence: FenceMode, structured: StructuredContent) -> Result<Self, FenceNeeded> {
        if fence == FenceMode::Off && structured == StructuredContent::FenceLeaves {
            return Err(FenceNeeded);
        }
        Ok(self.set_style(|style| (style.fence, style.structured) = (fence, structured)))
    }

    /// Names the server in fences. The name is the operator's, never one that the server gives itself.
    pub fn with_fence_server(self, server: FenceId) -> Self {
        self.set_style(|style| style.fence_server = Some(server))
    }

    /// Sets what becomes of images, sounds and other blobs from outside.
    pub fn with_media(self, media: MediaPolicy) -> Self {
        self.set_style(|style| style.media = media)
    }

    /// Marks lists and the instructions of servers as well: they are tagged, and their titles and descriptions fenced.
    pub fn with_descriptions(self, mark: bool) -> Self {
        self.set_style(|style| style.descriptions = mark)
    }

    /// Sets the schemes that links to resources from outside may have; others are removed. Without, all stay.
    pub fn with_link_schemes<T: AsRef<str>>(self, schemes: impl IntoIterator<Item = T>) -> Self {
        let schemes = schemes.into_iter().map(|scheme| scheme.as_ref().to_ascii_lowercase().into()).collect();
        self.set_style(|style| style.link_schemes = Some(schemes))
    }

    /// Sets who hears what was marked, and what was found.
    pub fn on_tag(self, observer: impl OnTag) -> Self {
        self.set(|tagger| tagger.observer = Some(Arc::new(observer)))
    }

    front_methods!();

    fn set_front(self, change: impl FnOnce(&mut Front)) -> Self {
        self.set(|tagger| change(&mut tagger.front))
    }

    fn set_style(self, change: impl FnOnce(&mut Style)) -> Self {
        self.set(|tagger| change(&mut tagger.style))
    }

    fn set(mut self, change: impl FnOnce(&mut Tagger)) -> Self {
        change(Arc::make_mut(&mut self.tagger));
        self
    }
}

impl Join for ProvenanceTagLayer {}

impl Sealed for ProvenanceTagLayer {
    fn joined(self) -> Self {
        self.set(|tagger| tagger.front.place.after = true)
    }
}

impl<S> Layer<S> for ProvenanceTagLayer {
    type Service = ProvenanceTagService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ProvenanceTagService::new(inner, Arc::clone(&self.tagger))
    }
}

impl fmt::Debug for ProvenanceTagLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProvenanceTagLayer").field("tagger", &self.tagger).finish()
    }
}
