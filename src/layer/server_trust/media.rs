//! Media of a server that may send none: a text takes the place of each.

use std::sync::Arc;

use bytes::Bytes;
use http::response::Parts;

use super::judge::Judge;
use crate::json::Edits;
use crate::response::{Origin, Rewrite, Stage, Unreadable};
use crate::server::{Unremovable, may_hold_media, without_media};

/// Removes the media of a response.
struct Removing;

impl Judge {
    /// What removes the media of a response, if those of the server do not pass.
    pub(super) fn removing(&self) -> Option<Stage> {
        let removes = self.guard.front.is_mcp() && !self.standing.passes_media;
        removes.then(|| Stage::Rewrite(Arc::new(Removing)))
    }
}

impl Rewrite for Removing {
    fn head(&self, _: &mut Parts) -> Result<(), Unreadable> {
        Ok(())
    }

    fn concerns(&self, message: &[u8]) -> bool {
        may_hold_media(message)
    }

    /// A fence around the name of a form hides what the form is, and a form may be put into a text.
    fn comes_first(&self) -> bool {
        true
    }

    fn edits(&self, message: &Bytes, _: &mut Origin<'_>) -> Result<Edits, Unreadable> {
        Ok(without_media(message)?)
    }

    fn holds_answers(&self) -> bool {
        true
    }

    fn is_exact(&self) -> bool {
        true
    }
}

impl From<Unremovable> for Unreadable {
    fn from(unremovable: Unremovable) -> Self {
        match unremovable {
            Unremovable::Json(error) => Self::Json(error),
            Unremovable::NotAMessage => Self::NotAMessage,
            Unremovable::NotAnObject => Self::ResultArray,
            Unremovable::TooMany => Self::Unmarkable,
        }
    }
}
