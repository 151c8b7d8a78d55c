//! Marking messages: what is forged goes, texts are fenced, and tags are written, as changes to ranges.
//!
//! Pure: it knows messages of MCP, but no requests in flight.

mod block;
mod envelope;
mod error;
mod exact;
mod list;
mod meta;
mod outcome;
mod params;
mod report;
mod resource;
mod structured;
mod style;
mod texts;
mod walk;

use bytes::Bytes;

pub(crate) use self::error::Unmarkable;
pub(crate) use self::report::Report;
pub(crate) use self::style::Style;
pub use self::style::{FenceNeeded, MediaPolicy, StructuredContent};
use super::{Provenance, Tag};
use crate::json::Edits;

/// What is known of the other side of an exchange.
pub(crate) trait Asked {
    /// What an answer is to be marked with; `None` if nobody has asked for it.
    fn answer(&self, id: Option<&str>) -> Option<Mark<'_>>;

    /// What is to be said of what a server sends by itself.
    fn sent(&self) -> Mark<'_>;
}

/// What a message is marked with.
#[derive(Clone, Debug)]
pub(crate) struct Mark<'a> {
    pub(crate) tag: Tag<'a>,
    /// Its result is content; if it is not, only what is forged goes.
    pub(crate) is_content: bool,
    /// Blocks have a `_meta` in the revision that is spoken.
    pub(crate) tags_parts: bool,
}

impl Mark<'_> {
    /// Of what is not tagged.
    const NONE: Self = Self {
        tag: Tag {
            provenance: Provenance::External,
            class: "",
            rule: "",
            server: None,
            tool: None,
            session_tainted: None,
        },
        is_content: false,
        tags_parts: false,
    };

    fn is_external(&self) -> bool {
        self.is_content && self.tag.provenance == Provenance::External
    }
}

/// Says what changes in a message, or in each of a batch.
///
/// # Errors
///
/// What would have to be marked cannot be told exactly: the message must not be handed on.
pub(crate) fn mark(text: &Bytes, style: &Style, asked: &dyn Asked) -> Result<(Edits, Report), Unmarkable> {
    walk::Walk::new(text, style, asked)?.run()
}

/// Says what has to go from a request, or a client's answer, because it is not a client's to write; `None` if nothing.
///
/// # Errors
///
/// It cannot be told exactly.
pub(crate) fn strip(text: &Bytes, style: &Style) -> Result<Option<Edits>, Unmarkable> {
    if !envelope::may_resemble(text, &[style.key.as_str()]) {
        return Ok(None);
    }
    let (edits, _) = walk::Walk::of_client(text, style)?.run()?;
    Ok(Some(edits).filter(|edits| !edits.is_empty()))
}

#[cfg(test)]
mod tests;
