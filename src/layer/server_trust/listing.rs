//! Which tools are exposed: the same in lists and for calls.

use std::collections::HashSet;
use std::sync::Arc;

use super::pinned::Pinned;
use crate::response::{Expose, Unreadable};
use crate::server::{Exposure, ListFault, ServerRefusal};

/// Which tools are exposed: the same in lists and for calls.
#[derive(Clone, Debug)]
pub(super) struct Exposed {
    exposure: Exposure,
    /// None where definitions are not compared.
    pub(super) pinned: Option<Arc<Pinned>>,
}

impl Exposed {
    pub(super) fn new(exposure: Exposure) -> Self {
        Self { exposure, pinned: None }
    }

    /// Why a call of a tool is refused.
    pub(super) fn refusal(&self, tool: &str) -> Option<ServerRefusal> {
        let refusal = self.exposure.verdict(tool).refusal().map(ServerRefusal::Tool);
        refusal.or_else(|| self.pinned.as_ref()?.refusal(tool))
    }
}

impl Expose for Exposed {
    fn exposes(&self, tool: &str) -> bool {
        self.exposure.verdict(tool).is_exposed()
    }

    fn quarantined(&self, message: &[u8]) -> Result<HashSet<String>, Unreadable> {
        let hidden = self.pinned.as_ref().map(|pinned| pinned.look_at(message));
        hidden.unwrap_or_else(|| Ok(HashSet::new())).map_err(Unreadable::from)
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
