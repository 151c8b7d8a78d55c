//! The way back of lists: what a call would be refused for is not shown.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::guard::ServerGuard;
use super::shown::Findings;
use crate::response::{Expose, Unreadable};
use crate::server::{Exposure, ListFault};

/// What is left out of the lists in the response to one request.
pub(super) struct Listing {
    pub(super) guard: Arc<ServerGuard>,
    pub(super) exposure: Exposure,
    /// How often the server had said that there is another list, where all of it was asked for.
    pub(super) whole: Option<u64>,
}

impl Expose for Listing {
    fn exposes(&self, tool: &str) -> bool {
        self.exposure.verdict(tool).is_exposed()
    }

    fn quarantined(&self, message: &[u8]) -> Result<HashSet<String>, Unreadable> {
        let Some(shown) = &self.guard.shown else { return Ok(HashSet::new()) };
        let Findings { refused, news } = shown.look_at(message, self.whole)?;
        self.guard.tell_news(&news);
        Ok(refused.into_keys().collect())
    }
}

impl fmt::Debug for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listing").field("exposure", &self.exposure).field("whole", &self.whole).finish_non_exhaustive()
    }
}

impl From<ListFault> for Unreadable {
    fn from(fault: ListFault) -> Self {
        match fault {
            ListFault::AmbiguousKey => Self::AmbiguousKey,
            ListFault::Json(error) => Self::Json(error),
            ListFault::NoList | ListFault::TwoLists => Self::NoList,
        }
    }
}
