//! The way back of lists: what a call would be refused for is not shown.

use std::collections::HashSet;
use std::fmt;

use super::judge::Judge;
use super::shown::{Extent, Findings};
use crate::response::{Expose, Unreadable};
use crate::server::ListFault;

/// What is left out of the lists in the response to one request.
pub(super) struct Listing {
    pub(super) judge: Judge,
    pub(super) extent: Extent,
}

impl Expose for Listing {
    fn exposes(&self, tool: &str) -> bool {
        let verdict = self.judge.standing.exposure.verdict(tool);
        if let Some(notes) = &self.judge.guard.notes {
            notes.take(tool, verdict.notes());
        }
        verdict.is_exposed()
    }

    fn quarantined(&self, message: &[u8]) -> Result<HashSet<String>, Unreadable> {
        let Some(shown) = &self.judge.guard.shown else { return Ok(HashSet::new()) };
        let Findings { refused, news } = shown.look_at(message, self.extent)?;
        self.judge.guard.tell_news(&news);
        Ok(refused.into_keys().collect())
    }
}

impl fmt::Debug for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listing")
            .field("standing", &self.judge.standing)
            .field("extent", &self.extent)
            .finish_non_exhaustive()
    }
}

impl From<ListFault> for Unreadable {
    fn from(fault: ListFault) -> Self {
        match fault {
            ListFault::AmbiguousKey => Self::AmbiguousKey,
            ListFault::Json(error) => Self::Json(error),
            ListFault::NoList | ListFault::TooMany | ListFault::TwoLists => Self::NoList,
        }
    }
}
