//! What was found and done while a message was marked.

use super::Provenance;

/// What was found and done while a message was marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// Of all that was tagged: one part from outside makes all of it so.
    pub(crate) provenance: Option<Provenance>,
    /// Tags and claims that came from the server and went.
    pub(crate) stripped: usize,
    /// Of these, tags that are no objects, and claims that have not the form of one.
    pub(crate) malformed: usize,
    /// Parts that were tagged or fenced.
    pub(crate) parts: usize,
    /// Texts that were fenced.
    pub(crate) fenced: usize,
    /// Blocks that were replaced, as images and links may be.
    pub(crate) dropped: usize,
    /// Descriptions that speak of fences.
    pub(crate) suspicious: usize,
    /// Some text cannot be had back byte for byte.
    pub(crate) lossy: bool,
}

impl Report {
    pub(super) fn tagged(&mut self, provenance: Provenance) {
        let known = self.provenance.unwrap_or(provenance);
        self.provenance = Some(if known.is_external() { known } else { provenance });
    }
}
