//! What has been told already.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::{Mutex, PoisonError};

use crate::server::ToolNote;

/// How much is remembered; beyond that all is told anew.
const MAX_TOLD: usize = 4096;

/// What has been told already, in bounded memory.
#[derive(Debug, Default)]
pub(super) struct Told {
    seen: Mutex<HashSet<u64>>,
    hasher: RandomState,
}

impl Told {
    /// Whether something is to be told, which it is once.
    pub(super) fn is_new(&self, news: &impl Hash) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= MAX_TOLD {
            seen.clear();
        }
        seen.insert(self.hasher.hash_one(news))
    }
}

/// Who is told of doubts about tools that are exposed.
pub(super) struct Notes {
    told: Told,
    tell: Box<Tell>,
}

type Tell = dyn Fn(&str, ToolNote) + Send + Sync;

impl Notes {
    pub(super) fn new(tell: impl Fn(&str, ToolNote) + Send + Sync + 'static) -> Self {
        Self { told: Told::default(), tell: Box::new(tell) }
    }

    pub(super) fn take(&self, tool: &str, notes: impl Iterator<Item = ToolNote>) {
        for note in notes.filter(|note| self.told.is_new(&(tool, note))) {
            (self.tell)(tool, note);
        }
    }
}

impl fmt::Debug for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notes").finish_non_exhaustive()
    }
}
