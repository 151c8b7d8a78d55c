//! What happens to results, as an observer sees it.

use crate::provenance::Provenance;

/// Sees what was marked, and what was found.
///
/// Closures over [`TagEvent`] implement it. It is called on the path of the response, and so should be quick.
pub trait OnTag: Send + Sync + 'static {
    /// A message was marked.
    fn on_tag(&self, event: &TagEvent<'_>);
}

impl<F> OnTag for F
where
    F: Fn(&TagEvent<'_>) + Send + Sync + 'static,
{
    fn on_tag(&self, event: &TagEvent<'_>) {
        self(event);
    }
}

/// A message that was marked. What it borrows is gone when the call returns.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TagEvent<'a> {
    /// Where it comes from; `None` if it had nothing to be tagged.
    pub provenance: Option<Provenance>,
    /// The server.
    pub server: Option<&'a str>,
    /// Tags and claims that it had and that went, since they are not the server's to write.
    pub stripped: usize,
    /// Texts that were fenced.
    pub fenced: usize,
    /// Images, sounds, files and links that were removed.
    pub dropped: usize,
    /// Descriptions that speak of fences, as whoever wants to get out of one would.
    pub suspicious: usize,
}
