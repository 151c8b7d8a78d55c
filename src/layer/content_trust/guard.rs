//! What every clone of the service shares.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::conversation::ConversationSource;
use super::learned::Learned;
use crate::layer::exchange::Front;
use crate::observe::OnTrust;
use crate::store::TaintStore;
use crate::trust::{Classifier, SessionRules};

#[derive(Clone)]
pub(crate) struct Trust<T> {
    pub(super) front: Front,
    pub(super) classifier: Classifier,
    pub(super) rules: SessionRules,
    pub(super) store: T,
    pub(super) conversations: Vec<ConversationSource>,
    pub(super) window: Option<Duration>,
    pub(super) observer: Option<Arc<dyn OnTrust>>,
    pub(super) clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// Since when the store remembers, if it forgets.
    pub(super) started: u64,
    /// What servers say of their tools.
    pub(super) learned: Arc<Learned>,
}

impl<T: TaintStore> Trust<T> {
    pub(super) fn new(classifier: Classifier, store: T) -> Self {
        Self {
            front: Front::default(),
            classifier,
            rules: SessionRules::new(),
            store,
            conversations: Vec::new(),
            window: None,
            observer: None,
            clock: Arc::new(now),
            started: now(),
            learned: Arc::default(),
        }
    }

    /// The time, and since when marks count.
    pub(super) fn times(&self) -> (u64, u64) {
        let now = (self.clock)();
        // A part of a second is a second: nobody is clean too early.
        let seconds = |window: Duration| window.as_secs().saturating_add(u64::from(window.subsec_nanos() > 0));
        (now, self.window.map_or(0, |window| now.saturating_sub(seconds(window))))
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl<T> fmt::Debug for Trust<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust")
            .field("front", &self.front)
            .field("rules", &self.rules)
            .field("conversations", &self.conversations)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}
